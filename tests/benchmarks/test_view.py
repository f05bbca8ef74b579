"""How often the page of `rbgym view` is updated and drawn: figures that `make bench` prints."""

import time

import msgspec
import pytest
import viser
import zstandard
from websockets.sync.client import connect

import view_page

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0, 0, 1], "fov": 1,
    "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800, "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}  # fmt: skip
SECONDS = 10.0


def test_updates_of_the_server():
    with view_page.served("--dt", "0.02") as (url, _):
        protocol = f"viser-v{viser.__version__}"
        with connect(url.replace("http", "ws"), subprotocols=[protocol], max_size=None) as line:
            line.send(msgspec.msgpack.encode(CAMERA))
            time.sleep(2.0)
            count, received, start = 0, 0, time.monotonic()
            while time.monotonic() - start < SECONDS:
                frame = line.recv()
                received += len(frame)
                size = int.from_bytes(frame[8:16], "little")
                messages = zstandard.ZstdDecompressor().decompress(frame[16 : 16 + size])
                count += b"/world/0/body" in messages
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
