"""Steps of environments, and how long they take, case after case in the same run."""

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium as gym

# Steps so often and returns how long the steps took [s], by a clock.
Timed = Callable[[int], float]


def many(env_id: str, lanes: int, **kwargs: Any) -> Timed:
    """Steps of a vector env of so many lanes under random actions, autoreset included."""
    kwargs |= {"num_envs": lanes, "vectorization_mode": "vector_entry_point"}
    env = gym.make_vec(env_id, **kwargs).unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(16)]

    def run(steps: int) -> float:
        start = time.perf_counter()
        for k in range(steps):
            _observations, _rewards, _terminated, _truncated, _infos = env.step(actions[k % 16])
        return time.perf_counter() - start

    return run


def one(env_id: str, **kwargs: Any) -> Timed:
    """Steps of one env, as `gym.make` gives it, under random actions, resets left out."""
    env = gym.make(env_id, **kwargs)
    env.action_space.seed(0)
    env.reset(seed=0)
    actions = [env.action_space.sample() for _ in range(16)]

    def run(steps: int) -> float:
        total, k = 0.0, 0
        while k < steps:
            env.reset()
            ended, start = False, time.perf_counter()
            while k < steps and not ended:
                _observation, _reward, terminated, truncated, _info = env.step(actions[k % 16])
                ended, k = terminated or truncated, k + 1
            total += time.perf_counter() - start
        return total

    return run


def interleaved(cases: Mapping[str, Timed], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Times [s] of one step, case after case in every round, each for about so many seconds."""
    steps = {name: _steps_within(run, seconds) for name, run in cases.items()}
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            times[name].append(run(steps[name]) / steps[name])
    return times


def _steps_within(run: Timed, seconds: float) -> int:
    """How many steps take about that long, after everything has been compiled."""
    run(4)
    steps = 1
    while (taken := run(steps)) <= 0.2 * seconds:
        steps *= 2
    return max(1, math.ceil(steps * seconds / taken))
