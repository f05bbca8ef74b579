"""Policies by name: those of the package, and those in a folder."""

from importlib import resources
from pathlib import Path
from typing import Any

from rbgym.agents.policies import trained
from rbgym.agents.policies.trained import TrainedPolicy
from rbgym.arguments import hint


def names() -> list[str]:
    """The ids of the environments that the package has a policy for."""
    return sorted(entry.name for entry in _shelf().iterdir() if (entry / trained.CONFIG).is_file())


def load(name: str | Path) -> TrainedPolicy:
    """A trained policy; it has `predict`, as controllers and Stable-Baselines3's models do.

    name: the id of an environment, for the policy that the package has for it; or a folder, of a
    run or of a policy alone. Nothing is executed or fetched, and no learning library is needed.
    Raises ValueError for what is neither.
    """
    if not isinstance(name, str | Path) or not str(name) or "\x00" in str(name):
        raise ValueError(f"name must be a folder or one of {names()}, got {name!r}")
    path, entry = Path(name), str(name).rpartition(":")[2]
    if isinstance(name, str) and entry in names():
        with resources.as_file(_shelf() / entry) as folder:
            return trained.read(folder)
    if path.is_dir():
        return trained.read(path)
    raise ValueError(
        f"name must be a folder or one of {names()}, got {str(name)!r}{hint(entry, names())}"
    )


def _shelf() -> Any:
    return resources.files("rbgym.agents") / "pretrained"
