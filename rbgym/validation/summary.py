"""The few figures that tell integrators apart, all measured on the asymmetric heavy top."""

import time
from functools import cache
from typing import NamedTuple

import numpy as np

from rbgym import integrators, threads
from rbgym.engine import Batch, IntegrationError
from rbgym.quaternion import angle_between, from_matrix
from rbgym.validation.cases import CASES, Case
from rbgym.validation.declarations import convergence, long_dt
from rbgym.validation.reference import reference

STEPS = 20_000
BUDGET = 10_000.0  # time for each body and run [ns]
BODIES = 256
_ROUNDS = 15
_SECONDS = 0.004

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
    drifts = [case.run(record, long_dt(record, case), STEPS).drift() for case in (TOP, FREE)]
    cost = nanoseconds(name, TOP)
    return Summary(
        convergence(record, TOP).attitude,
        drifts[0]["energy"]["max"],
        drifts[1]["angular_momentum"]["max"],
        cost,
        _error(name, max(1, round(BUDGET / cost))),
    )


def _error(name: str, steps: int) -> float | None:
    torque = TOP.torque_on(integrators.get(name))
    R, _ = reference(TOP, torque)
    try:
        end = TOP.run(name, TOP.horizon / steps, steps, torque, record_every=steps)
    except IntegrationError:
        return None
    return float(angle_between(end.quaternion[-1], from_matrix(R)))


@cache
def nanoseconds(name: str, case: Case) -> float:
    """Time of one step of one body [ns]: best of several rounds of 256 bodies on one core."""
    batch = Batch(case.body, name, case.potential, size=BODIES)
    rng = np.random.default_rng(0)
    batch.set_state(case.quaternion, case.omega * (1.0 + 0.01 * rng.standard_normal((BODIES, 3))))
    before = threads.get_num_threads()
    threads.set_num_threads(1)
    try:
        batch.advance(case.dt)
        start = time.perf_counter()
        batch.advance(case.dt)
        steps = max(1, int(_SECONDS / (time.perf_counter() - start)))
        best = float("inf")
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            batch.advance(case.dt, steps)
            best = min(best, time.perf_counter() - start)
    finally:
        threads.set_num_threads(before)
    return 1e9 * best / steps / BODIES
