"""Attitude error at t = 10 against the cost of a simulated second: `python -m
benchmarks.work_precision`.

The free body of Betsch & Siebert (2009); CPU time of all threads, within one call of each engine.
"""

import statistics
from functools import partial
from typing import Any

import numpy as np

import rbgym
from benchmarks import bodies, peers, solvers
from benchmarks.bodies import BETSCH
from benchmarks.engines import Maker
from benchmarks.fidelity import angle
from benchmarks.record import Missing, Told, main

HORIZON = 10.0
STEPS = 500, 1000, 2000, 5000, 10_000, 20_000, 50_000
# The engine, how many bodies it steps at once, and what is varied.
LINES: dict[str, tuple[Maker, int, tuple[float, ...]]] = {
    "MuJoCo RK4": (partial(bodies.MuJoCo, integrator="RK4"), 1, STEPS),
    "Basilisk RK4": (bodies.Basilisk, 1, STEPS),
    "SciPy DOP853": (solvers.SciPy, 1, (1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13)),
    "diffrax Dopri8": (solvers.Diffrax, 1, STEPS),
}
SCHEMES = "quat_em", "quat_em:4", "rkn4", "pdmv", "exact"
for _scheme in SCHEMES:
    for _size in (1, 1024):
        _make = partial(bodies.Ours, scheme=_scheme, size=_size)
        LINES[f"rbgym {_scheme}, {_size}"] = (_make, _size, STEPS[: None if _size == 1 else -2])


def point(name: str, value: float, rounds: int) -> list[float]:
    """CPU time per body and simulated second [s], and error [rad]."""
    make, size, _ = LINES[name]
    tolerance = value < 1.0  # of the adaptive solver; else a number of steps
    times = []
    for _ in range(rounds):
        if tolerance:
            engine = solvers.SciPy(BETSCH, HORIZON, rtol=value)
        else:
            engine = make(BETSCH, HORIZON / value)
        steps = 1 if tolerance else round(value)
        _warm(name, engine, steps)
        start = peers.CLOCK()
        engine.advance(steps)
        times.append(peers.CLOCK() - start)
    q, _omega = engine.state()
    error = angle(q / np.linalg.norm(q), BETSCH.exact(HORIZON)[0])
    return [statistics.median(times) / HORIZON / size, error]


def _warm(name: str, engine: Any, steps: int) -> None:
    """Compile what the engine compiles, its state unchanged."""
    if name.startswith("rbgym"):
        engine.batch.advance(engine.dt)
        engine.batch.set_state((1.0, 0.0, 0.0, 0.0), BETSCH.omega)
    elif name.startswith("diffrax"):
        kept = engine.y, engine.kept
        engine.advance(1)
        engine.y, engine.kept = kept


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """Points [s, rad] by line; those that blew up or had no solution are left out."""
    lines: dict[str, list[list[float]]] = {}
    skipped: dict[str, str] = {}
    for name, (_make, _size, values) in LINES.items():
        told(name)
        for value in values[:3] if quick else values:
            try:
                found = point(name, value, 1 if quick else 3)
            except Missing as error:
                skipped[name] = str(error)
                break
            except rbgym.IntegrationError:
                continue
            if np.isfinite(found).all():
                lines.setdefault(name, []).append([float(f"{x:.4g}") for x in found])
    return {"lines": lines, "skipped": skipped}


if __name__ == "__main__":
    main("work_precision", measure)
