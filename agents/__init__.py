"""Controllers, trained policies, and what makes and judges them.

The rooms, each of which builds on those before it: `controllers` and `policies` play, `judge` tells
what they are worth, `train` makes policies, `view` and `commands` are for people. A module is
imported when it is first used, because some need extras: `rbgym.agents.controllers`.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

# Where the modules stand that are documented as `rbgym.agents.NAME`.
_ROOMS = {
    "card": "judge",
    "cli": "commands",
    "distributed": "train.rllib",
    "engines": "train",
    "evaluation": "judge",
    "network": "policies",
    "plots": "judge",
    "rollouts": "train.evolution",
    "sb3": "train",
    "search": "train.evolution",
    "shelf": "policies",
    "training": "train",
    "tuning": "train",
}


def load(name: str | Path, *, unpickle: str | None = None) -> Any:
    """A trained policy, with `predict`: see `rbgym.agents.shelf.load`."""
    from rbgym.agents.policies import shelf

    return shelf.load(name, unpickle=unpickle)


def rollout(networks: Any, env_id: str, **arguments: Any) -> Any:
    """Whole episodes of small networks, compiled: see `rbgym.agents.rollouts.rollout`."""
    from rbgym.agents.train.evolution import rollouts

    return rollouts.rollout(networks, env_id, **arguments)


class _Rooms(MetaPathFinder, Loader):
    """Finds a documented module in its room."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, module = name.rpartition(".")
        return ModuleSpec(name, self) if package == __name__ and module in _ROOMS else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__.rpartition(".")[2]
        sys.modules[module.__name__] = import_module(f"{__name__}.{_ROOMS[name]}.{name}")


sys.meta_path.append(_Rooms())

if not TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType:
        """The module of that name, imported when it is first used."""
        if not name.isidentifier() or find_spec(f"{__name__}.{name}") is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")
