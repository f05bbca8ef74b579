"""The slow references beyond Krysl's are checked here, before anything is checked against them."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import expm

import textbook as tb
import textbook_betsch as betsch
import textbook_cases as cases
import textbook_krenk as krenk
import textbook_krysl as krysl
import textbook_moller as moller
import textbook_potentials as potentials
import textbook_splitting as splitting

TENSOR = np.array([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
OMEGA = np.array([0.9, -0.7, 1.3])
Q = np.array([0.6, -0.3, 0.5, 0.4]) / np.linalg.norm([0.6, -0.3, 0.5, 0.4])
HELD = np.array([0.5, -0.3, 0.4])
WHEELS = np.array([0.3, -0.6, 0.8])
POTENTIALS = {
    "gravity": tb.Top(1.7, [0.3, -0.5, 0.8]),
    "gravity gradient": potentials.GravityGradient(0.4, TENSOR, [0.2, -0.7, 0.5]),
    "soft wall": potentials.SoftWall([0.3, -0.5, 0.8], "printed"),
}
TOP = POTENTIALS["gravity"]
STEPS = {
    "quat_vi": betsch.quat_vi_step,
    "convected": krenk.convected_step,
    "scalable_em": moller.scalable_em_step,
    "akw_dg": splitting.akw_dg_step,
    "mkrk_rk4": splitting.mkrk_rk4_step,
    "mkrk_gauss4": splitting.mkrk_gauss4_step,
    "rrr": splitting.rrr_step,
    "pdmv2": splitting.pdmv2_step,
    "pdmv4": splitting.pdmv4_step,
    "pdmv6": splitting.pdmv6_step,
}
RUNS = {name: partial(tb.run, step) for name, step in STEPS.items()}
RUNS["dir_em"] = partial(betsch.run_with_memory, betsch.DirEM)
WITH_ROTORS = ["convected", "scalable_em", "akw_dg", "mkrk_rk4", "mkrk_gauss4", "rrr"]
WITHOUT_ROTORS = sorted(set(RUNS) - set(WITH_ROTORS))


def drift(x):
    """Largest departure from the start, over the start's size."""
    return np.max(np.abs(x - x[0])) / np.linalg.norm(x[0])


def assert_same_motion(run, other, h, steps=25, atol=5e-13, **kwargs):
    """Two schemes are one to round-off, quaternions' signs included."""
    _, qs, ws = run(TENSOR, Q, OMEGA, h, steps, **kwargs)
    _, qs2, ws2 = other(TENSOR, Q, OMEGA, h, steps, **kwargs)
    np.testing.assert_allclose(qs, qs2, atol=atol)
    np.testing.assert_allclose(ws, ws2, atol=atol)


# ---- all schemes ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITHOUT_ROTORS)
def test_rotors_are_refused_where_there_are_none(name):
    with pytest.raises(ValueError, match="no rotors"):
        RUNS[name](TENSOR, Q, OMEGA, 0.1, 1, rotor_momentum=WHEELS)


def spans(potential, h):
    """Step and their number; less on the wall: later this body falls into the pit behind it."""
    return (0.1, 10) if isinstance(potential, potentials.SoftWall) else (h, 50)


IMPULSES = {
    "half the torque at each end": (["quat_vi", "rrr", "pdmv2", "pdmv6"], "ends"),
    "the mean of the end attitudes": (["convected", "akw_dg"], "ends"),
    "the attitude half-way": (["dir_em", "scalable_em"], "half-way"),
}


@pytest.mark.parametrize("h", [0.05, 0.4])
@pytest.mark.parametrize(("names", "where"), IMPULSES.values(), ids=IMPULSES)
def test_held_torque_gives_its_full_world_impulse(names, where, h):
    for name in names:
        (q, w), _, _ = RUNS[name](TENSOR, Q, OMEGA, h, 1, torque=HELD)
        R_0, R_1 = tb.rotation(Q), tb.rotation(q)
        turned = (R_0 + R_1) / 2 if where == "ends" else tb.rotation((Q + q) / 2)
        impulse = tb.world_momentum(TENSOR, R_1, w) - tb.world_momentum(TENSOR, R_0, OMEGA)
        np.testing.assert_allclose(impulse, h * turned @ HELD, atol=1e-14, err_msg=name)


# ---- schemes that are one -------------------------------------------------------------------
AKW, QUAT_EM = partial(tb.run, krysl.akw_step), partial(tb.run, tb.quat_em_step)
EVERYTHING = {"potential": TOP, "torque": HELD, "rotor_momentum": WHEELS}


@pytest.mark.parametrize("h", [0.1, 0.5])
def test_quat_vi_is_discrete_moser_veselov_when_torque_free(h):
    assert_same_motion(RUNS["quat_vi"], RUNS["pdmv2"], h)


def test_half_kicks_and_the_mean_quaternion_see_a_potential_differently():
    with pytest.raises(AssertionError):
        assert_same_motion(RUNS["quat_vi"], RUNS["pdmv2"], 0.1, 1, 1e-6, potential=TOP)
    assert_same_motion(RUNS["quat_vi"], RUNS["pdmv2"], 0.1, torque=HELD)


@pytest.mark.parametrize("h", [0.1, 0.5])
@pytest.mark.parametrize("torque", [None, HELD], ids=["free", "held torque"])
def test_convected_is_akw_without_potential(h, torque):
    assert_same_motion(RUNS["convected"], AKW, h, torque=torque, rotor_momentum=WHEELS)


def test_convected_is_not_akw_in_gravity():
    with pytest.raises(AssertionError):
        assert_same_motion(RUNS["convected"], AKW, 0.1, 1, 1e-6, potential=TOP)


@pytest.mark.parametrize("h", [0.1, 0.5])
def test_scalable_em_is_quat_em(h):
    assert_same_motion(RUNS["scalable_em"], QUAT_EM, h, **EVERYTHING)


def test_akw_dg_is_akw_in_gravity_and_on_the_wall_is_not():
    assert_same_motion(RUNS["akw_dg"], AKW, 0.2, **EVERYTHING)
    with pytest.raises(AssertionError):
        assert_same_motion(
            RUNS["akw_dg"], AKW, 0.2, 1, 1e-6, potential=POTENTIALS["gravity gradient"]
        )


@pytest.mark.parametrize(
    ("tableau", "step"),
    [(splitting.MIDPOINT, krysl.imidm_step), (splitting.TRAPEZOID, krysl.bbtrapwd_step)],
    ids=["imidm", "bbtrapwd"],
)
def test_munthe_kaas_methods_are_krysls_for_their_tableaus(tableau, step):
    assert_same_motion(partial(tb.run, tableau.step), partial(tb.run, step), 0.2, **EVERYTHING)


# ---- Betsch & Siebert -----------------------------------------------------------------------
@pytest.mark.parametrize("potential", [None, *POTENTIALS.values()], ids=["free", *POTENTIALS])
def test_dir_em_conserves_its_director_energy_and_stays_orthonormal(potential):
    kept = betsch.memories(betsch.DirEM, TENSOR, Q, OMEGA, *spans(potential, 0.3), potential)
    total = np.array([betsch.director_energy(TENSOR, memory, potential) for memory in kept])
    assert drift(total) < 1e-13
    worst = max(np.max(np.abs(betsch.constraints(memory.d))) for memory in kept)
    assert worst < 2e-15


def test_dir_em_loses_energy_if_its_velocities_are_rebuilt_from_omega():
    (_, _), qs, ws = tb.run(rebuilding_step, TENSOR, Q, OMEGA, 0.3, 50)
    kept = [betsch.DirEM.start(TENSOR, q, w) for q, w in zip(qs, ws, strict=True)]
    total = np.array([betsch.director_energy(TENSOR, memory) for memory in kept])
    assert 1e-3 < drift(total) < 0.1


def rebuilding_step(J, q, omega, h, *loads):
    """DIR_EM that forgets its memory after each step."""
    memory = betsch.DirEM.step(J, betsch.DirEM.start(J, q, omega), h, *loads)
    return betsch.DirEM.shown(J, memory, q)


def test_director_energy_and_momentum_are_the_bodys_at_the_start():
    memory = betsch.DirEM.start(TENSOR, Q, OMEGA)
    q, w = betsch.DirEM.shown(TENSOR, memory, Q)
    np.testing.assert_allclose(np.concatenate([q, w]), np.concatenate([Q, OMEGA]), atol=3e-15)
    expected = tb.energy(TENSOR, tb.rotation(Q), OMEGA, TOP)
    assert betsch.director_energy(TENSOR, memory, TOP) == pytest.approx(expected, abs=1e-14)


def test_the_forces_of_a_held_torque_have_its_moment_whatever_is_added_along_the_constraints():
    rng = np.random.default_rng(8)
    d, moment = rng.standard_normal((3, 3)), rng.standard_normal(3)
    f = betsch.forces_of_moment(moment, d)
    np.testing.assert_allclose(np.cross(d, f).sum(axis=0), moment, atol=1e-14)
    along = betsch.constraint_force(rng.standard_normal(6), d)
    np.testing.assert_allclose(np.cross(d, along).sum(axis=0), np.zeros(3), atol=1e-14)


def test_constraint_forces_are_the_slopes_of_the_constraints():
    d, multipliers = tb.rotation(Q).T + 0.1, np.arange(1.0, 7.0)
    slopes = tb.complex_step_jacobian(lambda x: betsch.constraints(x.reshape(3, 3)), d.ravel())
    force = betsch.constraint_force(multipliers, d)
    np.testing.assert_allclose(force.ravel(), multipliers @ slopes, atol=1e-14)


def cone_error(run, steps):
    """Relative error of the centre of mass at t = 1 (the e of section 5.2.3)."""
    case = cases.BETSCH_CONE
    start = (case.inertia, case.quaternion, case.angular_velocity)
    (q, _), _, _ = run(*start, case.end / steps, steps, case.potential)
    exact = cases.steady_precession_centre_of_mass(case.end)
    return np.linalg.norm(cases.CONE_ARM * tb.rotation(q)[:, 2] - exact) / np.linalg.norm(exact)


@pytest.mark.parametrize(
    ("name", "steps", "measured"),
    [("quat_vi", 400, 0.0408), ("dir_em", 100, 0.0796)],
)
def test_precession_errors_are_the_measured_ones(name, steps, measured):
    assert cone_error(RUNS[name], steps) == pytest.approx(measured, rel=0.01)


def test_quat_vi_needs_the_smaller_step_that_the_paper_names():
    assert cone_error(RUNS["quat_vi"], 143) < 1  # h = 0.007
    with pytest.raises(ArithmeticError):
        cone_error(RUNS["quat_vi"], 100)


# ---- Krenk & Nielsen ------------------------------------------------------------------------
def test_convected_momentum_may_be_kept_or_rebuilt():
    kept = partial(betsch.run_with_memory, krenk.Convected)
    assert_same_motion(RUNS["convected"], kept, 0.3, **EVERYTHING)


def test_the_multipliers_of_convected_change_neither_attitude_nor_rate():
    base = krenk.Convected.start(TENSOR, Q, OMEGA, WHEELS)
    along = 0.3 * krenk.C(base.q).T @ np.arange(1.0, 7.0)
    ends = [
        krenk.Convected.shown(
            TENSOR, krenk.Convected.step(TENSOR, start, 0.3, TOP, HELD, WHEELS), Q, WHEELS
        )
        for start in (base, base._replace(p=base.p + along))
    ]
    np.testing.assert_allclose(np.concatenate(ends[0]), np.concatenate(ends[1]), atol=2e-14)


def test_convected_base_vectors_stay_orthonormal_and_orthogonal_to_the_momenta():
    for base in betsch.memories(krenk.Convected, TENSOR, Q, OMEGA, 0.3, 50, TOP, HELD, WHEELS):
        np.testing.assert_allclose(krenk.strains(base.q), np.zeros(6), atol=2e-14)
        np.testing.assert_allclose(krenk.C(base.q) @ base.p, np.zeros(6), atol=5e-14)  # (17)


def test_the_printed_hamiltonian_is_the_bodys_energy_with_G_p_minus_the_body_momentum():
    base = krenk.Convected.start(TENSOR, Q, OMEGA, WHEELS)
    R = tb.rotation(Q)
    np.testing.assert_allclose(krenk.G(base.q) @ base.p, -(TENSOR @ OMEGA + WHEELS), atol=2e-15)
    expected = tb.energy(TENSOR, R, OMEGA, TOP)
    assert krenk.base_energy(TENSOR, base, TOP, WHEELS) == pytest.approx(expected, abs=2e-15)
    expected = tb.world_momentum(TENSOR, R, OMEGA, WHEELS)
    np.testing.assert_allclose(krenk.base_momentum(base), expected, atol=2e-15)


def test_the_two_printed_matrices_are_the_slopes_and_rates_they_stand_for():
    base = krenk.Convected.start(TENSOR, Q, OMEGA)
    rate = (tb.skew(tb.rotation(Q) @ OMEGA) @ base.q.reshape(3, 3).T).T.ravel()
    np.testing.assert_allclose(-krenk.G(base.q) @ rate / 2, OMEGA, atol=1e-15)  # (7)
    np.testing.assert_allclose(krenk.C(base.q) @ rate, np.zeros(6), atol=1e-15)  # (4)
    np.testing.assert_allclose(krenk.C(base.q) @ krenk.G(base.q).T, np.zeros((6, 3)), atol=1e-15)
    slopes = tb.complex_step_jacobian(krenk.strains, base.q)
    np.testing.assert_allclose(slopes, krenk.C(base.q), atol=1e-15)  # (5)


# ---- Moller & Glocker -----------------------------------------------------------------------
MASS, OFF_UNIT = 2.5, 1.3 * Q
SCALABLE = moller.scalable_state(TENSOR, [0.1, 0.2, 0.3], OFF_UNIT, [1.0, -0.5, 0.2], 0.4, OMEGA)
LOADS = {"force": [0.7, -0.2, 0.4], "scaling_force": -0.6, "moment": HELD}


@pytest.mark.parametrize("h", [0.05, 0.5])
def test_the_multiplier_of_a_free_body_is_minus_mean_omega_Theta_omega_minus_S(h):
    _, w = moller.scalable_em_step(TENSOR, Q, OMEGA, h)
    mean = (OMEGA @ TENSOR @ OMEGA + w @ TENSOR @ w) / 2
    for S in (0.0, 0.8):
        found = moller.scalable_em_multiplier(TENSOR, Q, OMEGA, h, scaling_force=S)
        # It is had from a difference of momenta, divided by h.
        assert found == pytest.approx(-mean - S, abs=2e-14 / h)


def test_the_multiplier_also_balances_the_potential():
    h, potential = 0.3, POTENTIALS["soft wall"]
    q, w = moller.scalable_em_step(TENSOR, Q, OMEGA, h, potential, HELD)
    mean, middle = (OMEGA @ TENSOR @ OMEGA + w @ TENSOR @ w) / 2, (Q + q) / 2
    slope_of_V = potentials.discrete_quaternion_gradient(potential, Q, q)
    found = moller.scalable_em_multiplier(TENSOR, Q, OMEGA, h, potential, HELD)
    balance = middle @ slope_of_V / (2 * middle @ middle)
    assert abs(balance) > 0.1
    assert found == pytest.approx(balance - mean, abs=1e-13)


def test_a_scalable_body_under_the_multiplier_as_scaling_force_moves_as_the_rigid_one():
    h = 0.3
    S = moller.scalable_em_multiplier(TENSOR, Q, OMEGA, h)
    start = moller.scalable_state(TENSOR, np.zeros(3), Q, np.zeros(3), 0.0, OMEGA)
    end = moller.scalable_step(MASS, TENSOR, start, h, scaling_force=S)
    q, w = moller.scalable_em_step(TENSOR, Q, OMEGA, h)
    np.testing.assert_allclose(end.A, q, atol=2e-15)
    np.testing.assert_allclose(moller.scalable_velocities(TENSOR, end)[1], w, atol=1e-14)


def test_the_free_scalable_body_keeps_energy_and_momentum_while_it_grows():
    states = moller.scalable_run(MASS, TENSOR, SCALABLE, 0.1, 50)
    total = np.array([moller.scalable_energy(MASS, TENSOR, state) for state in states])
    L = np.array([moller.scalable_momentum(state) for state in states])
    assert drift(total) < 1e-13
    assert drift(L) < 1e-13
    assert np.linalg.norm(states[-1].A) > 1.5 * np.linalg.norm(OFF_UNIT)


def test_the_work_on_the_scalable_body_is_force_times_way():
    state = SCALABLE
    end = moller.scalable_step(MASS, TENSOR, state, 0.3, **LOADS)
    gain = np.diff([moller.scalable_energy(MASS, TENSOR, x) for x in (state, end)])[0]
    load = np.array([LOADS["scaling_force"], *LOADS["moment"]])
    work = (tb.Q_left(state.A + end.A) @ load) @ (end.A - state.A)  # 2 phi(A_mid) (S, M) . dA
    work += np.array(LOADS["force"]) @ (end.r - state.r)
    assert gain == pytest.approx(work, abs=1e-13)


@pytest.mark.parametrize("loads", [{}, LOADS], ids=["free", "loaded"])
def test_the_scalable_body_follows_its_differential_equations_with_order_2(loads):
    exact = moller.scalable_reference(MASS, TENSOR, SCALABLE, 1.0, **loads)
    errors = []
    for n in (16, 32):
        end = moller.scalable_run(MASS, TENSOR, SCALABLE, 1.0 / n, n, **loads)[-1]
        errors.append(np.linalg.norm(np.concatenate(end) - np.concatenate(exact)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    expected = SCALABLE.r + SCALABLE.v + 0.5 * np.array(loads.get("force", np.zeros(3))) / MASS
    np.testing.assert_allclose(end.r, expected, atol=1e-14)


def test_the_differential_equations_of_the_scalable_body_keep_energy_and_momentum():
    end = moller.scalable_reference(MASS, TENSOR, SCALABLE, 2.0)
    total = [moller.scalable_energy(MASS, TENSOR, state) for state in (SCALABLE, end)]
    assert total[1] == pytest.approx(total[0], rel=1e-12)
    momenta = [moller.scalable_momentum(state) for state in (SCALABLE, end)]
    np.testing.assert_allclose(*momenta, atol=1e-11)


def test_discrete_slopes_give_the_exact_change_of_the_hamiltonian():
    rng = np.random.default_rng(4)
    (A, p, A1, p1), zero = rng.standard_normal((4, 4)), np.zeros(3)
    d_pi, d_eta = moller.discrete_slopes(TENSOR, A, p, A1, p1)
    ends = [moller.Scalable(zero, *x) for x in [(A, zero, p), (A1, zero, p1)]]
    before, after = (moller.scalable_energy(MASS, TENSOR, state) for state in ends)
    change = d_pi @ (tb.Q_left(A1).T @ p1 - tb.Q_left(A).T @ p) + d_eta * (A1 @ A1 - A @ A)
    assert change == pytest.approx(after - before, rel=1e-13)


# ---- splittings and Munthe-Kaas -------------------------------------------------------------
@pytest.mark.parametrize("Theta", [OMEGA, 1e-3 * OMEGA, 1e-4 * OMEGA, np.zeros(3)])
def test_the_printed_dexp_is_the_sum_of_its_series(Theta):
    S, zero = tb.skew(Theta), np.zeros((3, 3))
    series = expm(np.block([[S, np.eye(3)], [zero, zero]]))[:3, 3:]  # sum of S^k / (k + 1)!
    np.testing.assert_allclose(splitting.dexp(Theta), series, atol=2e-15)


def test_the_rotations_are_about_the_axes_in_the_order_given_or_by_ascending_moments():
    given = np.array([2.0, 1.4, 0.9])
    for J in (given, np.diag(given)):
        np.testing.assert_array_equal(splitting.splitting_axes(J)[0], given)
        np.testing.assert_array_equal(splitting.splitting_axes(J)[1], np.eye(3))
    moments, axes = splitting.splitting_axes(TENSOR)
    assert np.all(np.diff(moments) > 0)
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, TENSOR, atol=1e-14)
    ends = [splitting.rrr_step(J, Q, OMEGA, 0.2)[1] for J in (given, np.diag(given))]
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("h", [0.1, 0.5])
def test_moser_veselov_also_solves_the_form_in_half_angle_tangents(h):
    Pi = TENSOR @ OMEGA
    W = splitting.moser_veselov(TENSOR, Pi, h)
    q = tb.quaternion_of_rotation(W, near=np.eye(4)[0])
    c = q[1:] / q[0]
    x, growth = TENSOR @ c, 1 + c @ c
    np.testing.assert_allclose(h / 2 * Pi * growth, x + np.cross(c, x), atol=1e-15)
    np.testing.assert_allclose(W.T @ Pi, Pi - 4 / h * np.cross(c, x) / growth, atol=1e-14)


@pytest.mark.parametrize("step", [betsch.quat_vi_step, splitting.pdmv2_step])
def test_moser_veselov_turns_a_sphere_by_the_arc_sine_of_rate_times_step_and_no_further(step):
    J, direction, h = np.full(3, 2.0), OMEGA / np.linalg.norm(OMEGA), 0.2
    q, _ = step(J, Q, 0.9 / h * direction, h)
    assert 2 * np.arccos(q @ Q) == pytest.approx(np.arcsin(0.9), abs=1e-12)
    with pytest.raises(ArithmeticError):  # h |omega| > 1 has no solution
        step(J, Q, 1.1 / h * direction, h)


def test_preprocessing_is_in_invariants_of_the_tensor():
    h, B = 0.3, tb.rotation(Q)
    Pi, turned = TENSOR @ OMEGA, B.T @ TENSOR @ B
    for order in (2, 4, 6):
        modified = splitting.preprocessed_inertia(TENSOR, Pi, h, order)
        other = splitting.preprocessed_inertia(turned, B.T @ Pi, h, order)
        np.testing.assert_allclose(modified, B @ other @ B.T, atol=1e-14)


def test_preprocessing_refuses_a_step_that_turns_a_moment_negative():
    with pytest.raises(ArithmeticError, match="not positive"):
        splitting.pdmv4_step(TENSOR, Q, OMEGA, 3.0)


# ---- potentials -----------------------------------------------------------------------------
PRINTED = potentials.SoftWall()
WALL_INERTIA, WALL_MOMENTUM = np.array([2.0, 3.0, 4.5]), np.full(3, 2.0)
ALL = [*POTENTIALS.values(), PRINTED]


@pytest.mark.parametrize("potential", ALL, ids=[*POTENTIALS, "printed wall"])
def test_torques_and_quaternion_gradients_are_slopes_of_the_energy(potential):
    R, eps = tb.rotation(Q), 1e-30j
    turned = [potential.energy(R @ (np.eye(3) + eps * tb.skew(axis))) for axis in np.eye(3)]
    np.testing.assert_allclose(potential.body_torque(R), -np.imag(turned) / 1e-30, atol=2e-15)
    for q in (Q, 0.9 * Q):
        slopes = [potential.energy(tb.homogeneous_rotation(q + eps * x)) for x in np.eye(4)]
        np.testing.assert_allclose(
            potential.quaternion_gradient(q), np.imag(slopes) / 1e-30, atol=5e-15
        )


@pytest.mark.parametrize("potential", ALL, ids=[*POTENTIALS, "printed wall"])
def test_divided_differences_are_exact_and_become_the_gradient(potential):
    rng = np.random.default_rng(6)
    for size in (1.0, 1e-9, 0.0):
        q_0 = tb.random_quaternion(rng)
        q_1 = q_0 + size * rng.standard_normal(4)
        q_1 = q_1 / np.linalg.norm(q_1)
        R_0, R_1 = tb.rotation(q_0), tb.rotation(q_1)
        o_0, o_1 = (potentials.body_vector(potential, R) for R in (R_0, R_1))
        g = potentials.divided_difference(potential, o_0, o_1)
        change = potential.energy(R_1) - potential.energy(R_0)
        assert g @ (o_1 - o_0) == pytest.approx(change, rel=1e-13, abs=1e-15)
        slope_of_V = potentials.discrete_quaternion_gradient(potential, q_0, q_1)
        assert slope_of_V @ (q_1 - q_0) == pytest.approx(change, rel=1e-13, abs=1e-15)
        if size < 1:
            at_the_end = np.cross(o_0, g)
            np.testing.assert_allclose(
                at_the_end, potential.body_torque(R_0), atol=1e-7 * size + 1e-14
            )
            np.testing.assert_allclose(
                slope_of_V, potential.quaternion_gradient(q_0), atol=1e2 * size + 1e-14
            )


def test_the_soft_wall_has_the_printed_torque_barrier_and_repulsive_sister():
    R = tb.rotation(Q)
    factor = -((1.1 + R[2, 2]) ** -2) + 0.01 * (1.1 + R[2, 2]) ** -11
    printed = factor * np.array([-R[1, 2], R[0, 2], 0.0])  # Krysl, section 5.4
    np.testing.assert_allclose(R @ PRINTED.body_torque(R), printed, atol=1e-15)
    z = np.linspace(-0.9, 1.0, 19001)
    V = np.array([PRINTED.value(np.array([0.0, 0.0, x])) for x in z])
    top = np.argmax(np.where(z > -0.7, V, -np.inf))
    assert (z[top], V[top]) == (pytest.approx(-0.5005, abs=1e-3), pytest.approx(1.501, abs=1e-3))


@pytest.mark.parametrize(("sign", "lowest"), [("printed", -0.405), ("repulsive", -0.655)])
def test_krysls_body_comes_as_near_to_each_wall_as_its_energy_lets_it(sign, lowest):
    wall = potentials.SoftWall(sign=sign)
    start = WALL_INERTIA, np.eye(4)[0], WALL_MOMENTUM / WALL_INERTIA
    _, qs, _ = RUNS["akw_dg"](*start, 0.1, 300, wall)
    assert min(tb.rotation(q)[2, 2] for q in qs) == pytest.approx(lowest, abs=0.005)


@pytest.mark.parametrize("name", ["akw_dg", "scalable_em"])
def test_krysls_printed_wall_at_his_step_keeps_its_energy(name):
    start = WALL_INERTIA, np.eye(4)[0], WALL_MOMENTUM / WALL_INERTIA
    _, qs, ws = RUNS[name](*start, 0.5, 60, PRINTED)
    pairs = zip(qs, ws, strict=True)
    total = np.array([tb.energy(WALL_INERTIA, tb.rotation(q), w, PRINTED) for q, w in pairs])
    assert drift(total) < 1e-13
    heights = [tb.rotation(q)[2, 2] for q in qs]
    assert min(heights) > -0.5005  # before the barrier
