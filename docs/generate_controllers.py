"""Write the results of the laws into docs/controllers.md, and their docstrings into docs/laws.md.

python docs/generate_controllers.py          # write
python docs/generate_controllers.py --check  # exit 1 if a page is not current

The results are those of docs/solved.json: python docs/generate_tasks.py --measure runs all
controllers again.
"""

import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rbgym.agents import controllers

DOCS = Path(__file__).resolve().parent
PAGE, EQUATIONS, SOLVED = DOCS / "controllers.md", DOCS / "laws.md", DOCS / "solved.json"
# Laws with a column of results; the others share the last one.
COLUMNS = "pd", "pid", "quaternion_feedback", "hysteretic", "geometric", "lqr", "bang_bang"

# By name, the classes of a law; the env decides which one it gets.
LAWS: dict[str, tuple[type, ...]] = {
    "pd": (
        controllers.AxisPD,
        controllers.AttitudePD,
        controllers.RateDamping,
        controllers.PosePD,
    ),
    "pid": (controllers.AttitudePID,),
    "quaternion_feedback": (controllers.QuaternionFeedback,),
    "hysteretic": (controllers.Hysteretic,),
    "geometric": (controllers.GeometricTracking,),
    "lqr": (
        controllers.AttitudeLQR,
        controllers.UprightLQR,
        controllers.SpinLQR,
        controllers.PrecessionLQR,
    ),
    "bang_bang": (controllers.BangBang,),
    "mpc": (controllers.predictive.Planner, controllers.ModelPredictive),
    "ilqr": (controllers.PlannedSlew,),
    "detour": (controllers.Detour,),
    "swing_up": (controllers.SwingUp,),
    "magnetic_rate": (controllers.MagneticRate,),
    "b_dot": (controllers.BDot,),
    "supervisor": (controllers.Supervisor,),
    "sun_pointing": (controllers.SunPointing,),
    "scale": (controllers.SpinByScale,),
    "idle": (controllers.Idle,),
}
# No gains.
FROM_ENV = "goal", "moving", "swing", "width", "first", "normals", "rates", "cells"
ALLOCATIONS = (
    controllers.Allocated,
    controllers.MagneticAllocation,
    controllers.Unloading,
    controllers.Foreseeing,
)


def described(cls: type) -> str:
    """A class's docstring under its name, with the defaults of its gains."""
    takes = inspect.signature(cls).parameters.values()
    gains = [p for p in takes if p.kind is p.KEYWORD_ONLY and p.name not in FROM_ENV]
    defaults = ", ".join(f"{p.name}={p.default!r}" for p in gains if p.default is not p.empty)
    gains = f"\n\nDefaults: `{defaults}`." if defaults else ""
    return f"**{cls.__name__}.** {inspect.cleandoc(cls.__doc__ or '').strip()}{gains}"


def laws() -> str:
    """Every controller with its classes."""
    sections = []
    for name in controllers.names():
        sections += [f"### `{name}`", *(described(cls) for cls in LAWS[name])]
    return "\n\n".join(sections)


def cell(found: dict[str, Any] | None) -> str:
    """Settling time of successful episodes, after the success rate if some fail.

    A number and its unit stay in one line."""
    if found is None:
        return ""
    share, settling = f"{100 * found['success']:.1f}&nbsp;%", found["settling"]
    if settling is None:
        return share
    time = f"{digits(settling)}&nbsp;s"
    return time if found["success"] == 1.0 else f"{share}, {time}"


def digits(value: float) -> str:
    """The number with three figures, or to a whole one, without an exponent."""
    return f"{value:.3g}" if value < 100.0 else f"{value:.0f}"


def table() -> str:
    """The results as a Markdown table, a row for each task."""
    solved = json.loads(SOLVED.read_text("utf-8"))
    headings = ("task", *(f"`{name}`" for name in COLUMNS), "another")
    rows = [headings, ("---",) * len(headings)]
    for env_id, found in solved.items():
        rest = [name for name in found if name not in (*COLUMNS, "idle")]
        last = ", ".join(f"`{name}` {cell(found[name])}" for name in rest)
        cells = (cell(found.get(name)) for name in COLUMNS)
        rows.append((f"[{env_id}](tasks/{env_id}.md)", *cells, last))
    return "\n".join(f"| {' | '.join(one)} |" for one in rows)


def allocations() -> str:
    """The classes that fit a law to wheels and coils."""
    return "\n\n".join(described(cls) for cls in ALLOCATIONS)


def estimator() -> str:
    """The filters in front of laws."""
    return f"{described(controllers.Estimating)}\n\n{described(controllers.Acquiring)}"


def parts() -> dict[Path, dict[str, Callable[[], str]]]:
    """The text between the markers of each page."""
    equations = {"laws": laws, "allocations": allocations, "estimator": estimator}
    return {PAGE: {"results": table}, EQUATIONS: equations}


def current(page: str, made: dict[str, Callable[[], str]]) -> str:
    """The page with the text between its markers replaced."""
    for name, text in made.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{text()}\n{end}{rest.split(end)[1]}"
    return page


def main(check: bool) -> int:
    """Write or check the pages; the exit status."""
    stale = {}
    for file, made in parts().items():
        page = file.read_text("utf-8")
        new = current(page, made)
        if new != page:
            stale[file] = new
    for file, new in stale.items():
        if check:
            print(f"{file.name} is not current: run python docs/generate_controllers.py")
        else:
            file.write_text(new, "utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
