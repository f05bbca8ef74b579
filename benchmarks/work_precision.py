"""Attitude error against the cost of getting there: `python -m benchmarks.work_precision`.

CPU time of all threads for one body from the start to the horizon, within one call of each engine;
the reference is that of `solvers.reference`, which shares nothing with the schemes.
"""

import math
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import rbgym
from benchmarks import bodies, solvers
from benchmarks.bodies import GRAVITY, Motion
from benchmarks.engines import Maker
from benchmarks.fidelity import angle
from benchmarks.record import Missing, Say, main, rounded
from rbgym import HeavyTop, integrators
from rbgym.integrators.composition import COUNTS
from rbgym.integrators.interface import SPIN
from rbgym.potentials import CircularOrbit
from rbgym.validation.cases import CASES as MEASURED

SIZE = 1024
FAMILY = "exact", "exact:4", "exact:6"
SCHEMES = *FAMILY, "quat_em", "quat_em:4", "quat_em:6", "akw", "pdmv", "rkn4"
STEPS = [1, *(round(2 ** (k / 2)) for k in range(2, 27))]
# At most, of a step's stages times the steps; for schemes of order two, which gain little by more.
STAGES, STAGES_OF_TWO = 8192, 1024
FLOOR = 3e-14  # rad: what is finer is round-off
TOLERANCES = 1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13  # of the adaptive solver
LEAST = 2e-3  # CPU time of what is timed at once, at least [s]


class Case(NamedTuple):
    """A motion up to the horizon [s]; kind: of its potential, in the catalogue."""

    motion: Motion
    horizon: float
    kind: str


_TOP = next(case for case in MEASURED if case.kind == "heavy_top")
TOP = Motion("top", tuple(_TOP.body.moments.tolist()), _TOP.omega, _TOP.quaternion, _TOP.potential,
             mass=_TOP.body.mass, arm=tuple(_TOP.body.center_of_mass.tolist()))  # fmt: skip
# Bruels, Cardona & Arnold (2012), Mech. Mach. Theory 48, 121-137: inertia about the pivot.
COMMUNITY = Motion("community", (15.234375, 0.46875, 15.234375), (0.0, 150.0, -4.61538),
                   potential=HeavyTop(15.0 * GRAVITY, (0.0, 1.0, 0.0)), mass=15.0,
                   arm=(0.0, 1.0, 0.0))  # fmt: skip
# Some 400 km up, tilted by half a radian and turning about as fast as the orbit: there the torques
# are as large as the inertia. A satellite that tumbles much faster is a free body.
_N = 1.131e-3  # [rad/s]
SATELLITE = Motion("satellite", (2.0, 1.4, 0.9), (0.7 * _N, -0.5 * _N, 1.2 * _N), _TOP.quaternion,
                   CircularOrbit(_N))  # fmt: skip
CASES = {
    "free body": Case(bodies.BETSCH, 1.0, "none"),
    "asymmetric top": Case(TOP, 0.4, "heavy_top"),
    "asymmetric top, held torque": Case(TOP._replace(torque=_TOP.torque), 0.4, "heavy_top"),
    "heavy top of Brüls et al.": Case(COMMUNITY, 0.2, "heavy_top"),
    "satellite, an orbit": Case(SATELLITE, math.tau / _N, "gravity_gradient"),
}
PEERS: dict[str, tuple[Maker, list[float]]] = {
    "MuJoCo RK4": (partial(bodies.MuJoCo, integrator="RK4"), list(STEPS[5::3])),
    # Its clock counts whole nanoseconds.
    "Basilisk RK4": (bodies.Basilisk, [10, 20, 50, 100, 200, 500, 1000, 2000, 5000]),
    "SciPy DOP853": (solvers.SciPy, list(TOLERANCES)),
    "diffrax Dopri8": (solvers.Diffrax, list(STEPS[2:19:2])),
}


class Point(NamedTuple):
    """One accuracy of one engine, ready to be timed; size: bodies at once."""

    line: str
    engine: Any
    steps: int
    size: int
    error: float

    def time(self) -> float:
        """CPU time of a body to the horizon [us]."""
        spent, calls = 0.0, 0
        while spent < LEAST:
            if hasattr(self.engine, "start"):
                self.engine.start()
            started = time.process_time()
            self.engine.advance(self.steps)
            spent, calls = spent + time.process_time() - started, calls + 1
        return 1e6 * spent / calls / self.size


def _made(name: str, case: Case, value: float, make: Maker, right: Any, size: int) -> Point:
    """By value: a number of steps, or a tolerance; IntegrationError if there is no solution."""
    if value < 1.0:
        steps, engine = 1, solvers.SciPy(case.motion, case.horizon, rtol=value)
    else:
        steps = int(value)
        engine = make(case.motion, case.horizon / steps)
    engine.advance(steps)
    q, _omega = engine.state()
    return Point(name, engine, steps, size, angle(q / np.linalg.norm(q), right))


def points(case: Case, quick: bool, skip: Callable[[str, str], None]) -> list[Point]:
    """Of all engines, the cheapest first, each until its error is round-off."""
    right = solvers.reference(case.motion, case.horizon)[0]
    lines: list[tuple[str, Maker, list[float], int]] = [
        (name, make, values, 1) for name, (make, values) in PEERS.items()
    ]
    for name in SCHEMES:
        record = integrators.get(name)
        most = STAGES if record.order > 2 else STAGES_OF_TWO
        most = most / COUNTS[record.composition]
        values = [n for n in STEPS if n <= (most / 32 if quick else most)]
        lines.append((name, partial(bodies.Ours, scheme=name, size=SIZE), list(values), SIZE))
    found = []
    for name, make, values, size in lines:
        for value in values[:3] if quick and size == 1 else values:
            try:
                found.append(_made(name, case, value, make, right, size))
            except Missing as error:
                skip(name, str(error))
                break
            except rbgym.IntegrationError:
                continue
            if found[-1].error < FLOOR:
                break
    return [point for point in found if np.isfinite(point.error)]


def conserving(kind: str) -> list[str]:
    """The schemes that keep momentum and energy in that potential, by what they declare; of one
    that moves with the orbit, while it stands still."""
    kept = {name: set(integrators.get(name).conserves.get(kind, ())) for name in SCHEMES}
    return [name for name in SCHEMES if len(kept[name] - {SPIN}) == 2]


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Points [us, rad] by case and line; those that blew up or had no solution are left out."""
    cases: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name, case in CASES.items():
        say(name)

        def skip(line: str, why: str, name: str = name) -> None:
            skipped[line if "installed" in why else f"{line}, {name}"] = why

        made = points(case, quick, skip)
        times: list[list[float]] = [[] for _ in made]
        for _ in range(1 if quick else 5):
            for point, row in zip(made, times, strict=True):
                row.append(point.time())
        lines: dict[str, list[list[float]]] = {}
        for point, row in zip(made, times, strict=True):
            pair = [rounded(statistics.median(row)), rounded(point.error)]
            lines.setdefault(point.line, []).append(pair)
        cases[name] = {"lines": lines, "conserving": conserving(case.kind)}
    return {"cases": cases, "skipped": skipped}


if __name__ == "__main__":
    main("work_precision", measure)
