"""What engines make of a body, as Markdown; each takes all results."""

from collections.abc import Callable
from typing import Any

from benchmarks.markdown import NOT_MEASURED, table
from benchmarks.targets import Results


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


def top(found: Results) -> str:
    """The steady top in the engines that can hold a point."""
    rows = found.get("fidelity", {}).get("top")
    if not rows:
        return NOT_MEASURED
    made = []
    for name, row in rows.items():
        fewer = f" ({row['steps']:,} steps)" if 0 < row.get("steps", 0) < 100_000 else ""
        places = ["" if x is None else f"{x:.1e}" for x in row["places"]]
        made.append([name + fewer, *_run(row | {"attitude": None})[:2], *places])
    head = ["engine", "energy, dt 0.01", "vertical momentum, dt 0.01", "place at t = 1, dt 0.01"]
    return table([*head, "dt 0.0001"], made)


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
