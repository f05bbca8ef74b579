"""Times steps of the rbgym that PYTHONPATH names: a process of benchmarks.prices.

Each line of the input is `ENV LANES THREADS STEPS`; the answer is the seconds that the steps took.
ENV is an id, or `ID,INTEGRATOR`. One env is not wrapped, and its resets are not timed. Imports
nothing of benchmarks: the tree may be an older one.
"""

import functools
import sys
import time
from typing import Any

import gymnasium as gym

import rbgym

ACTIONS = 16


@functools.cache
def made(env_id: str, lanes: int) -> tuple[Any, list[Any]]:
    """An env, or a vector env of more than one lane, and random actions."""
    env_id, _, integrator = env_id.partition(",")
    how = {"integrator": integrator} if integrator else {}
    if lanes == 1:
        env: Any = gym.make(env_id, **how).unwrapped
    else:
        env = gym.make_vec(
            env_id, num_envs=lanes, vectorization_mode="vector_entry_point", **how
        ).unwrapped
    env.reset(seed=0)
    env.action_space.seed(0)
    return env, [env.action_space.sample() for _ in range(ACTIONS)]


def one(env: Any, actions: list[Any], steps: int) -> float:
    """Seconds of so many steps of one env."""
    taken, k = 0.0, 0
    while k < steps:
        env.reset()
        ended, started = False, time.perf_counter()
        while k < steps and not ended:
            _seen, _reward, terminated, truncated, _info = env.step(actions[k % ACTIONS])
            ended, k = terminated or truncated, k + 1
        taken += time.perf_counter() - started
    return taken


def many(env: Any, actions: list[Any], steps: int) -> float:
    """Seconds of so many steps of a vector env, automatic resets included."""
    started = time.perf_counter()
    for k in range(steps):
        env.step(actions[k % ACTIONS])
    return time.perf_counter() - started


def main() -> None:
    """Answer every line of the input."""
    for line in sys.stdin:
        env_id, *numbers = line.split()
        lanes, threads, steps = map(int, numbers)
        env, actions = made(env_id, lanes)
        rbgym.set_num_threads(threads)
        step = one if lanes == 1 else many
        step(env, actions, 1)
        print(step(env, actions, steps), flush=True)
        rbgym.set_num_threads(1)


if __name__ == "__main__":
    main()
