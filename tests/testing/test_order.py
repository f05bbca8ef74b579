"""The measured order is the known one, in attitude and in momentum apart."""

import math

import numpy as np
import pytest

import step_functions as steps
from rbgym.quaternion import angle_between
from rbgym.testing import integrator_step, measure, measure_order

INERTIA = steps.INERTIA


@pytest.mark.parametrize(
    ("step", "order"),
    [
        (steps.explicit_euler, 1),
        (steps.planar_rotations, 2),
        (integrator_step(INERTIA, "quat_em"), 2),
        (steps.runge_kutta_4, 4),
    ],
    ids=["explicit_euler", "planar_rotations", "quat_em", "runge_kutta_4"],
)
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


@pytest.mark.parametrize("horizon", [0.0, -1.0, math.inf, "long"])
def test_a_bad_horizon_is_refused(horizon):
    with pytest.raises(ValueError, match="horizon must be a positive"):
        measure_order(steps.exact, INERTIA, horizon=horizon)
