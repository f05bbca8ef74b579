"""The page's server: viser's, bound to one address and closed to everybody else's pages.

viser listens on all interfaces and accepts a WebSocket from any page that the browser has open.
Here a request must name this server in Host, against DNS rebinding, and in Origin if it has one;
all that is served is the one file of viser's client, under a policy that lets it connect to nothing
else.
"""

import asyncio
import contextlib
import http
import io
import ipaddress
import logging
import math
import re
import socket
import time
from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from rbgym.agents.view.wire import admissible

LARGEST_FRAME = 64 * 1024  # bytes; the largest that a page sends is under one thousand
MOST_CLIENTS = 64
_MOST_DROPPED = 1000  # frames of nonsense, after which a connection is closed
_SELDOM = 5.0  # s between two lines of the log
_PATHS = ("/", "/index.html")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# viser's client is one file with its scripts, styles, workers and WebAssembly in it.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' "
    "blob: data:; worker-src blob: data:; style-src 'unsafe-inline'; img-src 'self' data: blob:; "
    "font-src data:; connect-src 'self' data: blob:; media-src blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-cache",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Seldom(logging.Filter):
    """Lets a line through now and then, without a traceback: a log must not be flooded either."""

    def __init__(self) -> None:
        super().__init__()
        self._last, self._held = -math.inf, 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written; it says how many were not."""
        now = time.monotonic()
        if now - self._last < _SELDOM:
            self._held += 1
            return False
        error = record.exc_info[1] if record.exc_info else None
        record.msg = " ".join(f"{record.getMessage()}{': ' if error else ''}{error or ''}".split())
        record.msg += f" (and {self._held} more like it)" if self._held else ""
        record.args = record.exc_info = record.exc_text = None
        self._last, self._held = now, 0
        return True


_LOG = logging.getLogger(__name__)
_LOG.addFilter(_Seldom())


def open_server(host: str, port: int, names: Collection[str] = ()) -> viser.ViserServer:
    """A viser server behind the guard, at `port` or the next one that is free; 0: any.

    host: the address to listen at. names: by what names browsers may call this machine, beside its
    addresses. Raises OSError where the address cannot be had.
    """
    _refuse_bad_address(host, port)
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"name must be that of a machine, such as lab.example, got {name!r}")
    # viser prints a box of its own; the command says where the page is.
    with _guarded(host, names), contextlib.redirect_stdout(io.StringIO()):
        return viser.ViserServer(host=host, port=port, label="rbgym", verbose=False)


def close_server(server: viser.ViserServer) -> None:
    """End it; viser would say so."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def address(host: str, port: int) -> str:
    """The address of a page, to be opened on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"


def _refuse_bad_address(host: str, port: int) -> None:
    """viser would try a thousand ports at an address that is not this machine's."""
    if not 0 <= port < 65536:
        raise ValueError(f"port must be from 0 to 65535, got {port}")
    try:
        family, kind, protocol, _, own = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.bind(own)
    except OSError as error:
        raise ValueError(
            f"host must be an address of this machine, got {host!r}: {error}"
        ) from None


@contextlib.contextmanager
def _guarded(host: str, names: Collection[str]) -> Iterator[None]:
    """Servers that are opened meanwhile have the guard.

    viser gives no way to pass arguments on to `websockets.serve`, so its call is intercepted; a
    viser that served in another way would be refused here, not left unguarded.
    """
    module: Any = websockets.asyncio.server
    real, calls = module.serve, []

    def serve(handler: Any, at: str, port: int, **settings: Any) -> Any:
        inner = settings["process_request"]

        def process_request(connection: ServerConnection, request: Request) -> Any:
            return refusal(connection, request, host, names) or inner(connection, request)

        calls.append(port)
        asyncio.get_running_loop().set_exception_handler(_unhandled)
        settings |= {
            "logger": _LOG,
            "process_request": process_request,
            "process_response": _with_headers,
            "create_connection": GuardedConnection,
            "max_size": LARGEST_FRAME,
            "server_header": None,
        }
        return real(handler, at, port, **settings)

    module.serve = serve
    try:
        yield
    finally:
        module.serve = real
    if not calls:
        raise RuntimeError("this version of viser cannot be guarded: it does not use websockets")


def _unhandled(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What viser raises of a message, a word for a number say, in a task of nobody."""
    _LOG.warning("%s", context["message"], exc_info=context.get("exception"))


class GuardedConnection(ServerConnection):
    """A connection that gives viser nothing but the messages of `wire`."""

    dropped = 0

    async def recv(self, decode: bool | None = None) -> Any:
        """The next admissible message; others are dropped, and who sends many is, too."""
        while True:
            frame = await super().recv(decode)
            if admissible(frame):
                return frame
            self.dropped += 1
            _LOG.warning("dropped a frame of %d bytes that is no message of the page", len(frame))
            if self.dropped >= _MOST_DROPPED:
                await self.close(1008, "no page talks like this")


def refusal(
    connection: ServerConnection, request: Request, host: str, names: Collection[str]
) -> Response | None:
    """Why a request is not answered, None if it is."""
    hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
    port = connection.local_address[1]
    if len(hosts) != 1 or not is_own(hosts[0], port, host, names):
        return connection.respond(http.HTTPStatus.FORBIDDEN, "This server has another name.\n")
    own = {hosts[0], *(f"{name}:{port}" for name in _LOOPBACK)}
    if any(urlsplit(origin).netloc not in own for origin in origins):
        return connection.respond(http.HTTPStatus.FORBIDDEN, "This page is not from here.\n")
    if request.path.partition("?")[0] not in _PATHS:
        return connection.respond(http.HTTPStatus.NOT_FOUND, "There is one page only.\n")
    if len(connection.server.connections) >= MOST_CLIENTS:
        return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, "Too many clients.\n")
    return None


def is_own(netloc: str, port: int, host: str, names: Collection[str]) -> bool:
    """Whether a Host header names this server: an address, which no foreign name can pass for,
    or a name that is known to be its own."""
    try:
        parts = urlsplit(f"//{netloc}")
        name, given = parts.hostname or "", parts.port
    except ValueError:
        return False
    if name in {own.lower() for own in names}:
        return True  # perhaps of a proxy, whose port is another
    return (given or 80) == port and (name in ("localhost", host.lower()) or _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(connection: ServerConnection, request: Request, response: Response) -> None:
    """Say to the browser what the page may do."""
    if response.status_code == http.HTTPStatus.OK:
        for name, value in _HEADERS.items():
            response.headers[name] = value
