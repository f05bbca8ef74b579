"""Linear-quadratic laws about rest against Riccati's recursion and the motion of the body; feedback
with gravity compensation."""

import gymnasium as gym
import numpy as np
import pytest
from scipy.linalg import expm

import rbgym
from family import at, quick
from laws import BODY, J
from rbgym import RigidBody
from rbgym.agents import controllers
from rbgym.agents.controllers import AttitudeLQR, AxisPD, UprightLQR
from rbgym.agents.controllers.lqr import held_gain
from rbgym.potentials import HeavyTop
from rbgym.quaternion import from_rotation_vector, rotate_inverse

pytestmark = pytest.mark.interpreted


def riccati(F, G, Q, R, steps=4000):
    """The gain of a long horizon, backwards from its end."""
    P = Q
    for _ in range(steps):
        K = np.linalg.solve(R + G.T @ P @ G, G.T @ P @ F)
        P = Q + F.T @ P @ (F - G @ K)
    return K


def test_the_gain_is_that_of_a_long_horizon_with_the_torque_held():
    dt, limits = 0.1, np.array([0.5, 0.4, 0.3])
    law = AttitudeLQR(BODY, limits, rate_limit=2.0, dt=dt, tolerances=(0.3, 0.2))
    one, zero, inverse = np.eye(3), np.zeros((3, 3)), np.linalg.inv(J)
    F = np.block([[one, dt * one], [zero, one]])
    G = np.concatenate([0.5 * dt**2 * inverse, dt * inverse])
    Q, R = np.diag(np.repeat([0.3, 0.2], 3) ** -2.0), np.diag(limits**-2.0)
    np.testing.assert_allclose(law.gain, riccati(F, G, Q, R), rtol=1e-8, atol=1e-10)


def test_upright_the_motion_is_that_of_a_pendulum_between_held_torques():
    J_1, mgl, dt, limit = 0.0045, 0.52, 0.02, 0.25
    a = np.sqrt(mgl / J_1)
    c, s = np.cosh(a * dt), np.sinh(a * dt)
    F, G = np.array([[c, s / a], [a * s, c]]), np.array([[(c - 1) / mgl], [s / (a * J_1)]])
    A, B = np.array([[0.0, 1.0], [a * a, 0.0]]), np.array([[0.0], [1 / J_1]])
    K = held_gain(A, B, dt, np.array([0.03, 1.0]), np.array([limit]))
    Q, R = np.diag([0.03**-2.0, 1.0]), np.array([[limit**-2.0]])
    np.testing.assert_allclose(K, riccati(F, G, Q, R), rtol=1e-9)
    body, potential = RigidBody([J_1, J_1, 0.0005]), HeavyTop(mgl)
    law = UprightLQR(body, potential, [limit, limit, 0.01], rate_limit=40.0, dt=dt)
    np.testing.assert_allclose(law.gain[0, [0, 2]], K[0], rtol=1e-9)
    np.testing.assert_allclose(law.gain[1, [1, 3]], K[0], rtol=1e-9)


@pytest.mark.parametrize("env_id", ["AttitudeSlew-v1", "RigidTop-v0"])
def test_a_small_motion_of_the_body_is_the_one_that_the_linear_law_was_made_for(env_id):
    env = gym.make(env_id, **quick(env_id))
    law, p = controllers.make("lqr", env), np.array([1e-3, -2e-3, 0.0])
    seen, _ = at(env, from_rotation_vector(p))
    dt, inertia = env.unwrapped.dt, np.diag(env.unwrapped.body.inertia)[:2]
    mgl = getattr(env.unwrapped.potential, "mgl", 0.0)
    offset = 3 if env_id == "AttitudeSlew-v1" else 2
    x = np.stack([p[:2], np.zeros(2)])
    for _ in range(20):
        u = -np.diag(law.gain)[:2] * x[0] - law.gain[[0, 1], [offset, offset + 1]] * x[1]
        for _ in range(200):  # small steps of the pendulum, leapfrog
            x[1] += 0.5 * dt / 200 * (mgl * x[0] + u) / inertia
            x[0] += dt / 200 * x[1]
            x[1] += 0.5 * dt / 200 * (mgl * x[0] + u) / inertia
        seen = env.step(law.predict(seen)[0])[0]
        state = env.unwrapped.state
        tilt = 2 * state["quaternion"][1:3] * np.sign(state["quaternion"][0])
        np.testing.assert_allclose(tilt, x[0], rtol=0, atol=2e-6)
        np.testing.assert_allclose(state["angular_velocity"][:2], x[1], rtol=0, atol=1e-4)
    assert np.abs(x[0]).max() < 1.9e-3


def test_about_a_spin_the_gain_is_that_of_eulers_equations_linearised_by_differences():
    law = controllers.make("lqr", gym.make("NutationDamping-v0"))
    J, spin = law.inertia, law.wanted

    def motion(x):
        up, omega = np.array([-x[1], x[0], 1.0]), x[2:] + spin
        turning = np.cross(up, omega)  # of the vertical, seen from the body
        pulled = np.linalg.solve(J, np.cross(J @ omega, omega))
        return np.array([turning[1], -turning[0], *pulled])

    A = np.array([motion(1e-4 * e) - motion(-1e-4 * e) for e in np.eye(5)]).T / 2e-4
    B = np.vstack([np.zeros((2, 3)), np.linalg.inv(J)])
    whole = expm(law.dt * np.block([[A, B], [np.zeros((3, 8))]]))
    Q, R = np.diag([0.3**-2.0] * 5), np.diag(law.limits**-2.0)
    K = riccati(whole[:5, :5], whole[:5, 5:], Q, R)
    np.testing.assert_allclose(law.gain, K, rtol=1e-6, atol=1e-9)


MGL = 0.5
LIMIT = np.array([0.25, 0.25, 0.005])


def axis_pd(dt: float = 0.0, limit: object = LIMIT, **gains: float) -> AxisPD:
    body, potential = rbgym.RigidBody([0.0045, 0.0045, 0.0005]), rbgym.HeavyTop(MGL)
    return AxisPD(body, potential, limit, rate_limit=40.0, dt=dt, **gains)


def tilted(angles: object) -> np.ndarray:
    """Attitudes (n, 4) turned by the rotation vectors (n, 3)."""
    return from_rotation_vector(np.atleast_2d(np.asarray(angles, dtype=float)))


def test_upright_and_at_rest_asks_for_no_torque():
    np.testing.assert_array_equal(axis_pd().torque(tilted([0, 0, 1.3]), np.zeros((1, 3))), 0.0)


def test_a_small_tilt_obeys_the_oscillator_of_the_docstring():
    pd = axis_pd(frequency=8.0, damping=0.7)
    q, omega = tilted([1e-4, 0, 0]), np.array([[2e-4, 0, 0]])
    u = pd.torque(q, omega)
    gravity = MGL * np.cross(rotate_inverse(q, np.array([0.0, 0, 1])), [0.0, 0, 1])
    acceleration = (u + gravity)[0, 0] / 0.0045
    assert acceleration == pytest.approx(-(8.0**2) * 1e-4 - 2 * 0.7 * 8.0 * 2e-4, rel=1e-6)


def test_spin_decays_with_its_time_constant():
    u = axis_pd(spin_time=0.5).torque(tilted([0, 0, 0]), np.array([[0, 0, 1.0]]))
    np.testing.assert_allclose(u, [[0, 0, -0.0005 / 0.5]], rtol=0, atol=1e-15)


def test_a_torque_beyond_the_limits_keeps_its_direction_across_the_axis():
    angles = np.array([[0.5, 0.3, 0.0]])
    free = axis_pd(limit=[1e9] * 3).torque(tilted(angles), np.zeros((1, 3)))[0]
    cut = axis_pd().torque(tilted(angles), np.zeros((1, 3)))[0]
    assert abs(free[0]) > LIMIT[0]
    assert np.max(np.abs(cut) / LIMIT) == pytest.approx(1.0)
    np.testing.assert_allclose(cut[:2] / np.linalg.norm(cut), free[:2] / np.linalg.norm(free))


def test_both_quaternions_of_an_attitude_get_the_same_torque():
    rng = np.random.default_rng(0)
    q, omega = tilted(rng.normal(size=(50, 3))), rng.normal(size=(50, 3))
    np.testing.assert_array_equal(axis_pd(0.02).torque(q, omega), axis_pd(0.02).torque(-q, omega))


def test_hanging_straight_down_gives_finite_torques():
    assert np.isfinite(axis_pd(0.02).torque(tilted([np.pi, 0, 0]), np.ones((1, 3)))).all()


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
