"""Steps per CPU-second of many environments at once: `python -m benchmarks.throughput`."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import rbgym
from benchmarks import peers
from benchmarks.record import Told, main, present, spread
from benchmarks.timing import LANES, Timed, interleaved, many
from rbgym import integrators
from rbgym.registration import ENVIRONMENTS

COUNTS = 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536
QUICK = 1, 1024
SLOW = 1024  # lanes beyond which nobody waits for a peer that steps one after the other
MANY: dict[str, Callable[[int], Timed]] = {
    "rbgym RigidTop-v0, akw, 1 substep": partial(
        many, "RigidTop-v0", clock=peers.CLOCK, integrator="akw", substeps=1
    ),
    "rbgym RigidTop-v0, quat_em, 1 substep": partial(
        many, "RigidTop-v0", clock=peers.CLOCK, integrator="quat_em", substeps=1
    ),
    "rbgym RigidTop-v0": partial(many, "RigidTop-v0", clock=peers.CLOCK),
    "Gymnasium CartPoleVectorEnv": partial(many, "CartPole-v1", clock=peers.CLOCK),
    "C CartPole": peers.c_cartpole,
    "EnvPool CartPole-v1": partial(peers.envpool, "CartPole-v1"),
    "EnvPool Pendulum-v1": partial(peers.envpool, "Pendulum-v1"),
    "gymnax CartPole-v1": partial(peers.gymnax, "CartPole-v1"),
    "gymnax Pendulum-v1": partial(peers.gymnax, "Pendulum-v1"),
    "gymnax CartPole-v1, 16 steps a call": partial(peers.gymnax_scan, "CartPole-v1"),
    "gymnax Pendulum-v1, 16 steps a call": partial(peers.gymnax_scan, "Pendulum-v1"),
}
FEW: dict[str, Callable[[int], Timed]] = {
    "Gymnasium SyncVectorEnv, CartPole-v1": partial(
        many, "CartPole-v1", clock=peers.CLOCK, mode="sync"
    ),
    "Gymnasium SyncVectorEnv, Pendulum-v1": partial(
        many, "Pendulum-v1", clock=peers.CLOCK, mode="sync"
    ),
    "mujoco.rollout, free body, Euler": partial(peers.mujoco_rollout, "Euler"),
    "mujoco.rollout, free body, RK4": partial(peers.mujoco_rollout, "RK4"),
}
# What steps one body, however many are wanted.
ALONE: dict[str, Callable[[], Timed]] = {
    "Basilisk hub, RK4, 1000 steps a call": peers.basilisk_run,
    "PyBullet free body": peers.pybullet_step,
}
THREADED: dict[str, dict[str, Any]] = {
    "RigidTop-v0, akw, 1 substep": {"integrator": "akw", "substeps": 1},
    "RigidTop-v0": {},
}

Found = dict[str, dict[str, float]]


def per_second(cases: Mapping[str, Timed], lanes: int, quick: bool) -> Found:
    """Spread of the env-steps per second of each case."""
    rounds, seconds = (3, 0.01) if quick else (7, 0.05)
    times = interleaved(cases, rounds, seconds, lambda: None)
    return {name: spread(lanes / t for t in values) for name, values in times.items()}


def by_count(quick: bool, told: Told, skipped: dict[str, str]) -> dict[str, Found]:
    """Every peer and our defaults, by the number of lanes."""
    found: dict[str, Found] = {}
    for lanes in QUICK if quick else COUNTS:
        told(f"{lanes} lanes")
        makers = MANY | (FEW if lanes <= SLOW else {})
        cases = present({k: partial(make, lanes=lanes) for k, make in makers.items()}, skipped)
        for name, row in per_second(cases, lanes, quick).items():
            found.setdefault(name, {})[str(lanes)] = row
    for name, row in per_second(present(ALONE, skipped), 1, quick).items():
        found[name] = {"1": row}
    return found


def of_schemes(quick: bool, told: Told) -> Found:
    """RigidTop-v0 with each scheme, one substep."""
    names = integrators.names()[:3] if quick else integrators.names()
    told(f"RigidTop-v0 with {len(names)} schemes; each is compiled if it never was")
    cases = {
        name: many("RigidTop-v0", LANES, peers.CLOCK, integrator=name, substeps=1) for name in names
    }
    return per_second(cases, LANES, quick)


def of_tasks(quick: bool, told: Told) -> Found:
    """Every environment with its defaults."""
    names = list(ENVIRONMENTS)[:3] if quick else list(ENVIRONMENTS)
    told(f"{len(names)} environments; each is compiled if it never was")
    return per_second({name: many(name, LANES, peers.CLOCK) for name in names}, LANES, quick)


def on_threads(threads: int, step: Timed) -> Timed:
    """The same steps by so many threads; whoever is measured next has one."""

    def run(steps: int) -> float:
        rbgym.set_num_threads(threads)
        step(1)
        try:
            return step(steps)
        finally:
            rbgym.set_num_threads(1)

    return run


def of_threads(quick: bool, told: Told) -> dict[str, dict[str, Found]]:
    """One and two threads, by wall time: steps per second by case, lanes and threads."""
    found: dict[str, dict[str, Found]] = {}
    for lanes in (1024,) if quick else (1024, 2048, 4096, 16384, 65536):
        told(f"one and two threads, {lanes} lanes")
        cases = {}
        for name, options in THREADED.items():
            step = many("RigidTop-v0", lanes, time.perf_counter, **options)
            cases |= {f"{name}|{n}": on_threads(n, step) for n in (1, 2)}
        for key, row in per_second(cases, lanes, quick).items():
            name, _, threads = key.partition("|")
            found.setdefault(name, {}).setdefault(str(lanes), {})[threads] = row
    return found


def measure(quick: bool, told: Told) -> dict[str, Any]:
    """All four; env-steps per second, of one thread by CPU time."""
    rbgym.set_num_threads(1)
    skipped: dict[str, str] = {}
    return {
        "by_count": by_count(quick, told, skipped),
        "schemes": of_schemes(quick, told),
        "tasks": of_tasks(quick, told),
        "threads": of_threads(quick, told),
        "skipped": skipped,
    }


if __name__ == "__main__":
    main("throughput", measure)
