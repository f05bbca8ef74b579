"""What makes policies: Stable-Baselines3 and evolution, each into a folder of its own.

Public is what is listed here; each is imported when it is first used, as it may need an extra.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rbgym.agents.train.algorithms import train as train
    from rbgym.agents.train.evolution.rollouts import Rollout as Rollout
    from rbgym.agents.train.evolution.rollouts import rollout as rollout
    from rbgym.agents.train.evolution.rollouts import rollout_test_set as rollout_test_set
    from rbgym.agents.train.evolution.search import Search as Search
    from rbgym.agents.train.evolution.search import search as search
    from rbgym.agents.train.gradients import DifferentiableEnv as DifferentiableEnv
    from rbgym.agents.train.run import load_policy as load_policy
    from rbgym.agents.train.sb3.adapter import VectorEnvAdapter as VectorEnvAdapter
    from rbgym.agents.train.sb3.adapter import make_sb3_env as make_sb3_env

_MODULES = {
    "algorithms": ("train",),
    "evolution.rollouts": ("Rollout", "rollout", "rollout_test_set"),
    "evolution.search": ("Search", "search"),
    "gradients": ("DifferentiableEnv",),
    "run": ("load_policy",),
    "sb3.adapter": ("VectorEnvAdapter", "make_sb3_env"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
