"""The page's server, without a browser: who may speak to it, and what it makes of nonsense."""

import http.client
import random
import socket
import time
from contextlib import closing

import msgspec
import pytest
import viser
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from rbgym.agents.view import server as guard
from rbgym.agents.view.server import MOST_CLIENTS, address, close_server, is_own, open_server
from rbgym.agents.view.wire import admissible

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0, 0, 1], "fov": 1,
    "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800, "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}  # fmt: skip


@pytest.fixture(scope="module")
def server():
    server = open_server("127.0.0.1", 0)
    yield server
    close_server(server)


def opened(server, **arguments):
    """A connection such as a browser makes; origin: of the page that asks."""
    protocol = f"viser-v{viser.__version__}"
    url = f"ws://127.0.0.1:{server.get_port()}"
    return connect(url, subprotocols=[protocol], compression=None, max_size=None, **arguments)


def answer(server, request):
    """What comes back for the bytes of a request."""
    with closing(socket.create_connection(("127.0.0.1", server.get_port()), 5)) as line:
        line.sendall(request)
        line.settimeout(5)
        received = b""
        while part := line.recv(65536):
            received += part
    return received


def is_closed(line):
    """Whether the server has closed a connection; reads what there still is."""
    try:
        line.recv(timeout=0.05)
    except TimeoutError:
        return False
    except ConnectionClosed:
        return True
    return False


def until(holds, seconds=5.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_listens_at_one_address_only(server):
    assert server.get_host() == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.get_port()), 2)


def test_the_page_may_connect_to_nothing_else_and_stand_in_no_frame(server):
    with closing(http.client.HTTPConnection("127.0.0.1", server.get_port(), timeout=5)) as line:
        line.request("GET", "/")
        reply = line.getresponse()
        policy, page = reply.headers["Content-Security-Policy"], reply.read()
    assert reply.status == 200
    assert b"<!doctype html>" in page[:100].lower()
    assert "default-src 'none'" in policy
    assert "connect-src 'self' data: blob:;" in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.parametrize("path", [
    "/../../../../etc/passwd", "/..%2f..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd", "/..\\..\\etc\\passwd", "/build/index.html", "/assets", "/index.html/..",
    "http://127.0.0.1/etc/passwd",
])  # fmt: skip
def test_there_is_no_file_but_the_page(server, path):
    host = f"127.0.0.1:{server.get_port()}"
    reply = answer(server, f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert reply.split(b" ")[1] == b"404"
    assert b"root:" not in reply
    assert len(reply) < 500


@pytest.mark.parametrize("host", ["example.com", "127.0.0.1.example.com", "", "127.0.0.1:1"])
def test_a_request_under_another_name_is_refused(server, host):
    port = server.get_port()
    named = host if ":" in host else f"{host}:{port}"
    assert b" 403 " in answer(server, f"GET / HTTP/1.1\r\nHost: {named}\r\n\r\n".encode())


def test_a_request_without_a_name_or_with_two_is_refused(server):
    host = f"Host: 127.0.0.1:{server.get_port()}\r\n"
    for names in ("", host + host):
        assert b" 403 " in answer(server, f"GET / HTTP/1.1\r\n{names}\r\n".encode())


@pytest.mark.parametrize("origin", [
    "https://example.com", "null", "http://127.0.0.1", "http://127.0.0.1:1", "file://",
    "http://127.0.0.1.example.com:{port}", "http://example.com:{port}",
])  # fmt: skip
def test_a_page_from_elsewhere_is_refused(server, origin):
    with pytest.raises(InvalidStatus) as refused:
        opened(server, origin=origin.format(port=server.get_port()))
    assert refused.value.response.status_code == 403


def test_its_own_page_is_let_in(server):
    for name in ("127.0.0.1", "localhost", "[::1]"):
        with opened(server, origin=f"http://{name}:{server.get_port()}") as line:
            assert len(line.recv(timeout=5)) > 16


def test_names_of_the_machine_can_be_given():
    assert is_own("127.0.0.1:8080", 8080, "127.0.0.1", ())
    assert is_own("192.168.1.7:8080", 8080, "0.0.0.0", ())
    assert is_own("[::1]:8080", 8080, "::1", ())
    assert is_own("localhost", 80, "127.0.0.1", ())
    assert not is_own("lab.example.com:8080", 8080, "0.0.0.0", ())
    assert is_own("lab.example.com", 8080, "0.0.0.0", ("Lab.example.com",))
    assert not is_own("192.168.1.7:8081", 8080, "0.0.0.0", ())
    assert not is_own("127.0.0.1:port", 8080, "127.0.0.1", ())
    assert address("0.0.0.0", 8080) == "http://127.0.0.1:8080/"
    assert address("::", 8080) == "http://[::1]:8080/"


def test_a_bad_address_is_refused_before_anything_is_opened():
    with pytest.raises(ValueError, match="port must be from 0 to 65535, got 70000"):
        open_server("127.0.0.1", 70000)
    with pytest.raises(ValueError, match="host must be an address of this machine, got '192"):
        open_server("192.0.2.1", 0)
    with pytest.raises(ValueError, match=r"name must be that of a machine, such as .* got 'a/b'"):
        open_server("127.0.0.1", 0, ["a/b"])


def test_a_viser_that_could_not_be_guarded_is_refused(monkeypatch):
    monkeypatch.setattr(guard.viser, "ViserServer", lambda **arguments: None)
    with pytest.raises(RuntimeError, match="cannot be guarded"):
        open_server("127.0.0.1", 0)


def test_what_a_control_sends_is_admitted():
    update = {"type": "GuiUpdateMessage", "uuid": "7", "updates": {"value": 0.5}}
    pack = msgspec.msgpack.encode
    for value in (True, 3, -2.5, "box", [1.0, 2, 3], None):
        assert admissible(pack({**update, "updates": {"value": value}}))
    assert admissible(pack(CAMERA))
    assert admissible(pack({"type": "CommandTriggerMessage", "uuid": "7"}))
    assert admissible(pack({"type": "GuiButtonHoldMessage", "uuid": "7", "frequency": 10}))


def test_anything_else_is_not():
    update = {"type": "GuiUpdateMessage", "uuid": "7", "updates": {"value": 0.5}}
    for wrong in (
        {"type": "ShareUrlRequest"},
        {"type": "ShareUrlDisconnect"},
        {"type": "RunJavascriptMessage", "source": "alert(1)"},
        {"type": "FileTransferStartUpload", "source_component_uuid": "7", "transfer_uuid": "1",
         "filename": "x", "mime_type": "", "part_count": 9, "size_bytes": 9},
        {**update, "updates": {"update_cb": []}},
        {**update, "updates": {"value": 1, "removed": True}},
        {**update, "updates": {"value": float("nan")}},
        {**update, "updates": {"value": float("inf")}},
        {**update, "updates": {"value": "x" * 201}},
        {**update, "updates": {"value": {"a": 1}}},
        {**update, "uuid": 7},
        {**update, "excluded_self_client": 1},
        {**CAMERA, "position": [0, 0]},
        {**CAMERA, "fov": "wide"},
        {**CAMERA, "fov": float("nan")},
        {**CAMERA, "up_direction": [float("nan"), 0.0, 1.0]},
        {**CAMERA, "position": [0.0, 0.0, float("inf")]},
        {**CAMERA, "image_height": -1},
        {**CAMERA, "image_width": 10**9},
        {}, [], None, 7, "GuiUpdateMessage",
    ):  # fmt: skip
        assert not admissible(msgspec.msgpack.encode(wrong)), wrong
    assert not admissible(b"")
    assert not admissible("text")
    assert not admissible(b"\x91" * 30_000)  # an array in an array in an array ...


def test_it_outlives_nonsense_and_asks_for_no_public_address(server, caplog, monkeypatch):
    monkeypatch.setattr(guard._LOG.filters[0], "_last", -1e9)  # nothing was said so far
    draw, asked = random.Random(7), []
    server.request_share_url = lambda: asked.append(1)  # what viser would call
    number = server.gui.add_number("n", 1.0)
    with opened(server) as line:
        line.send(msgspec.msgpack.encode(CAMERA))
        for _ in range(300):
            line.send(draw.randbytes(draw.randint(0, 400)))
        line.send("text")
        line.send(msgspec.msgpack.encode({"type": "ShareUrlRequest"}))
        for wrong in ({"props": None}, {"value": "nan"}, {"update_cb": []}):
            line.send(msgspec.msgpack.encode(
                {"type": "GuiUpdateMessage", "uuid": number._impl.uuid, "updates": wrong}
            ))  # fmt: skip
        line.send(msgspec.msgpack.encode(
            {"type": "GuiUpdateMessage", "uuid": number._impl.uuid, "updates": {"value": 2}}
        ))  # fmt: skip
        until(lambda: number.value == 2.0)
    assert asked == []
    dropped = [record for record in caplog.records if "no message of the page" in record.message]
    assert 1 <= len(dropped) <= 2  # the log is not flooded


def test_a_frame_that_is_too_large_closes_its_own_connection_only(server):
    with opened(server) as good, opened(server) as bad:
        bad.send(b"\x00" * (guard.LARGEST_FRAME + 1))
        until(lambda: is_closed(bad))
        good.send(msgspec.msgpack.encode(CAMERA))
        until(lambda: len(server.get_clients()) == 1)


def test_twenty_clients_come_and_go(server):
    lines = [opened(server) for _ in range(20)]
    for line in lines:
        line.send(msgspec.msgpack.encode(CAMERA))
    until(lambda: len(server.get_clients()) == 20)
    for line in lines[::2]:
        line.socket.shutdown(socket.SHUT_RDWR)  # without a word
    for line in lines:
        line.close()
    until(lambda: not server.get_clients())
    with opened(server) as line:
        assert len(line.recv(timeout=5)) > 16


def test_more_clients_than_there_are_places_for_are_turned_away(server, monkeypatch):
    monkeypatch.setattr(guard, "MOST_CLIENTS", 2)
    assert MOST_CLIENTS > 20
    with opened(server), opened(server):
        with pytest.raises(InvalidStatus) as refused:
            opened(server)
        assert refused.value.response.status_code == 503
