"""The page without a browser: a bare WebSocket looks at it, and speaks as a browser would."""

import random
import threading
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import view_client
from rbgym.agents.commands.cli import app
from rbgym.agents.view import page as page_module
from rbgym.agents.view.page import Page
from rbgym.agents.view.server import close_server, open_server
from rbgym.agents.view.simulation import Scenario, Simulation, TaskRun
from rbgym.envs.rendering import scene_of
from view_client import until

# Controls whose change compiles something first.
SLOW = ("env_id", "scheme", "policy", "mgl")


@pytest.fixture
def page():
    server = open_server("127.0.0.1", 0)
    page = Page(server, Scenario(schemes=("quat_em",)))
    thread = threading.Thread(target=page.run)
    thread.start()
    until(lambda: "t = " in page._legend.content, seconds=60)
    yield page
    assert thread.is_alive()
    page.stop()
    thread.join(60)
    close_server(server)
    assert not thread.is_alive()


def looking(page):
    return view_client.looking(page._server.get_port())


def uuid(page, name):
    return page.controls._handles[name]._impl.uuid


def say(line, page, name, value):
    """Give a control a value, as a browser does."""
    line.send(view_client.update(uuid(page, name), value))


def assert_serves(page):
    """Someone who looks sees the bodies move, and can stop them."""
    with looking(page) as line:
        for name, value in (("paused", False), ("speed", "1"), ("dt", 0.02), ("size x", 1.0)):
            say(line, page, name, value)
        until(lambda: page.controls.scenario().dt == 0.02 and page.simulation.dt == 0.02)
        before = page.simulation.steps
        until(lambda: page.simulation.steps > before + 5)
        say(line, page, "paused", True)
        until(lambda: page.controls.value("paused"))


def test_bodies_move_while_someone_looks_stand_still_else_and_make_single_steps_if_paused(page):
    assert page.simulation.time == 0.0
    with looking(page):
        until(lambda: page.simulation.time > 0.1)
    until(lambda: not page._server.get_clients())
    time.sleep(0.1)
    stood = page.simulation.time
    time.sleep(0.2)
    assert page.simulation.time == stood
    with looking(page) as line:
        say(line, page, "paused", True)
        until(lambda: page.controls.value("paused"))
        time.sleep(0.1)
        steps = page.simulation.steps
        page._pressed.put("step")
        until(lambda: page.simulation.steps == steps + 1)


def test_values_beyond_a_control_are_brought_within_it(page):
    with looking(page) as line, looking(page) as other:
        say(line, page, "tilt", 1e8)
        say(line, page, "size x", -5)
        say(line, page, "rates z", float("nan"))
        say(line, page, "body", "no such body")
        say(line, page, "scheme 0", "no such scheme")
        say(line, page, "seed", 1e30)
        until(lambda: page.controls._handles["seed"].value == 999)
        assert other.ping().wait(30)  # it is still connected
    scenario = page.controls.scenario()
    assert (scenario.tilt, scenario.size[0], scenario.body) == (180.0, 0.1, "box")
    assert (scenario.rates[2], scenario.schemes) == (-40.0, ())
    page.controls.next_seed()
    assert page.controls.scenario().seed == 1000


def pushed_steps(line, page, dt):
    """For how many steps of dt seconds a key pushes, on a page that was paused."""
    say(line, page, "dt", dt)
    until(lambda: page.simulation.dt == dt)
    simulation, made = page.simulation, []
    advance = simulation.advance
    simulation.advance = lambda n: made.append((n, simulation._torque[2] != 0)) or advance(n)
    page.controls.kick(2, 1)
    assert page.controls.torque().tolist() == [0.0, -0.5, 2.0]
    say(line, page, "paused", False)
    until(lambda: sum(n for n, _ in made) > 20)
    say(line, page, "paused", True)
    until(lambda: page.controls.value("paused"))
    return sum(n for n, pushed in made if pushed)


def test_a_push_is_that_of_the_sliders_and_of_keys_until_they_are_released(page):
    with looking(page) as line:
        say(line, page, "paused", True)
        say(line, page, "strength", 2.0)
        say(line, page, "torque y", -0.25)
        until(lambda: page.controls.torque().tolist() == [0.0, -0.5, 0.0])
        say(line, page, "speed", "100")
        assert [pushed_steps(line, page, dt) for dt in (0.2, 0.05)] == [1, 5]
        strength = page.simulation.runs[0].strength
        until(lambda: page.simulation.runs[0].snapshot().torque[1] == -0.5 * strength)
        page.controls.release()
        assert page.controls.torque().tolist() == [0.0, 0.0, 0.0]


def test_what_cannot_be_built_is_said_and_what_was_there_stays(page):
    with looking(page) as line:
        old = page.simulation
        say(line, page, "scheme 0", "off")
        until(lambda: "integrator must name 1 to 3 schemes" in page._legend.content)
        assert page.simulation is old
        say(line, page, "scheme 0", "akw")
        until(lambda: "akw" in page._legend.content)
        assert "must" not in page._legend.content


def test_the_page_goes_on_under_a_flood_of_wishes(page):
    names = [name for name in page.controls._handles if not name.startswith(SLOW)]
    port, draw = page._server.get_port(), random.Random(5)
    view_client.press_hard(port, draw, [uuid(page, name) for name in names], 1000)
    assert_serves(page)


def test_an_error_in_the_midst_of_the_page_is_shown_and_the_page_goes_on(page, monkeypatch, caplog):
    def broken(*_):
        raise ZeroDivisionError("of this test")

    with monkeypatch.context() as patched, looking(page):
        patched.setattr(page, "_advance", broken)
        until(lambda: "of this test" in page._legend.content)
        time.sleep(0.6)
    assert len([line for line in caplog.records if "continues after" in line.message]) == 1
    assert_serves(page)


def test_a_camera_without_a_picture_troubles_nobody(page, caplog):
    with looking(page) as line:
        until(lambda: len(page._server.get_clients()) == 1)
        line.send(view_client.pack({**view_client.CAMERA, "image_height": 0}))
        say(line, page, "scheme 2", "quat_em")
        until(lambda: len(page.simulation.runs) == 2)
        assert_serves(page)
    assert not caplog.records


def test_the_command_ends_at_ctrl_c_and_says_where_it_was(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(page_module.Page, "run", interrupted)
    done = CliRunner().invoke(app, ["view", "--no-open", "--port", "0"])
    assert done.exit_code == 0
    assert done.stdout.startswith("rbgym: http://127.0.0.1:")
    assert done.stdout.endswith("rbgym: ended\n")


def test_a_ghost_is_at_the_dock_and_a_trace_follows_the_size_of_the_body(page):
    for env_id in ("TumblingCapture-v0", "ScalableSpin-v0"):
        simulation = Simulation([TaskRun(env_id, seed=3)])
        page._scene.start(simulation)
        simulation.advance(9)
        page._scene.update(simulation, traced=True)
        (body,), scene = page._scene._bodies, scene_of(simulation.runs[0]._player.env)
        if body._goal is not None:
            assert np.allclose(body._goal.position * body._radius, scene.goal.position)
        tip = body._line.points[-1, 1] * body._radius - scene.body.position
        reach = scene.body.scale * np.abs(scene.body.mesh.vertices).max()
        assert np.linalg.norm(tip) == pytest.approx(reach, rel=1e-4)
