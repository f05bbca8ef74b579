"""How near each scheme comes to what the core can do: `python -m benchmarks.roofline`.

Of a heavy top, one step a call, all bodies alike: the arithmetic of a step (benchmarks.flops) and
its bytes, against the rates of this core at independent work.
"""

import ctypes
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import native
from benchmarks.flops import CASE, STEPS
from benchmarks.record import ROOT, Missing, Told, main
from benchmarks.timing import Timed, interleaved
from rbgym import Batch, integrators

BODIES = 1024
CHAINS = 24  # of peak.c
SIZES = {"L1": 16 * 2**10, "L2": 400 * 2**10, "L3": 6 * 2**20, "memory": 256 * 2**20}  # [B]


def rate(work: Callable[[int], Any], units: float, seconds: float) -> float:
    """Most units a second that the function does, of several tries; one call does `units`."""
    repetitions, best = 1, 0.0
    while True:
        start = time.thread_time()
        work(repetitions)
        taken = time.thread_time() - start
        if taken > seconds / 8:
            best = max(best, repetitions * units / taken)
        if taken > seconds:
            return best
        repetitions *= 2


def limits(seconds: float) -> dict[str, Any]:
    """Flops, divisions and roots a second [1/s], bytes read and written a second by level."""
    library = native.built("peak")
    found: dict[str, Any] = {}
    for name, units in (("fused", 16), ("divided", 8), ("rooted", 8)):
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_long]
        found[name] = rate(function, CHAINS * units, seconds)
    stream = library.streamed
    stream.restype = ctypes.c_double
    stream.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long, ctypes.c_double, ctypes.c_double
    ]  # fmt: skip
    found["bytes"] = {}
    for name, size in SIZES.items():
        array = np.ones(size // 8 + 8)
        start = array[-array.ctypes.data // 8 % 8 :].ctypes.data

        def work(repetitions: int, at: int = start, count: int = size // 8) -> Any:
            return stream(at, count, repetitions, 0.999, 1e-3)

        found["bytes"][name] = rate(work, 2 * size, seconds)
    return found


def counts(names: list[str]) -> dict[str, dict[str, float]]:
    """What `benchmarks.flops` counts, in a process where nothing is compiled."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.flops", *names]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT
    )
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


def stepped(name: str, calls: int) -> Timed:
    """`calls` calls of Batch.advance that together make STEPS steps, from the same start."""
    batch = Batch(CASE.body, name, CASE.potential, size=BODIES)
    batch.set_state(CASE.quaternion, CASE.omega)
    begin = batch.buffer.copy()

    def run(times: int) -> float:
        total = 0.0
        for _ in range(times):
            batch.buffer[:] = begin
            start = time.thread_time()
            for _ in range(calls):
                batch.advance(CASE.dt, STEPS // calls)
            total += time.thread_time() - start
        return total

    return run


def nanoseconds(names: list[str], calls: int, quick: bool) -> dict[str, float]:
    """Time of one step of one body [ns]."""
    cases = {name: stepped(name, calls) for name in names}
    times = interleaved(cases, 3 if quick else 11, 0.005 if quick else 0.03, lambda: None)
    scale = 1e9 / STEPS / BODIES
    return {name: scale * statistics.median(values) for name, values in times.items()}


def shares(count: dict[str, float], core: dict[str, Any]) -> dict[str, float]:
    """Least time of a step by each limit alone [ns]."""
    moved = count["bytes_read"] + count["bytes_written"]
    slow = count["divide"] / core["divided"] + count["root"] / core["rooted"]
    return {
        # An addition hides in a multiplication wherever it can; what there is more of remains.
        "arithmetic": 1e9 * 2.0 * max(count["add"], count["multiply"]) / core["fused"],
        "division": 1e9 * slow,
        "L1": 1e9 * 8 * (count["loads"] + count["stores"]) / core["bytes"]["L1"],
        "L2": 1e9 * moved / core["bytes"]["L2"],
    }


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """The core's limits, and each scheme's counts, times and limits [ns]."""
    told("the core")
    try:
        core = limits(0.02 if quick else 0.2)
    except Missing as error:
        return {"core": None, "schemes": {}, "skipped": {"roofline": str(error)}}
    told("the arithmetic")
    names = integrators.names()[:3] if quick else integrators.names()
    counted = counts(names)
    told("the schemes; each is compiled if it never was")
    apart, together = nanoseconds(names, STEPS, quick), nanoseconds(names, 1, quick)
    rows = {}
    for name in names:
        least = shares(counted[name], core)
        bound = max(least, key=lambda key: least[key])
        rows[name] = {
            "counts": {key: round(value, 1) for key, value in counted[name].items()},
            "nanoseconds": round(apart[name], 2),
            "nanoseconds_in_cache": round(together[name], 2),
            "limits": {key: round(value, 2) for key, value in least.items()},
            "bound": bound,
            "reached": round(least[bound] / apart[name], 3),
        }
    return {"bodies": BODIES, "core": core, "schemes": rows, "skipped": {}}


if __name__ == "__main__":
    main("roofline", measure)
