"""What config.json of a run says: what was asked for, and what it was made with."""

import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gymnasium as gym

from rbgym.agents import presets
from rbgym.agents.cases import TEST_SEEDS

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
_PACKAGES = ("rbgym", "gymnasium", "stable-baselines3", "sb3-contrib", "torch", "numpy", "numba")


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
    chosen = presets.load(algo, env_id, hyperparameters, changes)
    gym.spec(env_id)  # raises, with a near name, before a folder is made
    lanes, preset_steps = chosen.pop("n_envs"), chosen.pop("n_timesteps")
    timesteps = preset_steps if timesteps is None else timesteps
    if timesteps < 1:
        raise ValueError(f"timesteps must be a positive integer, got {timesteps!r}")
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
    return {
        "env_id": env_id,
        "algo": algo,
        "seed": seed,
        "timesteps": None,
        "threads": None,
        "hyperparameters": dict(hyperparameters),
        "env_kwargs": dict(env_kwargs),
        "versions": versions(),
        "git": _revision(),
        "command": sys.argv,
    }


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
    folder = Path(__file__).resolve().parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
