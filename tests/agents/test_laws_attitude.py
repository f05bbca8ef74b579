"""Laws of attitude with a memory or without: against other formulations and a target's motion
in closed form, and what they do to a body."""

import gymnasium as gym
import numpy as np
import pytest

from family import QUICK, SLEW, at, quick
from laws import BODY, FREE, J, drawn, law_of, slew, vee
from rbgym.agents import controllers
from rbgym.agents.controllers import (
    AttitudePD,
    AttitudePID,
    GeometricTracking,
    Hysteretic,
    QuaternionFeedback,
)
from rbgym.agents.judge import evaluate
from rbgym.envs.satellites import SATELLITES
from rbgym.quaternion import (
    canonicalized,
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
    a, b = a - gyroscopic, b - gyroscopic
    np.testing.assert_allclose(np.cross(a, b)[small], 0.0, rtol=0, atol=1e-12)
    assert (np.sum(a * b, axis=1)[small] > 0).all()


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


def test_beyond_delta_the_memory_changes_to_the_short_way():
    law = law_of(Hysteretic, delta=0.2)
    q = np.array([[np.cos(a / 2), 0, 0, np.sin(a / 2)] for a in (3.0, 3.3, 3.6)])
    assert (q[:, 0] > -0.2).tolist() == [True, True, False]
    still = np.zeros((3, 3))
    u, (h, *_) = law.feedback((q, still, still), (np.ones(3), q, still), None)
    assert h.tolist() == [1, 1, -1]
    assert (u[:, 2] < 0).tolist() == [True, True, False]


def test_an_episode_starts_with_the_nearer_way():
    law = law_of(Hysteretic)
    q, omega = drawn(40)
    wrong = (-np.sign(q[:, 0]), q, 0 * omega)
    starts = np.arange(40) % 2 == 0
    _, (h, *_) = law.feedback((q, omega, 0 * omega), wrong, starts)
    np.testing.assert_array_equal(h[starts], np.sign(q[starts, 0]))
    kept = ~starts & (np.abs(q[:, 0]) < law.delta)
    assert kept.any()
    np.testing.assert_array_equal(h[kept], wrong[0][kept])
    torque, _ = law.feedback((q, omega, 0 * omega), None, None)
    np.testing.assert_array_equal(torque, law_of(AttitudePD).torque(q, omega, 0 * omega))


def test_the_law_itself_remembers_nothing_between_calls():
    law = controllers.make("hysteretic", gym.make("ReactionWheelSlew-v1"))
    rng = np.random.default_rng(0)
    rows = np.concatenate([drawn(8)[0], rng.uniform(-0.1, 0.1, (8, 7))], axis=1)
    states = [(sign * np.ones(8), rows[:, :4], np.zeros((8, 3))) for sign in (1, -1, 1)]
    a, b, again = (law.predict(rows, s, np.zeros(8, bool)) for s in states)
    assert (a[0] != b[0]).any()
    np.testing.assert_array_equal(a[0], again[0])
    np.testing.assert_array_equal(states[0][0], 1)
    one = law.predict(rows[0], (np.ones(1), rows[:1, :4], np.zeros((1, 3))), np.array([False]))
    np.testing.assert_array_equal(one[0], a[0][0])


def test_noise_that_holds_sign_feedback_at_a_half_turn_does_not_hold_the_hysteretic_law():
    """As in the paper: the noise shows the body beyond the half turn, whichever side it is on."""
    noise, z = 0.1, np.array([0.0, 0.0, 1.0])
    angle, switches = {}, {}
    for name in ("pd", "hysteretic"):
        env = gym.make(SLEW, **QUICK[SLEW])
        seen, _ = at(env, from_rotation_vector((np.pi - 0.02) * z))
        law, memory, actions = controllers.make(name, env, frequency=0.4), None, []
        for _ in range(300):
            # The true angle in (0, 2 pi), of the observation's w >= 0.
            true = 2 * np.arctan2(*(seen[[3, 0]] * (np.sign(seen[3]) or 1.0)))
            near = abs(true - np.pi) < noise
            off = near * noise * np.sign(np.pi - true) * z
            shown = multiply(seen[:4], from_rotation_vector(off))
            row = np.concatenate([canonicalized(shown), seen[4:]])
            action, memory = law.predict(row, memory, np.array([memory is None]))
            actions.append(action[2])
            seen = env.step(action)[0]
        angle[name] = 2 * np.arccos(min(abs(env.unwrapped.state["quaternion"][0]), 1.0))
        switches[name] = int((np.diff(np.sign(actions[:150])) != 0).sum())
    assert angle["pd"] > 3.0
    assert angle["hysteretic"] < 0.1
    assert switches["pd"] > 10
    assert switches["hysteretic"] <= 2


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
