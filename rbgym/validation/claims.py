"""One measured statement about one integrator, and the table of many."""

from collections.abc import Sequence
from typing import NamedTuple


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


class Claims(list[Claim]):
    """Claims, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        from rbgym import html

        broken = [not claim.passed for claim in self]
        rows = [
            (
                *claim[:4],
                float(claim.measured),
                float(claim.bound),
                "ok" if claim.passed else "BROKEN",
            )
            for claim in self
        ]
        headings = ("integrator", "case", "quantity", "declared", "measured", "bound", "")
        title = f"{len(self)} claims, {sum(broken)} broken"
        return html.section(title, html.table(headings, rows, broken))


def table(claims: Sequence[Claim]) -> str:
    """The claims as plain text, one a line, under a heading and over a count."""
    rows = [("integrator", "case", "quantity", "declared", "measured", "bound", "")]
    for claim in claims:
        verdict = "ok" if claim.passed else "BROKEN"
        numbers = (f"{claim.measured:.3g}", f"{claim.bound:.3g}")
        rows.append((*claim[:4], *numbers, verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
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
    """A claim that holds where the measured value lies above the bound."""
    return Claim(integrator, case, quantity, declared, measured, bound, measured > bound)
