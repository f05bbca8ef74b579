"""The few figures that tell integrators apart, all measured on the asymmetric heavy top."""

from typing import NamedTuple

import numpy as np

from rbgym import integrators
from rbgym.engine.batch import IntegrationError
from rbgym.quaternion import to_matrix
from rbgym.validation.cases import CASES, NO_TORQUE
from rbgym.validation.conservation import long_dt
from rbgym.validation.order import convergence, slope_of
from rbgym.validation.reference import reference
from rbgym.validation.timing import nanoseconds

STEPS = 20_000
BUDGET = 10_000.0  # time for each body and run [ns]

FREE, TOP = CASES[0], CASES[1]


class Summary(NamedTuple):
    """order: slope of the attitude error. energy, momentum: largest relative drifts over 20,000
    steps, as delivered, of a top's total energy and of a free body's world momentum. nanoseconds:
    time of one step of one body among 256. error: attitude error [rad] at the end of a run that
    takes ten microseconds of one core a body, or None where no step of that length is solved.
    """

    order: float
    energy: float
    momentum: float
    nanoseconds: float
    error: float | None


def summary(name: str) -> Summary:
    """Measure one integrator."""
    record = integrators.get(name)
    torque = TOP.torque if "torque" in record.supports else NO_TORQUE
    slope = slope_of([row[:2] for row in convergence(record, TOP, torque)])
    drifts = [case.run(record, long_dt(record, case), STEPS).drift() for case in (TOP, FREE)]
    cost = nanoseconds(name, TOP)
    return Summary(
        slope,
        drifts[0]["energy"]["max"],
        drifts[1]["angular_momentum"]["max"],
        cost,
        _error(name, torque, max(1, round(BUDGET / cost))),
    )


def _error(name: str, torque: tuple[float, float, float], steps: int) -> float | None:
    R, _ = reference(TOP, torque)
    try:
        end = TOP.run(name, TOP.horizon / steps, steps, torque, record_every=steps)
    except IntegrationError:
        return None
    # Of two attitudes an angle apart the matrices are sqrt(8) sin(angle/2) apart.
    distance = float(np.linalg.norm(to_matrix(end.quaternion[-1]) - R))
    return float(2.0 * np.arcsin(min(1.0, distance / 8**0.5)))
