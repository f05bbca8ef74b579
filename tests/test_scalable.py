"""The scalable body: against its slow twin, its closed form, the rigid body and plain physics."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import textbook
import textbook_moller as moller
from rbgym import RigidBody, ScalableState, scalable_step, simulate, simulate_scalable
from rbgym.engine.batch import IntegrationError
from rbgym.quaternion import angle_between, multiply, normalized, rotate
from refusals import refused
from textbook_cases import OMEGA, TENSOR, Q

MASS = 2.5
MOMENTS = [2.0, 1.4, 0.9]
BODY = RigidBody(TENSOR, MASS)
TURNING = {"quaternion": Q, "angular_velocity": OMEGA}
MOVING = {"position": (0.1, 0.2, 0.3), "velocity": (1.0, -0.5, 0.2)}
START = {**TURNING, **MOVING, "scale": 1.69, "scale_rate": -0.4}
LOADS = {"force": (0.7, -0.2, 0.4), "scaling_force": -0.6, "moment": (0.3, 0.2, -0.5)}
RNG = np.random.default_rng(8)
SCHEDULE = {
    "force": RNG.standard_normal((60, 3)),
    "scaling_force": RNG.standard_normal(60),
    "moment": RNG.standard_normal((60, 3)),
}
FIELDS = ("time", *ScalableState._fields, "angular_momentum", "energy", "multiplier")


def same(a, b):
    return [name for name in FIELDS if not np.array_equal(getattr(a, name), getattr(b, name))] == []


def quaternions_of_scale(motion):
    """A (n, 4), without jumps of sign."""
    return np.sqrt(motion.scale)[:, None] * motion.quaternion


def twin_start(inertia, start):
    """The start in the twin's terms: A of any length, omega = s Omega (49)."""
    s, A = start["scale"], math.sqrt(start["scale"]) * start["quaternion"]
    r, v, nu = (start[name] for name in ("position", "velocity", "scale_rate"))
    return moller.scalable_state(inertia, r, A, v, nu, s * np.array(start["angular_velocity"]))


@pytest.mark.parametrize("loads", [{}, LOADS], ids=["free", "loaded"])
@pytest.mark.parametrize("inertia", [MOMENTS, TENSOR], ids=["principal", "full"])
def test_motion_is_that_of_the_textbook_system_in_eight_unknowns(inertia, loads):
    h, steps = 0.05, 100
    motion = simulate_scalable(RigidBody(inertia, MASS), dt=h, steps=steps, **START, **loads)
    twin = moller.scalable_run(MASS, inertia, twin_start(inertia, START), h, steps, **loads)
    assert_allclose(quaternions_of_scale(motion), [x.A for x in twin], rtol=0, atol=1e-11)
    assert_allclose(motion.position, [x.r for x in twin], rtol=0, atol=1e-11)
    assert_allclose(motion.velocity, [x.v for x in twin], rtol=0, atol=1e-11)
    momenta = [moller.scalable_momentum(x) for x in twin]
    assert_allclose(motion.angular_momentum, momenta, rtol=0, atol=1e-11)
    rates = [moller.scalable_velocities(inertia, x) for x in twin]
    assert_allclose(motion.scale_rate, [nu for nu, _ in rates], rtol=0, atol=1e-11)
    omega = motion.scale[:, None] * motion.angular_velocity
    assert_allclose(omega, [w for _, w in rates], rtol=0, atol=1e-11)
    energy = [moller.scalable_energy(MASS, inertia, x) for x in twin]
    assert_allclose(motion.energy, energy, rtol=1e-12)
    assert np.ptp(motion.scale) > 1.0
    assert not np.any(motion.multiplier)


@pytest.mark.parametrize("load", [0.0, 0.7], ids=["free", "loaded"])
def test_newton_has_the_derivative_of_its_equation(load):
    """By complex steps through the kernels, which run uncompiled."""
    body = scalable_step.Inertia(MASS, sum(MOMENTS) / 2, tuple(MOMENTS))
    here, upright, L = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.9, -0.8, 1.1)
    start = scalable_step.FullState(here, here, upright, 1.3, -0.4, L)
    loads = scalable_step.Load(here, load, (load, -load, 2 * load))
    step = scalable_step.step_of(body, start, loads, 0.3, False)
    x = np.array([-0.05, 0.1, -0.2, 0.15])

    def equation(x):
        scalar, vector = scalable_step.equation(step, scalable_step.trial(step, x[0], tuple(x[1:])))
        return np.array([scalar, *vector])

    trial = scalable_step.trial(step, x[0], tuple(x[1:]))
    for unit in np.eye(4):
        found = scalable_step.change(step, trial, unit[0], tuple(unit[1:]))
        expected = equation(x + 1e-40j * unit).imag / 1e-40
        assert_allclose([found[0], *found[1]], expected, rtol=0, atol=1e-13 * np.max(expected))


def test_energy_and_momentum_stay_over_ten_thousand_steps_while_the_scale_more_than_doubles():
    motion = simulate_scalable(BODY, dt=0.002, steps=10_000, **START)
    assert motion.scale.max() > 2 * motion.scale.min()
    drift = motion.drift()
    assert set(drift) == {"energy", "angular_momentum", "velocity", "quaternion_norm"}
    assert drift["energy"]["max"] < 1e-13
    assert drift["angular_momentum"]["max"] == 0.0
    assert drift["velocity"]["max"] == 0.0
    assert drift["quaternion_norm"]["max"] < 1e-15


@pytest.mark.parametrize("rigid", [False, True], ids=["scalable", "rigid"])
def test_every_step_gains_the_energy_that_the_loads_work_on_it(rigid):
    start = {**START, "scale": 1.0, "scale_rate": 0.0} if rigid else START
    motion = simulate_scalable(BODY, dt=0.1, steps=60, rigid=rigid, **start, **SCHEDULE)
    A, way = quaternions_of_scale(motion), np.diff(motion.position, axis=0)
    loads = np.column_stack([SCHEDULE["scaling_force"], SCHEDULE["moment"]])
    f = multiply(A[:-1] + A[1:], loads)  # 2 A_mid o (S, M) (76)
    work = np.sum(f * np.diff(A, axis=0), axis=1) + np.sum(SCHEDULE["force"] * way, axis=1)
    assert np.ptp(motion.energy) > 1.0
    assert_allclose(np.diff(motion.energy), work, rtol=0, atol=3e-14 * motion.energy.max())


def test_a_moment_changes_the_world_momentum_by_its_impulse_at_the_mean_quaternion():
    motion = simulate_scalable(BODY, dt=0.1, steps=60, **START, **SCHEDULE)
    A = quaternions_of_scale(motion)
    middle = (A[:-1] + A[1:]) / 2
    size = np.sum(middle**2, axis=1, keepdims=True)
    impulse = 0.1 * size * rotate(normalized(middle), SCHEDULE["moment"])
    change = np.diff(motion.angular_momentum, axis=0)
    assert_allclose(change, impulse, rtol=0, atol=1e-14 * np.abs(motion.angular_momentum).max())


def errors_against(exact, loads, t, steps):
    """Attitude [rad], scale and position at time t."""
    end = simulate_scalable(BODY, dt=t / steps, steps=steps, **START, **loads)
    return [
        angle_between(normalized(exact.A), end.quaternion[-1]),
        abs(exact.A @ exact.A - end.scale[-1]),
        np.linalg.norm(exact.r - end.position[-1]),
    ]


@pytest.mark.parametrize("loads", [{}, LOADS], ids=["free", "loaded"])
def test_attitude_and_scale_are_of_order_2_and_the_position_under_a_constant_force_is_exact(loads):
    exact = moller.scalable_reference(MASS, TENSOR, twin_start(TENSOR, START), 4.0, **loads)
    errors = np.array([errors_against(exact, loads, 4.0, n) for n in (100, 200, 400)])
    assert np.log2(errors[:-1, :2] / errors[1:, :2]) == pytest.approx(2, abs=0.05)
    assert errors[:, 2].max() < 1e-12


def test_position_is_of_order_2_under_a_force_that_changes_with_time():
    def error(n):
        h = 2.0 / n
        force = np.sin(3 * h * (np.arange(n) + 0.5))[:, None] * [1.0, 0.0, -2.0]  # of mid-step
        end = simulate_scalable(BODY, dt=h, steps=n, velocity=(0.3, 0.0, 0.0), force=force)
        swing = (2.0 / 3 - math.sin(6.0) / 9) / MASS
        return np.linalg.norm(end.position[-1] - [0.6 + swing, 0.0, -2 * swing])

    errors = [error(n) for n in (40, 80, 160)]
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(2, abs=0.05)


def test_a_free_body_grows_and_turns_as_its_closed_form_says():
    """(s nu tr(Theta)/2)' = 2 H, H the energy but for the translation, makes s^2 quadratic in time;
    in the time tau with dtau = dt/s^2 the body turns as a rigid one of the same momentum.
    """
    t, (s, nu), trace = 6.0, (START["scale"], START["scale_rate"]), np.trace(TENSOR)
    omega = s * np.array(START["angular_velocity"])
    bend = trace * nu**2 + 2 * omega @ TENSOR @ omega
    square = np.polynomial.Polynomial([s**2, 2 * s * nu, bend / trace])
    root = s * math.sqrt(bend / trace - nu**2)  # of s^2 = ((s s')^2 + root^2)/(bend/trace)
    tau = np.diff(np.arctan(square.deriv()(np.array([0.0, t])) / (2 * root)))[0] / root
    q, w = textbook.euler_reference(TENSOR, Q, s * omega, tau)
    errors = []
    for n in (1000, 2000):
        end = simulate_scalable(BODY, dt=t / n, steps=n, record_every=n, **START)
        turned = angle_between(end.quaternion[-1], q)
        errors.append([abs(end.scale[-1] / math.sqrt(square(t)) - 1), turned])
        spin = end.scale[-1] ** 2 * end.angular_velocity[-1]
        assert_allclose(spin, w, rtol=0, atol=10 * turned * np.linalg.norm(w))
    assert np.log2(np.divide(*errors)) == pytest.approx(2, abs=0.02)
    assert np.max(errors[1]) < 5e-6


@pytest.mark.parametrize("S", [0.0, 0.8])
def test_the_constrained_free_body_is_the_rigid_body_of_quat_em_and_lambda_is_its_scaling_force(S):
    free = {"dt": 0.1, "steps": 500, **TURNING}
    motion = simulate_scalable(BODY, rigid=True, scaling_force=S, **free)
    rigid = simulate(BODY, integrator="quat_em", **free)
    assert np.all(motion.scale == 1.0)
    assert np.all(motion.scale_rate == 0.0)
    assert np.array_equal(motion.angular_momentum, rigid.angular_momentum)
    assert np.max(angle_between(motion.quaternion, rigid.quaternion)) < 1e-12
    assert_allclose(motion.angular_velocity, rigid.angular_velocity, rtol=0, atol=1e-12)
    w = motion.angular_velocity
    form = np.sum(w * (w @ BODY.inertia), axis=1)
    expected = -(form[:-1] + form[1:]) / 2 - S  # (96)
    assert_allclose(motion.multiplier, expected, rtol=0, atol=1e-13)


def test_the_constrained_body_under_a_moment_is_quat_em_under_its_part_at_the_mean_quaternion():
    h, M = 0.1, SCHEDULE["moment"]
    motion = simulate_scalable(BODY, dt=h, steps=60, rigid=True, moment=M, **TURNING)
    middle = (motion.quaternion[:-1] + motion.quaternion[1:]) / 2
    u = np.sum(middle**2, axis=1, keepdims=True) * M
    rigid = simulate(BODY, integrator="quat_em", dt=h, steps=60, torque=u, **TURNING)
    assert np.max(angle_between(motion.quaternion, rigid.quaternion)) < 1e-12
    assert_allclose(motion.angular_momentum, rigid.angular_momentum, rtol=0, atol=1e-12)
    for k in (0, 20, 59):
        start = motion.quaternion[k], motion.angular_velocity[k]
        multiplier = moller.scalable_em_multiplier(TENSOR, *start, h, torque=u[k])
        assert motion.multiplier[k] == pytest.approx(multiplier, abs=1e-12)


def test_the_scalable_body_under_the_multiplier_as_its_scaling_force_repeats_the_rigid_motion():
    free = {"dt": 0.1, "steps": 300, **TURNING}
    rigid = simulate_scalable(BODY, rigid=True, **free)
    motion = simulate_scalable(BODY, scaling_force=rigid.multiplier, **free)
    assert_allclose(motion.scale, 1.0, rtol=0, atol=1e-12)
    assert np.max(angle_between(motion.quaternion, rigid.quaternion)) < 1e-11
    left = simulate_scalable(BODY, **free)
    assert left.scale[-1] > 10.0


def test_a_body_at_rest_stays_at_rest():
    motion = simulate_scalable(BODY, dt=0.1, steps=5, scale=0.7, quaternion=Q)
    assert np.all(motion.scale == 0.7)
    assert_allclose(motion.quaternion, motion.quaternion[:1].repeat(6, axis=0), rtol=0, atol=3e-16)
    assert not np.any(motion.energy)


def test_a_step_that_all_but_undoes_its_rotation_is_solved_too():
    """There the unknowns are round-off, and cannot be the measure of their own convergence."""
    rng, h = np.random.default_rng(1), 0.1
    for _ in range(1000):
        q, spin = normalized(rng.standard_normal(4)), 0.5 * rng.standard_normal(3)
        moment = -2 / h * (1 + 1e-13 * rng.standard_normal(3)) * (BODY.inertia @ spin)
        loads = {"moment": moment, "scaling_force": -spin @ BODY.inertia @ spin}
        start = {"quaternion": q, "angular_velocity": spin}
        motion = simulate_scalable(BODY, dt=h, steps=1, **start, **loads)
        assert_allclose(motion.angular_velocity[-1], -spin, rtol=0, atol=1e-11)


def test_loads_by_table_equal_the_callables_that_return_them():
    def law(name):
        return lambda t, state: SCHEDULE[name][round(t / 0.05)]

    by_table = simulate_scalable(BODY, dt=0.05, steps=60, **START, **SCHEDULE)
    by_law = simulate_scalable(BODY, dt=0.05, steps=60, **START, **{n: law(n) for n in SCHEDULE})
    mixed = {**SCHEDULE, "scaling_force": law("scaling_force")}
    by_both = simulate_scalable(BODY, dt=0.05, steps=60, **START, **mixed)
    assert same(by_table, by_law)
    assert same(by_table, by_both)


def test_a_callable_sees_the_state_at_the_start_of_its_step():
    seen = []

    def law(t, state):
        seen.append((t, state))
        return -0.3 * state.angular_velocity

    motion = simulate_scalable(BODY, dt=0.05, steps=10, moment=law, **START)
    assert np.array_equal([t for t, _ in seen], motion.time[:-1])
    for name in ScalableState._fields:
        found = np.array([getattr(state, name) for _, state in seen])
        assert np.array_equal(found, getattr(motion, name)[:-1])


@pytest.mark.parametrize("by_law", [False, True])
def test_records_are_every_kth_instant_and_the_last(by_law):
    loads = {**LOADS, "force": (lambda t, state: (t, 0.0, 1.0)) if by_law else (0.0, 0.0, 1.0)}
    full, sparse = (
        simulate_scalable(BODY, dt=0.05, steps=30, record_every=k, **START, **loads) for k in (1, 7)
    )
    kept = [0, 7, 14, 21, 28, 30]
    for name in FIELDS[:-1]:
        assert np.array_equal(getattr(sparse, name), getattr(full, name)[kept])
    vectors = ("position", "velocity", "angular_velocity", "angular_momentum")
    shapes = {**dict.fromkeys(FIELDS, (31,)), **dict.fromkeys(vectors, (31, 3))}
    shapes |= {"quaternion": (31, 4), "multiplier": (30,)}
    assert {name: getattr(full, name).shape for name in FIELDS} == shapes


@refused(
    ({"rigid": True, "scale": 1.1}, "scale must be 1 and scale_rate 0 with rigid=True"),
    ({"rigid": True, "scale_rate": 0.1}, "scale must be 1 and scale_rate 0 with rigid=True"),
    ({"body": BODY.about((0.1, 0.0, 0.0))}, "body must have its inertia about the centre of mass"),
)
def test_a_start_and_a_body_that_cannot_be_are_refused(given):
    simulate_scalable(**{"body": BODY, "dt": 0.1, "steps": 1, **given})


def test_a_body_that_collapses_is_an_integration_error_shortly_before_the_scale_is_zero():
    """Whatever dt: for some, the last steps' equations have roots in which the body bounces."""
    for h in np.geomspace(0.001, 4.0, 100):
        with pytest.raises(IntegrationError, match="at t = ") as error:
            simulate_scalable(BODY, dt=h, steps=3000, quaternion=Q, scale_rate=-1.0)
        t = float(str(error.value).split("t = ")[1].split(" s")[0])
        assert 1.0 - 4 * h < t < 1.0


def test_a_spin_however_small_keeps_a_body_from_collapsing():
    start = {"scale_rate": -0.5, "angular_velocity": (0.02, 0.01, 0.0)}
    motion = simulate_scalable(BODY, dt=0.001, steps=4000, **start)
    a, b = 4 * motion.energy[0] / np.trace(TENSOR), -0.5  # s^2 = 1 + 2 b t + a t^2
    assert motion.scale.min() == pytest.approx(math.sqrt(1 - b * b / a), rel=1e-3)
    assert motion.drift()["energy"]["max"] < 1e-13


@pytest.mark.parametrize("by_law", [False, True])
def test_a_step_too_long_is_an_integration_error_that_names_the_time(by_law):
    moment = np.zeros((10, 3))
    moment[6] = 1e4
    given = (lambda t, state: moment[round(t / 0.5)]) if by_law else moment
    start = {"angular_velocity": (0.01, 0.0, 0.0), "record_every": 4}
    with pytest.raises(IntegrationError, match=r"step of 0\.5 s at t = 3\.0 s"):
        simulate_scalable(BODY, dt=0.5, steps=10, moment=given, **start)
