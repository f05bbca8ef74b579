"""The hyperparameters that stand in agents/hyperparameters, one YAML file for each algorithm."""

from importlib import resources
from typing import Any

import yaml

# Files of Stable-Baselines3's algorithms have their names, those of RLlib's begin with it.
ALGORITHMS = {"sb3": ("ppo", "sac", "td3"), "rllib": ("ppo",)}


def load(algo: str, env_id: str, engine: str = "sb3") -> dict[str, Any]:
    """The hyperparameters of an algorithm for an env: the default ones, and the env's own.

    Raises ValueError for an engine other than "sb3" and "rllib", or an algorithm that it has not.
    """
    if engine not in ALGORITHMS:
        raise ValueError(f"engine must be one of {list(ALGORITHMS)}, got {engine!r}")
    if algo not in ALGORITHMS[engine]:
        names = list(ALGORITHMS[engine])
        raise ValueError(f"algo must be one of {names} with the engine {engine}, got {algo!r}")
    prefix = "" if engine == "sb3" else f"{engine}_"
    file = resources.files("rbgym.agents") / "hyperparameters" / f"{prefix}{algo}.yml"
    table: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    name = env_id.rpartition(":")[2]
    return {**table["default"], **table.get(name, {})}
