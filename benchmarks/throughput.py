"""Env-steps a second of one and of many environments: `python -m benchmarks.throughput`.

By the clock on the wall. Cases of one number of environments take turns, round after round; a ratio
is the median of those of the rounds.
"""

import statistics
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import rbgym
from benchmarks import peers
from benchmarks.record import Say, main, present, rounded, spread
from benchmarks.timing import Timed, interleaved, many, one

COUNTS = 1, 64, 1024, 16384
QUICK = 1, 64
THREADS = 1, 2
# What all are compared with: of one env `gym.make("CartPole-v1")`, of many CartPoleVectorEnv.
CARTPOLE = "Gymnasium CartPole-v1"
AKW: dict[str, Any] = {"integrator": "akw", "substeps": 1}
OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "rbgym RigidTop-v0": ("RigidTop-v0", {}),
    "rbgym AttitudeSlew-v1": ("AttitudeSlew-v1", {}),
    "rbgym ReactionWheelSlew-v1": ("ReactionWheelSlew-v1", {}),
    "rbgym MagneticPointing-v0": ("MagneticPointing-v0", {}),
    "rbgym RigidTop-v0, `akw`, 1 substep": ("RigidTop-v0", AKW),
}
# Peers by what they are called with: lanes, and threads if they take any.
ON_ONE: dict[str, Callable[[int], Timed]] = {
    "gymnax CartPole-v1": peers.gymnax,
    "gymnax CartPole-v1, 16 steps a call": peers.gymnax_scan,
}
ON_MORE: dict[str, Callable[[int, int], Timed]] = {
    "EnvPool CartPole-v1": peers.envpool,
    "mujoco.rollout, free body, Euler": partial(peers.mujoco_rollout, "Euler"),
    "mujoco.rollout, free body, RK4": partial(peers.mujoco_rollout, "RK4"),
}
BASILISK = "Basilisk hub, RK4, 1000 steps a call"

Key = tuple[str, int]  # a case, and its number of threads
Found = dict[str, dict[str, dict[str, dict[str, float]]]]  # by threads, case and lanes


def gymnasium(env_id: str, lanes: int, **options: Any) -> Timed:
    """One env as `gym.make` gives it, or a vector env."""
    return one(env_id, **options) if lanes == 1 else many(env_id, lanes, **options)


def on_threads(threads: int, step: Timed) -> Timed:
    """The same steps by so many threads of rbgym; the next case has one again."""

    def run(steps: int) -> float:
        rbgym.set_num_threads(threads)
        step(1)
        try:
            return step(steps)
        finally:
            rbgym.set_num_threads(1)

    return run


def cases(lanes: int, skipped: dict[str, str]) -> dict[Key, Timed]:
    """All cases of that number of environments; of one env on one thread only."""
    threads = THREADS if lanes > 1 else THREADS[:1]
    found = {(CARTPOLE, 1): gymnasium("CartPole-v1", lanes)}
    for name, (env_id, options) in OURS.items():
        step = gymnasium(env_id, lanes, **options)
        found |= {(name, n): on_threads(n, step) if lanes > 1 else step for n in threads}
    alone: dict[str, Callable[[], Timed]] = {
        name: partial(make, lanes) for name, make in ON_ONE.items()
    }
    if lanes == 1:
        alone[BASILISK] = peers.basilisk
    found |= {(name, 1): step for name, step in present(alone, skipped).items()}
    for n in threads:
        makers = {name: partial(make, lanes, n) for name, make in ON_MORE.items()}
        found |= {(name, n): step for name, step in present(makers, skipped).items()}
    return found


def timed(steps: Mapping[Key, Timed], lanes: int, quick: bool) -> dict[Key, dict[str, float]]:
    """Spread of the env-steps a second of each case, its ratio to CartPole's, and of more than one
    thread the gain over one."""
    rounds, seconds = (3, 0.01) if quick else (9, 0.1)
    by_name = {f"{name}|{n}": step for (name, n), step in steps.items()}
    times = interleaved(by_name, rounds, seconds)
    base = times[f"{CARTPOLE}|1"]
    found = {}
    for name, n in steps:
        own = times[f"{name}|{n}"]
        row = spread(lanes / t for t in own) | {"ratio": _times(base, own)}
        found[name, n] = row if n == 1 else row | {"gain": _times(times[f"{name}|1"], own)}
    return found


def _times(base: list[float], own: list[float]) -> float:
    """How many times faster, the median of the rounds."""
    return rounded(statistics.median(b / t for b, t in zip(base, own, strict=True)))


def measure(quick: bool, say: Say) -> dict[str, Any]:
    """Env-steps a second by threads, case and number of environments."""
    rbgym.set_num_threads(1)
    skipped: dict[str, str] = {}
    found: Found = {str(n): {} for n in THREADS}
    for lanes in QUICK if quick else COUNTS:
        say(f"{lanes} environments")
        for (name, n), row in timed(cases(lanes, skipped), lanes, quick).items():
            found[str(n)].setdefault(name, {})[str(lanes)] = row
    return {"steps_per_second": found, "skipped": skipped}


if __name__ == "__main__":
    main("throughput", measure)
