"""A goal, a start, a sensor and an actuator of one's own, each one class, in a task."""

from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from checks import check_vector_env
from rbgym.agents import controllers
from rbgym.agents.export import export_c
from rbgym.agents.policies import Network
from rbgym.compiled.record import constant
from rbgym.engine.actuation import act
from rbgym.envs.actuators import Effector, Lag
from rbgym.envs.actuators.driven import Driven
from rbgym.envs.arguments import Arguments
from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.building import Building
from rbgym.envs.parts.columns import Column
from rbgym.envs.parts.goals import Gap, Goal
from rbgym.envs.parts.observations import Both, More
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Start
from rbgym.envs.parts.uncertainty import Sensor
from rbgym.envs.rows import Key
from rbgym.envs.task import Task
from rbgym.quaternion import dot, scale, sub
from rbgym.registration import ENVIRONMENTS, register
from rbgym.rows import LANES, put_vector
from refusals import refused

pytestmark = pytest.mark.interpreted


class Roll(Goal):
    """A rate about the body's x axis, drawn by the start and kept in a row."""

    least: float
    angle_off = ""

    def rows_needed(self, physics):
        return 1

    def compare(self, rows, buffer, i, q, omega):
        wanted = (buffer[i + rows.goal_row() * LANES], 0.0, 0.0)
        gap = sub(omega, wanted)
        return Gap(0.0, dot(gap, gap), wanted, q)

    def put_spin(self, rows, buffer, i, spin):
        buffer[i + rows.goal_row() * LANES] = max(spin, self.least)

    def sketch(self, instant):
        yield f"rolls at {instant.state['angular_velocity'][0]:.3f} rad/s"


class Level(Start):
    """Level, with rates uniform in [-drift, drift] rad/s; the roll wanted is uniform to `roll`."""

    drift: float = 0.0
    roll: float = 1.0

    def draw(self, rows, buffer, i, a, b, c):
        rows.parts.goal.put_spin(rows, buffer, i, self.roll * b[0])
        rates = (2.0 * a[0] - 1.0, 2.0 * a[1] - 1.0, 2.0 * a[2] - 1.0)
        return (1.0, 0.0, 0.0, 0.0), scale(self.drift, rates)

    def ranges(self, rate_limit):
        return {"drift": (0.0, 0.1 * rate_limit)}


class Doubled(Sensor):
    factor: float

    def measure(self, rows, buffer, i, q, relative, omega):
        return q, relative, scale(self.factor, omega)


class Push(Driven):
    """A torque about x, `full` [N m] times the command."""

    line: Any
    full: float

    def channels(self):
        return 1

    def exert(self, physics, buffer, i, c, h):
        torque = self.mounted(physics, buffer, i, (self.full * c[0], 0.0, 0.0))
        put_vector(buffer, i, self.acting_row(physics), torque)
        act(physics, buffer, i, torque)


@dataclass(frozen=True)
class Pusher(Effector):
    """One jet pair about x, of `full` N m."""

    full: float = 0.1
    positive = ("full",)

    def record(self, setting, line):
        return Push(line, setting.scale * self.full)

    def largest(self, setting):
        return np.array([setting.scale * self.full, 0.0, 0.0])


class RollEnv(AttitudeEnv):
    """Roll a disc."""

    task = Task(
        body=lambda: rbgym.RigidBody(inertia=[0.5, 0.4, 0.3]),
        torque=0.1,
        actuator=Pusher(),
        start=Level(drift=0.1),
        goal=Roll(0.25),
        sensor=Doubled(2.0),
        dt=0.1,
        substeps=1,
        rate=0.05,
        rate_limit=3.0,
        shape=Closeness(scale=1.0, rate_weight=1.0, effort_weight=0.02),
        difficulty={"hard": {"initial": {"drift": 0.3}}},
        categories={"any": {}, "still": {"drift": 0.0}},
    )


RollVectorEnv = vectorised(RollEnv)


@pytest.fixture(scope="module", autouse=True)
def registered():
    """The task, for as long as these tests take: others go through the registry."""
    register("Roll-v0", __name__, "Roll", max_episode_steps=50)
    yield
    del ENVIRONMENTS["Roll-v0"], gym.registry["Roll-v0"]


def make(**kwargs):
    return gym.make("Roll-v0", **kwargs).unwrapped


def test_a_task_of_own_parts_keeps_the_contract_of_single_and_vector():
    check_vector_env("Roll-v0", modes=[gym.vector.AutoresetMode.SAME_STEP])


def test_the_kernel_asks_the_goal_the_start_and_the_sensor():
    env = make(initial={"drift": 0.2})
    observation, info = env.reset(seed=3)
    omega = env.state["angular_velocity"]
    assert 0 < np.abs(omega).max() <= 0.2
    np.testing.assert_allclose(observation[4:7], 2.0 * omega / 3.0, rtol=1e-6)
    wanted = env.episodes.batch.rows(env.episodes.rows.goal_row(), 1)[0, 0]
    assert 0.25 <= wanted <= 1.0
    assert info["rate_error"] == pytest.approx(np.linalg.norm(omega - [wanted, 0, 0]))
    assert info["attitude_error"] == 0.0


def test_the_actuator_acts_and_takes_a_line_and_a_scale():
    cases = ({}, 0.1), ({"torque_scale": 2.0}, 0.2), ({"actuator": Lag(0.1)}, None)
    for kwargs, expected in cases:
        env = make(initial={"drift": 0.0}, **kwargs)
        env.reset(seed=0)
        info = env.step(np.ones(1))[4]
        gained = 0.5 * env.state["angular_velocity"][0] / env.dt
        assert info["applied_torque"][0] == pytest.approx(gained)
        assert gained == pytest.approx(expected) if expected else 0 < gained < 0.1
    assert env.actuator == Pusher()
    np.testing.assert_array_equal(env.torque_limit, [0.1, 0.0, 0.0])


def test_a_difficulty_leaves_the_task_itself_to_its_arguments():
    task = replace(RollEnv.task, difficulty={"hard": {"rate_limit": 9.0}})
    with pytest.raises(ValueError, match=r"difficulty of a task must not say \['rate_limit'\]"):
        task.resolve({"difficulty": "hard"})


def test_randomisation_and_difficulty_take_it_up():
    env = gym.make_vec("Roll-v0", num_envs=64, randomization={"inertia": 0.2}, difficulty="hard")
    env.reset(seed=1)
    batch = env.unwrapped.episodes.batch
    assert len(np.unique(batch.rows(11, 1))) == 64
    assert 0.2 < np.abs(env.unwrapped.state["angular_velocity"]).max() <= 0.3
    with pytest.raises(ValueError, match="actuator_scale, not torque, with Pusher"):
        make(randomization={"torque": 0.1})


def test_a_frame_is_drawn_with_what_the_goal_adds(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    from rbgym.envs.rendering import scene_of

    env = make(render_mode="rgb_array", initial={"drift": 0.0})
    env.reset(seed=0)
    assert env.render().shape == (480, 480, 3)
    assert "rolls at 0.000 rad/s" in scene_of(env).caption.notes


class Unfinished(Goal):
    """A goal that says nothing of how far a body is off."""


class Nowhere(Start):
    """A start that draws nothing."""


class Silent(Driven):
    line: Any

    def channels(self):
        return 1


class SilentPusher(Pusher):
    def record(self, setting, line):
        return Silent(line)


@refused(
    ({"initial": {"drift": 0.4}}, r"initial\['drift'\] must be in \[0, 0.3\]"),
    ({"initial": {"roll": 3.5}}, r"initial\['roll'\] must be in \[0, 3\]"),
    ({"initial": {"drit": 0.1}}, "did you mean 'drift'"),
    ({"sensor": Level()}, "sensor must be a"),
    ({"actuator": "wheel"}, "actuator must be one of"),
)
def test_values_out_of_range_are_refused(kwargs):
    make(**kwargs)


def test_a_law_of_three_torques_is_refused_an_actuator_of_one_command():
    env = gym.make("AttitudeSlew-v1", actuator=Pusher())
    assert controllers.for_env(env) == ["idle"]
    with pytest.raises(ValueError, match=r"env must take 3 commands, .*Pusher.*, which takes 1"):
        controllers.make("pd", env)


class Airspeed(More):
    def width(self):
        return 2

    def write_more(self, rows, buffer, i, k, q, wanted):
        buffer[k], buffer[k + LANES] = 0.25, -0.5

    def columns(self):
        return (Column("airspeed", 2, unit="m/s", frame="wing axes", scale=40.0, low=(0.0, -1.0)),)


class Unsaid(More):
    """Half of what there is."""

    def width(self):
        return 1

    def write_more(self, rows, buffer, i, k, q, wanted):
        buffer[k] = 0.5


class Wide(Unsaid):
    """Says another number of columns than it writes."""

    def columns(self):
        return (Column("wide", 2),)


@dataclass(frozen=True)
class Jets(Pusher):
    def commands(self, limits, strength):
        return (Column("jet_torque", unit="N m", frame="body x axis", scale=strength * self.full),)


class SeeingEnv(AttitudeEnv):
    """Roll a disc, and see more."""

    task = replace(RollEnv.task, more=Both(Airspeed(), Unsaid()), actuator=Jets())


def test_what_an_own_part_says_of_its_columns_stands_everywhere(tmp_path):
    env = SeeingEnv(torque_scale=2.0)
    told = export_c(tmp_path, Network.random((10, 1), 0), env)
    speed, silent = told["observation"][2:]
    expected = {"first": 7, "name": "airspeed", "size": 2, "unit": "m/s", "frame": "wing axes",
                "scale": [40.0, 40.0], "low": [0.0, -1.0], "high": [1.0, 1.0]}  # fmt: skip
    assert speed == expected
    assert (silent["name"], silent["first"], silent["unit"]) == ("Unsaid", 9, "")
    assert silent["what"] == "Half of what there is."
    (jets,) = told["action"]
    assert (jets["name"], jets["unit"], jets["scale"]) == ("jet_torque", "N m", [0.2])
    assert env.observation_space.low[7:].tolist() == [0.0, -1.0, -1.0]
    seen, _ = env.reset(seed=0)
    column = env.columns["airspeed"]
    assert (column.first, column.unit, column.frame) == (7, "m/s", "wing axes")
    np.testing.assert_allclose(seen[column.place] * column.scale, [10.0, -20.0])


class Noisy(More):
    """Uses a noise key that no sensor has asked for."""

    is_noisy = constant(True)


class OnOrbit(Unsaid):
    is_on_orbit = constant(True)


class Shaky(Doubled):
    def measure(self, rows, buffer, i, q, relative, omega):
        return q, relative, scale(rows.noise_key(buffer, i), omega)


class Horizon(Doubled):
    def extra(self):
        return OnOrbit()


class Forgetful(Pusher):
    def state_keys(self):
        return {"fuel": Key(0, 1)}


class Timed(Roll):
    def state_keys(self):
        return {"time": Key(0, 1)}


@refused(
    ({"goal": Unfinished()}, r"goal must be of a class with the methods compare\(self, rows"),
    ({"start": Nowhere()}, r"start must be of a class with the methods draw\(self, rows"),
    ({"goal": 3}, "goal must be a Goal, got 3"),
    ({"start": (1.0,)}, "start must be a Start"),
    ({"shape": Level()}, "shape must be a Shape"),
    ({"actuator": SilentPusher()}, "exert"),
    ({"more": Noisy()}, "is_noisy must be True of the sensor or disturbance"),
    ({"more": OnOrbit()}, "orbit must be given with a part that is on an orbit"),
    ({"sensor": Horizon(2.0)}, "orbit must be given with a part that is on an orbit"),
    ({"sensor": Shaky(2.0)}, r"is_noisy must be constant\(True\) in Shaky"),
    ({"actuator": Forgetful()}, "effector_rows must be at least 1, as state_keys of Forgetful"),
    ({"goal": Timed(0.25)}, r"state_keys must be other names than \['time'\]"),
)
def test_what_an_own_part_lacks_or_may_not_have_is_named_when_an_env_is_made(changed):
    Building(replace(RollEnv.task, **changed), 1, None, Arguments()).build()


def test_the_memory_of_an_own_goal_begins_anew_with_a_given_state():
    env, given = make(), {"quaternion": (1, 0, 0, 0), "angular_velocity": (0, 0, 0)}
    env.reset(seed=3)  # draws a wanted rate
    assert env.reset(seed=3, options={"state": given})[1]["rate_error"] == 0.0


@refused(
    (Wide(), "columns must be as many as width says, 8, got"),
    (Both(Unsaid(), Unsaid()), "columns must have different names, got 'Unsaid' twice"),
)
def test_columns_that_contradict_what_is_written_are_refused(more):
    type("WrongEnv", (AttitudeEnv,), {"task": replace(RollEnv.task, more=more)})()


@refused(
    ({"name": ""}, "Column.name must be"),
    ({"unit": 3}, "Column.unit must be"),
    ({"size": 0}, "Column.size must be a positive integer"),
    ({"size": 2, "low": (0.0, 0.0, 0.0)}, r"Column.low must have shape \(\) or \(2,\)"),
    ({"scale": np.nan}, "Column.scale must have shape"),
)
def test_a_wrong_column_is_refused(kwargs):
    Column(**{"name": "x", **kwargs})


def test_a_field_with_the_name_of_a_method_is_refused_and_forgotten():
    for _ in range(2):  # the same class again: the first left no trace
        with pytest.raises(TypeError, match=r"Wrong.compare must have .* of methods"):
            type("Wrong", (Start,), {"__annotations__": {"compare": float}})
    with pytest.raises(TypeError, match=r"Late.mgl must have .* a field of HeavyTop"):
        type("Late", (Start,), {"mgl": lambda self: 0.0})
