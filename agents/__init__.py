"""Controllers, trained policies, and what makes and judges them.

`load` needs the extra rbgym[agents]; neither it nor `rollout` imports anything before it is called.
A module is imported when it is first used: `rbgym.agents.controllers`.
"""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any


def load(name: str | Path, *, unpickle: str | None = None) -> Any:
    """A trained policy, with `predict`: see `rbgym.agents.shelf.load`."""
    from rbgym.agents import shelf

    return shelf.load(name, unpickle=unpickle)


def rollout(networks: Any, env_id: str, **arguments: Any) -> Any:
    """Whole episodes of small networks, compiled: see `rbgym.agents.rollouts.rollout`."""
    from rbgym.agents import rollouts

    return rollouts.rollout(networks, env_id, **arguments)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> ModuleType:
        """The module of that name, imported when it is first used: some need extras."""
        if not name.isidentifier() or find_spec(f"{__name__}.{name}") is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.{name}")
