"""Hyperparameters: those in agents/hyperparameters, one YAML file an algorithm, or the user's own.

The files are those of rl-baselines3-zoo: a block for each env, "default" for all others; values
like `lin_1e-3` for a schedule that falls to zero; n_envs, n_timesteps, normalize, noise_type and
noise_std beside what the algorithm's constructor takes. Nothing in a file is executed.
"""

import ast
import inspect
import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from rbgym.agents.train.plain_yaml import read_yaml
from rbgym.envs.arguments import hint

# Those beyond which nothing converges.
_SHARES = ("gamma", "gae_lambda", "tau")
# Those that may be 0, or -1 for "as many as".
_NEGATIVE = (
    "gradient_steps",
    "sde_sample_freq",
    "learning_starts",
    "top_quantiles_to_drop_per_net",
)
_NORMALIZE = ("norm_obs", "norm_reward", "clip_obs", "clip_reward", "gamma", "epsilon")


def read(
    preset: str,
    env_id: str,
    file: str | Path | None,
    changes: Mapping[str, Any] | None,
    *,
    known: Collection[str],
    needed: Collection[str],
) -> dict[str, Any]:
    """The hyperparameters of an env: the file's default ones, those of the env, `changes`.

    preset: name of our file; file: YAML in place of ours, which is not asked then. Raises
    ValueError for a file that cannot be read, a key that is not known, and one that is missing.
    """
    source: Any = Path(file) if file else resources.files("rbgym.agents") / "hyperparameters"
    source = source if file else source / f"{preset}.yml"
    if not source.is_file():  # a device may have no end
        raise ValueError(f"hyperparameters must be a file, got {str(source)!r}")
    try:
        table = read_yaml(source.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"hyperparameters {str(source)!r} cannot be read: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(v, dict) for v in table.values()):
        raise ValueError(f"hyperparameters {str(source)!r} must map names of envs to mappings")
    own = table.get(env_id.rpartition(":")[2], {})
    found = {**table.get("default", {}), **own, **(changes or {})}
    _require_known("hyperparameters", found, known)
    if missing := [key for key in needed if key not in found]:
        raise ValueError(
            f"hyperparameters {str(source)!r} must have {', '.join(missing)} for {env_id}, or by "
            f"default, got {sorted(found)}"
        )
    return found


def of_sb3(
    algo: str, env_id: str, file: str | Path | None = None, changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The hyperparameters of an algorithm of Stable-Baselines3, see `read`.

    n_envs is 1 by default, as in the zoo. Raises ValueError for an algorithm that is
    unknown, and for a value that the constructors do not check.
    """
    from rbgym.agents.policies.algorithms import is_off_policy, parameters

    noise = ("noise_type", "noise_std") if is_off_policy(algo) else ()
    known = ("n_envs", "n_timesteps", "normalize", *noise, *parameters(algo))
    found = read(algo, env_id, file, changes, known=known, needed=("n_timesteps", "policy"))
    for key in ("policy_kwargs", "normalize"):
        if key in found and not (key == "normalize" and isinstance(found[key], bool)):
            found[key] = _mapping(key, found[key])
    if isinstance(found.get("normalize"), dict):
        _require_known("normalize", found["normalize"], _NORMALIZE)
    for key in ("n_envs", "n_timesteps"):
        found[key] = _whole(key, found.get(key, 1), least=1)
    if not isinstance(found["policy"], str):
        raise ValueError(f"policy must be a name like MlpPolicy, got {found['policy']!r}")
    _check_values(algo, found)
    return found


def _check_values(algo: str, found: dict[str, Any]) -> None:
    """Whole numbers for whole numbers, numbers for numbers: what the constructors do not check."""
    from rbgym.agents.policies.algorithms import SCHEDULED, algorithm, parameters

    for key, parameter in inspect.signature(algorithm(algo)).parameters.items():
        value, usual = found.get(key), parameter.default
        if value is None or key not in parameters(algo):
            continue
        if isinstance(usual, bool):
            if not isinstance(value, bool):
                raise ValueError(f"{key} must be true or false, got {value!r}")
        elif isinstance(usual, int) and not isinstance(value, list):
            found[key] = _whole(key, value, least=-1 if key in _NEGATIVE else 1)
        elif isinstance(usual, float) and not _is_number(value) and key not in SCHEDULED:
            raise ValueError(f"{key} must be a number, got {value!r}")
        elif key in _SHARES and not 0 <= value <= 1:
            raise ValueError(f"{key} must be from 0 to 1, got {value!r}")
    if isinstance(found.get("train_freq"), list) and found["n_envs"] > 1:
        raise ValueError(f"train_freq must be a number of steps with {found['n_envs']} n_envs, "
                         f"got {found['train_freq']!r}")  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(key: str, value: Any, least: int) -> int:
    if not _is_number(value) or not math.isfinite(value) or value != int(value) or value < least:
        kind = "a positive integer" if least == 1 else f"an integer from {least} on"
        raise ValueError(f"{key} must be {kind}, got {value!r}")
    return int(value)


def _mapping(key: str, value: Any) -> dict[str, Any]:
    """A mapping, or the text `dict(name=literal, ...)` as in the files of rl-baselines3-zoo."""
    if not isinstance(value, Mapping):
        with suppress(SyntaxError, TypeError, ValueError):
            value = _literal(ast.parse(value, mode="eval").body)
    if not isinstance(value, Mapping):
        raise ValueError(f"{key} must be a mapping of names to plain values, got {value!r}")
    return dict(value)


def _literal(node: ast.expr) -> Any:
    """A plain value; of a name like nn.ReLU, the name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict" and not node.args:
        return {str(pair.arg): _literal(pair.value) for pair in node.keywords}
    return ast.literal_eval(node)


def _require_known(what: str, found: Mapping[str, Any], known: Collection[str]) -> None:
    for key in found:
        if key not in known:
            raise ValueError(
                f"{what} must be among {sorted(known)}, got {key!r}{hint(str(key), list(known))}"
            )
