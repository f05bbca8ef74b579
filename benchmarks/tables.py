"""Parts of docs/records/performance.md on speed, as Markdown; each takes all results."""

from collections.abc import Callable

from benchmarks import tables_physics
from benchmarks.markdown import NOT_MEASURED, number, spread, table
from benchmarks.record import Results

Part = Callable[[Results], str]
MILLION = 1e6


def machine(found: Results) -> str:
    """Date, commit, machine and versions."""
    if not found:
        return NOT_MEASURED
    first = next(iter(found.values()))
    where = first["machine"]
    vectors = {"avx512f": ", AVX-512", "avx2": ", AVX2"}.get(where["vectors"], "")
    named = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    dates = sorted({one["date"] for one in found.values()})
    commits = ", ".join(f"`{one}`" for one in sorted({one["commit"] for one in found.values()}))
    return (
        f"Measured {' to '.join(dict.fromkeys((dates[0], dates[-1])))} at commit {commits}, on "
        f"{where['cores']} virtual cores of an {where['processor']}{vectors}, {where['system']}, "
        f"Python {where['python']}, with {named}."
    )


def throughput(found: Results) -> str:
    """Millions of env-steps a second and, in brackets, how many times CartPole's of the same
    number of environments."""
    by_threads = found.get("throughput", {}).get("steps_per_second")
    if not by_threads:
        return NOT_MEASURED
    counts = sorted({int(n) for rows in by_threads.values() for row in rows.values() for n in row})
    made = []
    for threads, rows in by_threads.items():
        for name, row in rows.items():
            cells = [_rate(row.get(str(n))) for n in counts]
            made.append([name, threads, *cells])
    head = ["M env-steps/s (times CartPole's), environments:", "threads"]
    text = table([*head, *(f"{n:,}" for n in counts)], made)
    return f"{text}\n\nCommit `{found['throughput']['commit']}`."


def _rate(row: dict[str, float] | None) -> str:
    if row is None:
        return ""
    return f"{number(row['median'] / MILLION)} ({number(row['ratio'])})"


def two_threads(found: Results) -> str:
    """How many times the env-steps of one thread two threads make."""
    rows = found.get("throughput", {}).get("steps_per_second", {}).get("2")
    if not rows:
        return NOT_MEASURED
    counts = sorted({int(n) for row in rows.values() for n in row})
    made = [
        [name, *(number(row.get(str(n), {}).get("gain")) for n in counts)]
        for name, row in rows.items()
    ]
    return table(["two threads to one, environments:", *(f"{n:,}" for n in counts)], made)


def startup(found: Results) -> str:
    """Seconds to the first step."""
    both = found.get("startup")
    if not both:
        return NOT_MEASURED
    rows = []
    for name, row in both["warm"].items():
        cold = both["cold"].get(name)
        rows.append([f"`{name}`", spread(row["import"]), spread(row["first_step"]), number(cold)])
    head = ["seconds from a fresh process", "import", "to the first step", "with an empty cache"]
    return table(head, rows)


def memory(found: Results) -> str:
    """Bytes of one environment among many."""
    record = found.get("memory")
    if not record:
        return NOT_MEASURED
    rows = [[name, f"{size:,}"] for name, size in record["bytes"].items()]
    return table([f"one of {record['lanes']:,} environments", "bytes"], rows)


def training(found: Results) -> str:
    """One training."""
    record = found.get("training")
    if not record:
        return NOT_MEASURED
    reached = record["seconds_to_threshold"]
    row = [
        f"`{record['env']}`",
        f"{record['timesteps']:,}",
        f"{record['steps_per_second']:,}",
        number(record["seconds"]),
        number(reached) if reached is not None else "not reached",
    ]
    head = ["PPO on", "env-steps", "env-steps/s", "seconds", "seconds to 95 % success"]
    return table(head, [row])


def skipped(found: Results) -> str:
    """Peers that are not installed, and what others cannot do."""
    missing = {name: why for one in found.values() for name, why in one.get("skipped", {}).items()}
    if not missing:
        return "Every peer could be installed."
    return "\n".join(f"- {name}: {why}" for name, why in missing.items())


PARTS: dict[str, Part] = {
    "machine": machine,
    "throughput": throughput,
    "threads": two_threads,
    "startup": startup,
    "memory": memory,
    "training": training,
    "fidelity": tables_physics.fidelity("betsch_free, 0.01", "betsch_free, 0.05"),
    "krenk": tables_physics.fidelity("krenk_brick, 0.01"),
    "agreement": tables_physics.agreement,
    "cheapest": tables_physics.cheapest,
    "budgets": tables_physics.budgets,
    "skipped": skipped,
}
