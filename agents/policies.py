"""Trained policies: a network of Stable-Baselines3 and the normaliser of its observations.

A policy is kept as two files that hold data and nothing that could be executed: policy.safetensors
(weights and statistics) and policy.json (how to build the network, what it was trained for).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecNormalize

from rbgym.agents.algorithms import algorithm, is_off_policy
from rbgym.agents.models import policy_arguments
from rbgym.agents.run_folder import read_json, replacing, write_json
from rbgym.agents.space_files import as_plain, space_of

FORMAT = 1
WEIGHTS, CONFIG = "policy.safetensors", "policy.json"
_ACTOR = "actor."  # of an off-policy algorithm, the only part that chooses actions

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Normalizer:
    """clip((observation - mean) / sqrt(variance + epsilon), -clip, clip), as VecNormalize does.

    mean, variance: by the key of a dict observation; "" for any other.
    """

    mean: Mapping[str, Array]
    variance: Mapping[str, Array]
    clip: float
    epsilon: float

    @classmethod
    def of(cls, env: VecNormalize | None) -> "Normalizer | None":
        """The statistics as they stand; None for an env that leaves observations as they are."""
        if env is None or not env.norm_obs:
            return None
        all_of = env.obs_rms if isinstance(env.obs_rms, dict) else {"": env.obs_rms}
        mean = {key: np.array(rms.mean) for key, rms in all_of.items()}
        variance = {key: np.array(rms.var) for key, rms in all_of.items()}
        return cls(mean, variance, float(env.clip_obs), float(env.epsilon))

    def __call__(self, observation: Any) -> Any:
        if isinstance(observation, Mapping):
            return {key: self._part(key, part) for key, part in observation.items()}
        return self._part("", observation)

    def _part(self, key: str, values: Any) -> Any:
        if key not in self.mean:
            return values
        scaled = (values - self.mean[key]) / np.sqrt(self.variance[key] + self.epsilon)
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)


@dataclass(frozen=True)
class TrainedPolicy:
    """Chooses actions, with the interface of a controller and of a Stable-Baselines3 model.

    config: what policy.json holds: algorithm, env_id, env_kwargs, hyperparameters, training.
    """

    network: BasePolicy
    normalizer: Normalizer | None
    config: Mapping[str, Any]

    @classmethod
    def of(cls, model: BaseAlgorithm, config: Mapping[str, Any] | None = None) -> "TrainedPolicy":
        """The policy of a model as it stands; its network is shared with the model."""
        return cls(model.policy, Normalizer.of(model.get_vec_normalize_env()), config or {})

    @property
    def observation_space(self) -> spaces.Space[Any]:
        """What it was trained on, one lane's."""
        return self.network.observation_space

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Actions for observations, batched or single; and the state of a recurrent policy."""
        if self.normalizer is not None:
            observation = self.normalizer(observation)
        return self.network.predict(observation, state, episode_start, deterministic)

    def require(self, env_id: str, space: spaces.Space[Any]) -> None:
        """Raise ValueError unless it was trained for observations of this space."""
        own = self.observation_space
        if own != space:
            raise ValueError(
                f"policy must be trained for the observations of {env_id}, {_shown(space)}; "
                f"this one, of {self.config.get('env_id')}, was trained for {_shown(own)}"
            )


def _shown(space: spaces.Space[Any]) -> str:
    if isinstance(space, spaces.Dict):
        return f"{{{', '.join(f'{k}: {_shown(part)}' for k, part in space.items())}}}"
    return f"{type(space).__name__} of shape {space.shape}"


def write(folder: Path, model: BaseAlgorithm, config: Mapping[str, Any]) -> None:
    """Write the policy of a model into a folder, policy.json last.

    config: algo, hyperparameters, env_id, env_kwargs, and whatever else is to be told.
    """
    policy = TrainedPolicy.of(model)
    network, prefix = _chooser(policy.network, str(config["algo"]))
    tensors = {prefix + k: v.detach().contiguous() for k, v in network.state_dict().items()}
    normalizer = policy.normalizer
    if normalizer is not None:
        for kind, parts in (("mean", normalizer.mean), ("variance", normalizer.variance)):
            tensors |= {f"normalizer.{kind}.{k}": torch.from_numpy(v) for k, v in parts.items()}
    content = {
        "format": FORMAT,
        **config,
        "observation_space": as_plain(model.observation_space),
        "action_space": as_plain(model.action_space),
        "normalizer": normalizer and {"clip": normalizer.clip, "epsilon": normalizer.epsilon},
    }
    with replacing(folder / WEIGHTS) as temporary:
        temporary.write_bytes(save(tensors))
    write_json(folder / CONFIG, content)


def read(folder: Path) -> TrainedPolicy:
    """The policy that a folder holds. Raises ValueError for files that hold none."""
    if not (folder / CONFIG).is_file():
        raise ValueError(f"{str(folder / CONFIG)!r} is not there: no policy, or none yet")
    config = read_json(folder / CONFIG)
    if config.get("format") != FORMAT:
        writer = config.get("versions", {}).get("rbgym", "of another version")
        raise ValueError(
            f"{str(folder / CONFIG)!r} must be of format {FORMAT}, got {config.get('format')!r}: "
            f"rbgym {writer} wrote it"
        )
    try:
        tensors = load_file(folder / WEIGHTS)
        network = _network(config)
        part, prefix = _chooser(network, config["algo"])
        weights = {k.removeprefix(prefix): v for k, v in tensors.items() if _is_weight(k)}
        part.load_state_dict(weights, strict=True)
        return TrainedPolicy(network, _normalizer(config["normalizer"], tensors), config)
    except (SafetensorError, OSError, RuntimeError, KeyError, TypeError) as error:
        raise ValueError(f"{str(folder)!r} holds no policy that can be read: {error}") from error


def _is_weight(key: str) -> bool:
    return not key.startswith("normalizer.")


def _network(config: Mapping[str, Any]) -> BasePolicy:
    """The network, its weights yet to come."""
    hyperparameters = config["hyperparameters"]
    policy_class = algorithm(config["algo"]).policy_aliases[hyperparameters["policy"]]
    arguments = policy_arguments(hyperparameters)
    if "use_sde" in hyperparameters:
        arguments["use_sde"] = hyperparameters["use_sde"]
    seen, done = space_of(config["observation_space"]), space_of(config["action_space"])
    with torch.random.fork_rng():  # the first weights are drawn, and thrown away
        network: BasePolicy = policy_class(seen, done, lambda _: 0.0, **arguments)
    network.set_training_mode(False)
    return network


def _chooser(network: BasePolicy, algo: str) -> tuple[torch.nn.Module, str]:
    """The module that chooses actions, and what its keys begin with in the file."""
    if is_off_policy(algo):
        return network.actor, _ACTOR
    return network, ""


def _normalizer(
    options: Mapping[str, float] | None, tensors: Mapping[str, torch.Tensor]
) -> Normalizer | None:
    if options is None:
        return None
    parts: dict[str, dict[str, Array]] = {"mean": {}, "variance": {}}
    for name, tensor in tensors.items():
        if not _is_weight(name):
            _, kind, key = name.split(".", 2)
            parts[kind][key] = tensor.numpy()
    return Normalizer(parts["mean"], parts["variance"], options["clip"], options["epsilon"])
