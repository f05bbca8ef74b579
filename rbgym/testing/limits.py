"""What is allowed, and the verdict on what was measured."""

from dataclasses import dataclass, fields
from typing import NamedTuple

from rbgym.arguments import positive
from rbgym.validation.fidelity import Drift, Order

SLACK = 0.1  # how far a measured slope may stay below the order that is asked for


@dataclass(frozen=True)
class Limits:
    """The largest errors allowed, and the least order; None: that check is not made.

    energy, momentum: relative to the start. norm: | |q| - 1 |. order: of convergence in attitude
    and in momentum. equivariance, time_reversal: rotation angle [rad] or relative error of the
    rates. The defaults are what a symmetric energy-momentum scheme of second order reaches.
    An explicit scheme is not symmetric: `Limits(time_reversal=None)`.
    """

    energy: float | None = 1e-12
    momentum: float | None = 1e-12
    norm: float | None = 1e-12
    order: float | None = 2.0
    equivariance: float | None = 1e-10
    time_reversal: float | None = 1e-10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                positive(f"limits.{name}", value)


CHECKS = tuple(field.name for field in fields(Limits))


class Verdict(NamedTuple):
    """One check: what was measured, what is allowed, and in words what was seen. passed: None
    where it was not measured or is not judged."""

    check: str
    measured: float | None
    limit: float | None
    passed: bool | None
    seen: str

    def __str__(self) -> str:
        number = "-" if self.measured is None else f"{self.measured:.2g}"
        sign = ">=" if self.check == "order" else "<="
        allowed = "-" if self.limit is None else f"{sign} {self.limit:g}"
        word = {True: "ok", False: "BROKEN", None: "-"}[self.passed]
        name = self.check.replace("_", " ")
        return f"{name:14}{number:>9}  {allowed:10}{word:8}{self.seen}".rstrip()


def judge(check: str, found: Drift | Order | float | None, limits: Limits) -> Verdict:
    """The verdict on what was measured; None: nothing was."""
    limit: float | None = getattr(limits, check)
    match found:
        case None:
            return Verdict(check, None, limit, None, "not measured")
        case Order():
            measured = found.slope
            passed = None if measured is None else limit is None or measured >= limit - SLACK
        case _:
            measured = found.max if isinstance(found, Drift) else found
            passed = limit is None or measured <= limit
    seen = "" if isinstance(found, float) else str(found)
    return Verdict(check, measured, limit, None if limit is None else passed, seen)
