"""A native vector environment as a Stable-Baselines3 `VecEnv`. SB3 resets a finished lane within
the step that ends it, as Gymnasium's SAME_STEP mode does. n: number of lanes."""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from rbgym.agents.cases import by_name, creator_of, spec_of, training_seeds
from rbgym.envs.layers import plain
from rbgym.envs.reset import checked_seed

_OF_LANES = frozenset({"invariants", "parameters", "state", "surroundings"})  # dicts, by lane
_CHANGE_NOTHING = _OF_LANES | {"compute_reward"}


class VectorEnvAdapter(VecEnv):
    """Presents to SB3 a native vector env whose autoreset mode is SAME_STEP.

    A finished lane's info holds its final info, `terminal_observation` (a private copy) and
    `TimeLimit.truncated` (truncated and not terminated); any other lane's holds the costs of
    constraints. `reset_infos` holds the infos of the last full `reset`, emptied for a lane that has
    been reset since. vector_env: all lanes share its attributes and methods' results, except for
    `invariants`, `parameters`, `state` and `surroundings`. trains: `seed` gives the lanes
    `training_seeds`. ValueError if `vector_env` is no vector env, or has another autoreset mode.
    """

    def __init__(self, vector_env: VectorEnv[Any, Any, Any], *, trains: bool = False) -> None:
        if not isinstance(vector_env, VectorEnv):
            raise ValueError(f"vector_env must be a gymnasium.vector.VectorEnv, got {vector_env!r}")
        mode = vector_env.metadata.get("autoreset_mode")
        if mode is not AutoresetMode.SAME_STEP:
            raise ValueError(
                f"vector_env={vector_env} has autoreset mode {mode}, but SB3 resets a finished "
                "lane within the step that ends it: pass autoreset_mode=AutoresetMode.SAME_STEP"
            )
        self.vector_env = vector_env  # before super().__init__, which asks for render_mode
        self._actions: Any = None
        self._trains = trains
        super().__init__(
            vector_env.num_envs, vector_env.single_observation_space, vector_env.single_action_space
        )
        self.metadata = dict(vector_env.metadata)
        self.spec = vector_env.spec

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Choose the seeds of the next reset, and return them."""
        seeds = super().seed(None if seed is None else checked_seed(seed))
        if self._trains:
            self._seeds = list(training_seeds(cast(int, seeds[0]), self.num_envs))
        return self._seeds

    def reset(self) -> VecEnvObs:
        """Restart all lanes, using up seeds and options, and return observations (n, ...)."""
        options, first = self._options[0], self._seeds[0]
        if any(one is not options and plain(one) != plain(options) for one in self._options):
            raise ValueError("options differ between lanes: a vector env takes one dict for all")
        seed: Any = None if set(self._seeds) == {None} else list(self._seeds)
        if first is not None and self._seeds == [first + lane for lane in range(self.num_envs)]:
            seed = first  # every vector env takes s for s + lane
        obs, infos = self.vector_env.reset(seed=seed, options=options or None)
        self.reset_infos = [_info(infos, lane) for lane in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        observation: VecEnvObs = deepcopy(obs)  # the env keeps its own
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Return observations (n, ...), rewards (n,) float32, dones (n,) bool and n info dicts."""
        obs, rewards, terminated, truncated, infos = self.vector_env.step(self._actions)
        dones = np.logical_or(terminated, truncated)
        costs = {name: infos[name].tolist() for name in infos if name.startswith("cost")}
        lane_infos: list[dict[str, Any]] = [
            {name: column[lane] for name, column in costs.items()} for lane in range(self.num_envs)
        ]
        if dones.any():
            last, final_info = infos["final_obs"], infos["final_info"]
            for lane in np.flatnonzero(dones).tolist():
                lane_infos[lane] = {
                    **_info(final_info, lane),
                    "terminal_observation": deepcopy(_row(last, lane)),
                    "TimeLimit.truncated": not terminated[lane],
                }
                self.reset_infos[lane] = {}
        return deepcopy(obs), rewards.astype(np.float32), dones, lane_infos

    def close(self) -> None:
        self.vector_env.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        if self.render_mode != "rgb_array":
            warnings.warn(f"images need 'rgb_array', got {self.render_mode!r}", stacklevel=2)
            return [None] * self.num_envs
        frames: Any = self.vector_env.render()
        return [frames] if isinstance(frames, np.ndarray) and frames.ndim == 3 else list(frames)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return self._of_each(attr_name, getattr(self._owner(attr_name), attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set the env's attribute. Raises ValueError for some lanes only."""
        if self._count(indices) != self.num_envs:
            raise ValueError(f"indices={indices!r}: {attr_name!r} can be set only in all lanes")
        setattr(self._owner(attr_name), attr_name, value)

    def env_method(
        self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method once for all lanes; ValueError for some only, unless it changes nothing."""
        if method_name not in _CHANGE_NOTHING and self._count(indices) != self.num_envs:
            raise ValueError(f"indices={indices!r}: {method_name!r} is called for all lanes only")
        method = getattr(self._owner(method_name), method_name)
        return self._of_each(method_name, method(*args, **kwargs), indices)

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        return [False] * self._count(indices)

    def _owner(self, name: str) -> Any:
        """The wrapper or env that has the attribute: a vector wrapper hides the inner env's."""
        owner: Any = self.vector_env
        while not hasattr(owner, name) and owner is not owner.unwrapped:
            owner = owner.env
        return owner

    def _of_each(self, name: str, value: Any, indices: VecEnvIndices) -> list[Any]:
        """Split an attribute or a result into the values of these lanes."""
        if name in _OF_LANES and isinstance(value, Mapping):
            return [_row(value, lane) for lane in self._get_indices(indices)]
        return [value] * self._count(indices)

    def _count(self, indices: VecEnvIndices) -> int:
        return len(list(self._get_indices(indices)))


def make_sb3_env(
    env_id: str,
    num_envs: int,
    seed: int | None = None,
    *,
    render_mode: str | None = None,
    **kwargs: Any,
) -> VecMonitor:
    """Make n lanes of a registered env for SB3: `make_vec`, adapter and VecMonitor. env_id: of an
    env with a native vector env, also "module:Env-v0". seed: draws those of the lanes, which are
    not s + i; None for fresh entropy. render_mode, kwargs: arguments of the env."""
    native = creator_of(spec_of(env_id).vector_entry_point)
    if native is None or "autoreset_mode" not in inspect.signature(native).parameters:
        raise ValueError(f"env_id must be of an env with a native vector env, got {env_id!r}")
    vector_env = gym.make_vec(
        env_id,
        num_envs=num_envs,
        autoreset_mode=AutoresetMode.SAME_STEP,
        render_mode=render_mode,
        **by_name("kwargs", kwargs),
    )
    # A spec can become JSON; not every env takes the mode as text.
    cast(Any, vector_env.spec).kwargs["autoreset_mode"] = AutoresetMode.SAME_STEP.value
    adapter = VectorEnvAdapter(vector_env, trains=True)
    if seed is not None:
        adapter.seed(seed)
    return VecMonitor(adapter)


def _row(obs: Any, lane: int) -> Any:
    """One lane's part of a batch, an object array or a dict of batches."""
    if isinstance(obs, Mapping):
        return {key: _row(part, lane) for key, part in obs.items()}
    return obs[lane]


def _info(infos: Mapping[str, Any], lane: int) -> dict[str, Any]:
    """One lane's part of a vector info, whose entry `_name` (n,) marks the lanes with `name`."""
    found = {}
    for name in infos:
        if name.startswith("_") or (f"_{name}" in infos and not infos[f"_{name}"][lane]):
            continue
        values = infos[name]
        value = _info(values, lane) if isinstance(values, Mapping) else values[lane]
        found[name] = value.copy() if isinstance(value, np.ndarray) else value
    return found
