"""Wheels' momentum taken away by coils or thrusters, while a law points."""

import gymnasium as gym
import numpy as np
import pytest

from rbgym.agents import controllers
from rbgym.envs.actuators import MagneticCoils, ReactionWheels, Torque

pytestmark = pytest.mark.interpreted

SMOOTH = ReactionWheels.pyramid(start=0.8, viscous=0.0, coulomb=0.0)


def flown(other, steps, lanes=16):
    """An env after so many steps of `pd` from near its target, and |L| before each."""
    how = {"dt": 0.5, "max_episode_steps": -1, "success": {"seconds": 1e6}}
    how |= {"initial": {"angle": 0.01}, "actuator": [SMOOTH, other]}
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
    env, law, sizes, info = flown(Torque(), 200)
    assert (np.abs(info["applied_torque"]) < env.torque_limit).all()  # nothing was cut
    decay = (1.0 - law.rate * env.dt) ** 100
    np.testing.assert_allclose(sizes[-1] / sizes[-101], decay, rtol=0.01)
    assert np.degrees(info["attitude_error"]).max() < 0.02  # the wheels know what the others do


def test_the_torque_of_coils_is_that_of_the_momentum_across_the_field():
    env, law, _, _ = flown(MagneticCoils(dipole=100.0), 20)
    seen = np.random.default_rng(0).uniform(-1.0, 1.0, (16, 14))
    seen[:, :7] = (1, 0, 0, 0, 0, 0, 0)
    moments = 100.0 * law.predict(seen)[0][:, 4:]
    B = seen[:, 11:] * 2.0 * env.actuator.other.field
    along = B / np.linalg.norm(B, axis=1, keepdims=True)
    h = seen[:, 7:11] * SMOOTH.momentum @ SMOOTH.matrix.T
    across = h - np.sum(h * along, axis=1, keepdims=True) * along
    np.testing.assert_allclose(np.cross(moments, B), -law.rate * across, rtol=1e-4, atol=1e-12)


def test_a_law_has_the_torque_of_the_wheels_whatever_thrusters_have():
    env = gym.make("AttitudeSlew-v1", actuator=[SMOOTH, Torque()], torque_limit=7.0)
    law = controllers.make("pd", env)
    np.testing.assert_allclose(law.law.law.limits, SMOOTH.torque * SMOOTH.shares)
    np.testing.assert_array_equal(law.most, [7.0] * 3)
    with pytest.raises(ValueError, match="rate must be"):
        controllers.Unloading(law.law, Torque(), law.most, rate=-1.0)
    with pytest.raises(ValueError, match="observation must have at least 11 columns"):
        law.predict(np.zeros(10))
    for most in (-1.0, [1.0, 2.0], np.nan, "x"):
        with pytest.raises(ValueError, match="most must"):
            controllers.Unloading(law.law, Torque(), most)


def test_about_an_axis_without_thrusters_nothing_is_commanded():
    env = gym.make("AttitudeSlew-v1", actuator=[SMOOTH, Torque()], torque_limit=[0.05, 0.05, 0.0])
    seen, _ = env.reset(seed=0)
    action, _ = controllers.make("pd", env).predict(seen)
    assert np.isfinite(action).all()
    assert action[6] == 0.0
