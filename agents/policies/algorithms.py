"""The algorithms that can be trained, by the names of rl-baselines3-zoo."""

import importlib
import inspect

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from rbgym.envs.arguments import hint

_MODULES = {
    "ppo": ("stable_baselines3", "PPO"),
    "sac": ("stable_baselines3", "SAC"),
    "td3": ("stable_baselines3", "TD3"),
    "tqc": ("sb3_contrib", "TQC"),
    "recurrent_ppo": ("sb3_contrib", "RecurrentPPO"),
}
ALGORITHMS = tuple(_MODULES)
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
    if not isinstance(name, str) or name not in _MODULES:
        raise ValueError(
            f"algo must be one of {list(ALGORITHMS)}, got {name!r}{hint(name, ALGORITHMS)}"
        )
    module, class_name = _MODULES[name]
    found: type[BaseAlgorithm] = getattr(importlib.import_module(module), class_name)
    return found


def parameters(name: str) -> tuple[str, ...]:
    """What the algorithm's constructor takes of plain values, beside what `train` gives."""
    return tuple(p for p in inspect.signature(algorithm(name)).parameters if p not in _OURS)


def is_off_policy(name: str) -> bool:
    """Whether the algorithm learns from a replay buffer."""
    return issubclass(algorithm(name), OffPolicyAlgorithm)
