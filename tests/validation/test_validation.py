"""The validation suite holds for the catalogue as it is, and sees through false declarations."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from rbgym import integrators
from rbgym.engine.batch import IntegrationError
from rbgym.quaternion import rotate
from rbgym.validation import declared, validate
from rbgym.validation.cases import CASES, NO_TORQUE, Case, applicable
from rbgym.validation.declarations import reference

STEPS = 2000
KINDS = [case.kind for case in CASES]
ORDERS = {"order in attitude", "order in momentum"}


def declare(monkeypatch, name, **changes):
    record = replace(integrators.get(name), **changes)
    module = sys.modules[type(record.scheme).__module__]
    others = [one for one in module.INTEGRATORS if one.name != name]
    monkeypatch.setattr(module, "INTEGRATORS", [*others, record])


def broken(name, kind="none"):
    return {c.quantity for c in validate([name], cases=[kind], steps=STEPS) if not c.passed}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*integrators.names(), *integrators.KICKED])
def test_every_integrator_does_what_it_declares(name):
    claims = validate([name])
    assert not [claim for claim in claims if not claim.passed], claims


@pytest.mark.parametrize("name", ["quat_em:4", "imidm:6", "mkrk_rk4"])
def test_compositions_and_tableaus_do_what_they_declare(name):
    record = integrators.get(name)
    for case in applicable(record, ("none", "heavy_top")):
        claims = declared(record, case, STEPS)
        assert not [claim for claim in claims if not claim.passed], claims


@pytest.mark.parametrize("name", ["quat_em", "imidm", "rkn4"])
def test_each_declared_invariant_order_and_symmetry_has_its_claim(name):
    record, claims = integrators.get(name), validate([name], steps=1)
    rows = {(c.case, c.quantity) for c in claims}
    for potential, conserved in record.conserves.items():
        wanted = {*conserved, *ORDERS, "time reversal", "turned world"}
        assert {(potential, quantity) for quantity in wanted} <= rows


def test_without_names_and_cases_everything_is_measured(monkeypatch):
    monkeypatch.setattr("rbgym.validation.declared", lambda record, case, steps: [(record, case)])
    measured = {(record.name, case.kind) for record, case in validate(steps=1)}
    names = (*integrators.names(), *integrators.KICKED)
    assert measured == {(name, kind) for name in names for kind in KINDS}


def test_two_processes_measure_what_one_does():
    one = validate(["akw"], cases=["none"], steps=10)
    seen = []
    two = validate(
        ["akw"], cases=["none"], steps=10, jobs=2, progress=lambda *done: seen.append(done)
    )
    assert one == two
    assert seen == [(1, 1)]


def test_a_false_promise_of_energy_is_caught(monkeypatch):
    declare(monkeypatch, "imidm", conserves={"none": ("energy", "angular_momentum")})
    assert broken("imidm") == {"energy", "energy, unprojected"}


def test_a_false_promise_of_momentum_is_caught(monkeypatch):
    declare(monkeypatch, "rkn4", conserves={"heavy_top": ("vertical_momentum",)})
    assert "vertical_momentum" in broken("rkn4", "heavy_top")


def test_a_false_promise_of_the_spin_is_caught(monkeypatch):
    conserves = {"heavy_top": ("energy", "vertical_momentum", "spin")}
    declare(monkeypatch, "quat_em", conserves=conserves)
    assert broken("quat_em", "heavy_top") == {"spin", "spin, unprojected"}


def test_a_spin_that_is_kept_but_not_declared_is_caught(monkeypatch):
    declare(monkeypatch, "akw", conserves={"heavy_top": ("energy", "vertical_momentum")})
    assert broken("akw", "heavy_top") == {"spin, unprojected"}


@pytest.mark.parametrize(("name", "order"), [("rkn4", 5), ("rkn4", 3), ("quat_em", 3), ("akw", 1)])
def test_a_false_order_is_caught(monkeypatch, name, order):
    declare(monkeypatch, name, order=order)
    assert broken(name, "heavy_top") >= ORDERS


@pytest.mark.parametrize(("name", "order"), [("quat_em", math.inf), ("pdmv", 4), ("exact", 6)])
def test_a_false_order_of_the_free_motion_is_caught(monkeypatch, name, order):
    declare(monkeypatch, name, free_order=order)
    assert {"free order in attitude", "free order in momentum"} <= broken(name)


@pytest.mark.parametrize(("name", "symmetric"), [("akw", False), ("rkn4", True)])
def test_a_false_symmetry_is_caught(monkeypatch, name, symmetric):
    declare(monkeypatch, name, symmetric=symmetric)
    assert broken(name) == {"time reversal"}


@pytest.mark.parametrize("nothing", [{"none": ()}, {}])
def test_an_invariant_that_is_kept_but_not_declared_is_caught(monkeypatch, nothing):
    declare(monkeypatch, "quat_em", conserves=nothing)
    assert broken("quat_em") == {"energy, unprojected", "angular_momentum, unprojected"}


def test_steps_that_cannot_be_solved_break_every_claim_on_long_runs_and_orders(monkeypatch):
    def fail(*args, **kwargs):
        raise IntegrationError("no solution")

    monkeypatch.setattr(Case, "run", fail)
    claims = validate(["quat_em"], cases=["none"], steps=STEPS)
    of_runs = [c for c in claims if c.quantity not in ("time reversal", "turned world")]
    assert not any(claim.passed for claim in of_runs)


def test_a_scheme_that_takes_no_potential_is_measured_without_one(monkeypatch):
    conserves = {"none": ("energy", "angular_momentum")}
    declare(monkeypatch, "quat_em", conserves=conserves, supports=("torque",))
    assert {claim.case for claim in validate(["quat_em"], steps=1)} == {"none"}


def test_a_declaration_about_an_unknown_potential_is_refused(monkeypatch):
    declare(monkeypatch, "quat_em", conserves={"magnetic": ("energy",)})
    with pytest.raises(ValueError, match="magnetic"):
        validate(["quat_em"], steps=1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_the_reference_of_the_order_has_converged(case):
    default, finer = reference(case, case.torque), reference(case, case.torque, 320)
    for coarse, fine in zip(default, finer, strict=True):
        np.testing.assert_allclose(coarse, fine, rtol=0, atol=2e-12)


def test_the_reference_keeps_the_world_momentum_of_a_free_body():
    free = CASES[0]
    R, omega = reference(free, NO_TORQUE)
    np.testing.assert_allclose(
        R @ free.body.inertia @ omega, free.body.inertia @ free.omega, rtol=1e-12
    )


@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.kind)
def test_the_reference_keeps_total_energy_and_vertical_momentum(case):
    def invariants(o, omega):
        match case.kind:
            case "heavy_top":
                V = case.potential.mgl * o[2]
            case "soft_wall":
                V = 0.001 / (1.1 + o[2]) ** 10 - 1 / (1.1 + o[2])
            case "gravity_gradient":
                V = 1.5 * case.potential.k * o @ case.body.inertia @ o
        Pi = case.body.inertia @ omega
        return omega @ Pi / 2 + V, o @ Pi

    R, omega = reference(case, NO_TORQUE)
    up = rotate(np.array(case.quaternion) * [1, -1, -1, -1], np.array([0.0, 0.0, 1.0]))
    before = invariants(up, np.array(case.omega))
    assert invariants(R[2], omega) == pytest.approx(before, rel=1e-11)


def test_an_unknown_integrator_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="quat_em"):
        validate(["quat_me"])


def test_an_unknown_case_is_refused():
    with pytest.raises(ValueError, match="magnetic"):
        validate(["akw"], cases=["magnetic"])


@pytest.mark.parametrize("steps", [0, -1, 2.5, "many"])
def test_a_wrong_number_of_steps_is_refused(steps):
    with pytest.raises(ValueError, match="steps"):
        validate(["akw"], steps=steps)


@pytest.mark.parametrize("given", [{"names": "akw"}, {"cases": "none"}])
def test_a_single_string_is_refused_as_a_list(given):
    with pytest.raises(ValueError, match="list"):
        validate(**given)
