"""Throughput of some tasks beside Gymnasium's CartPole, measured in the same run."""

import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

import rbgym

# Steps so often and returns how long the steps took [s], by a clock.
Timed = Callable[[int], float]
Clock = Callable[[], float]

NATIVE = "vector_entry_point"

LANES = 1024
# Named hooks and randomisation, which are to cost little.
HOOKS: dict[str, Any] = {
    "observation": "rotation_6d",
    "reward": {"closeness": 1.0, "change": 0.1, "progress": 1.0},
    "sensor": {"attitude": 1e-3, "rate": 1e-3, "rate_bias": 1e-3},
    "termination": {"keep_out": {"axis": (1, 0, 0), "direction": (0, 0, 1), "half_angle": 0.5}},
    "disturbance": {"constant": (1e-3, 0, 0), "white_noise": 1e-3},
    "randomization": {"inertia": 0.1, "mass": 0.1, "torque": 0.1},
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "akw, 1 substep": ("RigidTop-v0", {"integrator": "akw", "substeps": 1}),
    "defaults": ("RigidTop-v0", {}),
    "defaults, hooks": ("RigidTop-v0", HOOKS),
    "slew by torque": ("AttitudeSlew-v0", {}),
    "slew by wheels": ("ReactionWheelSlew-v0", {}),
    "CartPole-v1": ("CartPole-v1", {}),
}


def bench(
    rounds: int = 15,
    seconds: float = 0.1,
    progress: Callable[[int, int], None] = lambda done, rounds: None,
) -> dict[str, Any]:
    """Medians over interleaved rounds, on one thread.

    Actions are random. vector: env-steps per second of 1024 lanes, autoreset included; single:
    microseconds of one unwrapped `env.step`, resets left out; each with its ratio to CartPole's,
    above 1 where ours is faster.
    rounds: how often each case is timed. seconds: how long each time. progress: called with
    (done, all) between two rounds, which it does not slow.
    Raises ValueError for bad arguments.
    """
    if rounds < 1 or not 0 < seconds < math.inf:
        raise ValueError(f"rounds and seconds must be positive, got {rounds!r} and {seconds!r}")
    done = itertools.count()

    def told() -> None:
        progress(next(done), 2 * rounds)

    told()
    threads = rbgym.get_num_threads()
    rbgym.set_num_threads(1)
    try:
        vector = _medians(
            {k: many(i, LANES, **o) for k, (i, o) in CASES.items()}, rounds, seconds, told
        )
        single = _medians({k: one(i, **o) for k, (i, o) in CASES.items()}, rounds, seconds, told)
    finally:
        rbgym.set_num_threads(threads)
    base_vector, base_single = (x["CartPole-v1"] for x in (vector, single))
    return {
        "lanes": LANES,
        "vector": {
            k: {"steps_per_second": LANES / t, "ratio": base_vector / t} for k, t in vector.items()
        },
        "single": {
            k: {"microseconds": 1e6 * t, "ratio": base_single / t} for k, t in single.items()
        },
    }


def many(
    env_id: str, lanes: int, clock: Clock = time.perf_counter, mode: str = NATIVE, **kwargs: Any
) -> Timed:
    """Steps of a vector env of so many lanes under random actions, autoreset included."""
    env = gym.make_vec(env_id, num_envs=lanes, vectorization_mode=mode, **kwargs).unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(16)]

    def run(steps: int) -> float:
        start = clock()
        for k in range(steps):
            _observations, _rewards, _terminated, _truncated, _infos = env.step(actions[k % 16])
        return clock() - start

    return run


def one(
    env_id: str, clock: Clock = time.perf_counter, wrapped: bool = False, **kwargs: Any
) -> Timed:
    """Steps of one env under random actions, resets left out; wrapped: as `gym.make` gives it."""
    env = gym.make(env_id, **kwargs)
    env.action_space.seed(0)
    return stepping(env if wrapped else env.unwrapped, clock)


def stepping(env: Any, clock: Clock = time.perf_counter) -> Timed:
    """Steps of one Gymnasium env under random actions, resets left out."""
    env.reset(seed=0)
    actions = [env.action_space.sample() for _ in range(16)]

    def run(steps: int) -> float:
        total, k = 0.0, 0
        while k < steps:
            env.reset()
            ended, start = False, clock()
            while k < steps and not ended:
                _observation, _reward, terminated, truncated, _info = env.step(actions[k % 16])
                ended, k = terminated or truncated, k + 1
            total += clock() - start
        return total

    return run


def _medians(
    cases: Mapping[str, Timed], rounds: int, seconds: float, told: Callable[[], None]
) -> dict[str, float]:
    times = interleaved(cases, rounds, seconds, told)
    return {name: statistics.median(values) for name, values in times.items()}


def interleaved(
    cases: Mapping[str, Timed], rounds: int, seconds: float, told: Callable[[], None]
) -> dict[str, list[float]]:
    """Times [s] of one step, case after case in every round, each for about so many seconds."""
    steps = {name: _steps_within(run, seconds) for name, run in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            times[name].append(run(steps[name]) / steps[name])
        told()
    return times


def _steps_within(run: Timed, seconds: float) -> int:
    """How many steps take about that long, after everything has been compiled."""
    run(1)
    steps = 1
    while True:
        taken = run(steps)
        if taken > 0.2 * seconds:
            return max(1, int(np.ceil(steps * seconds / taken)))
        steps *= 2
