"""The page under messages of bad intent: it goes on, and who means well is served."""

import os
import random
import threading
import time

import pytest
from websockets.exceptions import ConnectionClosed

import view_attack
from rbgym.agents.view import server as guard
from rbgym.agents.view.page import Page
from rbgym.agents.view.saving import Saver
from rbgym.agents.view.server import close_server, open_server
from rbgym.agents.view.setup import OFF, Setup
from rbgym.agents.view.wire import admissible

# What is there to be compiled first is left alone.
HEAVY = ("scene", "scheme", "policy", "mgl")


@pytest.fixture
def page():
    server = open_server("127.0.0.1", 0)
    page = Page(server, Setup(schemes=("quat_em", OFF, OFF)))
    thread = threading.Thread(target=page.run)
    thread.start()
    until(lambda: page._world is not None)
    yield page
    assert thread.is_alive()
    page.stop()
    thread.join(10)
    close_server(server)
    assert not thread.is_alive()


def until(holds, seconds=20.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def uuid(page, name):
    return page._controls._values[name]._impl.uuid


def assert_serves(page):
    """Someone who looks sees the world move, and can stop it and let it go on."""
    with view_attack.looking(page._server.get_port()) as line:
        for name, value in (("paused", False), ("speed", "1"), ("dt", 20.0), ("size 0", 1.0)):
            line.send(view_attack.update(uuid(page, name), value))
        until(lambda: page._controls.setup().dt == 0.02 and page._world.dt == 0.02)
        before = page._world.steps
        until(lambda: page._world.steps > before + 5)
        line.send(view_attack.update(uuid(page, "paused"), True))
        until(lambda: page._controls.asked().paused)


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e999", " NaN ", "Infinity", "-nan"])
def test_a_word_that_stands_for_no_finite_number_is_not_admitted(word):
    assert not admissible(view_attack.update("7", word))
    assert admissible(view_attack.update("7", f"{word}x"))


def test_a_control_that_holds_no_finite_number_counts_as_it_was_at_first(page):
    for name in ("torque 0", "rates 2", "seconds", "dt", "strength"):
        page._controls._values[name]._impl.value = float("nan")
    assert page._controls.setup().rates == (0.05, 0.05, 5.0)
    assert page._controls.setup().dt == 0.05
    assert page._controls.asked().seconds == 6.0
    assert page._controls.torque().tolist() == [0.0, 0.0, 0.0]
    page._controls.release()
    assert_serves(page)


def test_the_page_goes_on_under_a_flood_of_nonsense_and_of_wishes(page):
    names = [name for name in page._controls._values if not name.startswith(HEAVY)]
    port, uuids = page._server.get_port(), [uuid(page, name) for name in names]
    view_attack.flood(port, random.Random(5), uuids, 1500)
    view_attack.press_hard(port, random.Random(6), uuids, 500)
    for seed in range(50):
        view_attack.knock(port, random.Random(seed))
    assert_serves(page)


def test_who_talks_nonsense_for_long_is_sent_away(page, monkeypatch):
    monkeypatch.setattr(guard, "_MOST_DROPPED", 20)
    with view_attack.looking(page._server.get_port()) as line:
        for _ in range(20):
            line.send(b"\xc1")
        with pytest.raises(ConnectionClosed, match="no page talks like this"):
            list(line)
    assert_serves(page)


def test_an_error_in_the_midst_of_the_page_is_told_and_the_page_goes_on(page, monkeypatch, caplog):
    def broken(*_):
        raise ZeroDivisionError("of this test")

    with monkeypatch.context() as patched, view_attack.looking(page._server.get_port()):
        patched.setattr(page, "_advance", broken)
        until(lambda: "of this test" in page._status.content)
        time.sleep(0.6)
    assert len([line for line in caplog.records if "goes on after" in line.message]) == 1
    assert_serves(page)


@pytest.mark.parametrize(
    "odd",
    [{"up_direction": [0, 0, 0]}, {"look_at": [0, 0, 1]}, {"image_height": 0}],
    ids=["no up", "no view", "no height"],
)
def test_a_camera_that_cannot_be_turned_troubles_nobody(page, caplog, odd):
    with view_attack.looking(page._server.get_port()) as line:
        until(lambda: len(page._server.get_clients()) == 1)
        line.send(view_attack.pack({**view_attack.CAMERA, **odd}))
        line.send(view_attack.update(uuid(page, "scheme 2"), "quat_em"))
        until(lambda: len(page._world.runs) == 2)
        assert_serves(page)
    assert not caplog.records


class Client:
    """Who wants a file, and has left or stays."""

    def __init__(self, *, gone=False):
        self.gone, self.told, self.files = gone, [], []

    def add_notification(self, title, body, **_):
        if self.gone:
            raise RuntimeError("closed")
        self.told.append((title, body))
        return self

    def send_file_download(self, name, content, **_):
        self.files.append((name, content))

    def remove(self):
        pass


def test_files_are_made_after_a_helper_was_killed_and_clients_have_left():
    saver, client, gone = Saver(), Client(), Client(gone=True)
    for _ in range(5):  # more than may wait at a time
        until(lambda: saver.save("a", bytes, 3, gone))
    until(lambda: saver.save("a", os._exit, 7, client))
    until(lambda: any(title == "Not saved" for title, _ in client.told))
    until(lambda: saver.save("a", bytes, 3, client))
    until(lambda: client.files)
    assert client.files == [("a", b"\0\0\0")]
    saver.close()
