"""The validation suite holds for the catalogue as it is, and sees through false declarations."""

from dataclasses import replace

import numpy as np
import pytest

from rbgym import integrators
from rbgym.engine import IntegrationError
from rbgym.quaternion import rotate
from rbgym.validation import Claim, table, validate
from rbgym.validation.cases import CASES, Case
from rbgym.validation.order import reference

STEPS = 2000


def declare(monkeypatch, name, **changes):
    record = replace(integrators.get(name), **changes)
    monkeypatch.setitem(integrators._CATALOGUE, name, record)


def broken(name):
    return {(c.potential, c.quantity) for c in validate([name], steps=STEPS) if not c.passed}


@pytest.mark.parametrize("name", integrators.names())
def test_every_integrator_does_what_it_declares(name):
    claims = validate([name])
    assert not [claim for claim in claims if not claim.passed], table(claims)


@pytest.mark.parametrize("name", integrators.names())
def test_each_declared_invariant_and_each_order_has_its_claim(name):
    record, claims = integrators.get(name), validate([name], steps=1)
    rows = {(c.potential, c.quantity) for c in claims if c.declared == "conserved"}
    for potential, conserved in record.conserves.items():
        assert {(potential, quantity) for quantity in conserved} <= rows
        assert (potential, "order") in {(c.potential, c.quantity) for c in claims}


def test_without_names_all_integrators_are_measured():
    assert {claim.integrator for claim in validate(steps=1)} == set(integrators.names())


def test_a_false_promise_of_energy_is_caught(monkeypatch):
    kept = {"none": ("energy", "angular_momentum"), "heavy_top": ("vertical_momentum",)}
    declare(monkeypatch, "imidm", conserves=kept)
    assert broken("imidm") == {("none", "energy"), ("none", "energy, unprojected")}


def test_a_false_promise_of_momentum_is_caught(monkeypatch):
    declare(monkeypatch, "rkn4", conserves={"none": (), "heavy_top": ("vertical_momentum",)})
    assert ("heavy_top", "vertical_momentum") in broken("rkn4")


@pytest.mark.parametrize(("name", "order"), [("rkn4", 5), ("rkn4", 3), ("quat_em", 3), ("akw", 1)])
def test_a_false_order_is_caught(monkeypatch, name, order):
    declare(monkeypatch, name, order=order)
    assert broken(name) == {("none", "order"), ("heavy_top", "order")}


@pytest.mark.parametrize("nothing", [{"none": (), "heavy_top": ()}, {}])
def test_an_invariant_that_is_kept_but_not_declared_is_caught(monkeypatch, nothing):
    declare(monkeypatch, "quat_em", conserves=nothing)
    assert broken("quat_em") == {
        ("none", "energy, unprojected"),
        ("none", "angular_momentum, unprojected"),
        ("heavy_top", "energy, unprojected"),
        ("heavy_top", "vertical_momentum, unprojected"),
    }


def test_steps_that_cannot_be_solved_break_every_declared_claim(monkeypatch):
    def fail(*args, **kwargs):
        raise IntegrationError("no solution")

    monkeypatch.setattr(Case, "run", fail)
    assert not any(claim.passed for claim in validate(["quat_em"], steps=STEPS))


def test_a_scheme_that_takes_no_potential_is_measured_without_one(monkeypatch):
    conserves = {"none": ("energy", "angular_momentum")}
    declare(monkeypatch, "quat_em", conserves=conserves, supports=("torque",))
    assert {claim.potential for claim in validate(["quat_em"], steps=1)} == {"none"}


def test_a_declaration_about_an_unknown_potential_is_refused(monkeypatch):
    declare(monkeypatch, "quat_em", conserves={"magnetic": ("energy",)})
    with pytest.raises(ValueError, match="magnetic"):
        validate(["quat_em"], steps=1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_the_reference_of_the_order_has_converged(case):
    default, finer = reference(case, case.torque), reference(case, case.torque, 8000)
    for coarse, fine in zip(default, finer, strict=True):
        np.testing.assert_allclose(coarse, fine, rtol=0, atol=1e-12)


def test_the_reference_keeps_world_momentum_and_the_tops_energy():
    free, top = CASES
    R, omega = reference(free, (0.0, 0.0, 0.0))
    np.testing.assert_allclose(
        R @ free.body.inertia @ omega, free.body.inertia @ free.omega, rtol=1e-12
    )
    start = np.array(top.omega)
    up = rotate(np.array(top.quaternion), np.array(top.potential.axis))[2]
    R, omega = reference(top, (0.0, 0.0, 0.0))
    before = start @ top.body.inertia @ start / 2 + top.potential.mgl * up
    after = omega @ top.body.inertia @ omega / 2 + top.potential.mgl * R[2] @ top.potential.axis
    assert after == pytest.approx(before, rel=1e-12)


def test_an_unknown_integrator_is_refused_with_a_suggestion():
    with pytest.raises(ValueError, match="quat_em"):
        validate(["quat_me"])


@pytest.mark.parametrize("steps", [0, -1, 2.5, "many"])
def test_a_wrong_number_of_steps_is_refused(steps):
    with pytest.raises(ValueError, match="steps"):
        validate(["akw"], steps=steps)


def test_a_single_string_is_refused_as_a_list_of_names():
    with pytest.raises(ValueError, match="list"):
        validate("akw")


def test_the_table_marks_broken_claims_and_counts_them():
    claims = [
        Claim("akw", "none", "energy", "conserved", 1e-15, 1e-13, True),
        Claim("akw", "none", "order", "2", 3.0, 0.1, False),
    ]
    heading, good, bad, count = table(claims).splitlines()
    assert heading.split() == list(Claim._fields[:-1])
    assert good.endswith("ok")
    assert bad.endswith("BROKEN")
    assert count == "2 claims, 1 broken"
