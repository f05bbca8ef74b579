"""Jacobians of steps are measured against the steps, and what they lack is seen."""

from dataclasses import replace

import pytest

from rbgym.engine import derivatives
from rbgym.validation import validate_derivatives


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
