"""PID: the offset that it removes, the integral that it is, and what that does not do."""

import gymnasium as gym
import numpy as np
import pytest

from family import SLEW, at, quick
from laws import J, drawn, law_of
from rbgym.agents import controllers
from rbgym.agents.controllers import AttitudePD, AttitudePID
from rbgym.quaternion import from_rotation_vector

pytestmark = pytest.mark.interpreted


def held(name, disturbance, steps=600, start=None):
    """Rotation vectors (steps, 3) of a satellite from a start beside its target, at rest, under a
    torque that nobody tells the law of."""
    env = gym.make(SLEW, **quick(SLEW, disturbance=disturbance, max_episode_steps=steps))
    seen, _ = at(env, from_rotation_vector(np.zeros(3) if start is None else start))
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
    assert np.abs(without[-1]).max() < 1e-6 < np.abs(without).max() < np.abs(offset).max()


def test_within_its_limits_it_is_the_integral_of_error_and_rate():
    """u = J (-n^2 x - 2 z n omega - e), T e = omega + sum of dt (n^2 x + 2 z n omega): of PID."""
    law, rng = law_of(AttitudePID, frequency=0.7, damping=0.9), np.random.default_rng(2)
    state, total, first = None, 0.0, None
    for _ in range(20):
        # However the body moves, and whatever pushes it.
        q, omega = from_rotation_vector(0.3 * rng.normal(size=(5, 3))), rng.normal(size=(5, 3))
        first = omega if first is None else first
        u, state = law.feedback((q, omega, 0 * omega), state, None)
        proportional = 2 * 0.7**2 * q[:, 1:] + 2 * 0.9 * 0.7 * omega
        e = (omega - first + total) / law.integral_time
        expected = (-proportional - e) @ J + np.cross(omega, omega @ J)
        np.testing.assert_allclose(u, expected, rtol=1e-9, atol=1e-9)
        total = total + law.dt * proportional
    with pytest.raises(ValueError, match="state must be what the last call returned for 3 lanes"):
        law.feedback((q[:3], omega[:3], 0 * omega[:3]), state, None)


def test_an_episode_starts_as_pd_and_the_estimate_is_at_most_an_eighth_of_the_limits():
    q, omega = drawn(40)
    pid, pd = (law_of(cls, (0.5, 0.4, 0.3), frequency=0.5) for cls in (AttitudePID, AttitudePD))
    seen = q, 0.1 * omega, 0 * omega
    wound = np.full((40, 3), 9.0), omega, omega, None
    np.testing.assert_array_equal(pid.feedback(seen, wound, np.ones(40, bool))[0], pd.torque(*seen))
    e = pid.feedback(seen, wound, np.zeros(40, bool))[1][0]
    assert np.abs(e @ J / pid.limits).max(axis=1) == pytest.approx(0.125)


@pytest.mark.parametrize("angle", [1.0, 2.0, 3.0])
def test_a_large_slew_does_not_wind_the_integral_up(angle):
    axis = np.array([0.6, 0.0, 0.8])
    pd, pid = (held(name, None, 400, angle * axis)[1] @ axis for name in ("pd", "pid"))
    # Summed up from the start it would be 0.26, 0.86 and 1.6 rad beyond.
    assert pid.min() > pd.min() - 3e-3
    assert np.abs(pid[-1]) < 1e-6
