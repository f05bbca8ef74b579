"""Gravity gradient on a circular orbit: the motion, its integral, and known librations."""

import math

import numpy as np
import pytest

import textbook as tb
from rbgym import Batch, CircularOrbit, GravityGradient, RigidBody, integrators, simulate
from rbgym.quaternion import to_matrix

pytestmark = pytest.mark.interpreted

MOMENTS = np.array([1.4, 2.0, 0.9])
BODY = RigidBody(MOMENTS)
TILTED_TENSOR = np.array([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
RATE, DIRECTION, NORMAL = 0.7, np.array([0.36, 0.48, 0.8]), np.array([0.8, -0.6, 0.0])
ORBIT = CircularOrbit(RATE, tuple(DIRECTION), tuple(NORMAL))
Q = np.array([0.5, -0.5, 0.1, 0.7]) / np.linalg.norm([0.5, -0.5, 0.1, 0.7])
OMEGA = np.array([0.5, -0.9, 0.4])
HORIZON = 3.0


def direction(t):
    """d(t), turned about the normal by Rodrigues' formula."""
    angle = RATE * t
    return math.cos(angle) * DIRECTION + math.sin(angle) * np.cross(NORMAL, DIRECTION)


def run(name, dt, steps, body=BODY, **kwargs):
    how = {"quaternion": Q, "angular_velocity": OMEGA, "potential": ORBIT}
    return simulate(body, integrator=name, dt=dt, steps=steps, **how, **kwargs)


def error(name, J, steps):
    tensor = tb.tensor(J)

    def torque(t, R):
        """3 n^2 c x J c in body axes, c = R^T d(t)."""
        c = R.T @ direction(t)
        return 3 * RATE**2 * np.cross(c, tensor @ c)

    q, omega = tb.euler_reference(J, Q, OMEGA, HORIZON, torque=torque)
    end = run(name, HORIZON / steps, steps, RigidBody(J), record_every=steps)
    attitude = np.linalg.norm(to_matrix(end.quaternion[-1]) - to_matrix(q))
    return attitude, np.linalg.norm(end.angular_velocity[-1] - omega)


# With memory, by the mean torque, by half kicks, of high order: the others treat it alike.
FAMILIES = ["quat_em", "quat_vi", "dir_em", "trap", "rkn4", "exact"]


@pytest.mark.parametrize(
    ("name", "J"),
    [
        *((name, MOMENTS) for name in (*FAMILIES, "quat_em:4", "exact:4")),
        *((name, TILTED_TENSOR) for name in ("akw", "imidm")),
    ],
)
def test_each_scheme_has_its_order_and_no_more_than_two(name, J):
    scheme = integrators.get(name)
    order = scheme.order if scheme.composition else min(scheme.order, 2)
    counts = (100, 200) if order == 2 else (60, 120) if order == 4 else (400, 800)
    coarse, fine = (np.array(error(name, J, n)) for n in counts)
    np.testing.assert_array_less(order - 0.3, np.log2(coarse / fine))
    np.testing.assert_array_less(np.log2(coarse / fine), order + 0.3)


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        *(pytest.param(n, 2000, marks=pytest.mark.compiled) for n in ("quat_em", "exact")),
        *((n, 200) for n in ("akw_dg", "imidm", "rrr")),
    ],
)
def test_jacobis_integral_is_what_is_reported_and_is_conserved_to_order(name, steps):
    motion = run(name, 0.05, steps)
    J, w = MOMENTS, motion.angular_velocity
    R = to_matrix(motion.quaternion)
    c = np.einsum("nji,nj->ni", R, np.array([direction(t) for t in motion.time]))
    energy = 0.5 * np.sum(J * w * w, axis=1) + 1.5 * RATE**2 * np.sum(J * c * c, axis=1)
    jacobi = energy - RATE * motion.angular_momentum @ NORMAL
    np.testing.assert_allclose(motion.energy, jacobi, rtol=0, atol=2e-12)
    # The energy itself goes up and down by a good part of itself; the integral by O(h^2).
    assert np.ptp(energy) > 0.3
    assert np.ptp(motion.energy) < 0.01
    fine = np.ptp(run(name, 0.025, 2 * steps).energy)
    assert math.log2(np.ptp(motion.energy) / fine) == pytest.approx(2.0, abs=0.2)


@pytest.mark.compiled
def test_pitch_libration_has_hughess_frequency():
    """About the position of rest, pitch swings at n sqrt(3 (J_roll - J_yaw)/J_pitch)."""
    # Yaw axis (least moment) to the centre, pitch axis along the normal, turning with the orbit.
    J, rate = np.array([1.6, 2.0, 0.9]), 0.3  # roll, pitch, yaw = x, y, z
    orbit = CircularOrbit(rate, (0.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    tilt, frequency = 1e-3, rate * math.sqrt(3 * (J[0] - J[2]) / J[1])
    q, omega = (math.cos(tilt / 2), 0.0, math.sin(tilt / 2), 0.0), (0.0, rate, 0.0)
    how = {"quaternion": q, "angular_velocity": omega, "potential": orbit}
    motion = simulate(RigidBody(J), dt=0.02, steps=round(2 * math.pi / frequency / 0.02), **how)
    pitch = 2 * np.arctan2(motion.quaternion[:, 2], motion.quaternion[:, 0]) - rate * motion.time
    pitch = (pitch + np.pi) % (2 * np.pi) - np.pi
    np.testing.assert_allclose(pitch, tilt * np.cos(frequency * motion.time), rtol=0, atol=5e-6)


def test_an_orbit_that_does_not_turn_has_no_gravity():
    free = simulate(BODY, dt=0.1, steps=50, angular_velocity=OMEGA)
    still = simulate(BODY, dt=0.1, steps=50, angular_velocity=OMEGA, potential=CircularOrbit(0.0))
    np.testing.assert_allclose(still.quaternion, free.quaternion, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["quat_em", "akw"])
def test_steps_solved_by_the_robust_way_are_the_same(name):
    """Beyond where the plain iteration gets: the same step as that of a body on a fixed direction
    that lies where the orbit's is half-way."""
    h = 1.6
    spin = np.array([0.9, -1.1, 0.8])
    orbit = Batch(BODY, name, ORBIT)
    fixed = Batch(BODY, name, GravityGradient(RATE**2, tuple(direction(h / 2))))
    for batch in (orbit, fixed):
        batch.set_state(Q, spin)
        batch.advance(h)
    assert not orbit.failed[0]
    for row in ("quaternion", "angular_velocity"):
        np.testing.assert_allclose(orbit.measure()[row], fixed.measure()[row], rtol=0, atol=1e-12)
