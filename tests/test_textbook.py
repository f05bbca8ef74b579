"""The slow reference integrators are checked here, before anything is checked against them."""

import numpy as np
import pytest

import textbook as tb
import textbook_cases as cases
import textbook_krysl as krysl

TENSOR = np.array([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
TOP = tb.Top(1.7, [0.3, -0.5, 0.8])
HELD = np.array([0.5, -0.3, 0.4])
WHEELS = np.array([0.3, -0.6, 0.8])
OMEGA = np.array([0.9, -0.7, 1.3])
Q = np.array([0.6, -0.3, 0.5, 0.4]) / np.linalg.norm([0.6, -0.3, 0.5, 0.4])


def invariants(case, qs, omegas):
    """Total energy (n,) and world momentum (n, 3) along a trajectory."""
    pairs = [(tb.rotation(q), w) for q, w in zip(qs, omegas, strict=True)]
    total = [tb.energy(case.inertia, R, w, case.potential) for R, w in pairs]
    return np.array(total), np.array([tb.world_momentum(case.inertia, R, w) for R, w in pairs])


def relative_drift(x):
    """Largest departure from the first row, over that row's size."""
    return np.max(np.abs(x - x[0])) / np.linalg.norm(x[0])


def attitude_error(q, r):
    """Frobenius distance of the two rotation matrices: blind to the sign of a quaternion."""
    return np.linalg.norm(tb.rotation(q) - tb.rotation(r))


def slope(step, **kwargs):
    """Measured order on the asymmetric body, between 40, 80 and 160 steps over one second."""
    q_end, w_end = tb.euler_reference(TENSOR, Q, OMEGA, 1.0, **kwargs)
    errors, counts = [], np.array([40, 80, 160])
    for n in counts:
        (q, w), _, _ = tb.run(step, TENSOR, Q, OMEGA, 1.0 / n, n, **kwargs)
        errors.append(attitude_error(q, q_end) + np.linalg.norm(w - w_end))
    return -np.polyfit(np.log(counts), np.log(errors), 1)[0]


def test_akw_held_torque_does_work_h_omega_mid_u():
    h = 0.4
    q, w = krysl.akw_step(TENSOR, Q, OMEGA, h, TOP, HELD, WHEELS)
    gain = tb.energy(TENSOR, tb.rotation(q), w, TOP) - tb.energy(TENSOR, tb.rotation(Q), OMEGA, TOP)
    assert gain == pytest.approx(h * (OMEGA + w) / 2 @ HELD, abs=1e-14)


@pytest.mark.parametrize("wheels", [None, WHEELS], ids=["body", "gyrostat"])
def test_rkn4_as_printed_loses_one_order_to_its_drifting_norm(wheels):
    measured = slope(tb.rkn4_step, potential=TOP, torque=HELD, rotor_momentum=wheels)
    assert measured == pytest.approx(3, abs=0.1)


def test_rkn4_quaternion_leaves_the_unit_sphere_at_its_truncation_order():
    drifts = []
    for n in (50, 100):
        (q, _), _, _ = tb.run(tb.rkn4_step, TENSOR, Q, OMEGA, 1.0 / n, n, TOP, HELD)
        drifts.append(abs(np.linalg.norm(q) - 1))
    assert 1e-13 < drifts[1] < drifts[0] / 12


@pytest.mark.parametrize("t", [0.0, 0.37])
def test_the_analytic_precession_has_the_printed_centre_of_mass(t):
    centre = cases.CONE_ARM * tb.rotation(cases.steady_precession(t)[0])[:, 2]
    np.testing.assert_allclose(centre, cases.steady_precession_centre_of_mass(t), atol=1e-15)


def test_the_reference_follows_the_analytic_precession():
    case = cases.BETSCH_CONE
    q, w = tb.euler_reference(
        case.inertia, case.quaternion, case.angular_velocity, case.end, case.potential
    )
    q_exact, w_exact = cases.steady_precession(case.end)
    assert attitude_error(q, q_exact) < 1e-10
    np.testing.assert_allclose(w, w_exact, atol=1e-8)


def cone_error(step, steps):
    """Relative error of the centre of mass at t = 1 (the e of section 5.2.3)."""
    case = cases.BETSCH_CONE
    start = (case.inertia, case.quaternion, case.angular_velocity)
    (q, _), _, _ = tb.run(step, *start, case.end / steps, steps, case.potential)
    exact = cases.steady_precession_centre_of_mass(case.end)
    return np.linalg.norm(cases.CONE_ARM * tb.rotation(q)[:, 2] - exact) / np.linalg.norm(exact)


@pytest.mark.parametrize(
    ("step", "published"),
    [(tb.quat_em_step, 0.103), (krysl.imidm_step, 0.0066), (krysl.akw_step, 0.25)],
)
def test_precession_errors_at_400_steps_are_the_measured_ones(step, published):
    assert cone_error(step, 400) == pytest.approx(published, rel=0.03)


def test_the_reference_turns_a_sphere_by_exactly_rate_times_time():
    q, _ = tb.euler_reference([2.0, 2.0, 2.0], [1.0, 0.0, 0.0, 0.0], OMEGA, 2.0)
    assert attitude_error(q, tb.quaternion_of_rotation_vector(2.0 * OMEGA)) < 1e-12


def test_the_reference_conserves_energy_and_momentum_of_a_free_body():
    case = cases.BETSCH_FREE
    ends = tb.euler_reference(case.inertia, case.quaternion, case.angular_velocity, 1.0)
    qs, ws = zip((case.quaternion, case.angular_velocity), ends, strict=True)
    total, L = invariants(case, qs, ws)
    assert relative_drift(total) < 1e-11
    assert relative_drift(L) < 1e-12


def test_a_constant_function_of_time_is_the_same_as_held_torque():
    held = tb.euler_reference(TENSOR, Q, OMEGA, 1.0, torque=HELD)
    called = tb.euler_reference(TENSOR, Q, OMEGA, 1.0, torque=lambda t: HELD)
    np.testing.assert_array_equal(np.concatenate(held), np.concatenate(called))


def test_quaternions_and_matrices_convert_back_and_forth():
    rng = np.random.default_rng(5)
    half_turns = [np.eye(4)[i] for i in range(4)]
    for q in [*half_turns, *(tb.random_quaternion(rng) for _ in range(100))]:
        R = tb.rotation(q)
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(tb.quaternion_of_rotation(R, near=q), q, atol=1e-15)


def test_the_tops_torque_and_quaternion_gradient_are_slopes_of_its_energy():
    def along(x):
        return UP @ tb.homogeneous_rotation(Q + x) @ TOP.axis * TOP.mgl

    UP, g = tb.UP, TOP.quaternion_gradient(Q)
    slopes = [along(1e-20j * unit).imag / 1e-20 for unit in np.eye(4)]
    np.testing.assert_allclose(g, slopes, atol=1e-15)
    np.testing.assert_allclose(-tb.G(Q) @ g / 2, TOP.body_torque(tb.rotation(Q)), atol=1e-15)


def test_both_printed_mass_matrices_agree():
    extended = np.diag([np.trace(TENSOR) / 2, 0, 0, 0])
    extended[1:, 1:] = TENSOR
    M = 4 * tb.Q_left(Q) @ extended @ tb.Q_left(Q).T  # (32)
    np.testing.assert_allclose(tb.mass_matrix(TENSOR, Q), M, atol=1e-14)
