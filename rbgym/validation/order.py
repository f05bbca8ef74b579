"""Order of convergence in attitude and in momentum, against a different formulation."""

import math
from collections.abc import Sequence

import numpy as np

from rbgym.engine.batch import IntegrationError
from rbgym.integrators import Integrator
from rbgym.quaternion import to_matrix
from rbgym.validation.cases import NO_TORQUE, Case
from rbgym.validation.claims import Claim, below
from rbgym.validation.reference import reference

TOLERANCE = 0.1
FIRST, LAST = 20, 1280  # steps over the horizon: doubled from the first on
FIRST_OF_SIX = 5  # of a composition, whose stages are shorter
SETTLED = 3e-11  # errors below it are not compared: round-off and the reference's own
EXACT = 2e-12  # rad and relative: no error but round-off, over a few radians

Errors = list[tuple[int, float, float]]


def order(record: Integrator, case: Case) -> list[Claim]:
    """Claims on the slopes of both errors; of the free motion too, where its order is higher."""
    torque = case.torque if "torque" in record.supports else NO_TORQUE
    claims = _claims(record, case, "order", record.order, convergence(record, case, torque))
    if case.potential is None and record.free_order is not None:
        errors = convergence(record, case, NO_TORQUE)
        claims += _claims(record, case, "free order", record.free_order, errors)
    return claims


def convergence(
    record: Integrator, case: Case, torque: tuple[float, float, float], last: int = LAST
) -> Errors:
    """(steps, error of the attitude [1], error of the body momentum, relative) at the horizon.

    The number of steps doubles until the errors are settled; steps that are too long to be solved
    are left out.
    """
    R, omega = reference(case, torque)
    J = case.body.inertia
    errors: Errors = []
    steps = FIRST_OF_SIX if record.order == 6 else FIRST
    while steps <= last:
        try:
            end = case.run(record, case.horizon / steps, steps, torque, record_every=steps)
        except IntegrationError:
            steps *= 2
            continue
        attitude = float(np.linalg.norm(to_matrix(end.quaternion[-1]) - R))
        lack = J @ (end.angular_velocity[-1] - omega)
        errors.append((steps, attitude, float(np.linalg.norm(lack) / np.linalg.norm(J @ omega))))
        if max(errors[-1][1:]) < SETTLED:
            break
        steps *= 2
    return errors


def _claims(
    record: Integrator, case: Case, quantity: str, declared: float, errors: Errors
) -> list[Claim]:
    claims = []
    for column, name in ((1, "attitude"), (2, "momentum")):
        label = f"{quantity} in {name}"
        if declared == math.inf:
            worst = max((row[column] for row in errors), default=math.nan)
            claims.append(below(record.name, case.kind, label, "exact", worst, EXACT))
            continue
        slope = slope_of([(row[0], row[column]) for row in errors])
        distance = abs(slope - declared)
        passed = distance <= TOLERANCE
        claims.append(
            Claim(record.name, case.kind, label, f"{declared:g}", slope, TOLERANCE, passed)
        )
    return claims


def slope_of(errors: Sequence[tuple[int, float]]) -> float:
    """Slope between the last two numbers of steps whose errors are not settled; else NaN."""
    rows = [(n, error) for n, error in errors if error > SETTLED]
    if len(rows) < 2:
        return math.nan
    (n, coarse), (m, fine) = rows[-2:]
    return math.log(coarse / fine) / math.log(m / n)
