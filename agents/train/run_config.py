"""What config.json of a run says: what was asked for, and what it was made with."""

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rbgym.agents.judge.cases import TEST_SEEDS, by_name, spec_of
from rbgym.agents.train import presets

# What of it belongs to the policy wherever it goes.
TOLD = (
    "env_id",
    "env_kwargs",
    "algo",
    "hyperparameters",
    "seed",
    "timesteps",
    "threads",
    "versions",
    "git",
)
_PACKAGES = (
    "rbgym",
    "gymnasium",
    "stable-baselines3",
    "sb3-contrib",
    "ray",
    "torch",
    "numpy",
    "numba",
)


def run_config(
    env_id: str,
    algo: str,
    seed: int,
    timesteps: int | None,
    env_kwargs: Mapping[str, Any],
    hyperparameters: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> dict[str, Any]:
    """The content of config.json; arguments as those of `rbgym.agents.training.train`.

    Raises ValueError for bad ones, before anything is written.
    """
    if timesteps is not None:
        if timesteps < 1:
            raise ValueError(f"timesteps must be a positive integer, got {timesteps!r}")
        changes = {**(changes or {}), "n_timesteps": timesteps}
    chosen = presets.load(algo, env_id, hyperparameters, changes)
    spec_of(env_id)  # raises, with a near name, before a folder is made
    lanes, timesteps = chosen.pop("n_envs"), chosen.pop("n_timesteps")
    if not 0 <= seed <= TEST_SEEDS.start - lanes:
        raise ValueError(
            f"seed must be from 0 to {TEST_SEEDS.start - lanes}, got {seed!r}: "
            "the seeds beyond belong to the test set"
        )
    if threads < 1:
        raise ValueError(f"threads must be a positive integer, got {threads!r}")
    told = described(env_id, algo, seed, {"n_envs": lanes, **chosen}, env_kwargs)
    return told | {"timesteps": timesteps, "threads": threads}


def described(
    env_id: str,
    algo: str,
    seed: int,
    hyperparameters: Mapping[str, Any],
    env_kwargs: Mapping[str, Any],
) -> dict[str, Any]:
    """What holds for a run of any kind; timesteps and threads play no part in some."""
    content = {
        "env_id": env_id,
        "algo": algo,
        "seed": seed,
        "timesteps": None,
        "threads": None,
        "hyperparameters": dict(hyperparameters),
        "env_kwargs": by_name("env_kwargs", env_kwargs),
        "versions": versions(),
        "git": _revision(),
        "command": sys.argv,
    }
    try:
        plain: dict[str, Any] = json.loads(json.dumps(content))  # as it will be read again
    except TypeError as error:
        raise ValueError(f"env_kwargs and hyperparameters must be plain data: {error}") from None
    return plain


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide on a result."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _revision() -> str | None:
    """What git calls the sources; None where they are not under git."""
    file = Path(__file__).resolve()
    # In somebody else's repository, as in an environment inside it, this file is not tracked.
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return None
    return _git(file.parent, "describe", "--always", "--dirty", "--abbrev=40")


def _git(folder: Path, *arguments: str) -> str | None:
    """What git answers; None if it fails, or there is none."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
