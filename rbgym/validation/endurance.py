"""Long runs: does what is conserved stay, or does round-off carry it away?"""

from typing import NamedTuple

import numpy as np

from rbgym import integrators
from rbgym.engine.batch import Batch
from rbgym.quaternion import Array
from rbgym.validation.cases import CASES, Case
from rbgym.validation.claims import Claim, below
from rbgym.validation.conservation import invariants

STEPS = 10_000_000
RECORDS = 1000
TREND = 1e-15  # relative, over the whole run


class Growth(NamedTuple):
    """Relative errors of one invariant along a run, and the trend fitted to them.

    steps (n,), error (n,), signed; trend: slope times the length of the run; deviation: standard
    deviation of that estimate.
    """

    steps: Array
    error: Array
    trend: float
    deviation: float


def growth(name: str, case: Case, steps: int, projection: bool = True) -> dict[str, Growth]:
    """Growth of each invariant of the case over so many steps of its dt."""
    batch = Batch(case.body, name, case.potential, projection=projection)
    batch.set_state(case.quaternion, case.omega)
    every = max(1, steps // RECORDS)
    records = [batch.measure()]
    for _ in range(steps // every):
        batch.advance(case.dt, every)
        records.append(batch.measure())
    instants = every * np.arange(len(records), dtype=np.float64)
    L = np.concatenate([record["angular_momentum"] for record in records])
    size = float(np.linalg.norm(L[0]))
    energy = np.concatenate([record["energy"] for record in records])
    errors = {
        "energy": energy / energy[0] - 1.0,
        "angular_momentum": np.linalg.norm(L - L[0], axis=1) / size,
        "vertical_momentum": (L[:, 2] - L[0, 2]) / size,
    }
    return {quantity: _fitted(instants, errors[quantity]) for quantity in invariants(case)}


def _fitted(steps: Array, error: Array) -> Growth:
    x = steps / steps[-1]
    (slope, _), covariance = np.polyfit(x, error, 1, cov=True)
    return Growth(steps, error, float(slope), float(np.sqrt(max(covariance[0, 0], 0.0))))


def endurance(name: str, kind: str, steps: int = STEPS) -> list[Claim]:
    """Claims that what the integrator conserves has no trend over a long run.

    Momentum that a free body keeps is compared bit for bit; that of a top, and energy, by the fit.
    """
    record = integrators.get(name)
    (case,) = (case for case in CASES if case.kind == kind)
    found = growth(name, case, steps)
    claims = []
    for quantity in record.conserves.get(kind, ()):
        line = found[quantity]
        if quantity == "angular_momentum":
            worst = float(np.abs(line.error).max())
            label = f"{quantity} after {steps:,} steps"
            claims.append(below(name, kind, label, "the same bits", worst, 0.0))
            continue
        # A random walk of one unit in the last place a step has no trend, but a deviation.
        bound = TREND if quantity == "energy" else 4.0 * 2.2e-16 * steps**0.5
        label = f"trend of {quantity} over {steps:,} steps"
        claims.append(below(name, kind, label, "none", abs(line.trend), bound))
    return claims
