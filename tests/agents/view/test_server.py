"""The page's server, without a browser: who may speak to it."""

import http.client
import socket
from contextlib import closing

import pytest
from websockets.exceptions import InvalidStatus

import view_client
from rbgym.agents.view.server import address, close_server, is_own, open_server
from view_client import until


@pytest.fixture(scope="module")
def server():
    server = open_server("127.0.0.1", 0)
    yield server
    close_server(server)


def answer(server, request):
    """What comes back for the bytes of a request."""
    with closing(socket.create_connection(("127.0.0.1", server.get_port()), 5)) as line:
        line.sendall(request)
        line.settimeout(5)
        received = b""
        while part := line.recv(65536):
            received += part
    return received


def test_it_listens_at_one_address_only_and_serves_the_page(server):
    assert server.get_host() == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", server.get_port()), 2)
    with closing(http.client.HTTPConnection("127.0.0.1", server.get_port(), timeout=5)) as line:
        line.request("GET", "/")
        reply = line.getresponse()
        assert reply.status == 200
        assert b"<!doctype html>" in reply.read()[:100].lower()


@pytest.mark.parametrize("hosts", [
    [], ["example.com"], ["127.0.0.1.example.com"], [""], ["["], ["127.0.0.1, x"],
    ["127.0.0.1", "127.0.0.1"],
])  # fmt: skip
def test_a_request_under_another_name_or_none_or_two_is_refused(server, hosts):
    names = "".join(f"Host: {host}:{server.get_port()}\r\n" for host in hosts)
    assert b" 403 " in answer(server, f"GET / HTTP/1.1\r\n{names}\r\n".encode())


@pytest.mark.parametrize("origin", [
    "https://example.com", "null", "http://127.0.0.1", "http://127.0.0.1:1", "file://", "http://[",
    "http://127.0.0.1.example.com:{port}", "http://example.com:{port}",
])  # fmt: skip
def test_a_page_from_elsewhere_is_refused(server, origin):
    port = server.get_port()
    with pytest.raises(InvalidStatus) as refused:
        view_client.opened(port, origin=origin.format(port=port))
    assert refused.value.response.status_code == 403


def test_names_of_the_machine_can_be_given():
    names = {"localhost", "lab.example.com"}
    for host in ("127.0.0.1:8080", "192.168.1.7:8080", "[::1]:8080", "localhost"):
        assert is_own(host, names)
    assert is_own("Lab.example.com:8080", names)
    for host in ("other.example.com:8080", "127.0.0.1:port", "8080", ""):
        assert not is_own(host, names)
    assert address("0.0.0.0", 8080) == "http://127.0.0.1:8080/"
    assert address("::", 8080) == "http://[::1]:8080/"


def test_a_bad_address_is_refused_before_anything_is_opened():
    with pytest.raises(ValueError, match="port must be from 0 to 65535, got 70000"):
        open_server("127.0.0.1", 70000)


def test_nobody_can_ask_for_a_public_address(server, monkeypatch):
    monkeypatch.setattr("viser._viser.ViserTunnel", lambda *_: pytest.fail("a tunnel was made"))
    number = server.gui.add_number("n", 1.0)
    with view_client.looking(server.get_port()) as line:
        line.send(view_client.pack({"type": "ShareUrlRequest"}))
        line.send(view_client.update(number._impl.uuid, 2))
        until(lambda: number.value == 2.0)
    assert server.request_share_url() is None


def test_sixteen_pages_come_and_go_and_no_more_are_let_in(server):
    lines = [view_client.looking(server.get_port()) for _ in range(16)]
    until(lambda: len(server.get_clients()) == 16)
    with pytest.raises(InvalidStatus) as refused:
        view_client.opened(server.get_port())
    assert refused.value.response.status_code == 503
    for line in lines[::2]:
        line.socket.shutdown(socket.SHUT_RDWR)  # without a word
    for line in lines:
        line.close()
    until(lambda: not server.get_clients())
    with view_client.opened(server.get_port()) as line:
        assert len(line.recv(timeout=5)) > 16
