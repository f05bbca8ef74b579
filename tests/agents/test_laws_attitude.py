"""Quaternion feedback and geometric tracking: against other formulations and a target's motion in
closed form, and what they do to a body."""

import numpy as np
import pytest

from laws import BODY, FREE, J, drawn, law_of, slew, vee
from rbgym.agents.controllers import AttitudePD, GeometricTracking, Hysteretic, QuaternionFeedback
from rbgym.agents.judge import evaluate
from rbgym.envs.satellites import SATELLITES
from rbgym.quaternion import (
    conjugate,
    from_rotation_vector,
    multiply,
    rotate,
    rotate_inverse,
    to_matrix,
)

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


STEP = 1e-4
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


def target(t):
    """Attitude (4,) of a target that swings about two axes."""
    about_z = from_rotation_vector(0.8 * np.sin(t + 0.3) * Z)
    return multiply(about_z, from_rotation_vector(0.6 * np.cos(1.3 * t) * X))


def rate_of(attitude, t):
    """Angular velocity in the axes of what has an attitude, from its derivative: q' = q omega/2."""
    change = (attitude(t + STEP) - attitude(t - STEP)) / (2 * STEP)
    return 2 * multiply(conjugate(attitude(t)), change)[..., 1:]


@pytest.mark.parametrize("cls", [AttitudePD, QuaternionFeedback, Hysteretic, GeometricTracking])
def test_a_body_on_the_path_of_its_target_accelerates_as_that_does(cls):
    """On it there is no error, and all the torque is that of the motion: J dOmega/dt and gyroscopic
    torque, in closed form. The law sees the rates of the periods, dt apart."""
    law = cls(BODY, FREE, rate_limit=2.0, dt=1e-3, frequency=1.0, moving=True)
    memory, t = None, 0.7
    for late in (-law.dt, 0.0):
        Omega = rate_of(target, t + late)[None]
        seen = (np.array([[1.0, 0.0, 0.0, 0.0]]), Omega, Omega)
        u, memory = law.feedback(seen, memory, np.array([memory is None]))
    # The mean of the last period is the acceleration in its middle.
    a = (rate_of(target, t) - rate_of(target, t - law.dt)) / law.dt
    np.testing.assert_allclose(u[0], J @ a + np.cross(Omega[0], J @ Omega[0]), rtol=0, atol=1e-5)
    assert np.abs(J @ a).max() > 0.3


def test_the_error_obeys_its_oscillator_beside_a_target_that_accelerates():
    law = AttitudePD(BODY, FREE, rate_limit=2.0, dt=1e-3, frequency=0.7, damping=0.9, moving=True)
    (q, omega), memory, t = drawn(20), None, 0.7
    omega *= 0.5

    def seen(late):
        """The body turns on with its rates; relative attitude, rates, the target's rates."""
        turned = multiply(q, from_rotation_vector(late * omega))
        relative = multiply(conjugate(target(t + late)), turned)
        return relative, omega, rotate_inverse(relative, rate_of(target, t + late))

    for late in (-law.dt, 0.0):
        u, memory = law.feedback(seen(late), memory, np.array([memory is None]))
    acceleration = np.linalg.solve(J, (u - np.cross(omega, omega @ J)).T).T
    target_change = (seen(STEP)[2] - seen(-STEP)[2]) / (2 * STEP)
    relative, _, w = seen(0.0)
    v = relative[:, 1:] * np.sign(relative[:, :1])
    expected = -2 * 0.7**2 * v - 2 * 0.9 * 0.7 * (omega - w)
    # A mean of the period before: half of 1e-3 s late.
    np.testing.assert_allclose(acceleration - target_change, expected, rtol=0, atol=2e-3)


def test_geometric_tracking_is_the_law_written_in_rotation_matrices():
    rng = np.random.default_rng(1)
    law = law_of(GeometricTracking, frequency=0.8, damping=0.9, moving=True)
    k_R, k_Omega = 0.8**2 * J, 2 * 0.9 * 0.8 * J
    q, target = drawn(30, 2)[0], drawn(30, 3)[0]
    relative = multiply(target * [1, -1, -1, -1], q)
    Omega, Omega_d, change = rng.normal(size=(3, 30, 3))
    expected, w, last = [], [], []
    lanes = zip(to_matrix(q), to_matrix(target), Omega, Omega_d, change, strict=True)
    for R, R_d, rate, rate_d, rate_d_dot in lanes:
        e_R = 0.5 * vee(R_d.T @ R - R.T @ R_d)
        e_Omega = rate - R.T @ R_d @ rate_d
        forward = np.cross(rate, R.T @ R_d @ rate_d) - R.T @ R_d @ rate_d_dot
        expected.append(-k_R @ e_R - k_Omega @ e_Omega + np.cross(rate, J @ rate) - J @ forward)
        w.append(R.T @ R_d @ rate_d)
        last.append(rate_d - law.dt * rate_d_dot)  # in the target's axes
    seen = (relative, Omega, np.array(w))
    u, memory = law.feedback(seen, np.array(last), np.zeros(30, bool))
    np.testing.assert_allclose(u, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(memory, np.array(last) + law.dt * change, rtol=0, atol=1e-12)
    mirrored, _ = law.feedback((-relative, *seen[1:]), np.array(last), np.zeros(30, bool))
    np.testing.assert_array_equal(mirrored, u)


def test_without_a_past_the_targets_rate_is_taken_as_steady():
    q, Omega = drawn(10)
    w = np.roll(Omega, 1, axis=0)
    law = law_of(GeometricTracking, moving=True)
    steady = rotate(q, w)  # in the target's axes
    a, _ = law.feedback((q, Omega, w), None, np.ones(10, bool))
    b, _ = law.feedback((q, Omega, w), steady, np.zeros(10, bool))
    c, _ = law.feedback((q, Omega, w), steady + 1.0, np.ones(10, bool))
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_array_equal(a, c)


@pytest.mark.compiled
def test_a_slender_body_turns_as_soon_as_with_pd():
    """Gains of one number for all axes held it to a seventh of the frequency that pd has."""
    found = {
        law: evaluate(law, "AttitudeSlew-v1", 64, satellite="innocube-3u", max_episode_steps=240)
        for law in ("pd", "geometric")
    }
    assert found["geometric"].success_rate == 1.0
    assert found["geometric"].settling_time < 1.2 * found["pd"].settling_time
