"""What a page of bad intent may send to the server of `rbgym view`."""

import socket

import msgspec
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0, 0, 1], "fov": 1,
    "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800, "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}  # fmt: skip
ODD = [True, False, 0, -1, 1, 2, 0.5, 1e9, -1e9, 1e-300, 2**53, 10**18, float("nan"), float("inf")]
ODD += ["", "nan", "inf", "x", "x" * 200, "x" * 201, "off", "free body", "quat_em", "1/100", "100"]
ODD += [None, [], [1, 2], [1, 2, 3], [float("nan")] * 3, [[1]], {}, {"a": 1}, "Step", "Restart"]
pack = msgspec.msgpack.encode


def looking(port):
    """A connection of someone who looks at the page."""
    url, protocol = f"ws://127.0.0.1:{port}", f"viser-v{viser.__version__}"
    line = connect(url, subprotocols=[protocol], compression=None, max_size=None)
    line.send(pack(CAMERA))
    return line


def update(uuid, value):
    """A control has a new value."""
    return pack({"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})


def frame(draw, uuids):
    """One frame: of a page, nearly of one, or nonsense."""
    kind, uuid, value = draw.randrange(8), draw.choice([*uuids, "", "x" * 65]), draw.choice(ODD)
    if kind <= 2:
        return update(uuid, value)
    if kind == 3:
        message = {"type": "GuiButtonHoldMessage", "uuid": uuid, "frequency": value}
        return pack(message)
    if kind == 4:
        return pack({"type": "CommandTriggerMessage", "uuid": uuid})
    if kind == 5:
        return pack({**CAMERA, draw.choice(list(CAMERA)): value})
    if kind == 6:
        good = bytearray(update(uuid, value))
        good[draw.randrange(len(good))] ^= 1 << draw.randrange(8)
        return bytes(good)
    return draw.choice(["text", b"", draw.randbytes(draw.randint(1, 300)), b"\x91" * 5000])


def flood(port, draw, uuids, frames):
    """Send so many frames as fast as they are taken, on new connections where one is closed."""
    line = looking(port)
    for _ in range(frames):
        try:
            line.send(frame(draw, uuids))
        except ConnectionClosed:
            line = looking(port)
    line.close()


def press_hard(port, draw, uuids, messages):
    """Send so many messages that are all as a page's, as fast as they are taken."""
    ready = [update(uuid, value) for uuid in uuids for value in (0.3, 0.7, 1, 2)]
    with looking(port) as line:
        for _ in range(messages):
            line.send(draw.choice(ready))


def knock(port, draw):
    """Open a connection, say something or nothing, and cut it."""
    with socket.create_connection(("127.0.0.1", port), 5) as line:
        begin = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
        line.sendall(begin[: draw.randrange(len(begin))])
        if draw.random() < 0.5:
            line.shutdown(socket.SHUT_RDWR)


def messages_of(data):
    """The messages of a frame of the server."""
    size = int.from_bytes(data[8:16], "little")
    content = zstandard.ZstdDecompressor().decompress(data[16 : 16 + size])
    return msgspec.msgpack.decode(content)["messages"]
