"""Tasks of CubeSats: what their pages say of times and momenta, the reward in tolerances, and what
one is shown that knows no attitude."""

import math

import numpy as np
import pytest

from family import SLEW, at, make, many
from orbits import ROUND, sun
from rbgym.agents import controllers
from rbgym.agents.judge import evaluate
from rbgym.envs.orbit import Orbit
from rbgym.envs.satellites import SATELLITES
from rbgym.quaternion import rotate, rotate_inverse
from refusals import refused

pytestmark = pytest.mark.interpreted

IDS = ["AttitudeSlew-v1", "ReactionWheelSlew-v1", "Detumble-v1", "InertialPointing-v0"]
DUMPING = "MomentumDumping-v0"


@pytest.mark.parametrize("env_id", [*IDS, DUMPING])
def test_the_dense_reward_counts_the_miss_in_tolerances(env_id):
    env = make(env_id)
    env.reset(seed=3)
    rng, task = np.random.default_rng(3), env.task
    for _ in range(20):
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        _, reward, _, _, info = env.step(action)
        rate = np.linalg.norm(env.state["angular_velocity"])
        square = (rate / task.rate) ** 2  # the targets are at rest
        if env_id != "Detumble-v1":
            q, target = env.state["quaternion"], env.state["target_quaternion"]
            square += (2 * math.acos(min(abs(q @ target), 1.0)) / task.angle) ** 2
        if env_id == DUMPING:
            square += np.sum((env.state["wheel_momentum"] / 1e-3) ** 2)
        s, effort = math.sqrt(square), 0.02 * np.mean(np.square(action, dtype=float))
        expected = 1 / (1 + 0.3 * (math.sqrt(1 + s) - 1) + effort)
        assert reward == pytest.approx(expected, rel=1e-5)
        assert info["reward_closeness"] == pytest.approx(reward)


def test_four_wheels_whose_momenta_cancel_are_not_empty():
    terms = {"success": 1.0, "closeness": 1.0}
    env = make(DUMPING, actuator=["pyramid", "magnetorquers"], reward=terms)
    full = {"wheel_momentum": 9e-3 * np.array([1, -1, 1, -1]), "target_quaternion": (1, 0, 0, 0)}
    at(env, (1, 0, 0, 0), **full)
    *_, info = env.step(np.zeros(7))
    assert info["reward_success"] == 0
    assert info["reward_closeness"] == pytest.approx(1 / (1 + 0.3 * (math.sqrt(19) - 1)))


def at_rest(env, angle):
    """The reward of a step without a command, turned away from the target by an angle [rad]."""
    q = (math.cos(angle / 2), math.sin(angle / 2), 0, 0)
    at(env, q, target_quaternion=(1, 0, 0, 0))
    return env.step(np.zeros(env.action_space.shape, dtype=np.float32))[1]


def test_the_edge_of_success_is_worth_less_than_the_goal_and_half_a_turn_has_a_slope():
    env = make("AttitudeSlew-v1")
    tolerance = env.task.angle
    assert at_rest(env, 0.0) == 1.0
    assert 0.85 < at_rest(env, tolerance) < 0.9
    # A policy that comes nearer by a tenth of the way gains, wherever it is.
    for angle in (math.pi, 1.0, 0.1, 0.02, tolerance):
        near, far = at_rest(env, 0.9 * angle), at_rest(env, angle)
        assert near - far > 0.004
    # That of AttitudeReach-v0 gains a hundredth of that half a turn away.
    other = make("AttitudeReach-v0")
    assert at_rest(other, 0.9 * math.pi) - at_rest(other, math.pi) < 1e-3


@pytest.mark.parametrize("seconds", [30.0, 120.0])
def test_who_goes_the_same_way_at_twice_the_rates_earns_more(seconds):
    env, times = make("AttitudeSlew-v1"), np.linspace(0.0, 1.0, 41)

    def earned(pace):
        """The mean reward on the way, a smooth turn by 2 rad in seconds / pace."""
        found = []
        for t in times:
            angle = 2.0 * (1.0 - t * t * (3.0 - 2.0 * t))
            rate = -12.0 * t * (1.0 - t) * pace / seconds
            state = {"target_quaternion": (1, 0, 0, 0), "angular_velocity": (rate, 0, 0)}
            at(env, (math.cos(angle / 2), math.sin(angle / 2), 0, 0), **state)
            found.append(env.step(np.zeros(3, dtype=np.float32))[1])
        return np.mean(found)

    assert 0.5 * earned(2.0) + 0.5 * at_rest(env, 0.0) > earned(1.0) + 0.1


def test_the_wheels_have_room_for_every_tumble_and_little_more():
    env = many("Detumble-v1", 512)
    env.reset(seed=5)
    wheels, state = env.actuator, env.state
    momentum = np.linalg.norm(state["angular_momentum"], axis=1)
    # What four wheels hold along a direction is what they can have of torque along it.
    holds = 1 / np.abs(wheels.envelope @ np.eye(3)[0]).max() * wheels.momentum
    needed = np.abs((state["angular_momentum"] @ wheels.envelope.T) / wheels.momentum).max(axis=1)
    assert holds == pytest.approx(0.0245, rel=1e-3)
    assert 0.6 < needed.max() < 1.0
    assert momentum.max() > 0.015


@pytest.mark.parametrize(
    ("env_id", "seconds"), [("AttitudeSlew-v1", 19), ("ReactionWheelSlew-v1", 27.5)]
)
def test_half_a_turn_takes_what_the_page_says(env_id, seconds):
    six = SATELLITES["cubesat-6u"]()
    slowness = six.body.moments[0] / six.torque_limit()[0]
    rate = math.sqrt(math.pi / slowness)
    if env_id == "ReactionWheelSlew-v1":
        rate = min(rate, six.wheels.filling_time / slowness)
    # Up to that rate and down again, and on with it in between.
    least = math.pi / rate + rate * slowness
    assert least == pytest.approx(seconds, abs=0.2)
    env = make(env_id)
    law = controllers.make("bang_bang", env)
    still = {"wheel_momentum": np.zeros(4)} if env_id == "ReactionWheelSlew-v1" else {}
    seen, info = at(env, (0, 1, 0, 0), target_quaternion=(1, 0, 0, 0), **still)
    time = 0.0
    while info["attitude_error"] > 0.1:
        seen, _, _, _, info = env.step(law.predict(seen)[0])
        time += env.dt
    assert 0.8 * least < time < 1.7 * least


@pytest.mark.compiled
def test_wheels_are_emptied_by_the_coils_alone_and_only_then_is_it_done():
    env = many(DUMPING, 8, max_episode_steps=2850)
    law = controllers.make("pd", env)
    for with_coils in (True, False):
        seen, info = env.reset(seed=1)
        begun = np.linalg.norm(env.unwrapped.state["wheel_momentum"], axis=1)
        state, done = None, np.zeros(8, dtype=bool)
        for _ in range(2849):
            action, state = law.predict(seen, state)
            action[:, 3:] *= with_coils
            seen, _, _, _, info = env.step(action)
            done |= info["is_success"]
            full = np.linalg.norm(env.unwrapped.state["wheel_momentum"], axis=1)
            assert not (info["is_success"] & (full > 1e-3)).any()
        assert (done == with_coils).all()
        if with_coils:
            assert (np.degrees(info["attitude_error"]) < 0.1).all()
            assert (full < 0.05 * begun).all()
        else:  # near rest in inertial space, though the wheels answer to coils that do not act
            assert (np.degrees(info["attitude_error"]) < 5).all()
            np.testing.assert_allclose(full, begun, rtol=0.05)


def test_who_turns_straight_meets_the_cone_and_ends_there():
    straight = evaluate("pd", "KeepOutSlew-v0", 16)
    assert straight.success_rate == 0.0
    # Ended, not out of time: a few seconds after the start.
    assert straight.length < 40
    # The cone costs, but does not end the episode; the slew is that of AttitudeSlew-v1.
    charged = evaluate("pd", "KeepOutSlew-v0", 16, difficulty="easy")
    assert charged.success_rate == 1.0
    assert charged.violating == 1.0


ACQUIRE, SAFE = "SunAcquisition-v0", "SafeMode-v0"


def test_the_goal_is_the_body_z_axis_along_the_sun():
    env = many(ACQUIRE, 30)
    _, info = env.reset(seed=2)
    turns = zip(env.state["season"], env.state["node"], strict=True)
    suns = [sun(math.tau * season, math.tau * node) for season, node in turns]
    axes = rotate(env.state["quaternion"], np.array([0.0, 0.0, 1.0]))
    angles = np.arccos(np.sum(axes * suns, axis=1))
    np.testing.assert_allclose(info["attitude_error"], angles, rtol=0, atol=1e-9)
    assert angles.min() < 0.6 < 2.5 < angles.max()


def test_a_magnetometer_alone_shows_the_field_with_its_noise():
    env = many(SAFE, 400)
    seen, _ = env.reset(seed=5)
    state, record = env.state, env.episodes.setup.orbit.record()
    phases = zip(state["orbit_phase"], state["earth_phase"], strict=True)
    field = rotate_inverse(state["quaternion"], np.array([record.field_at(*p) for p in phases]))
    error = seen * env.columns["magnetic_field"].factor - field
    assert np.std(error) == pytest.approx(math.hypot(1e-7, 1e-7), rel=0.1)  # noise and bias
    wild = many("MagneticDetumble-v1", 9, sensor={"magnetometer": {"noise": 1.0}})
    assert wild.reset(seed=1)[0] in wild.observation_space  # cut at the bound


def test_rates_are_hidden_with_the_attitude_where_no_gyro_is_fitted():
    cells = {"sensor": {"coarse_sun": {}}, "orbit": ROUND}
    assert "angular_velocity" in make(SLEW, **cells).columns
    assert [*make(SLEW, observation="hidden", **cells).columns] == ["coarse_sun"]
    cells["sensor"]["gyro"] = {}
    hidden = make(SLEW, observation="hidden", **cells)
    assert [*hidden.columns] == ["angular_velocity", "coarse_sun"]


def test_the_orbit_of_a_task_is_changed_key_by_key():
    orbit = make(ACQUIRE, orbit={"altitude": 700e3, "model": "igrf"}).episodes.setup.orbit
    assert orbit == Orbit(700e3, math.radians(97.5), model="igrf")
    single = Orbit(np.float32(7e5), np.float32(1.7), j2=np.True_)
    assert single.record() == Orbit(7e5, float(np.float32(1.7)), j2=True).record()


UNFLAGGED = {"star_tracker": {"flag": False}}


@refused(
    (SLEW, {"observation": "hidden", "sensor": UNFLAGGED}, "must have a column"),
    (SAFE, {"observation": "mrp"}, "observation must be 'hidden' in this task"),
    (SAFE, {"observation": "quaternion"}, "must be 'hidden' in this task, got 'quaternion'"),
)
def test_what_hides_everything_or_nothing_is_refused(env_id, kwargs):
    make(env_id, **kwargs)
