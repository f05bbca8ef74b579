"""Digests of long random episodes, to compare threads, processes and copies with."""

import hashlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any
from unittest.mock import patch

import numpy as np

import rbgym
from digests import add
from fuzzing.environments import created

LANES = 205  # no multiple of a block
BLOCKS = 4  # of a range, so that these make enough of them for five threads


def digest(env_id: str, steps: int, threads: int = 1, lanes: int = LANES, **kwargs: Any) -> str:
    """Of all that the steps of a vector environment return, with random actions."""
    kept = rbgym.get_num_threads()
    try:
        fewer = patch.dict(rbgym.threads.over_ranges.__kwdefaults__, fewest=BLOCKS)
        with fewer, patch("rbgym.envs.episodes.FEWEST_BLOCKS", BLOCKS):
            rbgym.set_num_threads(threads)
            return _digest(env_id, steps, lanes, kwargs)
    finally:
        rbgym.set_num_threads(kept)


def _digest(env_id: str, steps: int, lanes: int, kwargs: dict[str, Any]) -> str:
    env = created(env_id, True, num_envs=lanes, autoreset_mode="SameStep",
                  max_episode_steps=37, **kwargs)  # fmt: skip
    env.reset(seed=5)
    rng, found = np.random.default_rng(3), hashlib.sha256()
    for _ in range(steps):
        actions = rng.uniform(-1.2, 1.2, env.action_space.shape).astype(np.float32)
        *results, info = env.step(actions)
        add(found, [results, info["rate_error"], info["applied_torque"]])
    add(found, env.state)
    return found.hexdigest()


def elsewhere(method: str, *arguments: Any) -> str:
    """The digest as a process finds it that is started for it in this way."""
    with ProcessPoolExecutor(1, mp_context=get_context(method)) as pool:
        return pool.submit(digest, *arguments).result(timeout=300)
