"""Training with Stable-Baselines3 that can be interrupted and resumed."""

import io
import pickle
import random
import time
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize, unwrap_vec_wrapper

from rbgym.agents.cases import has_test_set, in_time, spec_of
from rbgym.agents.policies.modules import ACTIVATIONS
from rbgym.agents.policies.network import quaternions_of
from rbgym.agents.policies.sb3 import ALGORITHMS, SCHEDULED, network_of_model, parameters
from rbgym.agents.policies.trained import TrainedPolicy
from rbgym.agents.run_folder import RunFolder, Training, replacing
from rbgym.agents.terminal import Counter, bar
from rbgym.agents.train import presets, run
from rbgym.agents.train.sb3.adapter import make_sb3_env
from rbgym.arguments import count
from rbgym.envs.arguments import named

_STATISTICS = ("obs_rms", "ret_rms", "returns", "old_obs", "old_reward")
_LEFT_OUT = ("_last_lstm_states", "replay_buffer")  # of a model, if it has them: SB3 saves neither


def learn(
    job: run.Job,
    *,
    timesteps: int | None = None,
    checkpoint_every: int = 50_000,
    evaluate_every: int | None = None,
    threads: int = 1,
    callbacks: Sequence[BaseCallback] = (),
) -> Training:
    """Train with the hyperparameters of `train.presets`, see `rbgym.agents.train.train`. A run that
    was interrupted at any moment resumes on the path of the uninterrupted run.

    timesteps: env steps summed over the lanes, rounded up to whole rollouts; None for the preset's.
    checkpoint_every: env steps between checkpoints, 0 for one at the end. evaluate_every: those
    between two runs on the validation set; None for a twentieth of the training, 0 for no runs.
    threads: of torch; the last bits of the weights depend on it. callbacks: of Stable-Baselines3.
    """
    count("checkpoint_every", checkpoint_every, least=0)
    count("evaluate_every", evaluate_every or 0, least=0)
    chosen = presets.of_sb3(job.algo, job.env_id, job.hyperparameters, job.changes, timesteps)
    steps, threads = chosen.pop("n_timesteps"), count("threads", threads)
    config = run.config_of(job, chosen, timesteps=steps, threads=threads)
    folder, chosen = RunFolder(Path(job.out)), config["hyperparameters"]
    kwargs = in_time(job.env_id, config["env_kwargs"])
    lanes = make_sb3_env(job.env_id, chosen["n_envs"], job.seed, **kwargs)
    with closing(normalized(chosen, lanes)) as env, run.torch_threads(threads):
        model = new_model(job.algo, chosen, env, job.seed)
        network_of_model(model)  # refuses a model that could not be written, before the work
        limit = kwargs.get("max_episode_steps") or spec_of(job.env_id).max_episode_steps or 0
        least = chosen["n_envs"] * limit if chosen.get("hindsight") else 0  # whole episodes
        begun = job.resume and folder.checkpoint.exists()
        if not begun and (starts := getattr(model, "learning_starts", 0)) < least:
            raise ValueError(
                f"learning_starts must be at least {least} with hindsight, got {starts!r}"
            )
        restore = partial(load_checkpoint, kind=ALGORITHMS[job.algo], env=env)
        if (finished := folder.claim(config, job.resume, restore)) is not None:
            return Training(folder, finished, None)
        if folder.checkpoint.exists():
            model = restore(folder.checkpoint)
            job.report(f"resuming {folder.path} from step {model.num_timesteps}")
        start = model.num_timesteps
        model.set_logger(configure(str(folder.tensorboard), ["tensorboard"]))
        judge_every = max(steps // 20, 1) if evaluate_every is None else evaluate_every
        if not has_test_set(job.env_id):
            judge_every = 0
        if steps > start:
            with bar(hidden=not job.progress) as shown:
                show = Counter(shown, "training", steps)
                ours = BetweenRollouts(job, folder, config, (checkpoint_every, judge_every), show)
                model.learn(steps - start, [*callbacks, ours], reset_num_timesteps=False)
    folder.require(config)
    with replacing(folder.model) as temporary, temporary.open("wb") as file:
        model.save(file)
    if (normalizer := model.get_vec_normalize_env()) is not None:
        with replacing(folder.normalizer) as temporary:
            normalizer.save(str(temporary))
    return run.finish(folder, config, *policy_of(model), start)


def policy_of(model: Any) -> tuple[dict[str, Any], Any, tuple[Any, Any]]:
    """The results so far, without the time of judging, the network judged best, and the spaces."""
    record = dict(record_of(model))
    network = record.pop("best") or network_of(model)
    results = {
        "timesteps": model.num_timesteps,
        **record,
        "wall_time": record["wall_time"] - record["judging_time"],
        "last_mean_return": last_mean_return(model),
    }
    return results, network, (model.observation_space, model.action_space)


def network_of(model: Any) -> Any:
    """The present network of a model, with its normaliser and the columns of quaternions."""
    network = network_of_model(model, model.get_vec_normalize_env())
    return replace(network, quaternions=quaternions_of(model.get_env().unwrapped.vector_env))


def new_model(algo: str, given: Mapping[str, Any], env: VecEnv, seed: int) -> BaseAlgorithm:
    """An untrained model. Raises ValueError for a bad value of a hyperparameter."""
    arguments = {k: v for k, v in given.items() if k in parameters(algo)}
    for key in SCHEDULED:
        if isinstance(arguments.get(key), str):
            arguments[key] = _schedule(key, arguments[key])
    if isinstance(arguments.get("train_freq"), list):  # YAML has no tuples
        arguments["train_freq"] = tuple(arguments["train_freq"])
    if given.get("hindsight"):
        arguments["replay_buffer_class"] = HerReplayBuffer
    of_policy = given.get("policy_kwargs") or {}
    if not isinstance(of_policy, Mapping):
        raise ValueError(f"policy_kwargs must be a mapping of names to values, got {of_policy!r}")
    arguments["policy_kwargs"] = dict(of_policy)
    if (name := of_policy.get("activation_fn")) is not None:
        known = {kind.__name__: kind for kind in ACTIVATIONS}
        named("activation_fn", name, known)
        arguments["policy_kwargs"]["activation_fn"] = known[name]
    try:
        return ALGORITHMS[algo](env=env, seed=seed, device="cpu", **arguments)
    except (TypeError, ValueError, AssertionError) as error:
        raise ValueError(f"hyperparameters of {algo} are refused: {error}") from error


def normalized(hyperparameters: Mapping[str, Any], env: VecMonitor) -> VecEnv:
    """Wrap the env in a VecNormalize, if `normalize` asks for one."""
    if not (wanted := hyperparameters.get("normalize")):
        return env
    options = {"gamma": hyperparameters.get("gamma", 0.99)}
    return VecNormalize(env, **(options | (wanted if isinstance(wanted, dict) else {})))


def _schedule(key: str, text: str) -> LinearSchedule:
    kind, _, value = text.partition("_")
    with suppress(ValueError):
        if kind == "lin" and (start := float(value)) > 0:
            return LinearSchedule(start, 0.0, 1.0)
    raise ValueError(f"{key} must be a positive number or lin_NUMBER, got {text!r}")


class BetweenRollouts(BaseCallback):
    """Shows progress, saves checkpoints and judges the policy. every: env steps between checkpoints
    and between judgements, 0 for never. Draws no random numbers. SB3's own bar halves the speed."""

    def __init__(
        self, job: run.Job, folder: RunFolder, config: Any, every: tuple[int, int], show: Counter
    ) -> None:
        super().__init__()
        self.job, self.folder, self.config, self.show = job, folder, config, show
        self.checkpoint_every, self.judge_every = every

    def _on_training_start(self) -> None:
        self.record = record_of(self.model)
        self.saved = self.num_timesteps
        self.started = time.perf_counter() - self.record["wall_time"]
        if not self.judge_every:  # else the policy judged best before would remain it
            self.record.update(judgements=[], kept=0, best=None)

    def _on_rollout_start(self) -> None:
        self._judge_after(self.judge_every)
        if self.checkpoint_every and self.num_timesteps - self.saved >= self.checkpoint_every:
            self._save()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.show(self.num_timesteps, self._total(), last_mean_return(self.model))

    def _on_training_end(self) -> None:
        self._judge_after(1)
        self.logger.dump(self.num_timesteps)
        self._save()

    def _total(self) -> int:
        """The steps of the training; the last rollout, a whole one, may go beyond those asked."""
        return max(int(self.config["timesteps"]), self.num_timesteps)

    def _save(self) -> None:
        self.record["wall_time"] = time.perf_counter() - self.started
        self.folder.require(self.config)
        save_checkpoint(self.folder.checkpoint, self.model)
        self.saved = self.num_timesteps

    def _judge_after(self, steps: int) -> None:
        """Judge the policy, if so many steps have passed since the last judgement."""
        start, before = time.perf_counter(), self.record["judgements"]
        last = before[-1]["timesteps"] if before else 0
        if not self.judge_every or self.num_timesteps < last + steps:
            return
        seconds = round(start - self.started - self.record["judging_time"], 3)
        policy = TrainedPolicy.of(self.model)
        before.append(run.judgement(policy, self.config, self.num_timesteps, seconds))
        if run.rank(before[-1]) >= run.rank(before[self.record["kept"]]):
            self.record.update(kept=len(before) - 1, best=network_of(self.model))
        self.record["judging_time"] += time.perf_counter() - start
        found = run.summary(before[-1])
        self.job.report(f"step {self.num_timesteps:,} of {self._total():,}: {found}")
        for name in ("success_rate", "mean_return"):
            self.logger.record(f"eval/{name}", before[-1][name])
        self.record["wall_time"] = time.perf_counter() - self.started
        run.put_policy(self.folder, self.config, *policy_of(self.model))


def record_of(model: BaseAlgorithm) -> dict[str, Any]:
    """The seconds and judgements, with the best one's index and network; in checkpoints too."""
    empty: dict[str, Any] = {
        "wall_time": 0.0, "judging_time": 0.0, "judgements": [], "kept": 0, "best": None
    }  # fmt: skip
    return vars(model).setdefault("record", empty)


def last_mean_return(model: Any) -> float | None:
    """Mean return of the latest episodes; None before the first ends."""
    episodes = model.ep_info_buffer
    return float(sum(e["r"] for e in episodes) / len(episodes)) if episodes else None


def save_checkpoint(path: Path, model: BaseAlgorithm) -> None:
    """Write the state of a training between two rollouts, the model as SB3 saves it and a pickle of
    the rest; an interruption leaves the old file. A pickle runs code: load only your own."""
    buffer = io.BytesIO()
    model.save(buffer)
    normalizer, monitor, adapter = _layers(model.get_env())
    statistics = vars(normalizer).items() if normalizer else ()
    state = {
        "vector_env": adapter.vector_env,
        "reset_infos": adapter.reset_infos,
        "monitor": (monitor.episode_count, monitor.episode_returns, monitor.episode_lengths),
        # Its own pickle leaves the running returns out.
        "normalizer": {name: value for name, value in statistics if name in _STATISTICS},
        "model": {name: part for name, part in vars(model).items() if name in _LEFT_OUT},
        "python": random.getstate(),
        "numpy": np.random.get_state(),  # noqa: NPY002  # the generator that SB3 draws from
        "torch": torch.get_rng_state(),
        "actions": model.action_space.np_random.bit_generator.state,
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr("model.zip", buffer.getvalue())
        archive.writestr("state.pkl", pickle.dumps(state))


def load_checkpoint(path: Path, kind: type[BaseAlgorithm], env: VecEnv) -> BaseAlgorithm:
    """Load a model onto `env`, and restore env and generators; ValueError for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            saved, state = archive.read("model.zip"), pickle.loads(archive.read("state.pkl"))
        normalizer, monitor, adapter = _layers(env)
        adapter.vector_env.close()
        adapter.vector_env, adapter.reset_infos = state["vector_env"], state["reset_infos"]
        monitor.episode_count, monitor.episode_returns, monitor.episode_lengths = state["monitor"]
        if normalizer is not None:
            vars(normalizer).update(state["normalizer"])
        model = kind.load(io.BytesIO(saved), env=env, device="cpu", force_reset=False)
        vars(model).update(state["model"])
        if isinstance(buffer := vars(model).get("replay_buffer"), HerReplayBuffer):
            buffer.set_env(env)
        # Last, as building the parts above may draw from them.
        random.setstate(state["python"])
        np.random.set_state(state["numpy"])  # noqa: NPY002
        torch.set_rng_state(state["torch"])
        model.action_space.np_random.bit_generator.state = state["actions"]
    except Exception as error:  # a damaged pickle, or one of another version, raises any type
        raise ValueError(f"{str(path)!r} is not a checkpoint: {error}") from error
    return model


def _layers(env: Any) -> tuple[Any, Any, Any]:
    """The normaliser, if there is one, the monitor and the adapter of a vector env."""
    wrappers = (unwrap_vec_wrapper(env, kind) for kind in (VecNormalize, VecMonitor))
    return *wrappers, env.unwrapped
