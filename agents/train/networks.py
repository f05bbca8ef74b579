"""The small network that a training outside of Stable-Baselines3 begins with."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from rbgym.agents.policies.network import Network, Normalizer
from rbgym.envs.arguments import named
from rbgym.envs.parts.observations import FORMS

Spaces = tuple[gym.spaces.Box, gym.spaces.Box]


def first_network(
    env_id: str, algo: str, chosen: Mapping[str, Any], seed: int, kwargs: dict[str, Any]
) -> tuple[Network, Spaces]:
    """Random weights, behind a normaliser that shows rates larger; and the env's spaces.

    chosen: hyperparameters; net_arch has the sizes of hidden layers, rates how many times as large
    the angular velocity is shown. ValueError for bad ones, and for observations that are no box.
    """
    hidden, rates = chosen["net_arch"], chosen["rates"]
    if not isinstance(hidden, list) or not all(isinstance(n, int) and n > 0 for n in hidden):
        raise ValueError(f"net_arch must be a list of positive integers, got {hidden!r}")
    if not isinstance(rates, int | float) or not rates > 0:
        raise ValueError(f"rates must be a positive number, got {rates!r}")
    form = kwargs.get("observation", "quaternion")
    named("observation", form, FORMS, f" for {algo}")
    env = gym.make(env_id, **kwargs)
    env.close()
    seen, done = env.observation_space, env.action_space
    if not (isinstance(seen, gym.spaces.Box) and isinstance(done, gym.spaces.Box)):
        raise ValueError(f"env_id must be a task whose observations are a box, got {env_id!r}")
    first = FORMS[form].width()
    variance = np.ones(seen.shape[0])
    variance[first : first + 3] = rates**-2.0
    sizes = (seen.shape[0], *hidden, done.shape[0])
    normalizer = Normalizer(np.zeros(len(variance)), variance)
    return Network.random(sizes, seed, normalizer=normalizer), (seen, done)
