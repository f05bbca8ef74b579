"""Quaternion feedback: against other formulations, and what it does to a body."""

import numpy as np
import pytest

from laws import J, drawn, law_of, slew, vee
from rbgym.agents.controllers import AttitudePD, QuaternionFeedback
from rbgym.envs.satellites import SATELLITES
from rbgym.quaternion import to_matrix

pytestmark = pytest.mark.interpreted


def test_quaternion_feedback_that_no_limiter_touches_is_the_pd_law():
    q, omega = drawn(50)
    gains = {"frequency": 0.3, "damping": 0.8}
    a, b = law_of(QuaternionFeedback, **gains, slew_rate=1e3), law_of(AttitudePD, **gains)
    u = a.torque(q, omega, np.roll(omega, 1, axis=0))
    np.testing.assert_allclose(u, b.torque(q, omega, np.roll(omega, 1, axis=0)), rtol=1e-12)


def test_seen_from_a_target_that_turns_the_error_is_that_of_a_target_at_rest():
    q, omega = drawn(50)
    w = np.roll(omega, 1, axis=0)
    law = law_of(AttitudePD, frequency=0.7, damping=0.9)
    u = law.torque(q, omega, w)
    acceleration = np.linalg.solve(J, (u - np.cross(omega, omega @ J)).T).T
    gap_rate = acceleration - np.cross(w, omega)  # w is steady in the target's axes
    R = to_matrix(q)
    half = np.sqrt(1 + np.trace(R, axis1=1, axis2=2))  # 2 |q_0|
    v = np.array([vee(matrix - matrix.T) for matrix in R]) / (2 * half[:, None])
    expected = -2 * 0.7**2 * v - 2 * 0.9 * 0.7 * (omega - w)
    np.testing.assert_allclose(gap_rate, expected, rtol=1e-9, atol=1e-9)


def test_a_torque_at_its_limits_turns_about_the_same_axis_as_a_free_one():
    q, omega = drawn(50)
    omega *= 0.2
    free = law_of(QuaternionFeedback, slew_rate=0.1)
    cut = law_of(QuaternionFeedback, 0.3 * np.ones(3))
    cut.slew = free.slew  # the same coasting, to compare the torques
    gyroscopic = np.cross(omega, omega @ J)
    a, b = (law.torque(q, omega, 0 * omega) for law in (free, cut))
    assert (np.abs(b) <= 0.3 + 1e-12).all()
    assert (np.abs(a).max(axis=1) > 0.3).sum() > 10
    small = np.abs(gyroscopic).max(axis=1) < 0.15
    np.testing.assert_allclose(
        np.cross(a - gyroscopic, b - gyroscopic)[small], 0.0, rtol=0, atol=1e-12
    )
    assert (np.sum((a - gyroscopic) * (b - gyroscopic), axis=1)[small] > 0).all()


def test_a_slew_stays_on_its_eigenaxis_only_with_the_gyroscopic_torque():
    axis = np.array([1.0, -2.0, 2.0]) / 3
    for gyroscopic, least, most in ((True, 0.0, 0.01), (False, 0.05, 1.0)):
        gains = {"frequency": 0.8, "gyroscopic": gyroscopic}
        attitudes, *_ = slew("quaternion_feedback", 2.5 * axis, 300, **gains)
        v = attitudes[:, 0, 1:]
        across = v - np.outer(v @ axis, axis)
        assert least < 2 * np.arcsin(np.linalg.norm(across, axis=1)).max() < most
        assert 2 * np.linalg.norm(attitudes[-1, 0, 1:]) < 1e-4


def test_a_slew_coasts_with_its_slew_rate_and_brakes_without_passing_the_target():
    axes = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]])
    how = {"rate_limit": 2.0, "dt": 0.1, "damping": 1.0}
    law = QuaternionFeedback(SATELLITES["cubesat-6u"]().body, [0.02] * 3, **how)
    attitudes, rates, _ = slew("quaternion_feedback", 3.0 * axes, 300, damping=1.0)
    assert np.linalg.norm(rates, axis=2).max(axis=0) == pytest.approx(law.slew(axes), rel=0.02)
    along = np.sum(attitudes[:, :, 1:] * axes, axis=2) * np.sign(attitudes[:, :, 0])
    assert (along > -1e-4).all()
    slow, rates, _ = slew("quaternion_feedback", 3.0 * axes[:1], 300, slew_rate=0.1)
    assert np.linalg.norm(rates, axis=2).max() == pytest.approx(0.1, rel=0.01)
    assert slow[0, 0, 0] < slow[100, 0, 0]


@pytest.mark.parametrize("damping", [0.5, 1.0])
def test_the_slew_rate_is_the_one_from_which_the_linear_law_brakes_with_what_there_is(damping):
    law = law_of(QuaternionFeedback, [1.0] * 3, frequency=2.0, damping=damping)
    axis = np.array([[0.6, 0.0, 0.8]])
    r, n = law.slew(axis)[0], 2.0
    # x'' + 2 z n x' + n^2 x = 0 from where the limiter ends, x = 2 z r / n.
    x, rate, hardest, h = 2 * damping * r / n, -r, 0.0, 1e-3
    for _ in range(20000):
        acceleration = -2 * damping * n * rate - n * n * x
        hardest = max(hardest, acceleration)
        rate += h * acceleration
        x += h * rate
    left = 1 - np.abs(r * r * np.cross(axis, axis @ J)).max()
    assert 0.5 < left < 0.99
    assert hardest * np.abs(axis @ J).max() == pytest.approx(left, rel=1e-2)
