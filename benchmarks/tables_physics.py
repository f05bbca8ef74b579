"""What engines make of a body, as Markdown; each takes all results."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.markdown import NOT_MEASURED, table
from benchmarks.record import Results
from benchmarks.work_precision import PEERS


def _run(row: dict[str, Any]) -> list[str]:
    if "blown_up_at" in row:
        cells = ["blown up", f"by step {row['blown_up_at']}"]
    elif "refused_at" in row:
        cells = ["no solution", f"by step {row['refused_at']}"]
    else:
        cells = [f"{row['energy']:.1e}", f"{row['momentum']:.1e}"]
    angle = row["attitude"]
    return [*cells, "" if angle is None else f"{angle:.1e}"]


def fidelity(*cases: str) -> Callable[[Results], str]:
    """A part that shows those cases."""

    def part(found: Results) -> str:
        rows = found.get("fidelity", {}).get("rows")
        if not rows:
            return NOT_MEASURED
        made = []
        for name, row in rows.items():
            steps = {row[case].get("steps", 0) for case in cases}
            fewer = f" ({max(steps):,} steps)" if 0 < max(steps) < 100_000 else ""
            cells = [cell for case in cases for cell in _run(row[case])]
            made.append([name + fewer, *cells])
        head = [
            f"{what}, dt {case.split(', ')[1]}"
            for case in cases
            for what in ("energy", "momentum", "attitude [rad]")
        ]
        return table(["engine", *head], made)

    return part


def agreement(found: Results) -> str:
    """Whether each engine follows the exact motion with small steps."""
    rows = found.get("fidelity", {}).get("rows")
    if not rows:
        return NOT_MEASURED
    made = [
        [
            name,
            *(f"{x:.1e}" for x in row["agreement"]["errors"]),
            f"{row['agreement']['slope']:.2f}" if row["agreement"]["errors"][1] > 1e-10 else "",
            "yes" if row["agreement"]["agrees"] else "no",
        ]
        for name, row in rows.items()
    ]
    head = ["error [rad] at t = 0.5", "dt 1e-4", "dt 1e-5", "slope", "converges"]
    return table(head, made)


# --- work and precision ---------------------------------------------------------------------

BUDGETS = 0.25, 0.5, 1.0, 2.0, 4.0, 8.0  # us a body and horizon
ERRORS = 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12  # rad


def _curve(points: list[list[float]]) -> tuple[Any, Any]:
    """Logarithms of cost and of the least error that is had for it; both sorted."""
    cost, error = np.log(np.array(sorted(points)).T)
    return cost, np.minimum.accumulate(error)


def error_at(points: list[list[float]], cost: float) -> float | None:
    """Error for that cost, between the points by logarithms; None if so little does not do."""
    x, y = _curve(points)
    return float(np.exp(np.interp(np.log(cost), x, y))) if np.log(cost) >= x[0] else None


def cost_of(points: list[list[float]], error: float) -> float | None:
    """Cost of that error; None if it is not reached."""
    x, y = _curve(points)
    if y[-1] > np.log(error):
        return None
    k = int(np.argmax(y <= np.log(error)))
    if k == 0:
        return float(np.exp(x[0]))
    return float(np.exp(np.interp(np.log(error), [y[k], y[k - 1]], [x[k], x[k - 1]])))


def _cases(found: Results) -> dict[str, Any]:
    return found.get("work_precision", {}).get("cases", {})


def _shown(x: float | None) -> str:
    return "" if x is None else f"{x:.1e}"


def budgets(found: Results) -> str:
    """Error for a fixed cost, of each line that does anything for it."""
    made = []
    for case, measured in _cases(found).items():
        for name, points in measured["lines"].items():
            errors = [error_at(points, budget) for budget in BUDGETS]
            if any(error is not None for error in errors):
                made.append([case, f"`{name}`", *map(_shown, errors)])
    head = ["case", "error [rad] for", *(f"{budget:g} us" for budget in BUDGETS)]
    return table(head, made, left=2) if made else NOT_MEASURED


def cheapest(found: Results) -> str:
    """The cheapest scheme for an error, and that of those which do not conserve. Peers fly one body
    at a time, schemes many."""
    made = []
    for case, measured in _cases(found).items():
        lines = {name: line for name, line in measured["lines"].items() if name not in PEERS}
        for error in ERRORS:
            costs = {name: cost_of(points, error) for name, points in lines.items()}
            there = sorted((cost, name) for name, cost in costs.items() if cost is not None)
            if not there:
                continue
            (least, best), keeps = there[0], measured["conserving"]
            others = [(f"`{n}`", f"{cost / least:.3g}") for cost, n in there if n not in keeps]
            cells = f"`{best}`", f"{least:.3g}", "yes" if best in keeps else "no"
            made.append([case, f"{error:.0e}", *cells, *(others or [("", "")])[0]])
    head = ["case", "error [rad]", "cheapest", "us", "conserves", "cheapest that does not", "times"]
    return table(head, made, left=2) if made else NOT_MEASURED
