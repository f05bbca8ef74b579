"""What a step costs, measured."""

import time
from functools import cache

import numpy as np

from rbgym import threads
from rbgym.engine.batch import Batch
from rbgym.validation.cases import Case

BODIES = 256
_ROUNDS = 15
_SECONDS = 0.004


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
