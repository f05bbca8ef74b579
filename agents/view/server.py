"""The page's server: viser's, bound to one address and closed to pages from elsewhere: a request
must name this server in Host, against DNS rebinding, and in Origin if it has one."""

import contextlib
import http
import io
import ipaddress
import re
import socket
from collections.abc import Collection
from typing import Any

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

_MOST_PAGES = 16  # open at a time
_LARGEST_MESSAGE = 2**20  # bytes, from a page


class _Server(viser.ViserServer):
    def request_share_url(self, verbose: bool = True) -> str | None:
        """Never open a public address."""
        return None


def open_server(host: str, port: int, names: Collection[str] = ()) -> viser.ViserServer:
    """Open a viser server at `port` or the next free one; 0: any. host: the address to listen at.
    names: of this machine, which browsers may use in addition to its addresses and localhost."""
    if not 0 <= port < 65536:
        raise ValueError(f"port must be from 0 to 65535, got {port}")
    try:  # for another machine's address viser would hang, trying a thousand ports
        family, kind, protocol, _, own = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.bind(own)
    except OSError as error:
        raise ValueError(f"host must be this machine's address, got {host!r}: {error}") from None
    known = {"localhost", *(name.lower() for name in names)}
    module: Any = websockets.asyncio.server
    real = module.serve
    opened: list[viser.ViserServer] = []

    def serve(*args: Any, process_request: Any, **settings: Any) -> Any:
        def process(connection: ServerConnection, request: Request) -> Any:
            pages = sum(len(one.get_clients()) for one in opened)
            refused = refusal(connection, request, known, pages)
            return refused or process_request(connection, request)

        settings["max_size"] = _LARGEST_MESSAGE
        return real(*args, process_request=process, **settings)

    # viser has no hook for requests, but calls `serve` by this name.
    module.serve = serve
    try:
        with _quiet():
            opened.append(_Server(host=host, port=port, label="rbgym", verbose=False))
            return opened[0]
    finally:
        module.serve = real


def close_server(server: viser.ViserServer) -> None:
    with _quiet():
        server.stop()


def address(host: str, port: int) -> str:
    """The URL of the page for a browser on this machine."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"


def _quiet() -> contextlib.AbstractContextManager[Any]:
    """Suppress viser's boxes; the command prints the address itself."""
    return contextlib.redirect_stdout(io.StringIO())


def refusal(
    connection: ServerConnection, request: Request, names: Collection[str], pages: int = 0
) -> Response | None:
    """The refusal of a request, or None to answer it. pages: number of open ones."""
    host = ", ".join(request.headers.get_all("Host"))
    if not is_own(host, names):
        return connection.respond(http.HTTPStatus.FORBIDDEN, "This server has another name.\n")
    if any(origin.partition("://")[2] != host for origin in request.headers.get_all("Origin")):
        return connection.respond(http.HTTPStatus.FORBIDDEN, "This page is not from here.\n")
    if pages >= _MOST_PAGES:
        return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.\n")
    return None


def is_own(host: str, names: Collection[str]) -> bool:
    """Whether a Host header names this server: any address, or one of its names."""
    name = re.sub(r":\d+$", "", host).lower()
    with contextlib.suppress(ValueError):
        return name in names or bool(ipaddress.ip_address(name.strip("[]")))
    return False
