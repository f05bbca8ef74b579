"""The arithmetic of a step, counted: `python -m benchmarks.flops` prints it for every scheme.

The engine itself runs, uncompiled, on a buffer of numbers that count (benchmarks.counted). The
lanes of a block are solved together; they start alike here, so that each takes the corrections that
it needs itself.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.counted import KINDS, TAPE, counting, given, use
from rbgym import Batch, integrators
from rbgym.engine.rows import LANES
from rbgym.validation.cases import CASES, Case

STEPS = 5  # from the start of the motion
CASE = next(case for case in CASES if case.kind == "heavy_top")


class Rows(np.ndarray):
    """A buffer of lanes, that notes what is read and written.

    A pass over the lanes ends where another lane begins: what was computed before is then in memory
    or gone.
    """

    def __array_finalize__(self, _: Any) -> None:
        self.lane, self.held = -1, {}
        self.touched: tuple[set[int], set[int]] = (set(), set())
        self.accesses: Counter[str] = Counter()

    def _enter(self, key: int) -> None:
        if key % LANES != self.lane:
            TAPE.count()
            self.lane, self.held = key % LANES, {}

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, int | np.integer):
            return super().__getitem__(key)
        self._enter(key)
        if key not in self.held:
            self.held[key] = given(super().__getitem__(key))
            self.accesses["loads"] += 1
        if key not in self.touched[1]:
            self.touched[0].add(int(key))
        return self.held[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, int | np.integer):
            self._enter(key)
            self.held[key] = value
            self.touched[1].add(int(key))
            self.accesses["stores"] += 1
            use(value)
        super().__setitem__(key, value)


@contextmanager
def _solutions(scheme: Any) -> Iterator[Counter[str]]:
    """Counts how often the equation of a scheme is evaluated, if it has one."""
    told: Counter[str] = Counter()
    plain = getattr(scheme, "equation", None)
    if plain is None:
        yield told
        return

    def called(self: Any, *args: Any) -> Any:
        told["corrections"] += 1
        return plain(*args)

    with mock.patch.object(type(scheme), "equation", called):
        yield told


def of_scheme(name: str, case: Case = CASE, steps: int = STEPS) -> dict[str, float]:
    """Per step of one body: each kind of arithmetic, corrections, loads and stores of all passes,
    and the bytes that a step alone reads and writes."""
    batch = Batch(case.body, name, case.potential, size=LANES)
    batch.set_state(case.quaternion, case.omega)
    rows = batch.buffer.astype(object).view(Rows)
    batch.buffer = rows
    with _solutions(batch.integrator.scheme) as solutions, counting() as counts:
        batch.advance(case.dt, steps)
    read, written = rows.touched
    totals = {kind: counts[kind] for kind in KINDS} | rows.accesses
    totals["corrections"] = solutions["corrections"]
    return {key: total / LANES / steps for key, total in totals.items()} | {
        "bytes_read": 8 * len(read) / LANES,
        "bytes_written": 8 * len(written) / LANES,
    }


def main() -> None:
    """Print the counts of every scheme as JSON."""
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks.flops", *sys.argv[1:]])
    names = sys.argv[1:] or integrators.names()
    print(json.dumps({name: of_scheme(name) for name in names}, indent=1))


if __name__ == "__main__":
    main()
