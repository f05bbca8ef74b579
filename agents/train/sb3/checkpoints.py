"""Everything that a Stable-Baselines3 training depends on, in one file, written atomically.

The file is a zip of the model as SB3 saves it (weights, optimizer, step count, last observations),
and of a pickle: the vector env with its running episodes and the statistics of its normaliser, the
random generators, the memory of a recurrent policy and the replay buffer of an off-policy one. A
training restored from it goes on as if it had never stopped. It holds pickles: load your own only.
"""

import io
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3 import HerReplayBuffer
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from rbgym.agents.run_folder import replacing

_STATISTICS = ("obs_rms", "ret_rms", "returns", "old_obs", "old_reward")
# What SB3 leaves out of a model, where it has them.
_LEFT_OUT = ("_last_lstm_states", "replay_buffer")


def save(path: Path, model: BaseAlgorithm) -> None:
    """Write the state of a training between two rollouts, whole or not at all."""
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


def load(path: Path, algorithm: type[BaseAlgorithm], env: VecEnv) -> BaseAlgorithm:
    """The model as it was saved, on `env`, which is put back where it was then; ValueError for a
    file that is no checkpoint."""
    try:
        with zipfile.ZipFile(path) as archive:
            saved, state = archive.read("model.zip"), pickle.loads(archive.read("state.pkl"))
    except Exception as error:  # whatever a damaged pickle, or one of another version, raises
        raise ValueError(f"{str(path)!r} is no checkpoint: {error}") from error
    normalizer, monitor, adapter = _layers(env)
    adapter.vector_env.close()
    adapter.vector_env, adapter.reset_infos = state["vector_env"], state["reset_infos"]
    monitor.episode_count, monitor.episode_returns, monitor.episode_lengths = state["monitor"]
    if normalizer is not None:
        vars(normalizer).update(state["normalizer"])
    model = algorithm.load(io.BytesIO(saved), env=env, device="cpu", force_reset=False)
    vars(model).update(state["model"])
    if isinstance(buffer := vars(model).get("replay_buffer"), HerReplayBuffer):
        buffer.set_env(env)
    # Last: whatever was built above may have drawn from them.
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    torch.set_rng_state(state["torch"])
    model.action_space.np_random.bit_generator.state = state["actions"]
    return model


def _layers(env: Any) -> tuple[VecNormalize | None, Any, Any]:
    """The normaliser, if there is one, the monitor and the adapter of a vector env."""
    outer = env if isinstance(env, VecNormalize) else None
    monitor: Any = outer.venv if outer else env
    return outer, monitor, monitor.venv
