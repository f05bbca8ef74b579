"""A simulator on trial: all that is measured of it, and the assertion on its invariants."""

import difflib
from collections.abc import Iterable
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, TypeAlias

from rbgym.fidelity import symmetry
from rbgym.fidelity.motion import INVARIANTS, Drift, worst_drifts
from rbgym.fidelity.order import Order
from rbgym.testing.env_subject import ENVIRONMENTS, Env, EnvSubject
from rbgym.testing.hints import hints
from rbgym.testing.limits import CHECKS, Limits, Verdict, judge
from rbgym.testing.step_subject import Step, StepSubject

Simulator: TypeAlias = StepSubject | EnvSubject
HORIZON = 20  # steps of the subject's dt over which its order is measured


class Fidelity:
    """What is measured of a subject, each when it is first asked for; `str()` is a table.

    energy, momentum, norm: how far these drifted, energy and momentum relative to the start.
    order: of convergence, None for an environment. equivariance: rotation angle [rad] or relative
    rate by which the motion from a turned start differs from the turned motion. time_reversal: the
    same for a motion that is reversed and goes back. Both None where the body cannot be placed.
    hints: what a wrong convention looks like, recognised from a short step.
    """

    def __init__(self, subject: Simulator, name: str | None = None) -> None:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"name must be text or None, got {name!r}")
        self.subject, self.name = subject, name or subject.title

    @cached_property
    def _drifts(self) -> dict[str, Drift]:
        return worst_drifts(self.subject.motions())

    @property
    def energy(self) -> Drift:
        return self._drifts["energy"]

    @property
    def momentum(self) -> Drift:
        return self._drifts["momentum"]

    @property
    def norm(self) -> Drift:
        return self._drifts["norm"]

    @cached_property
    def order(self) -> Order | None:
        subject = self.subject
        return subject.order(HORIZON * subject.dt) if isinstance(subject, StepSubject) else None

    @cached_property
    def equivariance(self) -> float | None:
        return symmetry.equivariance(self.subject) if self.subject.placeable else None

    @cached_property
    def time_reversal(self) -> float | None:
        return symmetry.time_reversal(self.subject) if self.subject.placeable else None

    @cached_property
    def hints(self) -> tuple[str, ...]:
        return hints(self.subject) if isinstance(self.subject, StepSubject) else ()

    @property
    def limits(self) -> Limits:
        """The subject's own."""
        return self.subject.limits

    @property
    def run(self) -> str:
        """The run in words."""
        dt = self.subject.dt
        return f"{self.subject.steps} steps" + ("" if dt is None else f" of {dt:g} s")

    def verdict(self, check: str) -> Verdict:
        """The verdict on one check."""
        return judge(check, getattr(self, check), self.limits)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One for each check, in the order of `Limits`."""
        return tuple(map(self.verdict, CHECKS))

    @property
    def broken(self) -> tuple[str, ...]:
        """Names of the checks that failed."""
        return tuple(verdict.check for verdict in self.verdicts if verdict.passed is False)

    def report(self, title: str, verdicts: Iterable[Verdict]) -> str:
        """Verdicts as lines under a title, and the hints below."""
        return "\n".join([title, *map(str, verdicts), *(f"hint: {hint}" for hint in self.hints)])

    def __str__(self) -> str:
        return self.report(f"{self.name}, {self.run}", self.verdicts)


def measure(
    subject: Step | Env | Simulator, *, name: str | None = None, **options: Any
) -> Fidelity:
    """Measure everything that can be measured of a simulator.

    subject: a step function (q (4,), omega (3,) [rad/s, body], dt [s]) -> (q, omega) of a free
    body, with `inertia=` (3,) or (3, 3) [kg m^2]; or an environment, single or vector; or a
    `StepSubject` or `EnvSubject`. options: their fields.

    Raises ValueError for bad arguments.
    """
    fidelity = Fidelity(as_subject(subject, **options), name)
    str(fidelity)  # measures
    return fidelity


def assert_torque_free_invariants(
    subject: Step | Env | Simulator,
    *,
    energy: float = 1e-12,
    momentum: float = 1e-12,
    norm: float = 1e-12,
    **options: Any,
) -> None:
    """Raise AssertionError unless energy, world angular momentum and |q| keep to their tolerances.

    subject, options: see `measure`. Energy and momentum (the vector) are relative to the start;
    an environment is played with zero actions, and each of its episodes is judged by itself. With
    a potential the invariants are total energy and vertical momentum, relative to the largest
    kinetic energy and momentum of the episode. The report says which broke, by how much, at which
    step, and how the error grows.

    Raises ValueError for bad arguments.
    """
    limits = Limits(energy=energy, momentum=momentum, norm=norm)
    fidelity = Fidelity(as_subject(subject, **options, limits=limits))
    verdicts = [fidelity.verdict(check) for check in INVARIANTS]
    broken = [verdict.check for verdict in verdicts if not verdict.passed]
    if broken:
        title = f"{fidelity.name} does not conserve {', '.join(broken)}: {fidelity.run}"
        raise AssertionError(fidelity.report(title, verdicts))


def as_subject(subject: Any, **options: Any) -> Simulator:
    """The subject with these options; ValueError for what is none, or an unknown option."""
    is_env = isinstance(subject, (EnvSubject, *ENVIRONMENTS))
    ready = isinstance(subject, StepSubject | EnvSubject)
    if not (is_env or ready or (callable(subject) and "inertia" in options)):
        raise ValueError(
            "subject must be an environment, a step function with inertia=, a StepSubject or an "
            f"EnvSubject (for a function that makes an environment), got {subject!r}"
        )
    kind = EnvSubject if is_env else StepSubject
    allowed = [f.name for f in fields(kind) if f.init]
    for name in set(options).difference(allowed):
        near = difflib.get_close_matches(name, allowed, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"options must be among {allowed}, got {name!r}{hint}")
    return replace(subject, **options) if ready else kind(subject, **options)
