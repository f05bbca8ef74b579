"""Targets of what judges, validates and draws."""

from functools import partial
from typing import Any
from unittest.mock import patch

import gymnasium as gym
import numpy as np

import rbgym
import rbgym.plot
from fuzzing.contract import Target
from fuzzing.core import BODY, Q, W, target
from rbgym import testing, validation

INERTIA = (6.0, 8.0, 3.0)


def _step(q: Any, w: Any, dt: float) -> Any:
    return q, w


def _subjects() -> list[Target]:
    env = gym.make("AttitudeSlew-v1")
    place = {"quaternion": Q, "angular_velocity": W}
    free = {"step": _step, "inertia": INERTIA, "dt": 0.1, "steps": 3, **place}
    numeric = ("inertia", "dt", "steps", *place)
    more = {"_fine": lambda _: None}
    return [
        target("rbgym.testing.StepSubject", testing.StepSubject, **free, _numeric=numeric, **more),
        target("rbgym.testing.EnvSubject", testing.EnvSubject, env=env, steps=3, seed=1,
               options=None, momentum_axis=(0.0, 0.0, 1.0), inertia=None, read=None, place=None,
               _numeric=("steps", "momentum_axis"), _optional=("momentum_axis",), **more),
        target("rbgym.testing.Limits", testing.Limits, energy=1e-9, momentum=1e-9, norm=1e-9,
               order=2.0, equivariance=1.0, time_reversal=1.0,
               _numeric=testing.CHECKS, _optional=testing.CHECKS, **more),
        target("rbgym.testing.measure_order", testing.measure_order, step=_step, inertia=INERTIA,
               horizon=0.1, **place, _numeric=("inertia", "horizon", *place), _fine=lambda _: None),
        target("rbgym.testing.measure", testing.measure, subject=_step, inertia=INERTIA, dt=0.1,
               steps=3, name="it", _numeric=("inertia", "dt", "steps"), **more),
        target("rbgym.testing.assert_torque_free_invariants",
               testing.assert_torque_free_invariants, subject=testing.integrator_step(INERTIA),
               inertia=INERTIA, dt=0.01, steps=2, energy=1e-9, momentum=1e-9, norm=1e-9,
               _numeric=("inertia", "dt", "steps", "energy", "momentum", "norm"),
               _spoken=dict.fromkeys(("energy", "momentum", "norm"), ("limits", "order")),
               _also=(AssertionError,), **more),
        target("rbgym.testing.external_errors", testing.external_errors, kind="nasa_brick",
               step=testing.integrator_step(testing.EXTERNAL["nasa_brick"].case.body.inertia),
               dt=1.0, _numeric=("dt",), _also=(ArithmeticError,), **more),
        target("rbgym.testing.integrator_step", testing.integrator_step, inertia=INERTIA,
               integrator="quat_em", _numeric=("inertia",), _spoken={"integrator": ("order",)},
               **more),
        target("rbgym.testing.integrator_step: its step", testing.integrator_step(INERTIA),
               quaternion=Q, angular_velocity=W, dt=0.01, _also=(ArithmeticError,),
               _numeric=("quaternion", "angular_velocity", "dt")),
    ]  # fmt: skip


def _unmeasured(validate: Any, **given: Any) -> None:
    """The call, with nothing measured where its arguments are accepted."""
    with patch("rbgym.validation.measured", lambda *tasks: []):
        validate(**given)


def _validations() -> list[Target]:
    more: dict[str, Any] = {"_fine": lambda _: None, "_attacked": ("names", "steps", "cases")}
    return [
        target("rbgym.validation.validate", partial(_unmeasured, validation.validate),
               names=["quat_em"], steps=10, cases=["none"], **more,
               _spoken={"names": ("integrator", "order"), "cases": ("case",)}),
        target("rbgym.validation.validate_endurance",
               partial(_unmeasured, validation.validate_endurance), names=["quat_em"],
               steps=10, **{**more, "_attacked": ("names", "steps")},
               _spoken={"names": ("integrator", "order")}),
        target("rbgym.validation.validate_derivatives",
               partial(_unmeasured, validation.validate_derivatives), names=["quat_em"],
               cases=["none"], **{**more, "_attacked": ("names", "cases")},
               _spoken={"names": ("integrator", "order"), "cases": ("case",)}),
        target("rbgym.validation.validate_external",
               partial(_unmeasured, validation.validate_external), names=["quat_em"],
               **{**more, "_attacked": ("names",)}, _spoken={"names": ("integrator", "order")}),
        target("rbgym.validation.validate_papers",
               lambda jobs: validation.measured([], jobs), jobs=1, _fine=lambda _: None),
    ]  # fmt: skip


def _drawn(function: Any, **given: Any) -> None:
    function(**given)


def _plots() -> list[Target]:
    P = rbgym.plot
    t, x = np.linspace(0.0, 1.0, 5), np.linspace(1.0, 0.1, 5)
    run = rbgym.simulate(BODY, dt=0.1, steps=4, angular_velocity=W)
    errors = P.Errors(t, x, x)
    given: dict[str, tuple[Any, dict[str, Any]]] = {
        "summary": (P.summary, {"trajectory": run, "title": "a"}),
        "drifts": (P.drifts, {"trajectories": {"a": run}, "title": "a"}),
        "polhode": (P.polhode, {"trajectory": run, "body": BODY, "title": "a"}),
        "pointing": (P.pointing, {"runs": {"a": errors}, "settled": (0.1, 0.1), "title": "a"}),
    }
    return [
        target(f"rbgym.plot.{name}", partial(_drawn, function), **values)
        for name, (function, values) in given.items()
    ]  # fmt: skip


def targets() -> list[Target]:
    """All of them."""
    return [*_subjects(), *_validations(), *_plots()]
