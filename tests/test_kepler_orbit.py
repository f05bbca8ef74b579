"""Gravity gradient on an ellipse: Kepler's equation, the motion against other equations, limits."""

import math

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import textbook as tb
from rbgym import Batch, CircularOrbit, KeplerOrbit, RigidBody, simulate
from rbgym.potentials.gravity_gradient import eccentric_anomaly
from rbgym.quaternion import to_matrix
from refusals import refused

pytestmark = pytest.mark.interpreted

J = np.array([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
# Eccentricity 0.58, inclined, period 3.8, through the perigee at t = 1.5.
MU, POSITION, VELOCITY = 1.7, np.array([-1.1, 0.6, 0.4]), np.array([-0.24, -0.67, -0.31])
ORBIT = KeplerOrbit(MU, tuple(POSITION), tuple(VELOCITY))
Q = np.array([0.5, -0.5, 0.1, 0.7]) / np.linalg.norm([0.5, -0.5, 0.1, 0.7])
OMEGA = np.array([0.5, -0.9, 0.4])
HORIZON = 3.0


def reference(horizon=HORIZON, mu=MU, position=POSITION, velocity=VELOCITY):
    """Rotation matrix and rates of Euler's equations beside the orbit of r'' = -mu r/|r|^3."""

    def rates(t, y):
        R, omega, r, v = y[:9].reshape(3, 3), y[9:12], y[12:15], y[15:]
        c, k = R.T @ r / np.linalg.norm(r), mu / np.linalg.norm(r) ** 3
        x, y_, z = omega
        spin = np.array([[0, -z, y_], [z, 0, -x], [-y_, x, 0]])
        change = np.linalg.solve(J, 3 * k * np.cross(c, J @ c) - np.cross(omega, J @ omega))
        return np.concatenate([(R @ spin).ravel(), change, v, -k * r])

    start = np.concatenate([tb.rotation(Q).ravel(), OMEGA, position, velocity])
    end = solve_ivp(rates, (0.0, horizon), start, method="DOP853", rtol=3e-14, atol=1e-14).y[:, -1]
    return end[:9].reshape(3, 3), end[9:12], end[12:15]


def run(name, steps, potential=ORBIT, **more):
    how = {"quaternion": Q, "angular_velocity": OMEGA, "potential": potential, **more}
    return simulate(RigidBody(J), integrator=name, dt=HORIZON / steps, steps=steps, **how)


def error(name, steps):
    R, omega, _ = reference()
    end = run(name, steps, record_every=steps)
    turned, rates = to_matrix(end.quaternion[-1]) - R, end.angular_velocity[-1] - omega
    return max(np.abs(turned).max(), np.abs(rates).max())


@pytest.mark.parametrize(
    ("name", "order", "steps"),
    [
        ("exact", 2, 400),
        ("quat_em", 2, 400),
        pytest.param("exact:4", 4, 160, marks=pytest.mark.compiled),
        pytest.param("quat_em:4", 4, 320, marks=pytest.mark.compiled),
    ],
)
def test_each_scheme_has_its_order_through_the_perigee(name, order, steps):
    coarse, fine = error(name, steps), error(name, 2 * steps)
    assert fine < 1e-2
    assert math.log2(coarse / fine) == pytest.approx(order, abs=0.2)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["exact:4", "quat_em:4"])
def test_the_motion_is_that_of_the_other_equations(name):
    assert error(name, 3000) < 1e-9


@pytest.mark.parametrize("e", [0.0, 1e-9, 0.1, 0.5, 0.9, 0.95])
def test_keplers_equation_is_solved_to_round_off(e):
    rng = np.random.default_rng(7)
    near = rng.choice([-1.0, 1.0], 100) * 10.0 ** rng.uniform(-12.0, 0.0, 100)
    with mpmath.workdps(40):
        for M in [0.0, *near, *rng.uniform(-np.pi, np.pi, 100), np.pi, -np.pi]:
            E = mpmath.mpf(eccentric_anomaly(M, e))
            lack = E - mpmath.mpf(e) * mpmath.sin(E) - mpmath.mpf(M)
            # What rounding E leaves, and as much again.
            assert abs(lack) <= 4e-16 * (abs(M) + abs(E)) + 1e-300


def test_an_ellipse_of_no_eccentricity_is_the_circular_orbit():
    rate, radius = 0.7, 2.5
    ellipse = KeplerOrbit(rate**2 * radius**3, (radius, 0.0, 0.0), (0.0, rate * radius, 0.0))
    circle = CircularOrbit(rate, (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    ours, theirs = run("exact", 200, ellipse), run("exact", 200, circle)
    np.testing.assert_allclose(ours.quaternion, theirs.quaternion, rtol=0, atol=1e-13)
    # Of this one Jacobi's integral is reported, of the other the energy.
    jacobi = ours.energy - rate * ours.angular_momentum[:, 2]
    np.testing.assert_allclose(theirs.energy, jacobi, rtol=0, atol=1e-13)


def test_the_reported_energy_is_the_total_one_and_is_not_said_to_be_conserved():
    motion = run("exact:4", 600, record_every=60)
    for k, t in enumerate(motion.time[1:], 1):
        *_, r = reference(t)
        c = to_matrix(motion.quaternion[k]).T @ r / np.linalg.norm(r)
        omega = motion.angular_velocity[k]
        energy = 0.5 * omega @ J @ omega + 1.5 * MU / np.linalg.norm(r) ** 3 * c @ J @ c
        assert motion.energy[k] == pytest.approx(energy, abs=1e-10)
    assert np.ptp(motion.energy) > 0.1
    assert motion.conserved == ("quaternion_norm",)


CIRCLE = CircularOrbit(0.7, (0.36, 0.48, 0.8), (0.8, -0.6, 0.0))


@pytest.mark.parametrize(("name", "orbit"), [("exact", ORBIT), ("quat_em", CIRCLE)])
def test_a_step_back_undoes_a_step_and_the_phase_belongs_to_the_state(name, orbit):
    batch = Batch(RigidBody(J), name, orbit, size=3)
    batch.set_state(Q, OMEGA)
    before = batch.measure()
    batch.advance(0.04, 150)  # beyond a period
    kept = batch.full_state()
    batch.advance(-0.04, 150)
    for row, value in batch.measure().items():
        np.testing.assert_allclose(value, before[row], rtol=0, atol=1e-11)
    batch.set_state(Q, OMEGA, lanes=[1])  # which begins at phase zero
    batch.advance(0.04, 150)
    np.testing.assert_array_equal(batch.full_state()[1], kept[1])
    assert not np.array_equal(batch.full_state()[0], kept[0])
    batch.advance(0.04, 25)
    end = batch.full_state()[1]
    batch.restore(kept)
    batch.advance(0.04, 25)
    np.testing.assert_array_equal(batch.full_state()[1], end)


def test_the_largest_eccentricity_is_taken_whatever_its_round_off():
    KeplerOrbit(2.0, (1.5, 0.0, 0.0), (0.0, (2.0 * 1.95 / 1.5) ** 0.5, 0.0)).checked()


@refused(
    (CircularOrbit(math.nan), "rate must be finite"),
    (CircularOrbit(-1e200), r"rate must be at most 1e\+100 in size"),
    (CircularOrbit(0.1, (2.0, 0.0, 0.0)), "direction must have unit length"),
    (CircularOrbit(0.1, (1.0, 0.0, 0.0), (0.6, 0.8, 0.0)), "normal must be at right angles"),
    (KeplerOrbit(0.0, (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "mu must be a positive"),
    (KeplerOrbit(1.0, (1.0, math.inf, 0.0), (0.0, 1.0, 0.0)), "position must be finite"),
    (KeplerOrbit(1.0, (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "eccentricity up to 0.95"),
    (KeplerOrbit(1.0, (1.0, 0.0, 0.0), (0.0, 1.5, 0.0)), "eccentricity up to 0.95"),
)
def test_a_wrong_orbit_is_refused(potential):
    Batch(RigidBody(J), "exact", potential)
