"""Step functions: the correct pass, and each fault is named by its own check and no other."""

import math

import numpy as np
import pytest

import step_functions as steps
from rbgym.testing import CHECKS, assert_torque_free_invariants, integrator_step, measure
from rbgym.testing.env_subject import EnvSubject
from rbgym.testing.step_subject import StepSubject
from rbgym.validation.fidelity import FidelityLimits
from refusals import refused

INERTIA = steps.INERTIA


@pytest.mark.parametrize(
    "step",
    [steps.exact, integrator_step(INERTIA, "quat_em"), steps.in_place, steps.OneBuffer(),
     steps.either_sign],
    ids=["exact", "quat_em", "in_place", "one_buffer", "either_sign"],
)  # fmt: skip
def test_a_correct_step_passes_every_check_without_a_hint(step):
    fidelity = measure(step, inertia=INERTIA)
    assert [verdict.passed for verdict in fidelity.verdicts] == [True] * len(CHECKS), fidelity
    assert not fidelity.hints
    assert_torque_free_invariants(step, inertia=INERTIA)


FAULTS = {
    "energy": steps.planar_rotations,
    "momentum": steps.overturning,
    "norm": steps.growing_quaternion,
    "order": steps.first_order,
    "equivariance": steps.faster_upward,
    "time_reversal": steps.one_way,
}


@pytest.mark.parametrize("check", CHECKS)
def test_each_fault_is_caught_by_its_own_check_and_no_other(check):
    fidelity = measure(FAULTS[check], inertia=INERTIA, steps=200)
    assert fidelity.broken == (check,), fidelity
    assert not fidelity.hints


@pytest.mark.parametrize("check", ["energy", "momentum", "norm"])
def test_the_assertion_names_the_broken_invariant_alone(check):
    with pytest.raises(AssertionError) as caught:
        assert_torque_free_invariants(FAULTS[check], inertia=INERTIA)
    first, *lines = str(caught.value).splitlines()
    assert f"does not conserve {check}:" in first
    assert [line.split()[0] for line in lines if "BROKEN" in line] == [check]


@pytest.mark.parametrize(
    ("step", "broken", "hint"),
    [
        (steps.world_rates, {"momentum", "order", "equivariance"}, "world axes"),
        (steps.world_to_body, {"momentum", "order", "equivariance"}, "world to body"),
        (steps.scalar_last, {"momentum", "order", "equivariance"}, "scalar-last"),
        (steps.missing_half, {"momentum", "order"}, "lacks its half"),
        (steps.half_too_many, {"momentum", "order"}, "a half too many"),
        (steps.wrong_way, {"momentum", "order"}, "wrong way"),
        (steps.stuck, {"momentum", "order"}, "does not turn"),
        (steps.no_gyroscopic_term, {"momentum", "order"}, "gyroscopic term omega x J omega is"),
        (steps.gyroscopic_sign, {"energy", "momentum", "order", "time_reversal"}, "wrong sign"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_convention_breaks_several_checks_and_a_hint_names_it(step, broken, hint):
    fidelity = measure(step, inertia=INERTIA, steps=200)
    assert set(fidelity.broken) == broken, fidelity
    assert len(fidelity.hints) == 1
    assert hint in fidelity.hints[0]


def test_what_blows_up_is_judged_without_a_warning():
    fidelity = measure(steps.explicit_euler, inertia=INERTIA)
    assert set(fidelity.broken) == {"energy", "momentum", "norm", "order", "time_reversal"}
    assert fidelity.energy.max == math.inf
    assert fidelity.energy.trend == "is not finite"
    assert 0 < fidelity.energy.step < 1000


def test_an_arithmetic_error_of_the_step_and_an_attitude_of_length_zero_count_as_a_blow_up():
    def overflowing(q, omega, dt):
        return q, [float(value) * 10.0**300**2 for value in omega]

    assert measure(overflowing, inertia=INERTIA).energy.max == math.inf
    assert measure(lambda q, w, dt: (0 * q, w), inertia=INERTIA, steps=3).norm.max == math.inf


def test_a_step_that_was_refused_leaves_nothing_for_the_next():
    step, plain = (integrator_step(INERTIA, "pdmv") for _ in range(2))
    q, w = step(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.1, 0.2, 0.3]), 0.01)
    for dt, error in ((-0.01, ValueError), (1e3, ArithmeticError)):
        with pytest.raises(error):
            step(np.array([0.0, 1.0, 0.0, 0.0]), np.array([3.0, 1.0, 2.0]), dt)
        for one, other in zip(step(q, w, 0.01), plain(q, w, 0.01), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-15)


def test_energy_error_is_relative_and_dated():
    def jumps(q, omega, dt):
        jumps.calls += 1
        return q, omega * (1.5 if jumps.calls == 3 else 1.0)

    jumps.calls = 0
    with pytest.raises(AssertionError, match=r"energy +1\.2 .*worst at step 3"):
        assert_torque_free_invariants(jumps, inertia=[1, 1, 1], steps=20, norm=1e-9)


def test_tolerances_are_the_callers_and_inclusive_of_correct_size():
    drift = measure(steps.planar_rotations, inertia=INERTIA).energy.max
    assert 1e-6 < drift < 1e-2
    assert_torque_free_invariants(steps.planar_rotations, inertia=INERTIA, energy=drift)
    with pytest.raises(AssertionError, match="energy"):
        assert_torque_free_invariants(steps.planar_rotations, inertia=INERTIA, energy=0.99 * drift)


def test_a_limit_of_none_is_not_judged():
    assert_torque_free_invariants(steps.planar_rotations, inertia=INERTIA, energy=None)
    limits = FidelityLimits(energy=None, time_reversal=None)
    fidelity = measure(steps.planar_rotations, inertia=INERTIA, limits=limits, steps=50)
    assert fidelity.broken == ()
    assert [v.check for v in fidelity.verdicts if v.passed is None] == ["energy", "time_reversal"]


def test_a_full_tensor_and_another_start_are_judged_alike():
    tensor = np.array([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
    step = integrator_step(tensor, "quat_em")
    good = measure(step, inertia=tensor, quaternion=(0, 1, 0, 0), angular_velocity=(0.3, -1, 2))
    assert good.broken == (), good
    wrong = np.diag(np.diag(tensor))  # products of inertia silently dropped
    bad = measure(step, inertia=wrong, steps=50)
    assert {"energy", "momentum", "order"} <= set(bad.broken)
    assert "Euler's equations" in bad.hints[0]


def test_the_table_has_a_line_for_each_check_and_fits_one_screen():
    lines = str(measure(steps.world_rates, inertia=INERTIA, name="mine")).splitlines()
    assert lines[0] == "mine, 1000 steps of 0.05 s"
    assert [line.split()[0] for line in lines[1:7]] == [check.split("_")[0] for check in CHECKS]
    assert lines[-1].startswith("hint: ")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 100


@refused(
    ({"inertia": [1, 1, 3]}, "inertia must satisfy the triangle inequality"),
    ({"inertia": INERTIA, "dt": 0}, "dt must be a positive"),
    ({"inertia": INERTIA, "steps": 0}, "steps must be a positive integer"),
    ({"inertia": INERTIA, "quaternion": (1, 1, 0, 0)}, "quaternion must have unit length"),
    ({"inertia": INERTIA, "angular_velocity": (1, 2)}, "angular_velocity must be finite"),
    ({"inertia": INERTIA, "angular_velocity": (0, 0, 0)}, "angular_velocity must not be zero"),
    ({"inertia": INERTIA, "setps": 10}, "did you mean 'steps'"),
    ({"inertia": INERTIA, "limits": 3}, "limits must be a"),
    ({}, "inertia="),
)
def test_bad_arguments_are_refused_by_name(options):
    measure(steps.exact, **options)


RETURNS = r"\(quaternion \(4,\), rates \(3,\)\)"


@refused(
    (lambda: measure(7, inertia=INERTIA), "subject must be an environment"),
    (lambda: StepSubject("euler", INERTIA), "step must be callable"),
    (lambda: EnvSubject(print, limits=1e-6), "limits must be a"),
    (lambda: assert_torque_free_invariants(steps.exact, limits=3), "limits must be energy, mom"),
    (lambda: measure(lambda q, w, dt: w, inertia=INERTIA), RETURNS),
    (lambda: measure(lambda q, w, dt: (w, q), inertia=INERTIA), RETURNS),
    (lambda: measure(lambda q, w, dt: None, inertia=INERTIA), RETURNS),
)
def test_a_subject_that_is_none_and_what_is_no_state_is_refused(call):
    call()
