"""The page from its start to Ctrl-C."""

import signal
import webbrowser
from collections.abc import Collection

from rbgym.agents.view.controls import SPEEDS
from rbgym.agents.view.page import Page
from rbgym.agents.view.server import address, close_server, open_server
from rbgym.agents.view.setup import Setup, build
from rbgym.envs.arguments import hint


def launch(
    setup: Setup,
    *,
    speed: str = "1",
    host: str = "127.0.0.1",
    port: int = 8080,
    names: Collection[str] = (),
    opens: bool = True,
) -> None:
    """Serve the page of a setup until Ctrl-C. Raises ValueError, nothing opened, for a bad one.

    host, port, names: as of `open_server`. opens: show it in a browser.
    """
    if speed not in SPEEDS:
        raise ValueError(f"speed must be one of {[*SPEEDS]}, got {speed!r}{hint(speed, SPEEDS)}")
    build(setup)
    server = open_server(host, port, names)
    url = address(host, server.get_port())
    # Ends it as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"rbgym: {url}  (Ctrl-C ends it)", flush=True)
    try:
        page = Page(server, setup, speed)
        if opens:
            webbrowser.open(url)
        page.run()
    except KeyboardInterrupt:
        print("rbgym: ended", flush=True)
    finally:
        signal.signal(signal.SIGTERM, before)
        close_server(server)
