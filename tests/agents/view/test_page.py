"""The page without a browser: a bare WebSocket looks at it, and speaks as a browser would."""

import copy
import itertools
import math
import threading
import time

import msgspec
import numpy as np
import pytest
import viser
from typer.testing import CliRunner
from websockets.sync.client import connect

from rbgym.agents.commands.cli import app
from rbgym.agents.view import page as page_module
from rbgym.agents.view.page import Page
from rbgym.agents.view.server import close_server, open_server
from rbgym.agents.view.setup import OFF, Setup

CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [0, 0, 1], "fov": 1,
    "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800, "look_at": [0, 0, 0],
    "up_direction": [0, 0, 1],
}  # fmt: skip


@pytest.fixture
def page():
    server = open_server("127.0.0.1", 0)
    page = Page(server, Setup(schemes=("quat_em", OFF, OFF)), speed="1")
    thread = threading.Thread(target=page.run)
    thread.start()
    until(lambda: page._world is not None)
    yield page
    page.stop()
    thread.join(5)
    close_server(server)
    assert not thread.is_alive()


def looking(page):
    """A connection of someone who looks at the page."""
    url = f"ws://127.0.0.1:{page._server.get_port()}"
    line = connect(url, subprotocols=[f"viser-v{viser.__version__}"], max_size=None)
    line.send(msgspec.msgpack.encode(CAMERA))
    return line


def say(line, page, name, value):
    """Give a control a value, as a browser does."""
    uuid = page._controls._values[name]._impl.uuid
    message = {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}}
    line.send(msgspec.msgpack.encode(message))


def until(holds, seconds=20.0):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_world_moves_while_someone_looks_and_stands_still_else(page):
    assert page._world.time == 0.0
    with looking(page):
        until(lambda: page._world.time > 0.1)
    until(lambda: not page._server.get_clients())
    time.sleep(0.1)
    stood = page._world.time
    time.sleep(0.2)
    assert page._world.time == stood


def test_a_paused_page_makes_single_steps(page):
    with looking(page) as line:
        until(lambda: page._world.time > 0.1)
        say(line, page, "paused", True)
        until(lambda: page._controls.asked().paused)
        time.sleep(0.1)
        steps = page._world.steps
        page._press("step", None)
        until(lambda: page._world.steps == steps + 1)


def test_a_pause_that_comes_just_as_the_page_stops_waiting_is_shown(page):
    class Late(threading.Event):
        """Somebody pauses between the end of a wait and what is done next."""

        late = False

        def wait(self, timeout=None):
            woken = super().wait(timeout)
            if self.late and not woken:
                self.late = False
                page._controls.toggle()
            return woken

    page._awake = Late()
    with looking(page):
        until(lambda: page._world.time > 0.1)
        page._awake.late = True
        until(lambda: "paused" in page._status.content, seconds=5.0)


def test_values_beyond_a_control_are_brought_within_it(page):
    with looking(page) as line:
        say(line, page, "mgl", 1e8)
        say(line, page, "size 0", -5)
        say(line, page, "body", "no such body")
        say(line, page, "scheme 0", "no such scheme")
        say(line, page, "dt", "fast")
        say(line, page, "tilt", [1, 2])
        say(line, page, "seed", 7)
        until(lambda: page._controls.setup().seed == 7)
    setup = page._controls.setup()
    assert (setup.mgl, setup.size[0], setup.body, setup.dt) == (50.0, 0.1, "box", 0.05)
    assert (setup.schemes[0], setup.tilt) == (OFF, 0.0)


def test_a_value_that_changes_while_it_is_looked_at_is_within_its_control_too(page):
    class Fickle:
        options, min, max = ("1", "2"), 0.0, 1.0

        def __init__(self, *values):
            self.values = itertools.cycle(values)

        value = property(lambda self: next(self.values))

    controls = copy.copy(page._controls)
    for speed, strength in ((("1", "x"), (0.5, math.nan)), (("x", "2"), (math.nan, 0.5))):
        changed = {"speed": Fickle(*speed), "strength": Fickle(*strength)}
        changed["curves"] = Fickle("2", "x")
        controls._values = page._controls._values | changed
        for _ in range(4):
            asked = controls.asked()
            assert asked.speed in (1.0, 2.0)
            assert asked.curves in ("1", "2")
            assert np.isfinite(controls.torque()).all()


def test_what_cannot_be_built_is_said_and_the_old_world_stays(page):
    with looking(page) as line:
        old = page._world
        say(line, page, "scheme 0", OFF)
        until(lambda: "integrator must name 1 to 3 schemes" in page._status.content)
        assert page._world is old
        say(line, page, "scheme 0", "akw")
        until(lambda: "akw" in page._status.content)
        assert "must" not in page._status.content


def test_the_command_ends_at_ctrl_c_and_says_where_it_was(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(page_module.Page, "run", interrupted)
    done = CliRunner().invoke(app, ["view", "--no-open", "--port", "0"])
    assert done.exit_code == 0
    assert done.stdout.startswith("rbgym: http://127.0.0.1:")
    assert done.stdout.endswith("rbgym: ended\n")


@pytest.mark.parametrize(("arguments", "says"), [
    (["--integrator", "quat_me"], "did you mean 'quat_em'"),
    (["--env", "RigidTop-v9"], "RigidTop"),
    (["--policy", "pd"], "policy must be left out without an env"),
    (["--dt", "0"], "dt must be a positive finite number"),
    (["--speed", "3"], "speed must be one of"),
    (["--port", "70000"], "port must be from 0 to 65535"),
    (["--inertia", "1,2"], "inertia must be 3 or 9 comma-separated numbers"),
    (["--inertia", "1,2,9"], "inertia"),
    (["--omega", "1,2,x"], "omega must be 3 comma-separated numbers"),
    (["--env", "AttitudeSlew-v0", "--policy", "b_dot"], "env must"),
])  # fmt: skip
def test_a_bad_option_is_one_line_on_stderr(arguments, says):
    done = CliRunner().invoke(app, ["view", "--no-open", *arguments])
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
