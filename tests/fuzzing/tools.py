"""Targets of what judges, validates and draws."""

from functools import partial
from unittest.mock import patch

import gymnasium as gym
import numpy as np

import rbgym
import rbgym.plot
from fuzzing.contract import target
from fuzzing.core import BODY, Q, W
from rbgym import testing, validation

INERTIA = (6.0, 8.0, 3.0)


def _step(q, w, dt):
    return q, w


def _subjects():
    place = {"quaternion": Q, "angular_velocity": W}
    run = {"inertia": INERTIA, "dt": 0.1, "steps": 3}
    free = testing.integrator_step(INERTIA)
    brick = testing.integrator_step(testing.EXTERNAL["nasa_brick"].case.body.inertia)
    lengths = {"energy": 1e-9, "momentum": 1e-9, "norm": 1e-9}
    yield target("rbgym.testing.StepSubject", testing.StepSubject, step=_step, **run, **place)
    yield target("rbgym.testing.EnvSubject", testing.EnvSubject, env=gym.make("AttitudeSlew-v1"),
                 steps=3, seed=1, options=None, inertia=None,
                 read=None, place=None).but(loose=("seed",))  # fmt: skip
    yield target("rbgym.testing.FidelityLimits", testing.FidelityLimits, **lengths, order=2.0,
                 equivariance=1.0, time_reversal=1.0)  # fmt: skip
    yield target("rbgym.testing.measure_order", testing.measure_order, step=_step, inertia=INERTIA,
                 horizon=0.1, **place)  # fmt: skip
    yield target("rbgym.testing.measure", testing.measure, subject=_step, **run, name="it").but(
        plain=True
    )
    yield target("rbgym.testing.assert_torque_free_invariants",
                 testing.assert_torque_free_invariants, subject=free, **run, **lengths
                 ).but(spoken=("limits", "order"), also=(AssertionError,))  # fmt: skip
    yield target("rbgym.testing.external_errors", testing.external_errors, kind="nasa_brick",
                 step=brick, dt=1.0).but(also=(ArithmeticError,))  # fmt: skip
    yield target("rbgym.testing.integrator_step", testing.integrator_step, inertia=INERTIA,
                 integrator="quat_em")  # fmt: skip
    yield target("rbgym.testing.integrator_step: its step", free, **place, dt=0.01).but(
        also=(ArithmeticError,)
    )


def _unmeasured(validate, **given):
    """The call, with nothing measured where its arguments are accepted."""
    with patch("rbgym.validation.measured", lambda *tasks: []):
        validate(**given)


def _validations():
    every = {"names": ["quat_em"], "steps": 10, "cases": ["none"]}
    taken = {
        "validate": ("names", "steps", "cases"),
        "validate_endurance": ("names", "steps"),
        "validate_derivatives": ("names", "cases"),
        "validate_external": ("names",),
    }
    for name, names in taken.items():
        call = partial(_unmeasured, getattr(validation, name))
        yield target(f"rbgym.validation.{name}", call, **{key: every[key] for key in names})
    yield target("rbgym.validation.validate_papers", partial(validation.measured, []), jobs=1)


def _plots():
    t, x = np.linspace(0.0, 1.0, 5), np.linspace(1.0, 0.1, 5)
    run = rbgym.simulate(BODY, dt=0.1, steps=4, angular_velocity=W)
    given = {
        "summary": {"trajectory": run},
        "drifts": {"trajectories": {"a": run}},
        "polhode": {"trajectory": run, "body": BODY},
        "pointing": {"runs": {"a": rbgym.plot.Errors(t, x, x)}, "settled": (0.1, 0.1)},
    }
    for name, values in given.items():
        yield target(f"rbgym.plot.{name}", getattr(rbgym.plot, name), **values, title="a")


def targets():
    return [*(made.but(finite=False) for made in _subjects()), *_validations(),
            *(made.but(finite=False) for made in _plots())]  # fmt: skip
