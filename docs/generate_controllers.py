"""Write the laws, from their docstrings, and their results into docs/controllers.md.

python docs/generate_controllers.py          # write
python docs/generate_controllers.py --check  # exit 1 if the page is not current

The results are those of docs/solved.json: python docs/generate_tasks.py --measure runs all
controllers again.
"""

import inspect
import json
import math
import sys
from pathlib import Path
from typing import Any

from rbgym.agents import controllers

DOCS = Path(__file__).resolve().parent
PAGE, SOLVED = DOCS / "controllers.md", DOCS / "solved.json"
HEADINGS = ("task", "controller", "success", "settled after", "final error")

# By name, the classes of which one is chosen for an env.
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
    "swing_up": (controllers.SwingUp,),
    "magnetic_rate": (controllers.MagneticRate,),
    "b_dot": (controllers.BDot,),
    "scale": (controllers.SpinByScale,),
    "idle": (controllers.Idle,),
}
FROM_ENV = ("goal", "moving", "width", "first")  # no gains
ALLOCATIONS = (controllers.Allocated, controllers.MagneticAllocation, controllers.Unloading)


def described(cls: type) -> str:
    """A class's docstring under its name, with the defaults of its gains."""
    takes = inspect.signature(cls).parameters.values()
    gains = [p for p in takes if p.kind is p.KEYWORD_ONLY and p.name not in FROM_ENV]
    defaults = ", ".join(f"{p.name}={p.default!r}" for p in gains if p.default is not p.empty)
    told = f"\n\nDefaults: `{defaults}`." if defaults else ""
    return f"**{cls.__name__}.** {inspect.cleandoc(cls.__doc__ or '').strip()}{told}"


def laws() -> str:
    """Every controller with its classes."""
    sections = []
    for name in controllers.names():
        sections += [f"### `{name}`", *(described(cls) for cls in LAWS[name])]
    return "\n\n".join(sections)


def row(env_id: str, name: str, found: dict[str, Any]) -> tuple[str, ...]:
    """The cells of one controller in one task."""
    settling = found["settling"]
    return (
        f"[{env_id}](tasks/{env_id}.md)",
        f"`{name}`",
        f"{100 * found['success']:.1f} %",
        "-" if settling is None else f"{digits(settling)} s",
        f"{digits(found['final_error'])} deg",
    )


def digits(value: float) -> str:
    """Two of them at least, and no exponent."""
    places = 1 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{max(0, places)}f}"


def table() -> str:
    """The results as a Markdown table."""
    solved = json.loads(SOLVED.read_text("utf-8"))
    cells = [row(env, name, one) for env, all_ in solved.items() for name, one in all_.items()]
    rows = [HEADINGS, ("---",) * len(HEADINGS), *cells]
    return "\n".join(f"| {' | '.join(one)} |" for one in rows)


def current(page: str) -> str:
    """The page with what stands between its markers made anew."""
    allocations = "\n\n".join(described(cls) for cls in ALLOCATIONS)
    made = {"laws": laws(), "allocations": allocations, "results": table()}
    for name, text in {**made, "estimator": described(controllers.Estimating)}.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"
    return page


def main(check: bool) -> int:
    """Write or check the page; the exit status."""
    page = PAGE.read_text("utf-8")
    if page == current(page):
        return 0
    if check:
        print(f"{PAGE.name} is not current: run python docs/generate_controllers.py")
        return 1
    PAGE.write_text(current(page), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
