"""The measured parts of docs/performance.md and its record, as Markdown; each takes all results."""

from collections.abc import Callable

from benchmarks import tables_physics, tables_speed
from benchmarks.markdown import NOT_MEASURED, number, table
from benchmarks.targets import REASONS, Results, targets

Part = Callable[[Results], str]


def machine(found: Results) -> str:
    """Date, machine and versions."""
    if not found:
        return NOT_MEASURED
    first = next(iter(found.values()))
    told = first["machine"]
    vectors = {"avx512f": ", AVX-512", "avx2": ", AVX2"}.get(told["vectors"], "")
    named = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    dates = sorted({one["date"] for one in found.values()})
    return (
        f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))} on {told['cores']} virtual "
        f"cores of an {told['processor']}{vectors}, {told['system']}, Python {told['python']}, "
        f"with {named}."
    )


def aims(found: Results) -> str:
    """What was aimed at, what came of it, and why not more."""
    rows, why = [], []
    for target in targets(found):
        wanted = f"{'at least' if target.least else 'at most'} {target.wanted:g} {target.unit}"
        rows.append([target.aim, wanted.strip(), number(target.measured), target.verdict])
        reason = REASONS.get(target.key)
        if reason and target.met is False:
            why.append(f"- **{target.aim}**: {reason}")
    made = table(["what", "aim", "measured", "verdict"], rows)
    return made + ("\n\nWhy those were missed:\n\n" + "\n".join(why) if why else "")


def skipped(found: Results) -> str:
    """Peers that were not there."""
    told = {name: why for one in found.values() for name, why in one.get("skipped", {}).items()}
    lines = [f"- {name}: {why}" for name, why in told.items()]
    return "\n".join(lines) if lines else "Every peer named above could be installed."


PARTS: dict[str, Part] = {
    "machine": machine,
    "targets": aims,
    "single": tables_speed.single,
    "lanes": tables_speed.lanes,
    "schemes": tables_speed.schemes,
    "tasks": tables_speed.tasks,
    "threads": tables_speed.threads,
    "parts": tables_speed.parts,
    "before": tables_speed.before,
    "startup": tables_speed.startup,
    "memory": tables_speed.memory,
    "training": tables_speed.training,
    "agreement": tables_physics.agreement,
    "fidelity": tables_physics.fidelity("betsch_free, 0.01", "betsch_free, 0.05"),
    "krenk": tables_physics.fidelity("krenk_brick, 0.01"),
    "top": tables_physics.top,
    "budgets": tables_physics.budgets,
    "cheapest": tables_physics.cheapest,
    "family": tables_physics.family,
    "core": tables_speed.core,
    "roofline": tables_speed.roofline,
    "skipped": skipped,
}
# Of docs/performance.md, which readers meet.
SHORT: dict[str, Part] = {"machine": machine, "summary": tables_speed.summary}
# Of them, what `make bench` prints.
PRINTED = (
    "machine", "targets", "single", "lanes", "threads", "parts", "before", "startup", "memory",
    "budgets", "cheapest", "family", "skipped",
)  # fmt: skip
