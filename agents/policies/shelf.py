"""Policies by name: those of the package, and those in a folder."""

from importlib import resources
from pathlib import Path
from typing import Any

from rbgym.agents.policies import trained
from rbgym.agents.policies.trained import TrainedPolicy
from rbgym.envs.arguments import named


def names() -> list[str]:
    """The ids of the environments that the package has a policy for."""
    return sorted(entry.name for entry in _shelf().iterdir() if (entry / trained.CONFIG).is_file())


def load(name: str | Path) -> TrainedPolicy:
    """A trained policy; it has `predict`, as controllers and Stable-Baselines3's models do.

    name: the id of an environment, for the policy that the package has for it; or a folder, of a
    run or of a policy alone. Nothing is executed or fetched, and no learning library is needed.
    Raises ValueError for what is neither.
    """
    entry = name.rpartition(":")[2] if isinstance(name, str) else ""
    if entry in names():
        with resources.as_file(_shelf() / entry) as folder:
            return trained.read(folder)
    if not (isinstance(name, str | Path) and str(name) and Path(name).is_dir()):
        named("name", str(name) if isinstance(name, Path) else name, names(), " or a folder")
    return trained.read(Path(name))


def _shelf() -> Any:
    return resources.files("rbgym.agents") / "pretrained"
