"""Any `gymnasium.vector.VectorEnv` as a Stable-Baselines3 `VecEnv`, at the speed of the batch.

SB3 resets a finished lane within the step that ends it, and looks for the last observation of the
episode in that lane's info. Gymnasium's SAME_STEP mode says the same in batched form, its DISABLED
mode leaves the reset to the caller; both are translated here. Below, n is the number of lanes.
"""

import inspect
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import (
    VecEnvIndices,
    VecEnvObs,
    VecEnvStepReturn,
)

from rbgym.agents.judge.cases import spec_of
from rbgym.agents.train.sb3 import lanes, sub_envs
from rbgym.envs.episodes import checked_seed


class VectorEnvAdapter(VecEnv):
    """SB3's view of any vector env whose autoreset mode is SAME_STEP or DISABLED.

    A finished lane's info holds its final info, `terminal_observation` (a private copy) and
    `TimeLimit.truncated` (truncated and not terminated); every other lane's info is an empty dict
    of its own, plus the vector-info arrays named in `info_keywords`. `reset_infos` holds what the
    last full `reset` returned, and is emptied for a lane that is reset on the way.

    vector_env: a native vector env, a SyncVectorEnv, an AsyncVectorEnv or a wrapper of one.
    info_keywords: names of vector-info arrays, (n, ...), to hand to every lane at every step.
    Raises ValueError if `vector_env` is none, or resets on the next step (NEXT_STEP).
    """

    def __init__(
        self, vector_env: VectorEnv[Any, Any, Any], info_keywords: Sequence[str] = ()
    ) -> None:
        keywords = info_keywords if isinstance(info_keywords, list | tuple) else [info_keywords]
        if not all(isinstance(name, str) for name in keywords):
            raise ValueError(f"info_keywords must be names, got {info_keywords!r}")
        self.vector_env = vector_env  # before super().__init__, which asks for render_mode
        self.autoreset_mode = _supported_mode(vector_env)
        self.info_keywords = tuple(keywords)
        self._actions: Any = None
        super().__init__(
            vector_env.num_envs, vector_env.single_observation_space, vector_env.single_action_space
        )
        self.metadata = dict(vector_env.metadata)
        self.spec: EnvSpec | None = vector_env.spec

    def reset(self) -> VecEnvObs:
        """Restart all lanes, using up seeds and options, and return observations (n, ...)."""
        obs, infos = self.vector_env.reset(seed=self._pending_seed(), options=self._one_options())
        self.reset_infos = [lanes.info(infos, lane) for lane in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        private: VecEnvObs = lanes.copied(obs)
        return private

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions (n, ...) for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Return observations (n, ...), rewards (n,) float32, dones (n,) bool and n info dicts."""
        obs, rewards, terminated, truncated, infos = self.vector_env.step(self._actions)
        dones = np.logical_or(terminated, truncated)
        obs = lanes.copied(obs)
        lane_infos = lanes.named(infos, self.info_keywords, self.num_envs)
        if dones.any():
            same_step = self.autoreset_mode is AutoresetMode.SAME_STEP
            final_obs, final_info = lanes.finals(infos) if same_step else (obs, infos)
            for lane in np.flatnonzero(dones).tolist():
                lane_infos[lane] = lanes.info(final_info, lane)
                lane_infos[lane]["terminal_observation"] = lanes.copied(lanes.row(final_obs, lane))
                lane_infos[lane]["TimeLimit.truncated"] = not terminated[lane]
                self.reset_infos[lane] = {}
            if not same_step:
                restarted, _ = self.vector_env.reset(options={"reset_mask": dones.copy()})
                lanes.overwrite(obs, restarted, dones)
        return obs, np.array(rewards, dtype=np.float32), dones, lane_infos

    def close(self) -> None:
        """Close the vector env."""
        self.vector_env.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """Return the rendered frames, one (height, width, 3) per lane that the env renders."""
        if self.render_mode != "rgb_array":
            warnings.warn(
                f"render_mode is {self.render_mode!r}: images need 'rgb_array'", stacklevel=2
            )
            return [None] * self.num_envs
        frames: Any = self.vector_env.render()
        return [frames] if isinstance(frames, np.ndarray) and frames.ndim == 3 else list(frames)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """Return the attribute of each chosen sub-env, or the native env's own, repeated."""
        return sub_envs.get_attr(self.vector_env, attr_name, self._lanes(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set the attribute in each chosen sub-env, or in the native env, all lanes at once."""
        sub_envs.set_attr(self.vector_env, attr_name, value, self._lanes(indices))

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call the method of each chosen sub-env, or once the native env's; one result a lane."""
        return sub_envs.call(self.vector_env, method_name, self._lanes(indices), *args, **kwargs)

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """Tell for each chosen lane if a wrapper around it, or around all, is of the class."""
        return sub_envs.are_wrapped(self.vector_env, wrapper_class, self._lanes(indices))

    def _lanes(self, indices: VecEnvIndices) -> list[int]:
        return [int(lane) for lane in self._get_indices(indices)]

    def _pending_seed(self) -> Any:
        """Return the seeds as one int when consecutive: every vector env takes s for s + lane."""
        first = self._seeds[0]
        if first is None:
            return None if set(self._seeds) == {None} else list(self._seeds)
        consecutive = self._seeds == [first + lane for lane in range(self.num_envs)]
        return first if consecutive else list(self._seeds)

    def _one_options(self) -> dict[str, Any] | None:
        first = self._options[0]
        if any(options is not first and options != first for options in self._options):
            raise ValueError("options differ between lanes: a vector env takes one dict for all")
        return first or None


def make_sb3_env(
    env_id: str,
    num_envs: int,
    seed: int | None = None,
    *,
    vectorization_mode: str | None = None,
    info_keywords: Sequence[str] = (),
    **kwargs: Any,
) -> VecMonitor:
    """Return n lanes of a registered env, ready for SB3: `make_vec`, adapter and VecMonitor.

    env_id: e.g. "RigidTop-v0", or "module:Env-v0".
    seed: lane i starts from seed + i at the first reset; None for fresh entropy.
    vectorization_mode: None for the env's native vector env where it has one that resets within
    the step, else "sync".
    info_keywords: vector-info arrays to hand to every lane, and to VecMonitor's episode records.
    kwargs: arguments of the env.
    """
    if seed is not None:
        seed = checked_seed(seed)
    modes = [None, *(mode.value for mode in gym.VectorizeMode)]
    if not any(vectorization_mode is mode or (isinstance(vectorization_mode, str)
               and vectorization_mode == mode) for mode in modes):  # fmt: skip
        raise ValueError(f"vectorization_mode must be one of {modes}, got {vectorization_mode!r}")
    native = "vector_entry_point" if _has_same_step_entry_point(env_id) else "sync"
    mode = vectorization_mode or native
    if mode == "vector_entry_point":
        kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP} | kwargs
    else:
        vector_kwargs = {"autoreset_mode": AutoresetMode.SAME_STEP}
        kwargs["vector_kwargs"] = vector_kwargs | kwargs.get("vector_kwargs", {})
    vector_env = gym.make_vec(env_id, num_envs=num_envs, vectorization_mode=mode, **kwargs)
    adapter = VectorEnvAdapter(vector_env, info_keywords)
    if seed is not None:
        adapter.seed(seed)
    return VecMonitor(adapter, info_keywords=adapter.info_keywords)


def _supported_mode(vector_env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    if not isinstance(vector_env, VectorEnv):
        raise ValueError(f"vector_env must be a gymnasium.vector.VectorEnv, got {vector_env!r}")
    mode = vector_env.metadata.get("autoreset_mode")
    if mode not in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        raise ValueError(
            f"vector_env={vector_env} has autoreset mode {mode}, but SB3 resets a finished lane "
            "within the step that ends it: pass autoreset_mode=AutoresetMode.SAME_STEP or DISABLED "
            '(for a SyncVectorEnv through make_vec: vector_kwargs={"autoreset_mode": ...})'
        )
    return AutoresetMode(mode)


def _has_same_step_entry_point(env_id: str) -> bool:
    """Tell if the env has a native vector env that can be told its autoreset mode."""
    creator: Any = spec_of(env_id).vector_entry_point
    if creator is None:
        return False
    creator = load_env_creator(creator) if isinstance(creator, str) else creator
    parameters = inspect.signature(creator).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return takes_any or "autoreset_mode" in parameters
