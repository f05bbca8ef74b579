"""Quaternion feedback with gravity compensation."""

import gymnasium as gym
import numpy as np
import pytest

import rbgym
from rbgym.agents import controllers
from rbgym.agents.controllers import AxisPD
from rbgym.quaternion import from_rotation_vector, rotate_inverse

pytestmark = pytest.mark.interpreted

MGL = 0.5
LIMIT = np.array([0.25, 0.25, 0.005])


def law(dt: float = 0.0, limit: object = LIMIT, **gains: float) -> AxisPD:
    body, potential = rbgym.RigidBody([0.0045, 0.0045, 0.0005]), rbgym.HeavyTop(MGL)
    return AxisPD(body, potential, limit, rate_limit=40.0, dt=dt, **gains)


def tilted(angles: object) -> np.ndarray:
    """Attitudes (n, 4) turned by the rotation vectors (n, 3)."""
    return from_rotation_vector(np.atleast_2d(np.asarray(angles, dtype=float)))


def test_upright_and_at_rest_asks_for_no_torque():
    np.testing.assert_array_equal(law().torque(tilted([0, 0, 1.3]), np.zeros((1, 3))), 0.0)


def test_a_small_tilt_obeys_the_oscillator_of_the_docstring():
    pd = law(frequency=8.0, damping=0.7)
    q, omega = tilted([1e-4, 0, 0]), np.array([[2e-4, 0, 0]])
    u = pd.torque(q, omega)
    gravity = MGL * np.cross(rotate_inverse(q, np.array([0.0, 0, 1])), [0.0, 0, 1])
    acceleration = (u + gravity)[0, 0] / 0.0045
    assert acceleration == pytest.approx(-(8.0**2) * 1e-4 - 2 * 0.7 * 8.0 * 2e-4, rel=1e-6)


def test_spin_decays_with_its_time_constant():
    u = law(spin_time=0.5).torque(tilted([0, 0, 0]), np.array([[0, 0, 1.0]]))
    np.testing.assert_allclose(u, [[0, 0, -0.0005 / 0.5]], rtol=0, atol=1e-15)


def test_a_torque_beyond_the_limits_keeps_its_direction_across_the_axis():
    angles = np.array([[0.5, 0.3, 0.0]])
    free = law(limit=[1e9] * 3).torque(tilted(angles), np.zeros((1, 3)))[0]
    cut = law().torque(tilted(angles), np.zeros((1, 3)))[0]
    assert abs(free[0]) > LIMIT[0]
    assert np.max(np.abs(cut) / LIMIT) == pytest.approx(1.0)
    np.testing.assert_allclose(cut[:2] / np.linalg.norm(cut), free[:2] / np.linalg.norm(free))


def test_both_quaternions_of_an_attitude_get_the_same_torque():
    rng = np.random.default_rng(0)
    q, omega = tilted(rng.normal(size=(50, 3))), rng.normal(size=(50, 3))
    np.testing.assert_array_equal(law(0.02).torque(q, omega), law(0.02).torque(-q, omega))


def test_hanging_straight_down_gives_finite_torques():
    assert np.isfinite(law(0.02).torque(tilted([np.pi, 0, 0]), np.ones((1, 3)))).all()


@pytest.mark.parametrize(("name", "most"), [("pd", 2e-3), ("lqr", 1e-6)])
def test_a_steady_precession_needs_no_torque(name, most):
    env = gym.make("SteadyPrecession-v0").unwrapped
    goal = env.goal
    nutation = np.arctan2(goal.sin_nutation, goal.cos_nutation)
    q = from_rotation_vector(np.array([nutation, 0.0, 0.0]))
    omega = goal.precession * rotate_inverse(q, [0.0, 0.0, 1.0]) + np.array([0.0, 0.0, goal.spin])
    state = {"quaternion": q, "angular_velocity": omega}
    seen, _ = env.reset(seed=0, options={"state": state})
    assert np.abs(controllers.make(name, env).predict(seen)[0]).max() < most
