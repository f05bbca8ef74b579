"""Judge a simulator, yours or anybody's: does it do what a free rigid body does?

A subject is a step function (quaternion, angular_velocity, dt) -> (quaternion, angular_velocity) of
a body with known inertia, or a Gymnasium environment under zero actions. Conventions are rbgym's:
quaternions scalar first and body to world, rates in body axes, momentum in world axes, SI units.
"""

from rbgym.testing.env_subject import EnvSubject
from rbgym.testing.step_subject import StepSubject, external_errors, integrator_step, measure_order
from rbgym.testing.trial import Fidelity, assert_torque_free_invariants, measure
from rbgym.validation.external import EXTERNAL
from rbgym.validation.fidelity import CHECKS, Drift, Limits, Order, Verdict

__all__ = [
    "CHECKS",
    "EXTERNAL",
    "Drift",
    "EnvSubject",
    "Fidelity",
    "Limits",
    "Order",
    "StepSubject",
    "Verdict",
    "assert_torque_free_invariants",
    "external_errors",
    "integrator_step",
    "measure",
    "measure_order",
]
