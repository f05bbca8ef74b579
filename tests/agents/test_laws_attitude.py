"""Laws for a whole attitude against other formulations of them, and what they do to a body."""

import gymnasium as gym
import numpy as np
import pytest

from rbgym import RigidBody
from rbgym.agents import controllers
from rbgym.agents.controllers.attitude import AttitudePD
from rbgym.agents.controllers.geometric import GeometricTracking
from rbgym.agents.controllers.hysteretic import Hysteretic
from rbgym.agents.controllers.lqr import PrecessionLQR
from rbgym.agents.controllers.lqr_rest import AttitudeLQR, UprightLQR, held_gain
from rbgym.agents.controllers.quaternion_feedback import QuaternionFeedback
from rbgym.agents.evaluation import evaluate
from rbgym.envs.attitude_slew import satellite
from rbgym.potentials import HeavyTop
from rbgym.quaternion import canonicalized, from_rotation_vector, multiply, to_matrix

BODY = RigidBody([[3.0, 0.2, -0.1], [0.2, 2.0, 0.3], [-0.1, 0.3, 1.5]])
J = np.asarray(BODY.inertia)
FREE = [1e9] * 3
STILL = np.zeros((1, 3))


def drawn(count: int, seed: int = 0):
    """Attitudes (count, 4) with either sign, and rates (count, 3)."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True), rng.normal(size=(count, 3))


def of(cls, limit=FREE, **gains):
    return cls(BODY, limit, rate_limit=2.0, dt=0.1, **gains)


def slew(law, vectors, steps=300, omega=STILL, **kwargs):
    """Histories of attitudes (steps, n, 4) and rates from rest at rotation vectors (n, 3)."""
    vectors = np.atleast_2d(vectors)
    env = gym.make_vec("AttitudeSlew-v0", num_envs=len(vectors), **kwargs)
    start = {"quaternion": from_rotation_vector(vectors), "angular_velocity": omega + 0 * vectors}
    seen, _ = env.reset(seed=0, options={"state": start})
    law, memory = controllers.make(law, env) if isinstance(law, str) else law(env), None
    attitudes, rates = [], []
    for _ in range(steps):
        actions, memory = law.predict(seen, memory, np.zeros(len(vectors), bool))
        seen = env.step(actions)[0]
        attitudes.append(env.unwrapped.state["quaternion"])
        rates.append(env.unwrapped.state["angular_velocity"])
    return np.array(attitudes), np.array(rates)


def off_axis(attitudes, axis):
    """Largest angle [rad] by which a rotation differs from one about the axis."""
    v = attitudes[:, 1:]
    across = v - np.outer(v @ axis, axis)
    return 2 * np.arcsin(np.linalg.norm(across, axis=1)).max()


# --- quaternion feedback --------------------------------------------------------------------


def test_quaternion_feedback_that_no_limiter_touches_is_the_pd_law():
    q, omega = drawn(50)
    gains = {"frequency": 0.3, "damping": 0.8}
    a, b = of(QuaternionFeedback, **gains, slew_rate=1e3), of(AttitudePD, **gains)
    u = a.torque(q, omega, np.roll(omega, 1, axis=0))
    np.testing.assert_allclose(u, b.torque(q, omega, np.roll(omega, 1, axis=0)), rtol=1e-12)


def test_the_energy_of_the_error_falls_by_the_damping_alone_beside_a_target_that_turns():
    q, omega = drawn(50)
    w = np.roll(omega, 1, axis=0)  # of the target, steady in its own axes
    law = of(QuaternionFeedback, frequency=0.7, damping=0.9, slew_rate=1e3)
    u, h = law.torque(q, omega, w), 1e-6
    acceleration = np.linalg.solve(J, (u - np.cross(omega, omega @ J)).T).T

    def V(t):
        gap = omega - w + t * (acceleration + np.cross(omega, w))  # in body axes w turns backwards
        turned = multiply(q, from_rotation_vector(t * (omega - w)))
        return 0.5 * np.sum(gap**2, axis=1) + 4 * 0.7**2 * (1 - np.abs(turned[:, 0]))

    expected = -2 * 0.9 * 0.7 * np.sum((omega - w) ** 2, axis=1)
    np.testing.assert_allclose((V(h) - V(-h)) / (2 * h), expected, rtol=1e-6, atol=1e-7)


def test_seen_from_a_target_that_turns_the_error_is_that_of_a_target_at_rest():
    q, omega = drawn(50)
    w = np.roll(omega, 1, axis=0)
    law = of(AttitudePD, frequency=0.7, damping=0.9)
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
    free, cut = of(QuaternionFeedback, slew_rate=0.1), of(QuaternionFeedback, 0.3 * np.ones(3))
    cut.slew = free.slew  # the same coasting, to compare the torques
    gyroscopic = np.cross(omega, omega @ J)
    a, b = (law.torque(q, omega, 0 * omega) for law in (free, cut))
    assert (np.abs(b) <= 0.3 + 1e-12).all()
    assert (np.abs(a).max(axis=1) > 0.3).sum() > 10
    small = np.abs(gyroscopic).max(axis=1) < 0.15
    np.testing.assert_allclose(np.cross(a - gyroscopic, b - gyroscopic)[small], 0.0, atol=1e-12)
    assert (np.sum((a - gyroscopic) * (b - gyroscopic), axis=1)[small] > 0).all()


def test_a_slew_stays_on_its_eigenaxis_only_with_the_gyroscopic_torque():
    axis = np.array([1.0, -2.0, 2.0]) / 3
    for gyroscopic, least, most in ((True, 0.0, 0.01), (False, 0.05, 1.0)):
        attitudes, _ = slew(
            lambda env, g=gyroscopic: controllers.make("quaternion_feedback", env, gyroscopic=g),
            2.5 * axis,
        )
        assert least < off_axis(attitudes[:, 0], axis) < most
        assert 2 * np.linalg.norm(attitudes[-1, 0, 1:]) < 1e-4


def test_a_slew_coasts_with_its_slew_rate_and_brakes_without_passing_the_target():
    axes = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.0, 0.8]])
    law = QuaternionFeedback(satellite(), [0.02] * 3, rate_limit=2.0, dt=0.1)
    attitudes, rates = slew("quaternion_feedback", 3.0 * axes)
    assert np.linalg.norm(rates, axis=2).max(axis=0) == pytest.approx(law.slew(axes), rel=0.02)
    along = np.sum(attitudes[:, :, 1:] * axes, axis=2) * np.sign(attitudes[:, :, 0])
    assert (along > -1e-4).all()
    slow, rates = slew(
        lambda env: controllers.make("quaternion_feedback", env, slew_rate=0.1), 3.0 * axes[:1]
    )
    assert np.linalg.norm(rates, axis=2).max() == pytest.approx(0.1, rel=0.01)
    assert slow[0, 0, 0] < slow[100, 0, 0]


@pytest.mark.parametrize("damping", [0.5, 1.0])
def test_the_slew_rate_is_the_one_from_which_the_linear_law_brakes_with_what_there_is(damping):
    law = of(QuaternionFeedback, [1.0] * 3, frequency=2.0, damping=damping)
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


# --- hysteretic feedback --------------------------------------------------------------------


def test_beyond_delta_the_memory_changes_to_the_short_way():
    law = of(Hysteretic, delta=0.2)
    q = np.array([[np.cos(a / 2), 0, 0, np.sin(a / 2)] for a in (3.0, 3.3, 3.6)])
    assert (q[:, 0] > -0.2).tolist() == [True, True, False]
    u, (h, _) = law.feedback((q, np.zeros((3, 3)), np.zeros((3, 3))), (np.ones(3), q), None)
    assert h.tolist() == [1, 1, -1]
    assert (u[:, 2] < 0).tolist() == [True, True, False]


def test_an_episode_starts_with_the_nearer_way():
    law = of(Hysteretic)
    q, omega = drawn(40)
    wrong = (-np.sign(q[:, 0]), q)
    starts = np.arange(40) % 2 == 0
    _, (h, _) = law.feedback((q, omega, 0 * omega), wrong, starts)
    np.testing.assert_array_equal(h[starts], np.sign(q[starts, 0]))
    kept = ~starts & (np.abs(q[:, 0]) < law.delta)
    assert kept.any()
    np.testing.assert_array_equal(h[kept], wrong[0][kept])
    np.testing.assert_array_equal(
        law.feedback((q, omega, 0 * omega), None, None)[0],
        of(AttitudePD).torque(q, omega, 0 * omega),
    )


def test_the_law_itself_remembers_nothing_between_calls():
    law = controllers.make("hysteretic", gym.make("ReactionWheelSlew-v0"))
    rng = np.random.default_rng(0)
    rows = np.concatenate([drawn(8)[0], rng.uniform(-0.1, 0.1, (8, 7))], axis=1)
    states = [(sign * np.ones(8), rows[:, :4]) for sign in (1, -1, 1)]
    a, b, again = (law.predict(rows, s, np.zeros(8, bool)) for s in states)
    assert (a[0] != b[0]).any()
    np.testing.assert_array_equal(a[0], again[0])
    np.testing.assert_array_equal(states[0][0], 1)
    one = law.predict(rows[0], (np.ones(1), rows[:1, :4]), np.array([False]))
    np.testing.assert_array_equal(one[0], a[0][0])


def test_past_a_half_turn_the_torque_goes_on_as_it_was():
    angles = np.linspace(3.0, 3.3, 31)
    path = canonicalized(from_rotation_vector(angles[:, None] * np.array([0.0, 0.0, 1.0])))
    assert np.abs(np.diff(path[:, 3])).max() > 1.9  # the observation jumps
    law, pd = of_slew("hysteretic"), of_slew("pd")
    memory, torques = None, {"hysteretic": [], "pd": []}
    for q in path:
        row = np.concatenate([q, np.zeros(3)])
        action, memory = law.predict(row, memory, np.array([memory is None]))
        torques["hysteretic"].append(action[2])
        torques["pd"].append(pd.predict(row)[0][2])
    assert (np.array(torques["hysteretic"]) < 0).all()
    assert (np.array(torques["pd"]) > 0).any()


def of_slew(name):
    return controllers.make(name, gym.make("AttitudeSlew-v0"))


def test_noise_that_holds_sign_feedback_at_a_half_turn_does_not_hold_the_hysteretic_law():
    """As in the paper: the noise shows the body beyond the half turn, whichever side it is on."""
    noise, z = 0.1, np.array([0.0, 0.0, 1.0])
    angle, switches = {}, {}
    for name in ("pd", "hysteretic"):
        env = gym.make("AttitudeSlew-v0")
        start = {"quaternion": from_rotation_vector((np.pi - 0.02) * z), "angular_velocity": 0 * z}
        seen, _ = env.reset(options={"state": start})
        law, memory, actions = controllers.make(name, env), None, []
        for _ in range(300):
            # The true angle in (0, 2 pi), of the observation's w >= 0.
            true = 2 * np.arctan2(*(seen[[3, 0]] * (np.sign(seen[3]) or 1.0)))
            near = abs(true - np.pi) < noise
            shown = multiply(
                seen[:4], from_rotation_vector(near * noise * np.sign(np.pi - true) * z)
            )
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


# --- geometric tracking ---------------------------------------------------------------------


def vee(matrix):
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0]])


def hat(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def test_geometric_tracking_is_the_law_written_in_rotation_matrices():
    rng = np.random.default_rng(1)
    law = of(GeometricTracking, frequency=0.8, damping=0.9)
    k_R, k_Omega = 0.8**2 * max(BODY.moments), 2 * 0.9 * 0.8 * max(BODY.moments)
    q, target = drawn(30, 2)[0], drawn(30, 3)[0]
    relative = multiply(target * [1, -1, -1, -1], q)
    Omega, Omega_d, change = rng.normal(size=(3, 30, 3))
    expected, w, last = [], [], []
    for R, R_d, rate, rate_d, rate_d_dot in zip(
        to_matrix(q), to_matrix(target), Omega, Omega_d, change, strict=True
    ):
        e_R = 0.5 * vee(R_d.T @ R - R.T @ R_d)
        e_Omega = rate - R.T @ R_d @ rate_d
        forward = hat(rate) @ R.T @ R_d @ rate_d - R.T @ R_d @ rate_d_dot
        expected.append(-k_R * e_R - k_Omega * e_Omega + np.cross(rate, J @ rate) - J @ forward)
        # How the rates in body axes got to where they are: R_d Omega_d turns, and so does R.
        R_rate = -hat(rate) @ R.T
        seen_rate = R_rate @ R_d @ rate_d + R.T @ (R_d @ hat(rate_d)) @ rate_d
        w.append(R.T @ R_d @ rate_d)
        last.append(w[-1] - law.dt * (seen_rate + R.T @ R_d @ rate_d_dot))
    seen = (relative, Omega, np.array(w))
    u, memory = law.feedback(seen, np.array(last), np.zeros(30, bool))
    np.testing.assert_allclose(u, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(memory, w)
    mirrored, _ = law.feedback((-relative, *seen[1:]), np.array(last), np.zeros(30, bool))
    np.testing.assert_array_equal(mirrored, u)


def test_without_a_past_the_targets_rate_is_taken_as_steady():
    q, Omega = drawn(10)
    w = np.roll(Omega, 1, axis=0)
    law = of(GeometricTracking)
    steady = w + law.dt * np.cross(Omega, w)  # in body axes, a period ago
    a, _ = law.feedback((q, Omega, w), None, np.ones(10, bool))
    b, _ = law.feedback((q, Omega, w), steady, np.zeros(10, bool))
    c, _ = law.feedback((q, Omega, w), steady + 1.0, np.ones(10, bool))
    np.testing.assert_allclose(a, b, rtol=1e-9)
    np.testing.assert_array_equal(a, c)


def test_the_feedforward_follows_a_moving_target_more_closely_than_pd():
    geometric, pd = (evaluate(name, "AttitudeTracking-v0", 8) for name in ("geometric", "pd"))
    assert geometric.success_rate == 1.0
    assert geometric.final_error < 0.02 < 0.1 < pd.final_error


# --- linear-quadratic control ---------------------------------------------------------------


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


@pytest.mark.parametrize("env_id", ["AttitudeSlew-v0", "RigidTop-v0"])
def test_a_small_motion_of_the_body_is_the_one_that_the_linear_law_was_made_for(env_id):
    env = gym.make(env_id)
    law, p = controllers.make("lqr", env), np.array([1e-3, -2e-3, 0.0])
    start = {"quaternion": from_rotation_vector(p), "angular_velocity": np.zeros(3)}
    seen, _ = env.reset(options={"state": start})
    dt, inertia = env.unwrapped.dt, np.diag(env.unwrapped.body.inertia)[:2]
    mgl = getattr(env.unwrapped.potential, "mgl", 0.0)
    offset = 3 if env_id == "AttitudeSlew-v0" else 2
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
        np.testing.assert_allclose(tilt, x[0], atol=2e-6)
        np.testing.assert_allclose(state["angular_velocity"][:2], x[1], atol=1e-4)
    assert np.abs(x[0]).max() < 1.9e-3


def test_the_chosen_lqr_is_that_of_the_goal():
    chosen = {
        "AttitudeSlew-v0": AttitudeLQR,
        "RigidTop-v0": UprightLQR,
        "SteadyPrecession-v0": PrecessionLQR,
    }
    for env_id, cls in chosen.items():
        assert type(controllers.make("lqr", gym.make(env_id))) is cls
