"""The slow reference integrators are checked here, before anything is checked against them."""

from functools import partial

import numpy as np
import pytest

import textbook as tb
import textbook_betsch as betsch
import textbook_cases as cases
import textbook_krenk as krenk
import textbook_krysl as krysl
import textbook_moller as moller
import textbook_potentials as potentials
import textbook_splitting as splitting
from textbook_cases import OMEGA, TENSOR, Q

TOP = tb.Top(1.7, [0.3, -0.5, 0.8])
HELD = np.array([0.5, -0.3, 0.4])
WHEELS = np.array([0.3, -0.6, 0.8])
STEPS = {
    "quat_em": tb.quat_em_step, "akw": krysl.akw_step, "imidm": krysl.imidm_step,
    "bbtrapwd": krysl.bbtrapwd_step, "quat_vi": betsch.quat_vi_step,
    "convected": krenk.convected_step, "scalable_em": moller.scalable_em_step,
    "akw_dg": splitting.akw_dg_step, "mkrk midpoint": splitting.MIDPOINT.step,
    "mkrk trapezoid": splitting.TRAPEZOID.step, "rrr": splitting.rrr_step,
    "pdmv2": splitting.pdmv2_step, "pdmv6": splitting.pdmv6_step,
}  # fmt: skip
RUNS = {name: partial(tb.run, step) for name, step in STEPS.items()}
RUNS["dir_em"] = partial(betsch.run_with_memory, betsch.DirEM)


def attitude_error(q, r):
    """Frobenius distance of the two rotation matrices: blind to the sign of a quaternion."""
    return np.linalg.norm(tb.rotation(q) - tb.rotation(r))


def test_the_reference_follows_the_analytic_precession():
    case = cases.BETSCH_CONE
    q, w = tb.euler_reference(*case[:3], case.end, case.potential)
    q_exact, w_exact = cases.steady_precession(case.end)
    assert attitude_error(q, q_exact) < 1e-10
    np.testing.assert_allclose(w, w_exact, rtol=0, atol=1e-8)
    printed = cases.steady_precession_centre_of_mass(case.end)
    centre = cases.CONE_ARM * tb.rotation(q_exact)[:, 2]
    np.testing.assert_allclose(centre, printed, rtol=0, atol=1e-15)


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
        np.testing.assert_allclose(impulse, h * turned @ HELD, rtol=0, atol=1e-14, err_msg=name)


def test_akw_held_torque_does_work_h_omega_mid_u():
    h = 0.4
    q, w = krysl.akw_step(TENSOR, Q, OMEGA, h, TOP, HELD, WHEELS)
    gain = tb.energy(TENSOR, tb.rotation(q), w, TOP) - tb.energy(TENSOR, tb.rotation(Q), OMEGA, TOP)
    assert gain == pytest.approx(h * (OMEGA + w) / 2 @ HELD, abs=1e-14)


EVERYTHING = {"potential": TOP, "torque": HELD, "rotor_momentum": WHEELS}


@pytest.mark.parametrize(
    ("name", "other", "h", "loads"),
    [
        ("quat_vi", "pdmv2", 0.5, {}),  # discrete Moser-Veselov
        ("quat_vi", "pdmv2", 0.1, {"torque": HELD}),
        ("convected", "akw", 0.5, {"torque": HELD, "rotor_momentum": WHEELS}),
        ("scalable_em", "quat_em", 0.5, EVERYTHING),
        ("akw_dg", "akw", 0.2, EVERYTHING),
        ("mkrk midpoint", "imidm", 0.2, EVERYTHING),
        ("mkrk trapezoid", "bbtrapwd", 0.2, EVERYTHING),
    ],
)
def test_two_schemes_are_one_to_round_off(name, other, h, loads):
    _, qs, ws = RUNS[name](TENSOR, Q, OMEGA, h, 25, **loads)
    _, qs2, ws2 = RUNS[other](TENSOR, Q, OMEGA, h, 25, **loads)
    np.testing.assert_allclose(qs, qs2, rtol=0, atol=5e-13)
    np.testing.assert_allclose(ws, ws2, rtol=0, atol=5e-13)


def test_the_soft_wall_has_the_printed_torque_and_barrier():
    wall, R = potentials.SoftWall(), tb.rotation(Q)
    factor = -((1.1 + R[2, 2]) ** -2) + 0.01 * (1.1 + R[2, 2]) ** -11
    printed = factor * np.array([-R[1, 2], R[0, 2], 0.0])  # Krysl, section 5.4
    np.testing.assert_allclose(R @ wall.body_torque(R), printed, rtol=0, atol=1e-15)
    z = np.linspace(-0.9, 1.0, 19001)
    V = np.array([wall.value(np.array([0.0, 0.0, x])) for x in z])
    top = np.argmax(np.where(z > -0.7, V, -np.inf))
    assert (z[top], V[top]) == (pytest.approx(-0.5005, abs=1e-3), pytest.approx(1.501, abs=1e-3))
