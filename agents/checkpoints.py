"""Everything that a Stable-Baselines3 training depends on, in one file, written atomically.

The file is a zip of four entries: the model as SB3 saves it (weights, optimizer, step count, last
observations), the vector env with its running episodes, the random generators, and for off-policy
algorithms the replay buffer. A training restored from it goes on as if it had never stopped.
It holds pickles: load your own only.
"""

import io
import pickle
import random
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecMonitor

from rbgym.agents.run_folder import replacing


class CheckpointCallback(BaseCallback):
    """Saves a checkpoint between two rollouts, at least `every` env steps after the last one.

    Keeps the seconds of training, those before an interruption included, in `model.wall_time`.
    """

    def __init__(self, path: Path, every: int) -> None:
        super().__init__()
        self.path, self.every = path, every
        self.last, self.started = 0, 0.0

    def _on_training_start(self) -> None:
        self.last = self.model.num_timesteps
        self.started = time.perf_counter() - getattr(self.model, "wall_time", 0.0)

    def _on_rollout_start(self) -> None:
        if self.model.num_timesteps - self.last >= self.every:
            self._on_training_end()
            save(self.path, self.model)
            self.last = self.model.num_timesteps

    def _on_training_end(self) -> None:
        self.model.wall_time = time.perf_counter() - self.started  # type: ignore[attr-defined]

    def _on_step(self) -> bool:
        return True


def save(path: Path, model: BaseAlgorithm) -> None:
    """Write the state of a training between two rollouts."""
    buffer = io.BytesIO()
    model.save(buffer)
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr("model.zip", buffer.getvalue())
        archive.writestr("generators.pkl", pickle.dumps(_generators(model)))
        archive.writestr("env.pkl", pickle.dumps(_env_state(_monitor(model))))
        if hasattr(model, "replay_buffer"):
            archive.writestr("replay_buffer.pkl", pickle.dumps(model.replay_buffer))


def load(path: Path, algorithm: type[BaseAlgorithm], env: VecMonitor) -> BaseAlgorithm:
    """The model as it was saved, on `env`, which is put back where it was then.

    Raises ValueError if the file is no checkpoint.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
    except zipfile.BadZipFile as error:
        raise ValueError(f"{str(path)!r} is no checkpoint: {error}") from None
    _restore_env(env, pickle.loads(parts["env.pkl"]))
    saved = io.BytesIO(parts["model.zip"])
    model = algorithm.load(saved, env=env, device="cpu", force_reset=False)
    if "replay_buffer.pkl" in parts:
        model.replay_buffer = pickle.loads(parts["replay_buffer.pkl"])  # type: ignore[attr-defined]
    _restore_generators(model, pickle.loads(parts["generators.pkl"]))
    return model


def _monitor(model: BaseAlgorithm) -> VecMonitor:
    env = model.get_env()
    assert isinstance(env, VecMonitor)
    return env


def _generators(model: BaseAlgorithm) -> dict[str, Any]:
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),  # noqa: NPY002  # the generator that SB3 draws from
        "torch": torch.get_rng_state(),
        "actions": model.action_space.np_random.bit_generator.state,
    }


def _restore_generators(model: BaseAlgorithm, states: dict[str, Any]) -> None:
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])  # noqa: NPY002
    torch.set_rng_state(states["torch"])
    model.action_space.np_random.bit_generator.state = states["actions"]


def _env_state(env: VecMonitor) -> dict[str, Any]:
    adapter: Any = env.venv
    return {
        "vector_env": adapter.vector_env,
        "reset_infos": adapter.reset_infos,
        "monitor": (env.episode_count, env.episode_returns, env.episode_lengths),
    }


def _restore_env(env: VecMonitor, state: dict[str, Any]) -> None:
    adapter: Any = env.venv
    adapter.vector_env.close()
    adapter.vector_env, adapter.reset_infos = state["vector_env"], state["reset_infos"]
    env.episode_count, env.episode_returns, env.episode_lengths = state["monitor"]
