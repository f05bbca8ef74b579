"""Training with Stable-Baselines3 that survives being interrupted."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecEnv

from rbgym.agents.judge import cases
from rbgym.agents.policies import trained
from rbgym.agents.policies.algorithms import algorithm, require_actions
from rbgym.agents.policies.sb3_network import network_of
from rbgym.agents.policies.trained import TrainedPolicy
from rbgym.agents.run_folder import RunFolder, Training, replacing, write_json
from rbgym.agents.train import checkpoints, judging
from rbgym.agents.train.models import new_model, normalized
from rbgym.agents.train.progress import ProgressCallback
from rbgym.agents.train.run_config import TOLD, run_config
from rbgym.agents.train.sb3.adapter import make_sb3_env


def train(
    env_id: str,
    algo: str = "ppo",
    *,
    out: str | Path,
    seed: int = 0,
    timesteps: int | None = None,
    hyperparameters: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    resume: bool = True,
    progress: bool = True,
    env_kwargs: dict[str, Any] | None = None,
    checkpoint_every: int = 50_000,
    evaluate_every: int | None = None,
    threads: int = 1,
    callbacks: Sequence[BaseCallback] = (),
    report: Callable[[str], None] = lambda message: None,
) -> Training:
    """Train a policy with the hyperparameters of `train.presets` into the folder `out`.

    Called again after an interruption, of whatever kind and at whatever moment, it goes on from
    the last checkpoint, on the path that the uninterrupted run would have taken; after the end it
    does nothing. With resume=False it starts anew, and what the folder held is lost.

    timesteps: env steps of all lanes together, rounded up to whole rollouts; None for the
    preset's. hyperparameters: a YAML file in place of ours; changes: single ones in place of the
    file's. checkpoint_every: env steps between checkpoints. evaluate_every: env steps between
    two runs on the test set, of a task that has one; None for a twentieth of the training, 0 for
    none. threads: of torch; the weights depend on it in the last bits, and small networks gain
    little from a second one. report: told in words what happens.
    Raises ValueError for bad arguments, and if `out` holds another run.
    """
    for name, value in (("checkpoint_every", checkpoint_every), ("evaluate_every", evaluate_every)):
        if value is not None and value < 0:
            raise ValueError(f"{name} must not be negative, got {value!r}")
    config = run_config(
        env_id, algo, seed, timesteps, env_kwargs or {}, hyperparameters, changes, threads
    )
    folder, callbacks = RunFolder(Path(out)), list(callbacks)
    env, threads_before = _env(config), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        require_actions(algo, env.action_space)
        model = new_model(algo, config["hyperparameters"], env, seed)
        network_of(model)  # refuses, before the work, what could not be written
        if not resume:
            folder.clear()
        folder.claim(config)
        if folder.results.exists():
            return Training(folder, folder.read_results(), None)
        saved = checkpoints.load(folder.checkpoint, algorithm(algo), env, report)
        if saved is not None:
            model = saved
            report(f"resuming {folder.path} from step {model.num_timesteps}")
        started_from = model.num_timesteps
        model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        if evaluate_every != 0 and cases.has_test_set(env_id):
            every = evaluate_every or max(config["timesteps"] // 20, 1)
            callbacks.append(judging.JudgingCallback(env_id, config["env_kwargs"], every))
        callbacks.append(checkpoints.CheckpointCallback(folder.checkpoint, checkpoint_every))
        _learn(model, config["timesteps"], callbacks, progress)
    finally:
        torch.set_num_threads(threads_before)
        env.close()
    return Training(folder, _finish(folder, model, config), started_from)


def load_policy(folder: RunFolder) -> TrainedPolicy:
    """The trained policy of a run; ValueError if the run is not finished."""
    folder.read_config()
    if not folder.policy.is_file():
        raise ValueError(f"{str(folder.path)!r} has no policy.json: its training is not finished")
    return trained.read(folder.path)


def _env(config: dict[str, Any]) -> VecEnv:
    hyperparameters = config["hyperparameters"]
    lanes = hyperparameters["n_envs"]
    env = make_sb3_env(config["env_id"], lanes, config["seed"], **config["env_kwargs"])
    return normalized(hyperparameters, env)


def _learn(
    model: BaseAlgorithm, timesteps: int, callbacks: list[BaseCallback], progress: bool
) -> None:
    remaining = timesteps - model.num_timesteps
    if remaining <= 0:
        return
    with ProgressCallback(timesteps) if progress else nullcontext() as bar:
        model.learn(remaining, [*callbacks, *([bar] if bar else [])], reset_num_timesteps=False)


def _finish(folder: RunFolder, model: BaseAlgorithm, config: dict[str, Any]) -> dict[str, Any]:
    """Write what a run leaves; results.json last."""
    results = _results(model)
    with replacing(folder.model) as temporary, temporary.open("wb") as file:
        model.save(file)
    if (normalizer := model.get_vec_normalize_env()) is not None:
        with replacing(folder.normalizer) as temporary:
            normalizer.save(str(temporary))
    told = {key: config[key] for key in TOLD}
    spaces = (model.observation_space, model.action_space)
    trained.write(folder.path, network_of(model), spaces, told | {"training": results})
    write_json(folder.results, results)
    return results


def _results(model: BaseAlgorithm) -> dict[str, Any]:
    episodes = list(model.ep_info_buffer or ())
    judged = judging.judging_time(model)
    seconds = float(getattr(model, "wall_time", 0.0)) - judged
    return {
        "timesteps": model.num_timesteps,
        "wall_time": seconds,
        "judging_time": judged,
        "steps_per_second": model.num_timesteps / seconds if seconds else None,
        "time_to_threshold": judging.time_to_threshold(model),
        "last_mean_return": float(np.mean([e["r"] for e in episodes])) if episodes else None,
        "last_mean_length": float(np.mean([e["l"] for e in episodes])) if episodes else None,
        "replay_buffer_bytes": _bytes(getattr(model, "replay_buffer", None)),
        "judgements": judging.judgements(model),
    }


def _bytes(buffer: Any) -> int:
    """Size of the arrays of a replay buffer."""
    values = [] if buffer is None else list(vars(buffer).values())
    values += [part for value in values if isinstance(value, dict) for part in value.values()]
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))
