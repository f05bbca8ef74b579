"""Training with Stable-Baselines3 that survives being interrupted."""

import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import stable_baselines3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecMonitor

from rbgym.agents import checkpoints, presets
from rbgym.agents.evaluation import TEST_SEEDS
from rbgym.agents.progress import ProgressCallback
from rbgym.agents.run_folder import RunFolder, Training, read_json, replacing, write_json
from rbgym.agents.sb3 import make_sb3_env

_PACKAGES = ("rbgym", "gymnasium", "stable-baselines3", "torch", "numpy", "numba")


def train(
    env_id: str,
    algo: str = "ppo",
    *,
    out: str | Path,
    seed: int = 0,
    timesteps: int | None = None,
    resume: bool = True,
    progress: bool = True,
    env_kwargs: dict[str, Any] | None = None,
    checkpoint_every: int = 50_000,
    callbacks: Sequence[BaseCallback] = (),
    report: Callable[[str], None] = lambda message: None,
) -> Training:
    """Train a policy with the hyperparameters of `rbgym.agents.presets` into the folder `out`.

    Called again after an interruption, of whatever kind and at whatever moment, it goes on from
    the last checkpoint, on the path that the uninterrupted run would have taken; after the end it
    does nothing. With resume=False it starts anew, and what the folder held is lost.

    timesteps: env steps of all lanes together, rounded up to whole rollouts; None for the
    preset's. checkpoint_every: env steps between checkpoints. report: told in words what happens.
    Raises ValueError for bad arguments, and if `out` holds another run.
    """
    config = _config(env_id, algo, seed, timesteps, env_kwargs or {})
    folder = RunFolder(Path(out))
    if not resume:
        folder.clear()
    folder.claim(config)
    if folder.results.exists():
        return Training(folder, read_json(folder.results), None)
    env = _env(config)
    try:
        model = _model(folder, config, env)
        started_from = model.num_timesteps
        if started_from:
            report(f"resuming {folder.path} from step {started_from}")
        model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        saving = checkpoints.CheckpointCallback(folder.checkpoint, checkpoint_every)
        _learn(model, config["timesteps"], [*callbacks, saving], progress)
    finally:
        env.close()
    with replacing(folder.model) as temporary, temporary.open("wb") as file:
        model.save(file)
    results = _results(model)
    write_json(folder.results, results)
    return Training(folder, results, started_from)


def load_policy(folder: RunFolder) -> BaseAlgorithm:
    """The trained policy of a run; ValueError if the run is not finished."""
    algorithm = _algorithm(folder.read_config()["algo"])
    if not folder.model.is_file():
        raise ValueError(f"{str(folder.path)!r} has no model.zip: its training is not finished")
    return algorithm.load(folder.model, device="cpu")


def _config(
    env_id: str, algo: str, seed: int, timesteps: int | None, env_kwargs: dict[str, Any]
) -> dict[str, Any]:
    hyperparameters = presets.load(algo, env_id)
    gym.spec(env_id)  # raises, with a near name, before a folder is made
    lanes, preset_steps = hyperparameters.pop("n_envs"), hyperparameters.pop("n_timesteps")
    timesteps = preset_steps if timesteps is None else timesteps
    if timesteps < 1:
        raise ValueError(f"timesteps must be a positive integer, got {timesteps!r}")
    if not 0 <= seed <= TEST_SEEDS.start - lanes:
        raise ValueError(
            f"seed must be from 0 to {TEST_SEEDS.start - lanes}, got {seed!r}: "
            "the seeds beyond belong to the test set"
        )
    return {
        "env_id": env_id,
        "algo": algo,
        "seed": seed,
        "timesteps": timesteps,
        "hyperparameters": {"n_envs": lanes, **hyperparameters},
        "env_kwargs": env_kwargs,
        "versions": {name: version(name) for name in _PACKAGES}
        | {"python": platform.python_version()},
        "command": sys.argv,
    }


def _algorithm(algo: str) -> type[BaseAlgorithm]:
    algorithm: type[BaseAlgorithm] = getattr(stable_baselines3, algo.upper())
    return algorithm


def _env(config: dict[str, Any]) -> VecMonitor:
    lanes = config["hyperparameters"]["n_envs"]
    return make_sb3_env(config["env_id"], lanes, config["seed"], **config["env_kwargs"])


def _model(folder: RunFolder, config: dict[str, Any], env: VecMonitor) -> BaseAlgorithm:
    algorithm = _algorithm(config["algo"])
    if folder.checkpoint.exists():
        return checkpoints.load(folder.checkpoint, algorithm, env)
    arguments = {k: v for k, v in config["hyperparameters"].items() if k != "n_envs"}
    model: BaseAlgorithm = algorithm(env=env, seed=config["seed"], device="cpu", **arguments)
    return model


def _learn(
    model: BaseAlgorithm, timesteps: int, callbacks: list[BaseCallback], progress: bool
) -> None:
    remaining = timesteps - model.num_timesteps
    if remaining <= 0:
        return
    with ProgressCallback(timesteps) if progress else nullcontext() as bar:
        model.learn(remaining, [*callbacks, *([bar] if bar else [])], reset_num_timesteps=False)


def _results(model: BaseAlgorithm) -> dict[str, Any]:
    episodes = list(model.ep_info_buffer or ())
    seconds = float(getattr(model, "wall_time", 0.0))
    return {
        "timesteps": model.num_timesteps,
        "wall_time": seconds,
        "steps_per_second": model.num_timesteps / seconds if seconds else None,
        "last_mean_return": float(np.mean([e["r"] for e in episodes])) if episodes else None,
        "last_mean_length": float(np.mean([e["l"] for e in episodes])) if episodes else None,
    }
