"""Torque from wheels: as much as a linear programme finds, the rest for the wheels' momenta, and
what takes these away."""

import itertools

import gymnasium as gym
import numpy as np
import pytest
from scipy.optimize import linprog

from family import at, quick
from laws import BODY
from rbgym.agents import controllers
from rbgym.agents.controllers import Allocated, AttitudePD
from rbgym.agents.judge import evaluate
from rbgym.envs.actuators import MagneticCoils, ReactionWheels, Torque
from refusals import refused

pytestmark = pytest.mark.interpreted

SKEW = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.6, 0.0, 0.8))
SMOOTH = {"torque": 0.1, "momentum": 3.0, "viscous": 0.0, "coulomb": 0.0}
CLUSTERS = {
    "three": ReactionWheels(**SMOOTH),
    "pyramid": ReactionWheels.pyramid(**SMOOTH),
    "flat pyramid": ReactionWheels.pyramid(0.3, **SMOOTH),
    "three and one in their plane": ReactionWheels(SKEW, **SMOOTH),
    "two alike": ReactionWheels((*SKEW[:3], SKEW[0]), **SMOOTH),
}
each_cluster = pytest.mark.parametrize("wheels", CLUSTERS.values(), ids=CLUSTERS)


def allocated(wheels, **kwargs):
    law = AttitudePD(BODY, [1e9] * 3, rate_limit=1.0, dt=0.1, frequency=1.0)
    return Allocated(law, wheels, **kwargs)


def directions(count):
    e = np.random.default_rng(0).normal(size=(count, 3))
    return e / np.linalg.norm(e, axis=1, keepdims=True)


def smallest_largest(A, u):
    """The smallest m with A c = u and |c_i| <= m, as a linear programme."""
    wheels = A.shape[1]
    rows = np.ones((wheels, 1))
    above = np.block([[np.eye(wheels), -rows], [-np.eye(wheels), -rows]]), np.zeros(2 * wheels)
    equal = np.column_stack([A, np.zeros(3)]), u
    bounds = [(None, None)] * wheels + [(0, None)]
    return linprog([0.0] * wheels + [1.0], *above, *equal, bounds).fun


@each_cluster
def test_no_allocation_has_a_smaller_largest_torque_nor_gives_more_in_a_direction(wheels):
    law, A = allocated(wheels), wheels.matrix
    for e in directions(40):
        least = smallest_largest(A, e)
        assert np.abs(wheels.envelope @ e).max() == pytest.approx(least, rel=1e-9)
        # Just as much as there is, whatever the wheels' momenta ask for; twice that is shortened.
        for size in (1.0, 2.0):
            u = size * wheels.torque / least * e
            c = law.allocate(u[None], np.full((1, A.shape[1]), 0.3))
            assert np.abs(c).max() <= 1 + 1e-9
            np.testing.assert_allclose(A @ c[0], e / least, rtol=0, atol=1e-9)


def test_the_envelope_is_the_hull_of_what_commands_of_full_size_give():
    wheels = CLUSTERS["pyramid"]
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=4))) @ wheels.matrix.T
    assert np.abs(corners @ wheels.envelope.T).max() == pytest.approx(1.0)
    assert (np.isclose(np.abs(corners @ wheels.envelope.T), 1.0).sum(axis=0) >= 8).all()
    most = 1 / np.abs(directions(200_000) @ wheels.envelope.T).max(axis=1)
    assert most.min() == pytest.approx(np.sqrt(8 / 3), rel=1e-3)  # 1.63
    assert most.max() == pytest.approx(4 / np.sqrt(3), rel=1e-3)  # 2.31
    by_squares = 1 / np.abs(directions(200_000) @ np.linalg.pinv(wheels.matrix).T).max(axis=1)
    lost = 1 - by_squares / most
    assert lost.mean() == pytest.approx(0.13, abs=0.005)
    assert lost.max() == pytest.approx(1 / 3, abs=0.01)


@each_cluster
def test_within_the_limits_the_squares_are_least_and_wheels_that_fight_come_to_rest(wheels):
    law, A = allocated(wheels), wheels.matrix
    u = 0.3 * wheels.torque * directions(40)
    still, turning = np.zeros((40, A.shape[1])), 0.02 * np.ones((40, A.shape[1]))
    c = law.allocate(u, still) * wheels.torque
    np.testing.assert_allclose(c, u @ np.linalg.pinv(A).T, rtol=0, atol=1e-12)
    relieved = law.allocate(u, turning)
    np.testing.assert_allclose(relieved @ A.T * wheels.torque, u, rtol=0, atol=1e-12)
    idle = np.eye(A.shape[1]) - np.linalg.pinv(A) @ A
    np.testing.assert_allclose(relieved - c / wheels.torque, turning @ idle, rtol=0, atol=1e-12)


def test_wheels_that_were_fighting_are_at_rest_and_the_body_does_not_notice():
    smooth = {"pyramid": {"viscous": 0.0, "coulomb": 0.0, "start": 0.0}}
    env = gym.make("ReactionWheelSlew-v1", **quick("ReactionWheelSlew-v1", actuator=smooth))
    fighting = 0.01 * np.array([1.0, -1.0, 1.0, -1.0])
    seen, info = at(env, (1, 0, 0, 0), wheel_momentum=fighting)
    law = controllers.make("pd", env)
    for step in range(300):
        seen, *_, info = env.step(law.predict(seen)[0])
        if step == 99:  # 10 s, of which each takes a tenth away
            early = np.abs(info["wheel_momentum"]).max()
    assert early == pytest.approx(0.01 * np.exp(-0.1 * 100 * env.unwrapped.dt), rel=0.02)
    assert np.abs(info["wheel_momentum"]).max() < 0.01 * 0.06
    np.testing.assert_allclose(
        np.abs(env.unwrapped.state["angular_velocity"]), 0.0, rtol=0, atol=1e-6
    )


def test_wheels_full_of_momentum_turn_the_body_no_faster_than_they_can_hold():
    """At a rate w wheels with the momentum h need the torque w x h, of which they have 0.1."""
    law = allocated(CLUSTERS["three"])
    for rate, kept in ((0.01, 1.0), (0.05, 1.0), (0.075, 0.5), (0.1, 0.0), (0.2, 0.0)):
        omega, coupling = np.array([[rate, 0.0, 0.0]]), np.array([[0.0, 0.0, rate * 1.0]])
        faster, slower = np.array([[0.03, 0.01, 0.02]]), np.array([[-0.03, 0.01, 0.02]])
        found = law.limit_power(faster, omega, coupling)
        np.testing.assert_allclose(found, [[kept * 0.03, 0.01, 0.02]], rtol=0, atol=1e-15)
        np.testing.assert_array_equal(law.limit_power(slower, omega, coupling), slower)


@pytest.mark.parametrize("out", range(4))
def test_told_of_a_wheel_that_is_out_three_make_the_torque_that_three_can(out):
    wheels = CLUSTERS["pyramid"]
    law = allocated(wheels, out=out)
    Allocated(law.law, wheels)  # leaves the law to the three
    left = np.delete(wheels.matrix, out, axis=1)
    for e in directions(20):
        least = smallest_largest(left, e)
        assert np.abs(law.law.envelope @ e).max() * wheels.torque == pytest.approx(least, rel=1e-9)
        c = law.allocate((wheels.torque / least * e)[None], np.full((1, 4), 0.3))[0]
        assert c[out] == 0.0
        assert np.abs(c).max() <= 1 + 1e-9
        np.testing.assert_allclose(wheels.matrix @ c, e / least, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["pd", "bang_bang", "lqr"])
def test_a_law_that_is_told_slews_by_three_wheels_and_one_that_is_not_stays_off(name):
    found = {}
    for out in (None, 1):
        env = gym.make_vec("ReactionWheelSlew-v1", num_envs=4)
        law = controllers.make(name, env, out=out)
        seen, _ = env.reset(seed=0)
        for _ in range(120):
            action = law.predict(seen)[0]
            action[:, 1] = 0.0  # stuck
            seen, *_, info = env.step(action)
        found[out] = info["attitude_error"].max()
    assert found[1] < min(2e-3, 0.5 * found[None])


@refused(
    ("ReactionWheelSlew-v1", 4, "out must be None, or one of 0 to 3 of four wheels, got 4"),
    ("ReactionWheelSlew-v1", True, "out must be None, .*, got True"),
    ("ReactionWheelSlew-v1", 2.0, "out must be None, .*, got 2.0"),
    ("InertialPointing-v0", 0, "of four wheels, got 0"),  # which has three
    ("AttitudeSlew-v1", 0, "gains of 'pd' must have keys from .*, got 'out'"),
)
def test_a_wheel_that_cannot_be_done_without_is_refused(env_id, out):
    controllers.make("pd", gym.make(env_id), out=out)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["pd", "lqr", "bang_bang", "quaternion_feedback"])
def test_a_heavy_body_whose_wheels_hold_momentum_is_turned_in_time(name):
    wheels = {"torque": 0.1, "momentum": 4.0, "inertia": 6e-3, "coulomb": 1e-3, "start": 0.3}
    heavy = {"body": {"inertia": [20.0, 18.0, 15.0]}, "wheels": wheels, "dt": 0.5}
    found = evaluate(name, "ReactionWheelSlew-v1", episodes=128, satellite=heavy)
    assert found.success_rate == 1.0  # without that: 0.95, 0.94, 0.95, 1.00


TURNING = ReactionWheels.pyramid(start=0.8, viscous=0.0, coulomb=0.0)


def pointed(other, steps, lanes=16):
    """An env after so many steps of `pd` from near its target, and |L| before each."""
    how = {"dt": 0.5, "max_episode_steps": -1, "success": {"seconds": 1e6}}
    how |= {"initial": {"angle": 0.01}, "actuator": [TURNING, other]}
    env = gym.make_vec("AttitudeSlew-v1", num_envs=lanes, **how)
    law = controllers.make("pd", env)
    (seen, _), memory, sizes = env.reset(seed=1), None, []
    for _ in range(steps):
        sizes.append(np.linalg.norm(env.unwrapped.state["angular_momentum"], axis=1))
        actions, memory = law.predict(seen, memory)
        seen, _, terminated, _, info = env.step(actions)
        assert not terminated.any()
    return env.unwrapped, law, np.array(sizes), info


def test_thrusters_take_away_the_same_part_of_the_momentum_in_each_period():
    env, law, sizes, info = pointed(Torque(), 200)
    assert (np.abs(info["applied_torque"]) < env.torque_limit).all()  # nothing was cut
    decay = (1.0 - law.rate * env.dt) ** 100
    np.testing.assert_allclose(sizes[-1] / sizes[-101], decay, rtol=0.01)
    assert np.degrees(info["attitude_error"]).max() < 0.02  # the wheels know what the others do


def test_the_torque_of_coils_is_that_of_the_momentum_across_the_field():
    env, law, _, _ = pointed(MagneticCoils(dipole=100.0), 20)
    seen = np.random.default_rng(0).uniform(-1.0, 1.0, (16, 14))
    seen[:, :7] = (1, 0, 0, 0, 0, 0, 0)
    moments = 100.0 * law.predict(seen)[0][:, 4:]
    B = seen[:, 11:] * 2.0 * env.actuator.other.field
    along = B / np.linalg.norm(B, axis=1, keepdims=True)
    h = seen[:, 7:11] * TURNING.momentum @ TURNING.matrix.T
    across = h - np.sum(h * along, axis=1, keepdims=True) * along
    np.testing.assert_allclose(np.cross(moments, B), -law.rate * across, rtol=1e-4, atol=1e-12)
    orbit = env.actuator.other.around  # slower than a tenth of what fills a wheel
    assert law.rate == pytest.approx(2.0 * orbit.rate * (1.0 + np.sin(orbit.inclination)))


def test_a_law_has_the_torque_of_the_wheels_whatever_thrusters_have():
    env = gym.make("AttitudeSlew-v1", actuator=[TURNING, Torque()], torque_limit=7.0)
    law = controllers.make("pd", env)
    np.testing.assert_allclose(law.law.law.limits, TURNING.torque * TURNING.shares)
    np.testing.assert_array_equal(law.most, [7.0] * 3)
    with pytest.raises(ValueError, match="rate must be"):
        controllers.Unloading(law.law, Torque(), law.most, rate=-1.0)
    with pytest.raises(ValueError, match="observation must have at least 11 columns"):
        law.predict(np.zeros(10))
    for most in (-1.0, [1.0, 2.0], np.nan, "x"):
        with pytest.raises(ValueError, match="most must"):
            controllers.Unloading(law.law, Torque(), most)


def test_about_an_axis_without_thrusters_nothing_is_commanded():
    env = gym.make("AttitudeSlew-v1", actuator=[TURNING, Torque()], torque_limit=[0.05, 0.05, 0.0])
    seen, _ = env.reset(seed=0)
    action, _ = controllers.make("pd", env).predict(seen)
    assert np.isfinite(action).all()
    assert action[6] == 0.0
