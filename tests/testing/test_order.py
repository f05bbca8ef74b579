"""The measured order is the known one, in attitude and in momentum apart."""

import math

import numpy as np
import pytest

import step_functions as steps
from rbgym.quaternion import angle_between
from rbgym.testing import FidelityLimits, integrator_step, measure, measure_order
from rbgym.validation.fidelity import judge, order_of

INERTIA = steps.INERTIA


@pytest.mark.parametrize(
    ("step", "order"),
    [(steps.explicit_euler, 1), (steps.planar_rotations, 2),
     (integrator_step(INERTIA, "quat_em"), 2), (steps.runge_kutta_4, 4)],
    ids=["explicit_euler", "planar_rotations", "quat_em", "runge_kutta_4"],
)  # fmt: skip
def test_the_measured_order_is_the_known_one(step, order):
    measured = measure_order(step, INERTIA)
    assert measured.attitude == pytest.approx(order, abs=0.1)
    assert measured.momentum == pytest.approx(order, abs=0.1)
    assert measured.slope == min(measured.attitude, measured.momentum)
    assert len(measured.step_sizes) == len(measured.attitude_errors) == 6


def test_order_is_measured_in_attitude_and_momentum_apart():
    # The rates are exact and the attitude is late.
    measured = measure_order(steps.overturning, INERTIA)
    assert measured.attitude == pytest.approx(2, abs=0.1)
    assert measured.momentum == math.inf
    assert measured.slope == measured.attitude


@pytest.mark.parametrize(
    ("name", "rates", "dt", "order"),
    [("akw:4", (0.5, 0.7, 0.3), 0.01, 4),
     ("pdmv", (0.5, 0.7, 0.3), 0.05, 6),
     ("mkrk_gauss4", (0.5, 0.7, 0.3), 0.013, 4),
     ("forward_euler", (5e-7, 7e-7, 3e-7), 0.01, 1)],  # hides in round-off over 20 dt
)  # fmt: skip
def test_where_errors_are_round_off_the_order_is_measured_with_longer_steps(name, rates, dt, order):
    # One error above round-off beside one below it gave slopes such as 0.35.
    step = integrator_step(INERTIA, name)
    found = measure(step, inertia=INERTIA, dt=dt, angular_velocity=rates, steps=2)
    assert min(found.order.points) >= 2
    assert found.order.slope == pytest.approx(order, abs=0.1)
    assert found.verdicts[3].passed == (order >= 2)


def test_one_error_above_round_off_is_no_measurement_and_no_failure():
    found = order_of(1.0, [(10, 2.5e-11, 0.0), (20, 1e-12, 0.0), (40, 1e-13, 0.0)])
    assert 0 < found.attitude < 1  # the least that it can be
    assert found.slope is None
    verdict = judge("order", found, FidelityLimits())
    assert verdict.passed is None
    assert "not measured" in str(verdict)


def test_the_errors_of_the_order_are_those_at_the_horizon():
    measured = measure_order(steps.planar_rotations, INERTIA, horizon=0.4)
    q = exact_q = np.array([0.5, -0.5, 0.1, 0.7])
    omega = exact_omega = np.array([1.0, 2.0, 2.0])
    for _ in range(10):
        q, omega = steps.planar_rotations(q, omega, 0.04)
    exact_q, exact_omega = steps.exact(exact_q, exact_omega, 0.4)
    assert measured.step_sizes[0] == pytest.approx(0.04)
    assert measured.attitude_errors[0] == pytest.approx(float(angle_between(q, exact_q)), rel=1e-6)
    lack = np.linalg.norm(INERTIA * (omega - exact_omega)) / np.linalg.norm(INERTIA * exact_omega)
    assert measured.momentum_errors[0] == pytest.approx(lack, rel=1e-6)


def test_an_order_that_cannot_be_seen_is_no_pass():
    measured = measure_order(lambda q, omega, dt: (q * np.nan, omega), INERTIA)
    assert math.isnan(measured.slope)
    assert "order" in measure(lambda q, omega, dt: (q * np.nan, omega), inertia=INERTIA).broken


def _in_single(order, wrapped):
    """Euler, midpoint or Runge-Kutta in float32, as MJX and its kin compute; wrapped: the attitude
    is brought to unit length in float64 afterwards."""
    J = INERTIA.astype(np.float32)

    def slope(q, w):
        dq = np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))], np.float32)
        return np.concatenate([np.float32(0.5) * dq, (np.cross(J * w, w) / J).astype(np.float32)])

    def step(q, omega, dt):
        y, h = np.concatenate([q, omega]).astype(np.float32), np.float32(dt)
        k1 = slope(y[:4], y[4:])
        k2 = slope(*np.split(y + h / 2 * k1, [4]))
        k3 = slope(*np.split(y + h / 2 * k2, [4]))
        k4 = slope(*np.split(y + h * k3, [4]))
        k = {1: k1, 2: k2, 4: (k1 + 2 * k2 + 2 * k3 + k4) / 6}[order]
        q, omega = np.split(y + h * k, [4])
        q = q.astype(np.float64) if wrapped else q
        return q / np.linalg.norm(q), omega

    return step


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize("dt", [0.05, 0.01, 0.002])
def test_the_order_of_a_simulator_in_single_precision_is_measured(order, dt, wrapped):
    found = measure(_in_single(order, wrapped), inertia=INERTIA, dt=dt, steps=1)
    assert found.order.attitude == pytest.approx(order, abs=0.1)
    assert found.order.momentum == pytest.approx(order, abs=0.25)
    assert found.hints == ()


def test_a_wrong_simulator_in_single_precision_has_no_order():
    right = _in_single(4, False)
    found = measure(lambda q, w, dt: right(q, w, np.float32(1.001) * dt), inertia=INERTIA)
    assert found.order.slope < 0.1
    assert "order" in found.broken


def test_a_spin_that_single_precision_holds_is_no_sign_of_it():
    step = integrator_step([1, 1, 1], "exact")
    late = measure(lambda q, w, dt: step(q, w, (1 + 1e-7) * dt), inertia=[1, 1, 1],
                   angular_velocity=(0, 0, 3))  # fmt: skip
    assert late.broken == ("order",)


def test_long_steps_without_a_solution_leave_an_order():
    found = measure(integrator_step([6, 8, 3], "pdmv"), inertia=[6, 8, 3], dt=0.3)
    assert found.order.slope == pytest.approx(6.0, abs=0.1)
