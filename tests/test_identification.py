"""Inertia from samples: synthetic motions with a known answer, and what must be refused."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rbgym
from rbgym.quaternion import from_rotation_vector, multiply, normalized

J = np.array([[6.0, 0.4, -0.3], [0.4, 8.0, 0.2], [-0.3, 0.2, 5.0]])
AT = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
BIAS = np.array([2e-3, -1e-3, 3e-3])
ANGLE, RATE = 1e-3, 5e-3  # noise


def motion(seed, n=81, tensor=J):
    """Times, attitudes, rates and torques, without noise and bias."""
    u = np.repeat(np.random.default_rng(seed).normal(size=(-(-n // 10), 3)), 10, axis=0)[: n - 1]
    run = rbgym.simulate(
        rbgym.RigidBody(tensor), dt=0.1, steps=2 * (n - 1), record_every=2,
        angular_velocity=(0.3, -0.2, 0.4), torque=np.repeat(u, 2, axis=0),
    )  # fmt: skip
    return run.time, run.quaternion, run.angular_velocity, u


def noisy(seed, q, omega):
    draw = np.random.default_rng([1, seed])
    q = multiply(q, from_rotation_vector(draw.normal(size=omega.shape) * ANGLE))
    return q, omega + BIAS + draw.normal(size=omega.shape) * RATE


def samples(seed, n=81):
    t, q, omega, u = motion(seed, n)
    return t, *noisy(seed, q, omega), u


@pytest.mark.slow
def test_the_true_tensor_and_bias_are_within_their_intervals_as_often_as_these_say():
    t, q, omega, u = motion(0)
    inside, outside_bias, odd = np.zeros(6), 0, 0
    for seed in range(100):
        found = rbgym.identify(t, *noisy(seed, q, omega), u)
        low, high = found.interval
        inside += ((low < J) & (high > J))[AT]
        outside_bias += np.linalg.norm(found.rate_bias - BIAS) > 4 * RATE / np.sqrt(len(t))
        odd += not found.consistent
    # Binomial, 100 draws at 0.95: 85 or fewer once in 6,700; the six are not independent.
    assert np.all(inside >= 86)
    assert inside.sum() >= 0.91 * 600
    # Nor may intervals be too wide: 100 of 100 for all would be one in a million.
    assert inside.sum() <= 0.99 * 600
    assert outside_bias <= 3
    assert odd <= 3


def test_without_noise_the_tensor_comes_out_to_seven_digits():
    found = rbgym.identify(*motion(1))
    np.testing.assert_allclose(found.inertia, J, rtol=0, atol=1e-6)
    assert found.consistent
    assert np.linalg.norm(found.rate_bias) < 1e-7


def test_dropped_samples_are_no_loss_but_of_themselves():
    t, q, omega, u = samples(2, 161)
    draw = np.random.default_rng(0).permutation(161)[:90]
    kept = np.unique([*range(0, 161, 10), *draw])  # a torque changes at a sample that is there
    found = rbgym.identify(t[kept], q[kept], omega[kept], u[np.minimum(kept, 159)])
    off = (found.inertia - J)[AT] / np.sqrt(np.diag(found.covariance))
    assert found.consistent
    assert np.abs(off).max() < 4.0


def test_a_record_too_long_to_be_linear_in_the_tensor_is_noticed():
    """A motion of 400 rad whose fit ends in a valley beside the best one."""
    draw = np.random.default_rng(4)
    u = np.repeat(draw.normal(size=(41, 3)) * 0.3, 10, axis=0)[:400]
    run = rbgym.simulate(
        rbgym.RigidBody(J), dt=0.125, steps=1600, record_every=4,
        angular_velocity=(1.0, 0.2, -0.5), torque=np.repeat(u, 4, axis=0),
    )  # fmt: skip
    q = multiply(run.quaternion, from_rotation_vector(draw.normal(size=(401, 3)) * 1e-3))
    rates = run.angular_velocity + BIAS + draw.normal(size=(401, 3)) * 1e-2
    found = rbgym.identify(run.time, q, rates, u)
    within = np.abs(found.inertia - J)[AT] / np.sqrt(np.diag(found.covariance)) < 4.0
    assert np.all(within) or not found.consistent


@pytest.mark.parametrize("scale", [0.97, 1.03])
def test_a_clock_that_runs_wrong_is_noticed(scale):
    t, q, omega, u = samples(4)
    assert rbgym.identify(t, q, omega, u).consistent
    found = rbgym.identify(scale * t, q, omega, u, attitude_noise=ANGLE, rate_noise=RATE)
    assert not found.consistent
    assert not rbgym.identify(scale * t, q, omega, u).consistent


def test_samples_and_torques_that_are_late_are_noticed():
    t, q, omega, u = samples(5)
    late_rates = rbgym.identify(t[1:], q[1:], omega[:-1], u[1:])
    late_torques = rbgym.identify(t[1:], q[1:], omega[1:], u[:-1])
    assert not late_rates.consistent
    assert late_rates.residual[1] > 3.0 * RATE
    assert not late_torques.consistent


def test_wheels_that_turn_a_body_at_rest_as_angular_momentum_says():
    """Without torque, from rest: the wheels' momentum and the body's cancel, J omega = -h."""
    t = np.arange(101) * 0.1
    h = np.stack([np.sin(0.5 * t), 0.7 * np.sin(0.9 * t), 0.8 * np.sin(0.3 * t)], axis=1)
    between = np.arange(1000) * 0.01 + 0.005  # a kinematic truth: omega = -J^-1 h, total zero
    fine = np.stack([np.interp(between, t, h[:, k]) for k in range(3)], axis=1)
    q = np.array([[1.0, 0.0, 0.0, 0.0]])
    for omega in -np.linalg.solve(J, fine.T).T:
        q = np.concatenate([q, multiply(q[-1:], from_rotation_vector(omega * 0.01)[None])])
    omega = -np.linalg.solve(J, h.T).T
    found = rbgym.identify(t, q[::10], omega, rotor_momentum=h)
    np.testing.assert_allclose(found.inertia, J, rtol=0, atol=1e-3)


def turned_by_rotors(n=61, gap=2.0):
    """Times, attitudes, rates and rotors' momentum of a body that only these turn."""
    t, J_inv = gap * np.arange(n), np.linalg.inv(J)
    h = 1.5 * np.stack([np.sin(0.2 * t), np.sin(0.13 * t), np.cos(0.07 * t) - 1.0], axis=1)

    def slope(s, y, momentum, torque):
        q, w = y[:4], y[4:]
        bent = np.cross(J @ w + momentum + s * torque, w) - torque
        return np.concatenate([0.5 * multiply(q, [0.0, *w]), J_inv @ bent])

    rows = [np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])]
    for given in zip(h, np.diff(h, axis=0) / gap, strict=False):
        run = solve_ivp(slope, (0.0, gap), rows[-1], "DOP853", args=given, rtol=1e-11, atol=1e-13)
        rows.append(run.y[:, -1])
    return t, normalized(np.array(rows)[:, :4]), np.array(rows)[:, 4:], h


def test_rotors_alone_tell_the_tensor_to_the_noise_of_a_star_tracker():
    t, q, omega, h = turned_by_rotors()
    draw = np.random.default_rng(6)
    noise = draw.normal(size=(2, len(t), 3)) * np.array([5e-5, 1e-5])[:, None, None]
    q = multiply(q, from_rotation_vector(noise[0]))
    found = rbgym.identify(t, q, omega + noise[1], rotor_momentum=h)
    off = (found.inertia - J)[AT] / np.sqrt(np.diag(found.covariance))
    assert found.consistent
    assert np.abs(off).max() < 4.0
    np.testing.assert_allclose(found.residual, (5e-5, 1e-5), rtol=0.15)


def test_attitudes_of_few_digits_and_either_sign_are_what_logs_hold():
    t, q, omega, u = samples(1)
    signs = np.where(np.arange(len(t)) % 3, 1.0, -1.0)[:, None]
    found, exact = rbgym.identify(t, signs * q.round(4), omega, u), rbgym.identify(t, q, omega, u)
    assert found.consistent
    np.testing.assert_allclose(found.inertia, exact.inertia, rtol=0, atol=2e-3)


@pytest.mark.parametrize("noise", [{}, {"attitude_noise": ANGLE, "rate_noise": RATE}])
def test_one_attitude_half_a_turn_off_is_noticed(noise):
    t, q, omega, u = samples(3)
    assert rbgym.identify(t, q, omega, u, **noise).consistent
    q[40] = multiply(q[40], (0.0, 1.0, 0.0, 0.0))
    assert not rbgym.identify(t, q, omega, u, **noise).consistent


@pytest.mark.parametrize(
    ("name", "row", "value", "message"),
    [("times", 700, 3.0, r"must rise from each to the next, got 3.0 in row 700"),
     ("quaternions", 700, np.nan, r"got \[nan, nan, nan, nan\] in row 700"),
     ("quaternions", 5, 1.0, r"must have unit length, got \[1.0, 1.0, 1.0, 1.0\] in row 5"),
     ("rates", 7, np.inf, r"got \[inf, inf, inf\] in row 7"),
     ("rates", 7, 50.0, r"got a gap of 0.2 s with \[50.0, 50.0, 50.0\] in row 7"),
     ("torques", 0, np.nan, r"got \[nan, nan, nan\] in row 0"),
     ("torques", slice(None), 0.0, "got zeros and none")],
)  # fmt: skip
@pytest.mark.interpreted
def test_what_is_wrong_in_a_long_record_is_named_by_its_row(name, row, value, message):
    n = 1001
    given = {"times": 0.2 * np.arange(n), "quaternions": np.tile((1.0, 0.0, 0.0, 0.0), (n, 1)),
             "rates": np.full((n, 3), 0.1), "torques": np.ones((n, 3))}  # fmt: skip
    given["torques"][-1] = np.nan  # no sample follows
    given[name][row] = value
    with pytest.raises(ValueError, match=f"{name} .*{message}" if value != 50.0 else message) as e:
        rbgym.identify(**given)
    assert len(str(e.value)) < 200


@pytest.mark.parametrize("tensor", [np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 1.01, 0.02])])
def test_a_plate_and_a_needle_come_out_as_bodies(tensor):
    t, q, omega, u = motion(7, tensor=100.0 * tensor)
    found = rbgym.identify(t, *noisy(7, q, omega), u)
    assert rbgym.RigidBody(found.inertia).moments.min() > 0.0


def test_a_body_that_rests_or_turns_about_one_axis_is_refused():
    n = 21
    t, q = 0.1 * np.arange(n), np.tile((1.0, 0.0, 0.0, 0.0), (n, 1))
    run = rbgym.simulate(rbgym.RigidBody([1, 2, 3]), dt=0.1, steps=n - 1, torque=(0.0, 0.0, 1.0))
    for given in ((q, np.zeros((n, 3))), (run.quaternion, run.angular_velocity)):
        with pytest.raises(ValueError, match="rates must be of a body that turns about more than"):
            rbgym.identify(t, *given, np.tile((0.0, 0.0, 1.0), (n, 1)))


@pytest.mark.parametrize(
    ("name", "change"),
    [("times", lambda x: x[::-1]),
     ("times", lambda x: 100.0 * x),
     ("times", lambda x: np.zeros((0, 3))),
     ("times", lambda x: np.where(x == x[3], np.nan, x)),
     ("quaternions", lambda x: x[:-1]),
     ("rates", lambda x: x[:, :2]),
     ("torques", lambda x: x[:-1]),
     ("torques", lambda x: "hard"),
     ("torques", lambda x: None),
     ("torques", lambda x: 1e90 * x),
     ("torques", lambda x: 1e-90 * x),
     ("rotor_momentum", lambda x: np.ones((20, 3))),
     ("rate_noise", lambda x: 5e-324),
     ("attitude_noise", lambda x: -1.0)],
)  # fmt: skip
def test_what_is_no_record_is_refused_by_name(name, change):
    given = dict(zip(("times", "quaternions", "rates", "torques"), motion(9, 21), strict=True))
    given[name] = change(given.get(name))
    with pytest.raises(ValueError, match=f"^{name} .*must .* got "):
        rbgym.identify(**given)
