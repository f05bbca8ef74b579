"""Controllers, trained policies, and what makes and judges them.

`load` needs the extra rbgym[agents]; neither imports anything before it is called.
"""

from pathlib import Path
from typing import Any


def load(name: str | Path, *, unpickle: str | None = None) -> Any:
    """A trained policy, with `predict`: see `rbgym.agents.shelf.load`."""
    from rbgym.agents import shelf

    return shelf.load(name, unpickle=unpickle)


def rollout(networks: Any, env_id: str, **arguments: Any) -> Any:
    """Whole episodes of small networks, compiled: see `rbgym.agents.rollouts.rollout`."""
    from rbgym.agents import rollouts

    return rollouts.rollout(networks, env_id, **arguments)
