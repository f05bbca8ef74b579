"""Controllers, trained policies, and what makes and judges them.

`load` needs the extra rbgym[agents]; nothing is imported before it is called.
"""

from pathlib import Path
from typing import Any


def load(name: str | Path, *, unpickle: str | None = None) -> Any:
    """A trained policy, with `predict`: see `rbgym.agents.library.load`."""
    from rbgym.agents import library

    return library.load(name, unpickle=unpickle)
