"""Write the page of each integrator, from the catalogue, docs/measured.json and docs/equations.

python docs/generate_integrators.py          # write
python docs/generate_integrators.py --check  # exit 1 if a page is not current
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

from rbgym import integrators
from rbgym.integrators import Integrator
from rbgym.integrators.interface import ENERGY, FREE, MOMENTUM, SPIN, TIDE, TOP, UPRIGHT, WALL

DOCS = Path(__file__).resolve().parent
MEASURED, EQUATIONS, PAGES = DOCS / "measured.json", DOCS / "equations", DOCS / "integrators"
WORDS = {
    FREE: "none",
    TOP: "`HeavyTop`",
    WALL: "`SoftWall`",
    TIDE: "`GravityGradient`",
}
ABOUT = (
    "Symbols are those of [the conventions](../conventions.md#symbols), and "
    "[one table](../integrators.md) sets all schemes side by side."
)
MGL = 20.0  # weight moment of the example [N m]


def page(record: Integrator, measured: dict[str, Any]) -> str:
    """The page of one integrator."""
    first, *rest = (EQUATIONS / f"{record.name}.md").read_text("utf-8").partition("## When to use")
    parts = (
        "<!-- made by docs/generate_integrators.py -->",
        f"# {record.name}",
        f"{record.title[0].upper()}{record.title[1:]}: {record.source}. {ABOUT}",
        f"## One step\n\n{first.strip()}",
        "".join(rest).strip(),
        f"## What it is\n\n{facts(record)}",
        f"## What it conserves\n\n{conserved(record)}",
        f"## Measured\n\n{figures(record, measured)}",
        f"## How to call it\n\n{call(record)}",
    )
    return "\n\n".join(parts) + "\n"


def table(*rows: tuple[str, ...]) -> str:
    """Rows of cells, the first being the headings, as a Markdown table."""
    lines = [rows[0], ("---",) * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def facts(record: Integrator) -> str:
    """The declarations of the catalogue, without the invariants."""
    rows = [("order", str(record.order))]
    if record.free_order is not None:
        free = "exact" if math.isinf(record.free_order) else f"{record.free_order:g}"
        rows.append(("order of the free motion", free))
    memory = f"{record.memory} numbers a body" if record.memory else "nothing"
    options = ", ".join(f"`{name}`" for name in _options(record)) or "none"
    return table(
        ("property", "value"),
        *rows,
        ("explicit", _yes(record.explicit)),
        ("symmetric, so that it can be composed", _yes(record.symmetric)),
        ("steps several bodies by one instruction", _yes(record.vectorised)),
        ("supports", ", ".join(record.supports)),
        ("keeps from step to step, besides attitude and momentum", memory),
        ("options", options),
    )


def _options(record: Integrator) -> tuple[str, ...]:
    return record.scheme._fields if record.checked else ()


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def conserved(record: Integrator) -> str:
    """The quantities conserved to round-off, by potential."""
    spin = "spin of a symmetric body"
    rows = [("potential", "energy", "angular momentum", "its vertical component", spin)]
    for potential, word in WORDS.items():
        kept = record.conserves.get(potential, ())
        momentum = _yes(MOMENTUM in kept) if potential == FREE else "changes"
        upright = _yes(UPRIGHT in kept or MOMENTUM in kept)
        spin = "not judged" if potential == FREE else _yes(SPIN in kept)
        rows.append((word, _yes(ENERGY in kept), momentum, upright, spin))
    note = "The vertical is the axis about which a potential is symmetric: that of gravity, or the "
    return f"{table(*rows)}\n\n{note}direction of a gravity gradient."


def figures(record: Integrator, measured: dict[str, Any]) -> str:
    """The figures in docs/measured.json."""
    error = measured["error"]
    rows = (
        ("what", "measured"),
        ("order of convergence", f"{measured['order']:.2f}"),
        ("energy drift of a heavy top, relative", f"{measured['energy']:.1e}"),
        ("momentum drift of a free body, relative", f"{measured['momentum']:.1e}"),
        ("time of a step of a body [ns]", f"{measured['nanoseconds']:.0f}"),
        ("attitude error at equal cost [rad]", "no solution" if error is None else f"{error:.1e}"),
    )
    link = "[How, and in which runs](../integrators.md#how-the-columns-are-measured)"
    claims = f"`rbgym validate {record.name}` measures invariants, symmetry and orders."
    return f"{table(*rows)}\n\n{link}; {claims}"


def call(record: Integrator) -> str:
    """An example and its output."""
    top = record.conserves.get(TOP, ())
    lines = (
        "```python",
        "import rbgym",
        "",
        "motion = rbgym.simulate(",
        "    rbgym.RigidBody(inertia=[5, 4, 1]),",
        f'    integrator="{record.name}",',
        "    dt=0.01,",
        "    steps=500,",
        "    angular_velocity=(0.5, 0.2, 5),",
        f"    potential=rbgym.HeavyTop({MGL}),",
        ")",
        "drift = motion.drift()",
        'print(drift["energy"]["max"] < 1e-11, drift["vertical_momentum"]["max"] < 1e-11)',
        "```",
        "\nprints\n",
        f"```text\n{ENERGY in top} {UPRIGHT in top}\n```",
        f'\n`gym.make("RigidTop-v0", integrator="{record.name}")` makes it the physics of an '
        "environment.",
    )
    what = "the scheme" if record.name == "exact" else "its symmetric composition"
    composed = f'`integrator="{record.name}:4"` is {what} of order four.'
    return "\n".join(lines) + (f" {composed}" if record.symmetric else "")


def main(check: bool) -> int:
    """Write or check every page; the exit status."""
    measured = json.loads(MEASURED.read_text("utf-8"))
    PAGES.mkdir(exist_ok=True)
    made = {
        PAGES / f"{name}.md": page(integrators.get(name), measured[name])
        for name in integrators.names()
    }
    found = {file: file.read_text("utf-8") for file in PAGES.glob("*.md")}
    stale = [file for file in {**found, **made} if made.get(file) != found.get(file)]
    for file in stale:
        if check:
            print(f"{file.name} is not current: run python docs/generate_integrators.py")
        elif file in made:
            file.write_text(made[file], "utf-8")
        else:
            file.unlink()
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
