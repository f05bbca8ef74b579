"""PID: the offset that it removes, its oscillator, and what the integral does not do."""

import gymnasium as gym
import numpy as np
import pytest

from laws import BODY, FREE, J, drawn, law_of
from rbgym.agents import controllers
from rbgym.agents.controllers import AttitudePD, AttitudePID
from rbgym.quaternion import from_rotation_vector

SLEW = "AttitudeSlew-v0"


def held(name, disturbance, steps=600, start=None):
    """Rotation vectors (steps, 3) of a satellite from a start beside its target, at rest, under a
    torque that nobody tells the law of."""
    env = gym.make(SLEW, disturbance=disturbance, max_episode_steps=steps)
    placed = {"quaternion": from_rotation_vector(np.zeros(3) if start is None else start)}
    placed["angular_velocity"] = np.zeros(3)
    seen, _ = env.reset(seed=0, options={"state": placed})
    law, memory, path = controllers.make(name, env), None, []
    for _ in range(steps):
        action, memory = law.predict(seen, memory)
        seen = env.step(action)[0]
        path.append(2 * seen[1:4].astype(float))
    return law, np.array(path)


def test_the_offset_that_pd_has_under_a_steady_torque_is_gone():
    push = np.array([2e-3, -1e-3, 1.5e-3])
    disturbance = {"constant": push.tolist()}
    pd, with_offset = held("pd", disturbance)
    _, without = held("pid", disturbance)
    # Torque over stiffness: J n^2 x = d.
    offset = np.linalg.solve(np.asarray(pd.inertia) * pd.frequency**2, push)
    assert np.abs(offset).max() > np.radians(0.5)
    np.testing.assert_allclose(with_offset[-1], offset, rtol=1e-3, atol=1e-6)
    assert np.abs(without[-1]).max() < 1e-6
    assert np.abs(without).max() < np.abs(offset).max()


def test_a_small_error_obeys_the_oscillator_of_third_order():
    law = law_of(AttitudePID, frequency=0.7, damping=1.0)
    q = from_rotation_vector(1e-3 * np.eye(3))
    omega, s = 1e-3 * np.roll(np.eye(3), 1, axis=0), 2e-3 * np.eye(3)[::-1]
    u, (after, _) = law.feedback((q, omega, 0 * omega), (s, 0 * omega), np.zeros(3, bool))
    acceleration = np.linalg.solve(J, (u - np.cross(omega, omega @ J)).T).T
    x, total = 2 * q[:, 1:], 2 * s  # v is half the angle
    expected = -(0.7**2) * (x + total / law.integral_time) - 2 * 0.7 * omega
    np.testing.assert_allclose(acceleration, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(after, s + law.dt * q[:, 1:], rtol=1e-12)
    roots = np.sort(np.roots([1, 2 * 0.7, 0.7**2, 0.7**2 / law.integral_time]).real)
    np.testing.assert_allclose(roots, [-4 / 3 * 0.7, -0.7 / 3, -0.7 / 3], rtol=1e-6)


def test_an_episode_starts_as_pd_and_the_integral_waits_while_the_torque_is_cut():
    q, omega = drawn(40)
    pid, pd = (law_of(cls, (0.5, 0.4, 0.3), frequency=0.5) for cls in (AttitudePID, AttitudePD))
    seen, wound = (q, 0.1 * omega, 0 * omega), (np.ones((40, 3)), 0 * omega)
    u, (s, _) = pid.feedback(seen, wound, np.ones(40, bool))
    np.testing.assert_array_equal(u, pd.torque(*seen))
    cut = np.max(np.abs(u / pid.limits), axis=1) > 1 - 1e-9
    assert 0 < cut.sum() < 40
    np.testing.assert_array_equal(s[cut], 0.0)
    free = law_of(AttitudePID, FREE, frequency=0.5)
    assert (np.abs(free.feedback(seen, None, None)[1][0]).max(axis=1) > 0).all()


@pytest.mark.parametrize("angle", [1.0, 2.0, 3.0])
def test_a_large_slew_does_not_wind_the_integral_up(angle):
    axis = np.array([0.6, 0.0, 0.8])
    pd, pid = (held(name, None, 400, angle * axis)[1] @ axis for name in ("pd", "pid"))
    # What is summed up in the linear range on the way there has to be summed up beyond: 0.03 rad.
    # Summed up from the start it would be 0.26, 0.86 and 1.6 rad.
    assert pd.min() - 0.035 < pid.min() < -0.02
    assert np.abs(pid[-1]) < 2e-3


def test_without_a_period_there_is_nothing_to_sum():
    with pytest.raises(ValueError, match="dt must be a positive"):
        AttitudePID(BODY, [0.02] * 3, rate_limit=2.0, dt=0.0)
