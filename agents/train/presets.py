"""Hyperparameters: those in agents/hyperparameters, one YAML file an algorithm, or the user's own.

The files are those of rl-baselines3-zoo: a block for each env, "default" for all others; values
like `lin_1e-3` for a schedule that falls to zero; n_envs, n_timesteps, normalize, noise_type and
noise_std beside what the algorithm's constructor takes. Nothing in a file is executed.
"""

import ast
import inspect
import math
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from rbgym.agents.policies.algorithms import SCHEDULED, algorithm, is_off_policy, parameters
from rbgym.agents.train.plain_yaml import read_yaml
from rbgym.envs.arguments import hint

_MOST = 10_000_000  # bytes of a file
# Those beyond which nothing converges.
_SHARES = ("gamma", "gae_lambda", "tau")
# Those that may be 0, or -1 for "as many as".
_NEGATIVE = (
    "gradient_steps",
    "sde_sample_freq",
    "learning_starts",
    "top_quantiles_to_drop_per_net",
)
# Beside those of the algorithm's constructor.
_OWN = ("n_envs", "n_timesteps", "normalize")
_NEEDED = ("n_timesteps", "policy")
_NOISE = ("noise_type", "noise_std")
_POLICY = (
    "net_arch",
    "activation_fn",
    "log_std_init",
    "ortho_init",
    "squash_output",
    "n_critics",
    "n_quantiles",
    "lstm_hidden_size",
    "n_lstm_layers",
    "shared_lstm",
    "enable_critic_lstm",
)
_NORMALIZE = ("norm_obs", "norm_reward", "clip_obs", "clip_reward", "gamma", "epsilon")


def load(
    algo: str,
    env_id: str,
    file: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The hyperparameters of an algorithm for an env: the default ones, the env's own, `changes`.

    file: YAML in place of ours; where it lacks a key, ours is not asked. It must tell n_timesteps
    and policy; n_envs is 1 otherwise, as in the zoo. Raises ValueError for an algorithm that is
    unknown, for a file that cannot be read or lacks these, and for a key that is not one.
    """
    algorithm(algo)
    found = block(algo, env_id, file, changes)
    known = (*_OWN, *(_NOISE if is_off_policy(algo) else ()), *parameters(algo))
    require_known("hyperparameters", found, known)
    for key, within in (("policy_kwargs", _POLICY), ("normalize", _NORMALIZE)):
        if key in found and not (key == "normalize" and isinstance(found[key], bool)):
            found[key] = _mapping(key, found[key])
            require_known(key, found[key], within)
    found.setdefault("n_envs", 1)
    for key in ("n_envs", "n_timesteps"):
        if key in found:
            found[key] = _whole(key, found[key], least=1)
    if not isinstance(found.get("policy", ""), str):
        raise ValueError(f"policy must be a name like MlpPolicy, got {found['policy']!r}")
    _check_values(algo, found)
    for key in _NEEDED:
        if key not in found:
            raise ValueError(
                f"hyperparameters {str(file)!r} must have {key} for {env_id}, or by default: the "
                f"file stands in place of ours, got {sorted(found)}"
            )
    return found


def _check_values(algo: str, found: dict[str, Any]) -> None:
    """Whole numbers for whole numbers, numbers for numbers: what the constructors do not check."""
    for key, parameter in inspect.signature(algorithm(algo)).parameters.items():
        value, usual = found.get(key), parameter.default
        if value is None or key not in parameters(algo):
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(usual, bool):
            if not isinstance(value, bool):
                raise ValueError(f"{key} must be true or false, got {value!r}")
        elif isinstance(usual, int) and not isinstance(value, list):
            found[key] = _whole(key, value, least=-1 if key in _NEGATIVE else 1)
        elif isinstance(usual, float) and not is_number and key not in SCHEDULED:
            raise ValueError(f"{key} must be a number, got {value!r}")
        elif key in _SHARES and not 0 <= value <= 1:
            raise ValueError(f"{key} must be from 0 to 1, got {value!r}")
    if isinstance(found.get("train_freq"), list) and found["n_envs"] > 1:
        raise ValueError(f"train_freq must be a number of steps with {found['n_envs']} n_envs, "
                         f"got {found['train_freq']!r}")  # fmt: skip


def _whole(key: str, value: Any, least: int) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or int(value) != value or value < least:
        kind = "a positive integer" if least == 1 else f"an integer from {least} on"
        raise ValueError(f"{key} must be {kind}, got {value!r}")
    return int(value)


def block(
    algo: str, env_id: str, file: str | Path | None, changes: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What the file says of an env, the default block beneath it and `changes` above; unchecked."""
    table, name = _table(algo, file), env_id.rpartition(":")[2]
    return {**table.get("default", {}), **table.get(name, {}), **(changes or {})}


def _table(algo: str, file: str | Path | None) -> dict[str, dict[str, Any]]:
    source: Any = Path(file) if file else resources.files("rbgym.agents") / "hyperparameters"
    source = source if file else source / f"{algo}.yml"
    try:
        with source.open("rb") as stream:
            content = stream.read(_MOST + 1)  # of a device there would be no end
        if len(content) > _MOST:
            raise ValueError(f"hyperparameters {str(source)!r} must be of at most {_MOST:,} bytes")
        table = read_yaml(content.decode("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"hyperparameters {str(source)!r} cannot be read: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(v, dict) for v in table.values()):
        raise ValueError(f"hyperparameters {str(source)!r} must map names of envs to mappings")
    return table


def _mapping(key: str, value: Any) -> dict[str, Any]:
    """A mapping, or the text `dict(name=literal, ...)` as in the files of rl-baselines3-zoo."""
    if isinstance(value, Mapping):
        return dict(value)
    try:
        call = ast.parse(value, mode="eval").body
        if isinstance(call, ast.Dict):
            return dict(ast.literal_eval(call))
        if isinstance(call, ast.Call) and not call.args and ast.unparse(call.func) == "dict":
            return {str(pair.arg): _literal(pair.value) for pair in call.keywords}
    except (SyntaxError, TypeError, ValueError):
        pass
    raise ValueError(f"{key} must be a mapping of names to plain values, got {value!r}")


def _literal(node: ast.expr) -> Any:
    """A plain value; of a name like nn.ReLU, the name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict" and not node.args:
        return {str(pair.arg): _literal(pair.value) for pair in node.keywords}
    return ast.literal_eval(node)


def require_known(what: str, found: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Raise ValueError for a key that is not known."""
    for key in found:
        if key not in known:
            raise ValueError(
                f"{what} must be among {sorted(known)}, got {key!r}{hint(str(key), list(known))}"
            )
