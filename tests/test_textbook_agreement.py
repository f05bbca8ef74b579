"""Each scheme of the catalogue against its slow twin, written from the paper's printed system."""

import numpy as np
import pytest

import textbook as tb
import textbook_betsch as betsch
import textbook_cases as cases
import textbook_krenk as krenk
import textbook_krysl as krysl
import textbook_moller as moller
import textbook_potentials as fields
import textbook_splitting as splitting
from rbgym import Batch, GravityGradient, HeavyTop, RigidBody, SoftWall, integrators
from rbgym.quaternion import angle_between
from textbook_cases import OMEGA, TENSOR, Q

pytestmark = pytest.mark.interpreted

STEPS = 15  # beyond, explicit Euler steps blow up in some of the cases
BOUND = 1e-12  # rad, and relative to the angular velocity


def rrr_step(J, *args):
    """The twin does not know in which order the engine takes the principal axes."""
    body = RigidBody(J)
    return splitting.rrr_step(body.inertia, *args, axes=body.principal_rotation)


TWINS = {
    "quat_em": tb.quat_em_step, "akw": krysl.akw_step, "trap": krysl.trap_step,
    "imid": krysl.imid_step, "trapm": krysl.trapm_step, "imidm": krysl.imidm_step,
    "forward_euler": krysl.forward_euler_step, "backward_euler": krysl.backward_euler_step,
    "forward_euler_m": krysl.forward_euler_m_step, "backward_euler_m": krysl.backward_euler_m_step,
    "swc1": krysl.swc1_step, "bbtrap": krysl.bbtrap_step, "bbtrapwd": krysl.bbtrapwd_step,
    "rkn4": tb.rkn4_normalised_step, "akw_dg": splitting.akw_dg_step,
    "convected": krenk.convected_step, "scalable_em": moller.scalable_em_step,
    "dir_em": betsch.DirEM, "quat_vi": betsch.quat_vi_step, "pdmv": splitting.pdmv6_step,
    "exact": splitting.exact_step, "rrr": rrr_step, "mkrk_rk4": splitting.mkrk_rk4_step,
    "mkrk_gauss4": splitting.mkrk_gauss4_step,
}  # fmt: skip
WITH_ROTORS = [name for name in TWINS if "rotors" in integrators.get(name).supports]
TILTED = cases.Case(TENSOR, Q, OMEGA, tb.Top(1.7, [0.3, -0.5, 0.8]), 1.0)
CASES = {
    "Betsch free": (cases.BETSCH_FREE, 0.01),
    "Krysl free": (cases.KRYSL_FREE, 0.2),
    "Betsch cone": (cases.BETSCH_CONE, 0.005),
    "Krysl slow top": (cases.KRYSL_SLOW_TOP, 0.02),
    "Krysl fast top": (cases.KRYSL_FAST_TOP, 0.01),
    "full tensor": (TILTED, 0.05),
    "full tensor, free": (TILTED._replace(potential=None), 0.1),
}

# A free body, a top and a top with products of inertia: under torque, the others add no new term.
DRIVEN = ("Betsch free", "Krysl fast top", "full tensor")


def momentum_scale(case):
    return np.linalg.norm(tb.tensor(case.inertia) @ case.angular_velocity)


# Those of a potential that varies; the printed QUAT_EM has no discrete derivative for them.
STEEP_TWINS = {**TWINS, "quat_em": moller.scalable_em_step}
WALLED = np.array([2.0, 3.0, 4.5])
STEEP = {
    "soft wall": (
        cases.Case(WALLED, np.eye(4)[0], 2.0 / WALLED, fields.SoftWall(), 1.0), SoftWall(), 0.1),
    "repulsive wall, tilted": (
        TILTED._replace(potential=fields.SoftWall((0.36, 0.48, 0.8), "repulsive")),
        SoftWall("repulsive", (0.36, 0.48, 0.8)), 0.05),
    "gravity gradient, full tensor": (
        TILTED._replace(potential=fields.GravityGradient(1.5, TENSOR, (0.36, 0.48, 0.8))),
        GravityGradient(1.5, (0.36, 0.48, 0.8)), 0.1),
}  # fmt: skip


def held_torque(case, h):
    """One that changes the momentum by a fifth in a hundred steps."""
    return 0.2 * momentum_scale(case) / (100 * h) * np.array([0.6, -0.48, 0.64])


def wheels_of(case):
    return 0.3 * momentum_scale(case) * np.array([0.48, 0.64, -0.6])


def engine_end(record, case, field, h, torque, rotor_momentum, steps):
    if field is None and case.potential is not None:
        field = HeavyTop(case.potential.mgl, tuple(case.potential.axis))
    batch = Batch(RigidBody(case.inertia), record, field, projection=False)
    batch.set_state(case.quaternion, case.angular_velocity, rotor_momentum=rotor_momentum)
    batch.set_torque(torque)
    batch.advance(h, steps)
    assert not batch.failed.any()
    end = batch.measure()
    return end["quaternion"][0], end["angular_velocity"][0]


def assert_agree(record, twin, case, h, torque=None, rotor_momentum=None, field=None, bound=BOUND):
    torque = np.zeros(3) if torque is None else torque
    q, omega = engine_end(record, case, field, h, torque, rotor_momentum, STEPS)
    run = betsch.run_with_memory if hasattr(twin, "shown") else tb.run
    start = case.inertia, case.quaternion, case.angular_velocity
    rotors = {} if rotor_momentum is None else {"rotor_momentum": rotor_momentum}
    (q_t, omega_t), _, _ = run(twin, *start, h, STEPS, case.potential, torque, **rotors)
    assert angle_between(q, q_t / np.linalg.norm(q_t)) < bound
    assert np.linalg.norm(omega - omega_t) < bound * np.linalg.norm(omega_t)


def test_every_scheme_of_the_catalogue_has_a_textbook_twin():
    assert set(TWINS) == set(integrators.names())


@pytest.mark.parametrize("case_name", CASES)
@pytest.mark.parametrize("name", TWINS)
def test_scheme_agrees_with_its_textbook_twin(name, case_name):
    case, h = CASES[case_name]
    assert_agree(name, TWINS[name], case, h)


@pytest.mark.parametrize(
    ("name", "rotors"), [*((n, False) for n in TWINS), *((n, True) for n in WITH_ROTORS)]
)
@pytest.mark.parametrize("case_name", DRIVEN)
def test_scheme_agrees_with_its_textbook_twin_under_held_torque(name, rotors, case_name):
    case, h = CASES[case_name]
    wheels = wheels_of(case) if rotors else None
    assert_agree(name, TWINS[name], case, h, held_torque(case, h), wheels)


# Implicit, and by half kicks. Rotors are machine code in tests of wheels.
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["quat_em", "exact"])
def test_compiled_schemes_agree_with_their_textbook_twins(name):
    case, h = CASES["full tensor"]
    assert_agree(name, TWINS[name], case, h, held_torque(case, h))


@pytest.mark.parametrize("case_name", STEEP)
@pytest.mark.parametrize("name", STEEP_TWINS)
def test_scheme_agrees_with_its_textbook_twin_in_a_potential_that_varies(name, case_name):
    case, field, h = STEEP[case_name]
    torque = held_torque(case, h)
    assert_agree(name, STEEP_TWINS[name], case, h, torque=torque, field=field)


@pytest.mark.parametrize("case_name", CASES)
def test_rkn4_that_never_normalises_agrees_with_the_printed_scheme(case_name):
    case, h = CASES[case_name]
    torque, wheels = held_torque(case, h), wheels_of(case)
    record = integrators.get("rkn4", renormalise_every=0)
    # The drifting norm feeds back on the rates: round-off grows with it.
    assert_agree(record, tb.rkn4_step, case, h, bound=1e-11)
    assert_agree(record, tb.rkn4_step, case, h, torque, wheels, bound=1e-11)


KICKED = {"exact:4": splitting.forward_step, "exact:6": splitting.blanes_moan_step}


@pytest.mark.parametrize("case_name", [*DRIVEN, *STEEP])
@pytest.mark.parametrize("name", KICKED)
def test_kicks_and_exact_motions_agree_with_their_textbook_twin(name, case_name):
    case, h = CASES[case_name] if case_name in CASES else STEEP[case_name][::2]
    field = STEEP[case_name][1] if case_name in STEEP else None
    torque = held_torque(case, h)
    assert_agree(name, KICKED[name], case, h, torque=torque, field=field)


def test_the_exact_motion_with_rotors_is_composed_of_whole_steps():
    def twin(J, q, omega, h, *rest):
        w = 1 / (4 - 4 ** (1 / 3))
        for length in (w, w, 1 - 4 * w, w, w):
            q, omega = splitting.exact_step(J, q, omega, length * h, *rest)
        return q, omega

    case, h = CASES["full tensor"]
    torque, wheels = held_torque(case, h), wheels_of(case)
    assert_agree("exact:4", twin, case, h, torque=torque, rotor_momentum=wheels)


@pytest.mark.parametrize("order", [2, 4, 6])
def test_pdmv_agrees_with_its_textbook_twin_at_each_order(order):
    case, h = CASES["full tensor, free"]
    assert_agree(integrators.get("pdmv", order=order), splitting.PDMV(order).step, case, h)
