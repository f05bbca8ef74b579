"""Controllers, trained policies, and what makes and judges them.

The rooms, each of which builds on those before it: `controllers` and `policies` play, `judge` tells
what they are worth, `campaigns` whether satellites that differ meet requirements with them, `train`
makes policies, `export` takes them elsewhere, `view` and `commands` are for people. A room is
imported when it is first used, because some need extras: `rbgym.agents.controllers`.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_ROOMS = ("campaigns", "controllers", "export", "judge", "policies", "train")


def load(name: str | Path, condition: str | None = None) -> Any:
    """A trained policy, with `predict`: see `rbgym.agents.policies.load`."""
    from rbgym.agents.policies import trained

    return trained.load(name, condition)


def rollout(networks: Any, env_id: str, **arguments: Any) -> Any:
    """Whole episodes of small networks, compiled: see `rbgym.agents.train.rollout`."""
    from rbgym.agents.train import rollouts

    return rollouts.rollout(networks, env_id, **arguments)


def campaign(env_id: str, policies: Any, runs: int, out: str | Path, **arguments: Any) -> Any:
    """Dispersed runs by the thousand: see `rbgym.agents.campaigns.campaign`."""
    from rbgym.agents import campaigns

    return campaigns.campaign(env_id, policies, runs, out, **arguments)


def __getattr__(name: str) -> ModuleType:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
