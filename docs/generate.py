"""Write the table of integrators, made from the catalogue and measurements, into their page.

The pages of the single integrators are made by docs/generate_integrators.py.

python docs/generate.py            # write
python docs/generate.py --check    # exit 1 if the page is not current
python docs/generate.py --measure [NAME ...]  # measure these again, or all, then write
"""

import json
import math
import sys
import timeit
from pathlib import Path

import numpy as np

from rbgym import Batch, integrators, threads
from rbgym.integrators import Integrator
from rbgym.quaternion import normalized
from rbgym.validation.cases import Case

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "docs" / "measured.json"
PAGE = ROOT / "docs" / "integrators.md"
BEGIN, END = "<!-- integrators:begin -->", "<!-- integrators:end -->"
HEADINGS = (
    "name",
    "scheme",
    "order",
    "conserves, free",
    "conserves, heavy top",
    "energy drift, heavy top",
    "momentum drift, free body",
    "ns per step, bare top",
    "error at equal cost",
    "largest angle, free / top",
)
ALL = (*integrators.names(), *integrators.KICKED)
# Columns that are aligned to the right, where no line is broken.
NUMBERS = (
    "energy drift, heavy top",
    "momentum drift, free body",
    "ns per step, bare top",
    "error at equal cost",
)
CIRCLE = 6.28  # rad; steps that turn a body further are not tried


def row(record: Integrator, measured: dict[str, float | None]) -> tuple[str, ...]:
    """The cells of one integrator."""
    default = " (default)" if record.name == integrators.DEFAULT else ""
    error = measured["error"]
    return (
        f"[`{record.name}`](integrators/{record.name.partition(':')[0]}.md){default}",
        record.title,
        order(record),
        kept(record, "none"),
        kept(record, "heavy_top"),
        f"{measured['energy']:.1e}",
        f"{measured['momentum']:.1e}",
        f"{measured['nanoseconds']:.0f}",
        "no solution" if error is None else f"{error:.1e}",
        " / ".join(angle_in_words(measured[key]) for key in ("angle_free", "angle_top")),
    )


def angle_in_words(angle: float) -> str:
    """A largest angle [rad], "any" from a whole turn on."""
    return "any" if angle >= CIRCLE else f"{angle:.2f}"


def order(record: Integrator) -> str:
    """The order, and the order of the free motion if it is higher."""
    if record.free_order is None:
        return str(record.order)
    free = "exact" if math.isinf(record.free_order) else f"{record.free_order:g}"
    return f"{record.order}; free {free}"


def kept(record: Integrator, potential: str) -> str:
    """The conserved quantities in one potential, as a phrase."""
    if potential != "none" and "potential" not in record.supports:
        return "not supported"
    return ", ".join(record.conserves.get(potential, ())).replace("_", " ") or "-"


def table() -> str:
    """The integrators as a Markdown table."""
    measured = json.loads(MEASURED.read_text("utf-8"))
    cells = [row(integrators.get(name), measured[name]) for name in ALL]
    line = ["---:" if heading in NUMBERS else "---" for heading in HEADINGS]
    return "\n".join(f"| {' | '.join(one)} |" for one in (HEADINGS, line, *cells))


def current() -> str:
    """The page with the table between the markers replaced."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def measured_of(name: str) -> dict[str, float | None]:
    """The figures that distinguish integrators.

    order: slope of the attitude error on the asymmetric heavy top. energy, momentum: largest
    relative drifts over 20,000 steps, as delivered, of that top's total energy and of a free body's
    world momentum. nanoseconds: time of one step of one top among 256. error: the top's attitude
    error [rad] at the end of a run that takes ten microseconds of one core a body, or None where no
    step of that length is solved. angle_free, angle_top: see `largest_angle`.
    """
    from rbgym.validation.cases import CASES
    from rbgym.validation.declarations import convergence, error_after, long_dt

    record, free, top = integrators.get(name), CASES[0], CASES[1]
    runs = [case.run(record, long_dt(record, case), 20_000) for case in (top, free)]
    energy, momentum = (run.drift() for run in runs)
    cost = nanoseconds(name, top)
    error = error_after(record, top, max(1, round(10_000 / cost)))
    return {
        "order": convergence(record, top).attitude,
        "energy": energy["energy"]["max"],
        "momentum": momentum["angular_momentum"]["max"],
        "nanoseconds": cost,
        "error": error and error[0],
        "angle_free": largest_angle(record, free),
        "angle_top": largest_angle(record, top),
    }


def nanoseconds(name: str, case: Case) -> float:
    """Time of one step of one body [ns]: best of several rounds of 256 bodies on one core."""
    bodies, rounds, seconds = 256, 15, 0.004
    batch = Batch(case.body, name, case.potential, size=bodies)
    rng = np.random.default_rng(0)
    batch.set_state(case.quaternion, case.omega * (1.0 + 0.01 * rng.standard_normal((bodies, 3))))
    before = threads.get_num_threads()
    threads.set_num_threads(1)
    try:
        batch.advance(case.dt)
        once = timeit.timeit(lambda: batch.advance(case.dt), number=1)
        steps = max(1, int(seconds / once))
        best = min(timeit.repeat(lambda: batch.advance(case.dt, steps), repeat=rounds, number=1))
    finally:
        threads.set_num_threads(before)
    return 1e9 * best / steps / bodies


def largest_angle(record: Integrator, case: Case) -> float:
    """Largest |omega| h [rad] up to which every first step is solved, in hundredths up to a circle.

    Of 256 bodies of the case, at random attitudes, with rates of its size in random directions.
    """
    rng, rate = np.random.default_rng(1), float(np.linalg.norm(case.omega))
    batch = Batch(case.body, record, case.potential, size=256)
    q, omega = normalized(rng.standard_normal((256, 4))), rng.standard_normal((256, 3))
    omega *= rate / np.linalg.norm(omega, axis=1, keepdims=True)
    for hundredths in range(1, round(100 * CIRCLE) + 1):
        batch.set_state(q, omega)
        batch.advance(hundredths / 100 / rate)
        if batch.failed.any():
            return (hundredths - 1) / 100
    return CIRCLE


def measure(names: list[str]) -> None:
    """Measure these integrators; all take some minutes, more where kernels are compiled first."""
    known = json.loads(MEASURED.read_text("utf-8"))
    made_now = {name: measured_of(name) for name in names}
    found = {name: made_now.get(name) or known[name] for name in ALL}
    MEASURED.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def main(check: bool) -> int:
    """Write or check the page; the exit status."""
    stale = current() != PAGE.read_text("utf-8")
    if check and stale:
        print(f"{PAGE.relative_to(ROOT)} is not current: run python docs/generate.py")
    elif stale:
        PAGE.write_text(current(), "utf-8")
    return int(check and stale)


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        measure(sys.argv[2:] or list(ALL))
    sys.exit(main("--check" in sys.argv[1:]))
