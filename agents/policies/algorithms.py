"""The algorithms that can be trained, by the names of rl-baselines3-zoo."""

import inspect

from sb3_contrib import TQC, RecurrentPPO
from stable_baselines3 import PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from rbgym.envs.arguments import named

ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "ppo": PPO, "sac": SAC, "td3": TD3, "tqc": TQC, "recurrent_ppo": RecurrentPPO
}  # fmt: skip
# Hyperparameters that may be a schedule, like lin_1e-3.
SCHEDULED = ("learning_rate", "clip_range", "clip_range_vf")
# What `train` gives itself, and objects, which a file cannot hold.
_OURS = frozenset(
    {"self", "env", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model"}
    | {"action_noise", "replay_buffer_class", "replay_buffer_kwargs"}
    | {"rollout_buffer_class", "rollout_buffer_kwargs"}
)


def algorithm(name: str) -> type[BaseAlgorithm]:
    """The class of that name; ValueError if there is none."""
    named("algo", name, ALGORITHMS)
    return ALGORITHMS[name]


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """What the algorithm's constructor takes of plain values, beside what `train` gives."""
    found = inspect.signature(algorithm(name)).parameters
    return {key: one for key, one in found.items() if key not in _OURS}


def is_off_policy(name: str) -> bool:
    """Whether the algorithm learns from a replay buffer."""
    return issubclass(algorithm(name), OffPolicyAlgorithm)
