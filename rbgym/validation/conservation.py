"""Invariants: what is declared conserved must stay, what is not must be seen to drift.

Both are judged with the projection of the energy off, which could hide a false declaration; what
is declared is judged once more as delivered, with it on. A potential missing from a record's
`conserves` counts as one in which nothing is declared.
"""

import math

from rbgym.engine.batch import IntegrationError
from rbgym.integrators import Integrator
from rbgym.validation.cases import Case
from rbgym.validation.claims import Claim, above, below

CONSERVED = 1e-13  # relative, as delivered, whatever the number of steps
UNIT = 1e-15  # | |q| - 1 |
DRIFTS = 1e-9  # relative: more than this is no round-off
# Relative, with the projection off: at once, and one unit in the last place more with each step.
ROUNDOFF = 1e-14, 2.2e-16
# Steps of a first-order scheme are this much shorter: it may gain energy until it has no next one.
# Those of the highest order are longer, or what they do not conserve would not be seen to drift.
FIRST_ORDER, SIXTH_ORDER = 0.01, 4.0


def invariants(case: Case) -> tuple[str, ...]:
    """What the exact motion conserves."""
    return ("energy", "angular_momentum" if case.potential is None else "vertical_momentum")


def long_dt(record: Integrator, case: Case) -> float:
    """Step of the long runs [s]."""
    return case.dt * {1: FIRST_ORDER, 6: SIXTH_ORDER}.get(record.order, 1.0)


def conservation(record: Integrator, case: Case, steps: int) -> list[Claim]:
    """Claims on the solver, the quaternion's length and the invariants in one case."""
    name, kind = record.name, case.kind
    dt = long_dt(record, case)
    delivered, raw = (_drift(record, case, dt, steps, on) for on in (True, False))
    unsolved = float(not (delivered and raw))
    norm = delivered.get("quaternion_norm", math.nan)
    claims = [
        below(name, kind, "unsolved steps", "none", unsolved, 0.0),
        below(name, kind, "quaternion_norm", "conserved", norm, UNIT),
    ]
    declared = record.conserves.get(kind, ())
    loose = ROUNDOFF[0] + ROUNDOFF[1] * steps
    for quantity in invariants(case):
        on, off = delivered.get(quantity, math.nan), raw.get(quantity, math.nan)
        plain = f"{quantity}, unprojected"
        if quantity in declared:
            claims += [
                below(name, kind, quantity, "conserved", on, CONSERVED),
                below(name, kind, plain, "conserved", off, loose),
            ]
        else:
            claims.append(above(name, kind, plain, "drifts", off, DRIFTS))
    return claims


def _drift(
    record: Integrator, case: Case, dt: float, steps: int, projection: bool
) -> dict[str, float]:
    """Largest drift of each invariant; empty if a step could not be solved."""
    try:
        drift = case.run(record, dt, steps, projection=projection).drift()
    except IntegrationError:
        return {}
    return {quantity: values["max"] for quantity, values in drift.items()}
