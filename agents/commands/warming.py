"""What `rbgym warm` does: machine code made and kept on disk before it is needed."""

import time
from collections.abc import Mapping
from typing import Any

import gymnasium as gym


def first_steps(env_id: str, kwargs: Mapping[str, Any]) -> float:
    """Reset and step an environment, single and vector; the time [s] that it took."""
    begun = time.perf_counter()
    for env in (gym.make(env_id, **kwargs), gym.make_vec(env_id, num_envs=2, **kwargs)):
        env.action_space.seed(0)
        env.reset(seed=0)
        for _ in range(2):  # the second step compiles what all later ones use
            env.step(env.action_space.sample())
        env.close()
    return time.perf_counter() - begun
