"""The hyperparameters that stand in agents/hyperparameters, one YAML file for each algorithm."""

from importlib import resources
from typing import Any

import yaml

ALGORITHMS = ("ppo", "sac", "td3")


def load(algo: str, env_id: str) -> dict[str, Any]:
    """The hyperparameters of an algorithm for an env: the default ones, and the env's own.

    Raises ValueError for an algorithm other than "ppo", "sac" and "td3".
    """
    if algo not in ALGORITHMS:
        raise ValueError(f"algo must be one of {list(ALGORITHMS)}, got {algo!r}")
    file = resources.files("rbgym.agents") / "hyperparameters" / f"{algo}.yml"
    table: dict[str, dict[str, Any]] = yaml.safe_load(file.read_text(encoding="utf-8"))
    name = env_id.rpartition(":")[2]
    return {**table["default"], **table.get(name, {})}
