"""Training with Stable-Baselines3 that survives being interrupted."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

from rbgym.agents.cases import has_test_set, in_time, spec_of
from rbgym.agents.policies.modules import ACTIVATIONS
from rbgym.agents.policies.network import quaternions_of
from rbgym.agents.policies.sb3 import (
    SCHEDULED,
    algorithm,
    network_of_model,
    parameters,
)
from rbgym.agents.run_folder import RunFolder, Training, replacing
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import presets, run
from rbgym.agents.train.sb3 import checkpoints
from rbgym.agents.train.sb3.adapter import make_sb3_env
from rbgym.agents.train.sb3.callbacks import BetweenRollouts, results_of
from rbgym.arguments import count
from rbgym.envs.arguments import named


def learn(
    job: run.Job,
    *,
    timesteps: int | None = None,
    checkpoint_every: int = 50_000,
    evaluate_every: int | None = None,
    threads: int = 1,
    callbacks: Sequence[BaseCallback] = (),
) -> Training:
    """Train a policy with the hyperparameters of `train.presets`, see `rbgym.agents.train.train`.

    Called again after an interruption, of whatever kind and at whatever moment, it goes on from the
    last checkpoint, on the path that the uninterrupted run would have taken.

    timesteps: env steps of all lanes together, rounded up to whole rollouts; None for the
    preset's. checkpoint_every: env steps between checkpoints. evaluate_every: env steps between
    two runs on the validation set, of a task that has one; None for a twentieth of the training, 0
    for none. threads: of torch; the weights depend on it in the last bits, and small networks gain
    little from a second one. callbacks: of Stable-Baselines3.
    """
    if job.init_from:
        raise ValueError(f"init_from plays no part with {job.algo}, got {job.init_from!r}")
    for name, value in (("checkpoint_every", checkpoint_every), ("evaluate_every", evaluate_every)):
        if value is not None and value < 0:
            raise ValueError(f"{name} must not be negative, got {value!r}")
    changes = dict(job.changes or {})
    if timesteps is not None:
        changes = {**changes, "n_timesteps": count("timesteps", timesteps)}
    chosen = presets.of_sb3(job.algo, job.env_id, job.hyperparameters, changes)
    spec_of(job.env_id)  # raises, with a near name, before a folder is made
    steps, threads = chosen.pop("n_timesteps"), count("threads", threads)
    config = run.config_of(job, chosen, timesteps=steps, threads=threads)
    folder, chosen = RunFolder(Path(job.out)), config["hyperparameters"]
    kwargs = in_time(job.env_id, config["env_kwargs"])
    lanes = make_sb3_env(job.env_id, chosen["n_envs"], job.seed, **kwargs)
    env, threads_before = normalized(chosen, lanes), torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        model = new_model(job.algo, chosen, env, job.seed)
        network_of_model(model)  # refuses, before the work, what could not be written
        if (finished := folder.claim(config, job.resume)) is not None:
            return Training(folder, finished, None)
        if folder.checkpoint.exists():
            model = checkpoints.load(folder.checkpoint, algorithm(job.algo), env)
            job.report(f"resuming {folder.path} from step {model.num_timesteps}")
        start = model.num_timesteps
        model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        judge_every = max(steps // 20, 1) if evaluate_every is None else evaluate_every
        if not has_test_set(job.env_id):
            judge_every = 0
        if steps > start:
            with bar(hidden=not job.progress) as shown:
                show = Counter(shown, "training", steps)
                every = checkpoint_every, judge_every
                beside = BetweenRollouts(
                    config, folder.checkpoint, every, show, job.report,
                    lambda: run.put_policy(folder, config, *policy_of(model)),
                )  # fmt: skip
                model.learn(steps - start, [*callbacks, beside], reset_num_timesteps=False)
    finally:
        torch.set_num_threads(threads_before)
        env.close()
    with replacing(folder.model) as temporary, temporary.open("wb") as file:
        model.save(file)
    normalizer = model.get_vec_normalize_env()
    if normalizer is not None:
        with replacing(folder.normalizer) as temporary:
            normalizer.save(str(temporary))
    return run.finish(folder, config, *policy_of(model), start)


def policy_of(model: Any) -> tuple[dict[str, Any], Any, tuple[Any, Any]]:
    """What a training came to so far: results, network, spaces of observations and actions."""
    adapter = model.get_env().unwrapped
    network = network_of_model(model, model.get_vec_normalize_env())
    network = replace(network, quaternions=quaternions_of(adapter.vector_env))
    return results_of(model), network, (model.observation_space, model.action_space)


def new_model(
    algo: str, hyperparameters: Mapping[str, Any], env: VecEnv, seed: int
) -> BaseAlgorithm:
    """An untrained model. Raises ValueError for a bad value of a hyperparameter."""
    arguments = {k: v for k, v in hyperparameters.items() if k in parameters(algo)}
    for key in SCHEDULED:
        if isinstance(arguments.get(key), str):
            arguments[key] = _schedule(key, arguments[key])
    if isinstance(arguments.get("train_freq"), list):
        arguments["train_freq"] = tuple(arguments["train_freq"])
    if hyperparameters.get("hindsight"):
        arguments["replay_buffer_class"] = HerReplayBuffer
    arguments["policy_kwargs"] = dict(hyperparameters.get("policy_kwargs") or {})
    if (name := arguments["policy_kwargs"].get("activation_fn")) is not None:
        known = {kind.__name__: kind for kind in ACTIVATIONS}
        plain = str(name).removeprefix("nn.")
        named("activation_fn", plain, known)
        arguments["policy_kwargs"]["activation_fn"] = known[plain]
    try:
        return algorithm(algo)(env=env, seed=seed, device="cpu", **arguments)
    except (TypeError, ValueError, AssertionError) as error:
        raise ValueError(f"hyperparameters of {algo} are refused: {error}") from error


def normalized(hyperparameters: Mapping[str, Any], env: VecMonitor) -> VecEnv:
    """The env behind a VecNormalize, if `normalize` asks for one."""
    wanted = hyperparameters.get("normalize")
    if not wanted:
        return env
    options = {"gamma": hyperparameters.get("gamma", 0.99)}
    return VecNormalize(env, **(options | (wanted if isinstance(wanted, dict) else {})))


def _schedule(key: str, text: str) -> LinearSchedule:
    kind, _, value = text.partition("_")
    with suppress(ValueError):
        if kind == "lin" and (start := float(value)) > 0:
            return LinearSchedule(start, 0.0, 1.0)
    raise ValueError(f"{key} must be a positive number or lin_NUMBER, got {text!r}")
