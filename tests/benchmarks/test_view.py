"""How often the page of `rbgym view` is updated and drawn: figures that `make bench` prints."""

import time

import pytest

import view_client
import view_page

SECONDS = 10.0


def test_updates_of_the_server():
    with view_page.served("--dt", "0.02") as (url, _):
        port = int(url.rpartition(":")[2].strip("/"))
        with view_client.looking(port) as line:
            time.sleep(2.0)
            count, received, start = 0, 0, time.monotonic()
            while time.monotonic() - start < SECONDS:
                frame = line.recv()
                received += len(frame)
                count += "/runs/0/body" in repr(view_client.messages_of(frame))
    print(f"\n{count / SECONDS:.1f} updates a second, {received / SECONDS / 1e3:.0f} kB/s")


@pytest.mark.skipif(view_page.chromium() is None, reason="there is no Chromium")
def test_pictures_of_the_browser():
    pytest.importorskip("playwright")
    with view_page.served("--dt", "0.02") as (url, _), view_page.window() as window:
        window.open(url)
        window.page.wait_for_timeout(3000)
        first, start = window.drawn(), time.monotonic()
        window.page.wait_for_timeout(1000 * SECONDS)
        rate = (window.drawn() - first) / (time.monotonic() - start)
    print(f"\n{rate:.1f} pictures a second at 800 x 600, by software")
