"""One measured statement about one integrator, and the table of many."""

import math
from collections.abc import Sequence
from typing import NamedTuple

HEADINGS = ("integrator", "case", "quantity", "declared", "measured", "bound", "")


class Claim(NamedTuple):
    """What is declared of an integrator in a case, and what was measured.

    case: the potential of a generic case, or a paper's case. bound: the limit that decided: an
    upper one for what is declared conserved, a lower one for what is not, the allowed distance
    from the declared order for an order.
    """

    integrator: str
    case: str
    quantity: str
    declared: str
    measured: float
    bound: float
    passed: bool


def table(claims: Sequence[Claim]) -> str:
    """The claims as plain text, one a line, under a heading and over a count."""
    rows = [HEADINGS]
    for claim in claims:
        measured, bound = f"{claim.measured:.3g}", f"{claim.bound:.3g}"
        verdict = "ok" if claim.passed else "BROKEN"
        rows.append((*claim[:4], measured, bound, verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    broken = sum(not claim.passed for claim in claims)
    return "\n".join([*lines, f"{len(claims)} claims, {broken} broken"])


def below(
    integrator: str, case: str, quantity: str, declared: str, measured: float, bound: float
) -> Claim:
    """A claim that holds where the measured value stays at or below the bound."""
    return Claim(integrator, case, quantity, declared, measured, bound, measured <= bound)


def above(
    integrator: str, case: str, quantity: str, declared: str, measured: float, bound: float
) -> Claim:
    """A claim that holds where the measured value is finite and above the bound."""
    passed = bound < measured < math.inf
    return Claim(integrator, case, quantity, declared, measured, bound, passed)


def near(
    integrator: str, case: str, quantity: str, declared: float, measured: float, bound: float
) -> Claim:
    """A claim that holds where the measured value is within the bound of the declared one."""
    passed = abs(measured - declared) <= bound
    return Claim(integrator, case, quantity, f"{declared:g}", measured, bound, passed)
