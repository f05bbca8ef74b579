"""Trained policies and their two files: policy.safetensors holds the weights and the normaliser's
statistics, policy.json the network's structure and its training. Reading them executes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import registry, spaces

from rbgym.agents import catalogue
from rbgym.agents.cases import setup_of
from rbgym.agents.extras import naming_extra
from rbgym.agents.policies.network import Network, RecurrentNetwork
from rbgym.agents.run_folder import RunFolder, as_text, made_folder, read_json, replacing
from rbgym.envs.arguments import named

FORMAT = 1
WEIGHTS, CONFIG = "policy.safetensors", "policy.json"
_SHELF = resources.files("rbgym.agents") / "pretrained"  # the package's own policies
_LARGEST = 2**28  # bytes of weights
# Types of the entries of policy.json, other than the network, that other modules read.
_KINDS = {"env_id": str, "env_kwargs": dict, "training": dict, "versions": dict}
Space = spaces.Space[Any]


@dataclass(frozen=True)
class TrainedPolicy:
    """A trained policy, with the interface of a controller and of a Stable-Baselines3 model.
    network: has `predict`. config: the content of policy.json, with algo, env_id, env_kwargs,
    hyperparameters, training; empty for a model. action_space: None if unknown."""

    network: Any
    observation_space: Space
    config: Mapping[str, Any]
    action_space: Space | None = None

    def __repr__(self) -> str:
        shown = {key: self.config[key] for key in ("algo", "env_id") if key in self.config}
        of = "".join(f", {key}={value!r}" for key, value in shown.items())
        return f"TrainedPolicy({self.network!r}{of})"

    @property
    def of_means(self) -> bool:
        """Whether it was trained on rates as gyros measure them, means of a control period."""
        if isinstance(self.network, _Model):
            return self.network.of_means
        setup = self.learned_in()
        return setup is not None and bool(setup.parts.sensor.shows_means())

    def learned_in(self, other: str | None = None) -> Any:
        """The setup of the env of its training. If that is not registered, that of the other env
        with the same arguments, or None, as no module is imported."""
        own = str(self.config.get("env_id")).rpartition(":")[2]
        env_id = own if own in registry else other
        return env_id and setup_of(env_id, self.config.get("env_kwargs", {}))

    @classmethod
    def of(cls, model: Any) -> "TrainedPolicy":
        """Wrap the current policy of a Stable-Baselines3 model, with the VecNormalize of its
        environment, if there is one. Later training of the model changes this policy too."""
        env = model.get_env()
        far = env is None or hasattr(env.unwrapped, "processes")  # it would be copied whole
        base: Any = None if far else env.get_attr("unwrapped", 0)[0]
        means = hasattr(base, "episodes") and base.episodes.setup.parts.sensor.shows_means()
        wrapped = _Model(model.policy, model.get_vec_normalize_env(), bool(means))
        return cls(wrapped, model.observation_space, {}, model.action_space)

    def predict(self, observation: Any, *how: Any, **named: Any) -> tuple[Any, Any]:
        """Actions and memory for observations, batched or single, see `Network.predict`."""
        return self.network.predict(observation, *how, **named)

    def require(self, env_id: str, space: Space, *others: Space) -> None:
        """Raise ValueError unless it was trained for observations of one of these spaces."""
        if (own := self.observation_space) not in (space, *others):
            what, able = _shown(own), [_shown(one) for one in (space, *others)]
            if what in able:
                what = f"entries or bounds that differ, {what}"
            raise ValueError(
                f"policy must be trained for the observations of {env_id}, {' or '.join(able)}; "
                f"this one, of {self.config.get('env_id')}, was trained for {what}"
            )


class _Model(NamedTuple):
    """The policy of a Stable-Baselines3 model, the VecNormalize of its training, and `of_means`."""

    policy: Any
    normalizer: Any
    of_means: bool

    def predict(self, observation: Any, *how: Any, **named: Any) -> Any:
        if self.normalizer is not None:
            observation = self.normalizer.normalize_obs(observation)
        return self.policy.predict(observation, *how, **named)


def _shown(space: Space) -> str:
    if isinstance(space, spaces.Dict):
        return f"{{{', '.join(f'{k}: {_shown(part)}' for k, part in space.items())}}}"
    return f"{type(space).__name__} of shape {space.shape}"


@naming_extra()
def write(folder: str | Path, network: Any, spaces_of: tuple[Space, Space], config: Any) -> None:
    """Write a policy into a folder, policy.json last. spaces_of: of observations and actions.
    config: further entries of policy.json, such as algo and env_id; ValueError, before anything is
    written, unless they are plain data."""
    from safetensors.numpy import save

    arrays, build = network.to_arrays()
    content = {
        "format": FORMAT,
        **config,
        "network": build,
        "observation_space": _as_plain(spaces_of[0]),
        "action_space": _as_plain(spaces_of[1]),
    }
    try:
        text = as_text(content)
    except TypeError as error:
        raise ValueError(
            f"env_kwargs (RLlib's env_config) must be plain data, got {config}: {error}"
        ) from None
    folder = made_folder(folder)
    with replacing(folder / WEIGHTS) as temporary:
        temporary.write_bytes(save(arrays))
    with replacing(folder / CONFIG) as temporary:
        temporary.write_text(text, encoding="utf-8")


@naming_extra()
def read(folder: Path) -> TrainedPolicy:
    """Read the policy in a folder. Raises ValueError if there is none or it is damaged."""
    file = folder / CONFIG
    if not file.is_file():
        why = "no policy, or none yet"
        if RunFolder(folder).config.is_file():
            why = "the training is not finished; the same rbgym train command continues it"
        raise ValueError(f"{str(file)!r} is not there: {why}")
    config = read_json(file)
    for key, kind in _KINDS.items():
        if not isinstance(value := config.get(key, kind()), kind):
            raise ValueError(f"{key} of {str(file)!r} must be a {kind.__name__}, got {value!r}")
    if config.get("format") != FORMAT:
        writer = config.get("versions", {}).get("rbgym", "of another version")
        raise ValueError(
            f"{str(file)!r} must be of format {FORMAT}, got {config.get('format')!r}: "
            f"rbgym {writer} wrote it"
        )
    from safetensors.numpy import load as load_arrays

    try:
        weights = folder / WEIGHTS
        if not weights.is_file() or weights.stat().st_size > _LARGEST:  # a device may have no end
            raise ValueError(f"{WEIGHTS} must be a file of at most {_LARGEST} bytes")
        arrays, build = load_arrays(weights.read_bytes()), config["network"]
        network = (RecurrentNetwork if "cells" in build else Network).from_arrays(arrays, build)
        seen, done = (_space(config[f"{name}_space"]) for name in ("observation", "action"))
        last = network if isinstance(network, Network) else network.head
        maps = network.width, last.sizes[-1]
        if maps != (spaces.flatdim(seen), spaces.flatdim(done)):
            wanted = f"{_shown(seen)} to {_shown(done)}"
            raise ValueError(f"the network must map {wanted}, got {maps[0]} to {maps[1]}")
        return TrainedPolicy(network, seen, config, done)
    except Exception as error:  # a damaged file raises any type
        raise ValueError(f"{str(folder)!r} holds no policy that can be read: {error}") from error


def names() -> list[str]:
    """The ids of the environments for which the package has a policy."""
    return conditions(".")


def conditions(name: str) -> list[str]:
    """The conditions, see `judge.card`, for which the package has a separate policy."""
    return sorted(
        one.name for one in (_SHELF / name.rpartition(":")[2]).iterdir() if (one / CONFIG).is_file()
    )


def load(name: str | Path, condition: str | None = None) -> TrainedPolicy:
    """Load a trained policy; it has `predict`, as controllers and Stable-Baselines3's models do.

    name: the id of an environment, for the package's policy; or the folder of a run or a policy.
    condition: selects the package's policy that was trained "behind" sensors and a delay, or for
    "dispersed" bodies. Executes and downloads nothing. Raises ValueError for anything else.
    """
    entry = name.rpartition(":")[2] if isinstance(name, str) else ""
    if entry in names():
        if condition is not None:
            named("condition", condition, conditions(entry), f" for {entry}")
        with resources.as_file(_SHELF / entry / (condition or ".")) as folder:
            return read(folder)
    if condition is not None:
        raise ValueError(f"condition must be left out for a folder, got {condition!r}")
    if not (isinstance(name, str | Path) and str(name) and Path(name).is_dir()):
        of_law = isinstance(name, str) and name in catalogue.names()
        law = "; controllers.make makes a law" if of_law else ""
        named("name", str(name) if isinstance(name, Path) else name, names(), f" or a folder{law}")
    return read(Path(name))


def _as_plain(space: Space) -> dict[str, Any]:
    """Convert a box, or a dict of boxes, to data for JSON."""
    if isinstance(space, spaces.Dict):
        return {"dict": {key: _as_plain(part) for key, part in space.items()}}
    assert isinstance(space, spaces.Box), space  # `network_of_model` refuses others
    # As text: JSON has no infinity. repr of a float64 is exact for float32 too.
    low, high = ([repr(float(x)) for x in bound.ravel()] for bound in (space.low, space.high))
    shape = list(space.shape)
    return {"box": {"low": low, "high": high, "shape": shape, "dtype": str(space.dtype)}}


def _space(content: dict[str, Any]) -> Space:
    """Rebuild a space from `_as_plain`; raises an error of any type for anything else."""
    if "dict" in content:
        return spaces.Dict({key: _space(part) for key, part in content["dict"].items()})
    box = content["box"]
    named("dtype", box["dtype"], ("float32", "float64"))  # another may take any number of bytes
    with np.errstate(over="raise"):
        low, high = (
            np.array([float(text) for text in box[name]]).reshape(box["shape"]).astype(box["dtype"])
            for name in ("low", "high")
        )
    return spaces.Box(low, high, dtype=np.dtype(box["dtype"]).type)
