"""Models of Stable-Baselines3 made of plain hyperparameters, as `train.presets` reads them."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.noise import NormalActionNoise, OrnsteinUhlenbeckActionNoise
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

from rbgym.agents.policies.algorithms import SCHEDULED, algorithm
from rbgym.agents.policies.sb3_network import ACTIVATIONS
from rbgym.envs.arguments import named

_NOISE: dict[str, Any] = {
    "normal": NormalActionNoise,
    "ornstein-uhlenbeck": OrnsteinUhlenbeckActionNoise,
}
# What does not go to the constructor as it is.
_TAKEN = frozenset({"n_envs", "n_timesteps", "normalize", "noise_type", "noise_std"})


def new_model(
    algo: str, hyperparameters: Mapping[str, Any], env: VecEnv, seed: int
) -> BaseAlgorithm:
    """An untrained model. Raises ValueError for a bad value of a hyperparameter."""
    arguments = {k: v for k, v in hyperparameters.items() if k not in _TAKEN}
    for key in SCHEDULED:
        if isinstance(arguments.get(key), str):
            arguments[key] = _schedule(key, arguments[key])
    if isinstance(arguments.get("train_freq"), list):
        arguments["train_freq"] = tuple(arguments["train_freq"])
    if (kind := hyperparameters.get("noise_type")) is not None:
        named("noise_type", kind, _NOISE)
        none = np.zeros(env.action_space.shape or ())
        deviation = float(hyperparameters.get("noise_std", 0.1))
        arguments["action_noise"] = _NOISE[kind](none, none + deviation)
    arguments["policy_kwargs"] = dict(hyperparameters.get("policy_kwargs") or {})
    if (name := arguments["policy_kwargs"].get("activation_fn")) is not None:
        known = {kind.__name__: kind for kind in ACTIVATIONS}
        plain = str(name).removeprefix("nn.")
        named("activation_fn", plain, known)
        arguments["policy_kwargs"]["activation_fn"] = known[plain]
    try:
        return algorithm(algo)(env=env, seed=seed, device="cpu", **arguments)
    except (TypeError, ValueError, AssertionError) as error:
        raise ValueError(f"hyperparameters of {algo} are refused: {error}") from error


def normalized(hyperparameters: Mapping[str, Any], env: VecMonitor) -> VecEnv:
    """The env behind a VecNormalize, if `normalize` asks for one."""
    wanted = hyperparameters.get("normalize")
    if not wanted:
        return env
    options = {"gamma": hyperparameters.get("gamma", 0.99)}
    return VecNormalize(env, **(options | (wanted if isinstance(wanted, dict) else {})))


def _schedule(key: str, text: str) -> LinearSchedule:
    kind, _, value = text.partition("_")
    with suppress(ValueError):
        if kind == "lin" and (start := float(value)) > 0:
            return LinearSchedule(start, 0.0, 1.0)
    raise ValueError(f"{key} must be a positive number or lin_NUMBER, got {text!r}")
