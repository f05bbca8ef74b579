"""The validation suite holds for the catalogue as it is, and sees through false declarations."""

import math
import os
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from rbgym import integrators
from rbgym.engine import derivatives
from rbgym.engine.batch import IntegrationError
from rbgym.validation import declared, measured, validate, validate_derivatives
from rbgym.validation.cases import CASES, Case, applicable
from rbgym.validation.declarations import ROTORS, conservation, reference, symmetry
from refusals import refused
from schemes import OF_EACH_KIND

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


NAMES = (*integrators.names(), *integrators.KICKED)
INTERPRETED = [(name, kind) for name in NAMES for kind in KINDS]
INTERPRETED += [("quat_em:4", "none"), ("quat_em:4", "heavy_top")]


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_an_integrator_of_each_kind_does_what_it_declares(name):
    claims = validate([name], steps=STEPS)
    assert not [claim for claim in claims if not claim.passed], claims


@pytest.mark.interpreted
@pytest.mark.parametrize(("name", "kind"), INTERPRETED)
def test_every_scheme_keeps_what_it_declares(name, kind):
    """Their orders are in tests/test_orders.py, their long runs in `make validate`."""
    record = integrators.get(name)
    (case,) = applicable(record, (kind,))
    claims = [*conservation(record, case, 40), *symmetry(record, case)]
    assert not [claim for claim in claims if not claim.passed], claims


def test_a_composition_does_what_it_declares():
    record = integrators.get("imidm:6")
    for case in applicable(record, ("none", "heavy_top")):
        claims = declared(record, case, STEPS)
        assert not [claim for claim in claims if not claim.passed], claims


@pytest.mark.parametrize("name", ["exact:4", "dir_em", "rkn4"])
def test_each_declared_invariant_order_and_symmetry_has_its_claim(name):
    record, claims = integrators.get(name), validate([name], steps=1)
    rows = {(c.case, c.quantity) for c in claims}
    for potential, conserved in record.conserves.items():
        wanted = {*conserved, *ORDERS, "time reversal", "turned world"}
        assert {(potential, quantity) for quantity in wanted} <= rows


def test_without_names_and_cases_everything_is_measured(monkeypatch):
    monkeypatch.setattr("rbgym.validation.declared", lambda record, case, steps: [(record, case)])
    measured = {(record.name, case.kind) for record, case in validate(steps=1)}
    assert measured == {(name, kind) for name in NAMES for kind in KINDS}


def test_two_processes_measure_what_one_does():
    one = validate([integrators.get("akw")], cases=["none"], steps=10)
    seen = []
    two = validate(
        ["akw"], cases=["none"], steps=10, jobs=2, progress=lambda *done: seen.append(done)
    )
    assert one == two
    assert seen == [(1, 1)]


TOP = {"energy", "vertical_momentum"}


@pytest.mark.parametrize(
    ("name", "kind", "declared", "found"),
    [
        ("imidm", "none", {"energy", "angular_momentum"}, {"energy", "energy, unprojected"}),
        ("quat_em", "heavy_top", {*TOP, "spin"}, {"spin", "spin, unprojected"}),
        ("akw", "heavy_top", TOP, {"spin, unprojected"}),  # which it keeps
        ("quat_em", "none", (), {"energy, unprojected", "angular_momentum, unprojected"}),
    ],
)
def test_a_false_promise_and_an_invariant_that_is_not_declared_are_caught(
    monkeypatch, name, kind, declared, found
):
    declare(monkeypatch, name, conserves={kind: tuple(declared)})
    assert broken(name, kind) == found


@pytest.mark.parametrize(("name", "order"), [("rkn4", 5), ("quat_em", 3), ("akw", 1)])
def test_a_false_order_is_caught(monkeypatch, name, order):
    declare(monkeypatch, name, order=order)
    assert broken(name, "heavy_top") >= ORDERS


@pytest.mark.parametrize(("name", "order"), [("quat_em", math.inf), ("exact", 6)])
def test_a_false_order_of_the_free_motion_is_caught(monkeypatch, name, order):
    declare(monkeypatch, name, free_order=order)
    assert {"free order in attitude", "free order in momentum"} <= broken(name)


@pytest.mark.parametrize(("name", "symmetric"), [("akw", False), ("rkn4", True)])
def test_a_false_symmetry_is_caught(monkeypatch, name, symmetric):
    declare(monkeypatch, name, symmetric=symmetric)
    assert broken(name) == {"time reversal"}


def test_a_false_support_of_rotors_is_caught(monkeypatch):
    declare(monkeypatch, "quat_vi", supports=("potential", "torque", "rotors"))
    assert broken("quat_vi") == {"order with rotors in attitude", "order with rotors in momentum"}


def test_steps_that_cannot_be_solved_break_every_claim_on_long_runs_and_orders(monkeypatch):
    def fail(*args, **kwargs):
        raise IntegrationError("no solution")

    monkeypatch.setattr(Case, "run", fail)
    claims = validate(["quat_em"], cases=["none"], steps=STEPS)
    of_runs = [c for c in claims if c.quantity not in ("time reversal", "turned world")]
    assert {claim.passed for claim in of_runs} == {False}


def test_a_scheme_that_takes_no_potential_is_measured_without_one(monkeypatch):
    conserves = {"none": ("energy", "angular_momentum")}
    declare(monkeypatch, "quat_em", conserves=conserves, supports=("torque",))
    assert {claim.case for claim in validate(["quat_em"], steps=1)} == {"none"}


@pytest.mark.parametrize("case", [*CASES, CASES[0]._replace(rotors=ROTORS)])
def test_the_reference_of_the_order_has_converged(case):
    default, finer = reference(case, case.torque), reference(case, case.torque, 320)
    for coarse, fine in zip(default, finer, strict=True):
        np.testing.assert_allclose(coarse, fine, rtol=0, atol=2e-12)


@refused(
    ({"names": ["quat_me"]}, "quat_em"),
    ({"cases": ["magnetic"]}, "magnetic"),
    ({"steps": 0}, "steps"),
    ({"steps": 2.5}, "steps"),
    ({"names": "akw"}, "list"),
    ({"cases": "none"}, "list"),
)
def test_what_cannot_be_measured_is_refused(given):
    validate(**{"names": ["akw"], **given})


def test_a_process_that_is_killed_ends_the_validation_with_a_clear_error():
    with pytest.raises(ChildProcessError, match="one of 1 processes ended before its work was"):
        measured([partial(os._exit, 7)], jobs=3)


def test_more_processes_than_tasks_are_not_started():
    assert measured([partial(abs, -1)], jobs=10**9) == [1]
    assert measured([partial(abs, -n) for n in range(6)], jobs=2) == [*range(6)]


@pytest.mark.parametrize(("name", "kind"), [("akw", "none"), ("exact:4", "heavy_top")])
def test_the_derivatives_are_those_of_the_steps(name, kind):
    (claim,) = validate_derivatives([name], cases=[kind])
    assert (claim.integrator, claim.case, claim.quantity) == (name, kind, "derivatives")
    assert claim.passed
    assert claim.measured > 0.0  # the differences have their round-off


def test_a_small_error_along_one_input_is_seen(monkeypatch):
    right = derivatives.jacobian

    def wrong(*args):
        found = right(*args)
        return replace(found, inertia=found.inertia * (1.0 + 1e-8))

    monkeypatch.setattr(derivatives, "jacobian", wrong)
    (claim,) = validate_derivatives(["akw"], cases=["none"])
    assert not claim.passed


def test_unknown_cases_are_refused():
    with pytest.raises(ValueError, match="cases must be among"):
        validate_derivatives(["akw"], cases=["moon"])
