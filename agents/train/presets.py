"""Hyperparameters, from the user's YAML file or from agents/hyperparameters, a file for each
algorithm: a block for each env, and "default" for others. `lin_1e-3` falls linearly to zero.
n_envs, n_timesteps, normalize and hindsight are ours, all others the constructor's arguments."""

import math
import re
from collections.abc import Callable, Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from rbgym.arguments import count, flag, is_number, positive
from rbgym.envs.arguments import in_range, keys

_SHARES = ("gamma", "gae_lambda", "tau")  # must lie in [0, 1]: nothing converges beyond
# May be 0, or -1, which means "as many as".
_SIGNED = ("gradient_steps", "sde_sample_freq", "learning_starts", "top_quantiles_to_drop_per_net")
_NORMALIZE: dict[str, Callable[[str, Any], Any]] = {
    "norm_obs": flag, "norm_reward": flag, "clip_obs": positive, "clip_reward": positive,
    "gamma": lambda name, value: in_range(name, value, 0, 1), "epsilon": positive,
}  # fmt: skip


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader that reads 1e-3 as a number and 010 as 10, as YAML 1.2, and a date as
    text; it refuses a key that is there twice, 1:30, 0x10, !!timestamp, !!set and !!binary."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        names = [str(key.value) for key, _ in node.value]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise yaml.MarkedYAMLError(None, None, f"found {twice} twice", node.start_mark)
        return node


_PLAIN = ("float", "int", "null", "bool", "str", "seq", "map")
_FLOAT, _INT, *_OTHERS = (f"tag:yaml.org,2002:{kind}" for kind in _PLAIN)
_Loader.yaml_constructors = {  # None: refuses what is no other's
    tag: yaml.SafeLoader.yaml_constructors[tag] for tag in (_FLOAT, _INT, *_OTHERS, None)
}
_Loader.yaml_implicit_resolvers = {
    first: [one for one in found if not one[0].endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_EXPONENT = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$")
_Loader.add_implicit_resolver(_FLOAT, _EXPONENT, list("-+.0123456789"))
_Loader.add_implicit_resolver(_INT, re.compile(r"[-+]?\d+$"), list("-+0123456789"))
# In YAML 1.1 a number that begins with 0 is octal, and 1:30 is 90, which int and float refuse.
_Loader.add_constructor(_INT, lambda _, node: int(node.value))
_Loader.add_constructor(
    _FLOAT, lambda _, node: float(re.sub(r"\.(?=[a-z])", "", node.value.lower()))
)


def read_yaml(text: str) -> Any:
    """Parse a YAML document, executing nothing in it; ValueError if it is not valid."""
    try:
        loader = _Loader(text)
        loader.deep_construct = True  # refuses what contains itself
        return loader.get_single_data()
    except Exception as error:  # !!bool x and !!int x raise others than YAMLError
        raise ValueError(f"{type(error).__name__}: {error}") from None


def read(
    preset: str,
    env_id: str,
    file: str | Path | None,
    changes: Mapping[str, Any] | None,
    *,
    known: Collection[str],
    needed: Collection[str],
    unused: Collection[str] = (),
) -> dict[str, Any]:
    """Read an env's hyperparameters: the defaults of `file`, or of our file `preset`, overridden by
    those of the env, then by `changes`. unused: keys whose values in our file do not count,
    and that need not be given. ValueError for a bad file, unknown or missing keys."""
    ours = resources.files("rbgym.agents") / "hyperparameters" / f"{preset}.yml"
    source: Any = Path(file) if file else ours
    table = read_file("hyperparameters", source)
    if not isinstance(table, dict) or not all(isinstance(v, dict) for v in table.values()):
        raise ValueError(f"hyperparameters {str(source)!r} must map names of envs to mappings")
    given = {**table.get("default", {}), **table.get(env_id.rpartition(":")[2], {})}
    if not file:
        given = {key: value for key, value in given.items() if key not in unused}
    found = keys("hyperparameters", {**given, **(changes or {})}, sorted(known))
    if missing := [key for key in needed if key not in {*found, *unused}]:
        raise ValueError(f"hyperparameters {str(source)!r} must have {missing} for {env_id}")
    return found


def read_file(argument: str, source: Any) -> Any:
    """Read a YAML file; ValueError, which names the argument, if it cannot be read."""
    if not source.is_file():  # a device may have no end
        raise ValueError(f"{argument} must be a file, got {str(source)!r}")
    try:
        return read_yaml(source.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{argument} {str(source)!r} cannot be read: {error}") from None


def of_sb3(
    algo: str,
    env_id: str,
    file: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    timesteps: int | None = None,
) -> dict[str, Any]:
    """Read an SB3 algorithm's hyperparameters, see `read`; n_envs is 1 by default, and timesteps
    replace n_timesteps. ValueError also for bad values that the constructors do not check."""
    from rbgym.agents.policies.sb3 import SCHEDULED, parameters

    taken = parameters(algo)
    hindsight = ["hindsight"] if "buffer_size" in taken else []
    known = (*hindsight, "n_envs", "n_timesteps", "normalize", *taken)
    if timesteps is not None:
        changes = {**(changes or {}), "n_timesteps": count("timesteps", timesteps)}
    found = read(algo, env_id, file, changes, known=known, needed=("n_timesteps", "policy"))
    if not isinstance(normalize := found.get("normalize", False), bool):
        found["normalize"] = keys("normalize", normalize, _NORMALIZE)
        for key, value in found["normalize"].items():
            _NORMALIZE[key](f"normalize[{key!r}]", value)
    flag("hindsight", found.get("hindsight", False))
    for key in ("n_envs", "n_timesteps"):
        found[key] = _whole(key, found.get(key, 1), least=1)
    if not isinstance(found["policy"], str):
        raise ValueError(f"policy must be a name like MlpPolicy, got {found['policy']!r}")
    for key, parameter in taken.items():
        value, usual = found.get(key), parameter.default
        if value is None and key in found and usual is not None:
            raise ValueError(f"{key} must have a value, got None")
        if value is None or (key in SCHEDULED and isinstance(value, str)):
            continue
        if key in _SHARES:
            in_range(key, value, 0, 1)
        elif isinstance(usual, bool):
            flag(key, value)
        elif isinstance(usual, int) and not (key == "train_freq" and not is_number(value)):
            found[key] = _whole(key, value, least=-1 if key in _SIGNED else 1)
        elif isinstance(usual, float) or key == "target_kl":
            in_range(key, value, 0, math.inf)
    if isinstance(found.get("train_freq"), list | tuple) and found["n_envs"] > 1:
        raise ValueError(f"train_freq must be a number of steps with {found['n_envs']} n_envs, "
                         f"got {found['train_freq']!r}")  # fmt: skip
    return found


def _whole(key: str, value: Any, least: int) -> int:
    """Convert to an integer a number that YAML may write as 1e6."""
    whole = isinstance(value, float) and value.is_integer()
    return count(key, int(value) if whole else value, least)
