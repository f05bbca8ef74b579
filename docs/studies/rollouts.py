"""How fast rollouts are, compared with the vector environment: the figures of docs/rollouts.md.

python docs/studies/rollouts.py
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO

import rbgym
from rbgym.agents.policies import Network
from rbgym.agents.train import make_sb3_env, rollout

TOP, LANES, ROUNDS = "TopSwingUp-v0", 1024, 9


def throughput() -> dict[str, float]:
    """Nanoseconds of one env-step of 1024 lanes of the swing-up, by several ways, on one thread:
    the least of rounds in which they take turns, as other work on the machine can only add."""
    torch.set_num_threads(1)
    rbgym.set_num_threads(1)
    model = PPO("MlpPolicy", make_sb3_env(TOP, 1), policy_kwargs={"net_arch": [64, 64]}, seed=0,
                device="cpu")  # fmt: skip
    network, certain = Network.from_model(model), partial(model.predict, deterministic=True)
    population = [Network.random((7, 16, 16, 3), seed) for seed in range(64)]
    small = population[0]
    env = gym.make_vec(TOP, num_envs=LANES, autoreset_mode=AutoresetMode.SAME_STEP)
    seen, _ = env.reset(seed=0)
    actions = network.predict(seen)[0]
    ways: dict[str, Callable[[], int]] = {
        "rollout, 64-64": lambda: rollout(network, TOP, episodes=LANES).steps,
        "rollout, 16-16": lambda: rollout(small, TOP, episodes=LANES).steps,
        "rollout, 64 networks 16-16": lambda: rollout(population, TOP, episodes=LANES // 64).steps,
        "vector env, predict of the Network": lambda: _driven(env, network.predict),
        "vector env, predict of the PPO model": lambda: _driven(env, certain),
        "part: vector env alone": lambda: _driven(env, lambda seen: (actions, None)),
        "part: network alone, 64-64": lambda: _repeated(network, seen),
        "part: network alone, 16-16": lambda: _repeated(small, seen),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name, way in ways.items():
            began = time.perf_counter()
            steps = way()
            if turn:  # the first is for compiling
                times[name].append(1e9 * (time.perf_counter() - began) / steps)
    return {name: round(min(values), 1) for name, values in times.items()}


def _driven(env: Any, predict: Callable[[Any], Any], steps: int = 500) -> int:
    """The usual loop, rewards added up."""
    seen, _ = env.reset(seed=0)
    returns = np.zeros(env.num_envs)
    for _ in range(steps):
        seen, rewards, *_ = env.step(predict(seen)[0])
        returns += rewards
    return steps * int(env.num_envs)


def _repeated(network: Network, seen: Any, steps: int = 100) -> int:
    for _ in range(steps):
        network.predict(seen)
    return steps * len(seen)


if __name__ == "__main__":
    for way, nanoseconds in throughput().items():
        print(f"{way}: {nanoseconds} ns")
