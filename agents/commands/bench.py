"""Throughput of some tasks beside Gymnasium's CartPole, measured in the same run."""

import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

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
    "slew by torque": ("AttitudeSlew-v1", {}),
    "slew by wheels": ("ReactionWheelSlew-v1", {}),
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
    vector_cases = {name: many(env_id, LANES, **kw) for name, (env_id, kw) in CASES.items()}
    single_cases = {name: one(env_id, **kw) for name, (env_id, kw) in CASES.items()}
    done = itertools.count(1)
    progress(0, 2 * rounds)
    threads = rbgym.get_num_threads()
    rbgym.set_num_threads(1)
    try:
        times = [
            interleaved(cases, rounds, seconds, lambda: progress(next(done), 2 * rounds))
            for cases in (vector_cases, single_cases)
        ]
    finally:
        rbgym.set_num_threads(threads)
    vector, single = ({k: statistics.median(t) for k, t in some.items()} for some in times)
    base_vector, base_single = vector["CartPole-v1"], single["CartPole-v1"]
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


def interleaved(
    cases: Mapping[str, Timed], rounds: int, seconds: float, after_round: Callable[[], None]
) -> dict[str, list[float]]:
    """Times [s] of one step, case after case in every round, each for about so many seconds."""
    steps = {name: _steps_within(run, seconds) for name, run in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            times[name].append(run(steps[name]) / steps[name])
        after_round()
    return times


def _steps_within(run: Timed, seconds: float) -> int:
    """How many steps take about that long, after everything has been compiled."""
    run(4)
    steps = 1
    while (taken := run(steps)) <= 0.2 * seconds:
        steps *= 2
    return max(1, math.ceil(steps * seconds / taken))
