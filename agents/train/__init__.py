"""What makes policies: Stable-Baselines3, evolution and RLlib, each into a folder of its own.

Public is what is listed here; each is imported when it is first used, as it may need an extra.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "Rollout": "evolution.rollouts",
    "Search": "evolution.search",
    "VectorEnvAdapter": "sb3.adapter",
    "load_policy": "run",
    "make_sb3_env": "sb3.adapter",
    "rollout": "evolution.rollouts",
    "rollout_test_set": "evolution.rollouts",
    "search": "evolution.search",
    "spread": "rllib.distributed",
    "train": "engines",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
