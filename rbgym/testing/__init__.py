"""Measure whether any simulator moves a free rigid body as physics does. A subject is a step
function (quaternion, angular_velocity, dt) -> (quaternion, angular_velocity) of a body with
known inertia, or a Gymnasium environment under zero actions; quaternions are scalar first and body
to world, rates in body axes, momentum in world axes, in SI units."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from rbgym.arguments import hint
from rbgym.testing.env_subject import ENVIRONMENTS, Env, EnvSubject
from rbgym.testing.step_subject import (
    Step,
    StepSubject,
    external_errors,
    integrator_step,
    measure_order,
)
from rbgym.validation import fidelity
from rbgym.validation.external import EXTERNAL
from rbgym.validation.fidelity import CHECKS, Drift, FidelityLimits, Order, Verdict

__all__ = [
    "CHECKS",
    "EXTERNAL",
    "Drift",
    "EnvSubject",
    "Fidelity",
    "FidelityLimits",
    "Order",
    "StepSubject",
    "Verdict",
    "assert_torque_free_invariants",
    "external_errors",
    "integrator_step",
    "measure",
    "measure_order",
]

Simulator: TypeAlias = StepSubject | EnvSubject


@dataclass(frozen=True)
class Fidelity:
    """The measurements of a subject; `str()` gives a table of one screen.

    energy, momentum, norm: drifts, energy and momentum relative to the start. order: of
    convergence, None for an environment. equivariance: difference between the motion from a turned
    start and the turned motion, as a rotation angle [rad] or relative rate; time_reversal:
    difference between the start and the end of a motion that is reversed halfway, in the same
    units; both None if the body cannot be placed. hints: wrong conventions found in a short step.
    """

    name: str
    run: str
    energy: Drift
    momentum: Drift
    norm: Drift
    order: Order | None
    equivariance: float | None
    time_reversal: float | None
    hints: tuple[str, ...] = ()
    limits: FidelityLimits = field(default_factory=FidelityLimits, repr=False)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """A verdict for each check, in the order of `FidelityLimits`."""
        return tuple(fidelity.judge(check, getattr(self, check), self.limits) for check in CHECKS)

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the checks that failed."""
        return tuple(verdict.check for verdict in self.verdicts if verdict.passed is False)

    def __str__(self) -> str:
        return _report(f"{self.name}, {self.run}", self.verdicts, self.hints)


def _report(title: str, verdicts: Sequence[Verdict], found: tuple[str, ...]) -> str:
    return "\n".join([title, *map(str, verdicts), *(f"hint: {hint}" for hint in found)])


def _describe_run(subject: Simulator) -> str:
    return f"{subject.steps} steps" + ("" if subject.dt is None else f" of {subject.dt:g} s")


def measure(
    subject: Step | Env | Simulator, *, name: str | None = None, **options: Any
) -> Fidelity:
    """Measure drifts, order and symmetries of a simulator, as far as they can be measured.

    subject: a step function (q (4,), omega (3,) [rad/s, body], dt [s]) -> (q, omega) of a free
    body, with `inertia=` (3,) or (3, 3) [kg m^2]; or an environment, single or vector; or a
    `StepSubject` or `EnvSubject`. options: fields of these. Raises ValueError for bad arguments.
    """
    if name is not None and not isinstance(name, str):
        raise ValueError(f"name must be text or None, got {name!r}")
    on_trial = as_subject(subject, **options)
    placeable = on_trial.placeable
    return Fidelity(
        name or on_trial.title,
        _describe_run(on_trial),
        **fidelity.worst_drifts(on_trial.motions()),
        order=on_trial.order(),
        equivariance=fidelity.equivariance(on_trial) if placeable else None,
        time_reversal=fidelity.time_reversal(on_trial) if placeable else None,
        hints=on_trial.hints(),
        limits=on_trial.limits,
    )


def assert_torque_free_invariants(
    subject: Step | Env | Simulator,
    *,
    energy: float | None = 1e-12,
    momentum: float | None = 1e-12,
    norm: float | None = 1e-12,
    **options: Any,
) -> None:
    """Raise AssertionError unless energy, world angular momentum and |q| stay within tolerance.

    subject, options: see `measure`, without limits; a tolerance of None skips a check. Energy and
    momentum are relative to the start; an environment gets zero actions, and each episode counts by
    itself. With a potential the invariants are total energy and vertical momentum, relative to the
    largest kinetic energy and momentum of the episode. The report names each broken invariant, its
    error, the step and how the error grows. Raises ValueError for bad arguments.
    """
    if "limits" in options:
        raise ValueError(f"limits must be energy, momentum and norm, got {options['limits']!r}")
    limits = FidelityLimits(energy=energy, momentum=momentum, norm=norm)
    on_trial = as_subject(subject, **options, limits=limits)
    drifts = fidelity.worst_drifts(on_trial.motions())
    verdicts = [fidelity.judge(check, drifts[check], limits) for check in fidelity.INVARIANTS]
    broken = [verdict.check for verdict in verdicts if verdict.passed is False]
    if broken:
        title = f"{on_trial.title} does not conserve {', '.join(broken)}: {_describe_run(on_trial)}"
        raise AssertionError(_report(title, verdicts, on_trial.hints()))


def as_subject(subject: Any, **options: Any) -> Simulator:
    """The subject with these options; ValueError for another object or an unknown option."""
    is_env = isinstance(subject, (EnvSubject, *ENVIRONMENTS))
    ready = isinstance(subject, StepSubject | EnvSubject)
    if not (is_env or ready or (callable(subject) and "inertia" in options)):
        raise ValueError(
            "subject must be an environment, a step function with inertia=, a StepSubject or an "
            f"EnvSubject (for a function that makes an environment), got {subject!r}"
        )
    kind = EnvSubject if is_env else StepSubject
    allowed = [f.name for f in fields(kind) if f.init]
    for name in options.keys() - {*allowed}:
        raise ValueError(f"options must be among {allowed}, got {name!r}{hint(name, allowed)}")
    return replace(subject, **options) if ready else kind(subject, **options)
