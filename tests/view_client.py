"""A client of the page of `rbgym view` without a browser: a bare WebSocket that speaks as one."""

import time

import msgspec
import viser
from websockets.sync.client import connect

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0, 0, 1], "fov": 1,
    "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800, "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}  # fmt: skip
pack = msgspec.msgpack.encode


def opened(port, **arguments):
    """A connection such as a browser makes; origin: of the page that asks."""
    url, protocol = f"ws://127.0.0.1:{port}", f"viser-v{viser.__version__}"
    return connect(url, subprotocols=[protocol], compression=None, max_size=None, **arguments)


def looking(port):
    """A connection of someone who looks at the page."""
    line = opened(port)
    line.send(pack(CAMERA))
    return line


def update(uuid, value):
    """A control has a new value."""
    return pack({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})


def until(holds, seconds=30.0):
    """Wait for what holds before long."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def press_hard(port, draw, uuids, messages):
    """Send so many values for controls, as fast as they are taken."""
    ready = [update(uuid, value) for uuid in uuids for value in (0.3, 0.7, 1, 2)]
    with looking(port) as line:
        for _ in range(messages):
            line.send(draw.choice(ready))
