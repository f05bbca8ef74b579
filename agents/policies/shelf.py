"""Policies by name: those of the package, those in a folder, and foreign files on request."""

import pickle
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

from rbgym.agents.policies import trained
from rbgym.agents.policies.trained import TrainedPolicy
from rbgym.arguments import hint

_NORMALIZER = "vecnormalize.pkl"
# What a damaged zip, or one of another algorithm, may raise.
_DAMAGE = (AssertionError, AttributeError, EOFError, ImportError, LookupError, RuntimeError,
           TypeError, pickle.UnpicklingError, zipfile.BadZipFile)  # fmt: skip


def names() -> list[str]:
    """The ids of the environments that the package has a policy for."""
    return sorted(entry.name for entry in _shelf().iterdir() if (entry / trained.CONFIG).is_file())


def load(name: str | Path, *, unpickle: str | None = None) -> TrainedPolicy:
    """A trained policy; it has `predict`, as controllers and Stable-Baselines3's models do.

    name: the id of an environment, for the policy that the package has for it; or a folder, of a
    run or of a policy alone; or a model's zip of Stable-Baselines3. A zip holds pickles, and
    loading it can run anything that its author wrote: it is refused unless `unpickle` names the
    algorithm that it is of; then the normaliser beside it, vecnormalize.pkl, is read too. Nothing
    else is executed, nor is anything fetched. Only a zip needs a learning library.
    Raises ValueError for what is none of these.
    """
    if not isinstance(name, str | Path) or not str(name) or "\x00" in str(name):
        raise ValueError(f"name must be a folder or one of {names()}, got {name!r}")
    path, entry = Path(name), str(name).rpartition(":")[2]
    if isinstance(name, str) and entry in names():
        with resources.as_file(_shelf() / entry) as folder:
            return trained.read(folder)
    if path.is_dir():
        return trained.read(path)
    if path.suffix == ".zip" and path.is_file():
        return _of_zip(path, unpickle)
    raise ValueError(
        f"name must be a folder or one of {names()}, got {str(name)!r}{hint(entry, names())}"
    )


def _shelf() -> Any:
    return resources.files("rbgym.agents") / "pretrained"


def _of_zip(path: Path, algo: str | None) -> TrainedPolicy:
    if algo is None:
        raise ValueError(
            f"{str(path)!r} holds pickles, which can run code when loaded: say unpickle='ppo', or "
            "whichever algorithm it is of (--unpickle ppo), if you trust who made it"
        )
    from stable_baselines3.common.vec_env import VecNormalize

    from rbgym.agents.policies.sb3 import algorithm

    found, beside = algorithm(algo), path.with_name(_NORMALIZER)
    try:
        normalizer = pickle.loads(beside.read_bytes()) if beside.exists() else None
        if not isinstance(normalizer, VecNormalize | None):
            kind = type(normalizer).__name__
            raise TypeError(f"{str(beside)!r} must hold a VecNormalize, got {kind}")
        return TrainedPolicy.of(found.load(path, device="cpu"), normalizer)
    except _DAMAGE as error:
        raise ValueError(f"{str(path)!r} must be a model of {algo}: {error}") from error
