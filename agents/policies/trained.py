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
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.vec_env import VecNormalize

from rbgym.agents.policies.algorithms import algorithm, is_off_policy
from rbgym.agents.policies.models import policy_arguments
from rbgym.agents.policies.network import Network
from rbgym.agents.policies.normalizer import Normalizer
from rbgym.agents.policies.space_files import as_plain, space_of
from rbgym.agents.run_folder import read_json, replacing, write_json

FORMAT = 1
# What building a network of a damaged file may raise.
_DAMAGE = (
    SafetensorError,
    OSError,
    RuntimeError,
    KeyError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    ValueError,
)
# Of what config.json tells beside the network, what others build on.
_KINDS_OF = {"env_id": str, "env_kwargs": dict, "training": dict, "versions": dict}
WEIGHTS, CONFIG = "policy.safetensors", "policy.json"
_NORMALIZER, _KINDS = "normalizer.", ("mean", "variance")
_ACTOR = "actor."  # of an off-policy algorithm, the only part that chooses actions


@dataclass(frozen=True)
class TrainedPolicy:
    """Chooses actions, with the interface of a controller and of a Stable-Baselines3 model.

    normalizers: of the observations, by the key of a dict observation, "" for any other; empty for
    none. config: what policy.json holds: algorithm, env_id, env_kwargs, hyperparameters, training.
    """

    network: BasePolicy | Network
    observation_space: spaces.Space[Any]
    normalizers: Mapping[str, Normalizer]
    config: Mapping[str, Any]

    @classmethod
    def of(cls, model: BaseAlgorithm, normalizer: VecNormalize | None = None) -> "TrainedPolicy":
        """The policy of a model as it stands; its network is shared with the model.

        normalizer: None for the one that the model's environment has, if any. Raises ValueError
        for one of other observations.
        """
        seen = model.observation_space
        normalizers = _statistics(normalizer or model.get_vec_normalize_env())
        for key, one in normalizers.items():
            _require_shape(one, seen, key)
        return cls(model.policy, seen, normalizers, {})

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """Actions for observations, batched or single; and the state of a recurrent policy."""
        if isinstance(observation, Mapping):
            normalized = {k: self._normalized(k, part) for k, part in observation.items()}
            return self.network.predict(normalized, state, episode_start, deterministic)
        observation = self._normalized("", observation)
        return self.network.predict(observation, state, episode_start, deterministic)

    def _normalized(self, key: str, part: Any) -> Any:
        return self.normalizers[key](part) if key in self.normalizers else part

    def require(self, env_id: str, space: spaces.Space[Any]) -> None:
        """Raise ValueError unless it was trained for observations of this space."""
        own = self.observation_space
        if own != space:
            what = _shown(own)
            if what == _shown(space):
                what = f"entries or bounds that differ, {what}"
            raise ValueError(
                f"policy must be trained for the observations of {env_id}, {_shown(space)}; "
                f"this one, of {self.config.get('env_id')}, was trained for {what}"
            )


def _require_shape(normalizer: Normalizer, seen: spaces.Space[Any], key: str) -> None:
    """Raise ValueError unless it is for observations of this space."""
    of, mean = seen[key] if isinstance(seen, spaces.Dict) else seen, normalizer.mean
    if mean.shape != of.shape:
        raise ValueError(f"normalizer must be for observations {of.shape}, got {mean.shape}")


def _statistics(env: VecNormalize | None) -> dict[str, Normalizer]:
    """Those of a VecNormalize, as they stand."""
    if env is None or not env.norm_obs:
        return {}
    all_of = env.obs_rms if isinstance(env.obs_rms, dict) else {"": env.obs_rms}
    return {
        key: Normalizer(rms.mean, rms.var, float(env.clip_obs), float(env.epsilon))
        for key, rms in all_of.items()
    }


def _shown(space: spaces.Space[Any]) -> str:
    if isinstance(space, spaces.Dict):
        return f"{{{', '.join(f'{k}: {_shown(part)}' for k, part in space.items())}}}"
    return f"{type(space).__name__} of shape {space.shape}"


def write(folder: Path, model: BaseAlgorithm, config: Mapping[str, Any]) -> None:
    """Write the policy of a model into a folder, policy.json last.

    config: algo, hyperparameters, env_id, env_kwargs, and whatever else is to be told.
    """
    policy = TrainedPolicy.of(model)
    network, prefix = _chooser(model.policy, str(config["algo"]))
    tensors = {prefix + k: v.detach().contiguous() for k, v in network.state_dict().items()}
    bounds: dict[str, Any] = {}
    for key, normalizer in policy.normalizers.items():
        bounds[key] = {"clip": normalizer.clip, "epsilon": normalizer.epsilon}
        for kind in _KINDS:
            values = np.array(getattr(normalizer, kind))
            tensors[f"{_NORMALIZER}{kind}.{key}"] = torch.from_numpy(values)
    spaces_of = (model.observation_space, model.action_space)
    _write(folder, tensors, spaces_of, {**config, "normalizers": bounds})


def write_network(
    folder: Path,
    network: Network,
    spaces_of: tuple[spaces.Space[Any], spaces.Space[Any]],
    config: Mapping[str, Any],
) -> None:
    """Write a network without a model around it; spaces_of: observations, actions."""
    arrays, build = network.to_arrays()
    tensors = {name: torch.from_numpy(np.array(values)) for name, values in arrays.items()}
    _write(folder, tensors, spaces_of, {**config, "network": build})


def _write(
    folder: Path,
    tensors: dict[str, torch.Tensor],
    spaces_of: tuple[spaces.Space[Any], spaces.Space[Any]],
    config: Mapping[str, Any],
) -> None:
    content = {
        "format": FORMAT,
        **config,
        "observation_space": as_plain(spaces_of[0]),
        "action_space": as_plain(spaces_of[1]),
    }
    with replacing(folder / WEIGHTS) as temporary:
        temporary.write_bytes(save(tensors))
    write_json(folder / CONFIG, content)


def read(folder: Path) -> TrainedPolicy:
    """The policy that a folder holds. Raises ValueError for files that hold none."""
    if not (folder / CONFIG).is_file():
        raise ValueError(f"{str(folder / CONFIG)!r} is not there: no policy, or none yet")
    config = read_json(folder / CONFIG)
    for key, kind in _KINDS_OF.items():
        if not isinstance(config.get(key, kind()), kind):
            raise ValueError(
                f"{key} of {str(folder / CONFIG)!r} must be a {kind.__name__}, got {config[key]!r}"
            )
    if config.get("format") != FORMAT:
        writer = config.get("versions", {}).get("rbgym", "of another version")
        raise ValueError(
            f"{str(folder / CONFIG)!r} must be of format {FORMAT}, got {config.get('format')!r}: "
            f"rbgym {writer} wrote it"
        )
    try:
        tensors = load_file(folder / WEIGHTS)
        for name, tensor in tensors.items():
            if not torch.isfinite(tensor).all():
                raise ValueError(f"{name} must be finite")
        return _policy(config, tensors)
    except _DAMAGE as error:
        raise ValueError(f"{str(folder)!r} holds no policy that can be read: {error}") from error


def _policy(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> TrainedPolicy:
    seen = space_of(config["observation_space"])
    if "network" in config:
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        return TrainedPolicy(Network.from_arrays(arrays, config["network"]), seen, {}, config)
    network = _network(config)
    part, prefix = _chooser(network, config["algo"])
    weights = {k.removeprefix(prefix): v for k, v in tensors.items() if _is_weight(k)}
    part.load_state_dict(weights, strict=True)
    normalizers = {}
    for key, bounds in config["normalizers"].items():
        mean, variance = (tensors[f"{_NORMALIZER}{kind}.{key}"].numpy() for kind in _KINDS)
        normalizers[key] = Normalizer(mean, variance, **bounds)
        _require_shape(normalizers[key], seen, key)
    return TrainedPolicy(network, seen, normalizers, config)


def _is_weight(key: str) -> bool:
    return not key.startswith(_NORMALIZER)


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
        actor: torch.nn.Module = network.actor  # type: ignore[assignment]
        return actor, _ACTOR
    return network, ""
