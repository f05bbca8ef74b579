"""The fixed start states of a task, and what a policy makes of them."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rbgym.agents import controllers
from rbgym.agents.controllers import Policy
from rbgym.agents.controllers.base import relative
from rbgym.arguments import is_number
from rbgym.envs.parts.goals import Target
from rbgym.envs.parts.observations import FORMS
from rbgym.envs.task import Task

Array = NDArray[np.float64]

# Start states are drawn from the lane's own seed: these never meet those of a training run. A
# quarter of them is for each category of the task. The set's version is the env's.
TEST_SEEDS = range(1_000_000, 1_000_256)
# Nor do these, by which hyperparameters are chosen.
TUNING_SEEDS = range(2_000_000, 2_000_064)
PRETRAINED = "pretrained"  # the name of the package's policy for a task
# What Gymnasium's makers, and functions here that hand arguments on to them, say themselves.
_TAKEN = {
    "autoreset_mode", "disable_env_checker", "env_id", "episodes", "id", "info_keywords",
    "num_envs", "policy", "render_mode", "seed", "vector_kwargs", "vectorization_mode", "wrappers",
}  # fmt: skip
_HISTORIES = ("attitude_error", "rate_error", "torque", "actions", "relative")


@dataclass(frozen=True)
class Episodes:
    """One episode from each of n start states, in the order of their seeds.

    category (n,): the task's, of each start. returns, lengths [steps], success (n,).
    Histories (instants, n), the first at the start; nan after a lane's end: attitude_error [rad]
    and rate_error [rad/s] to the goal; torque (instants, n, 3), the mean torque [N m] of each
    control period, body axes, nan at the start; actions (instants, n, channels) likewise;
    relative (instants, n, 4), attitude relative to the target where the task has one, else None.
    dt: control period [s]. settled: angle [rad] and rate [rad/s] within which the task is done.
    """

    seeds: NDArray[np.int64]
    category: NDArray[np.str_]
    returns: Array
    lengths: NDArray[np.int64]
    success: NDArray[np.bool_]
    attitude_error: Array
    rate_error: Array
    torque: Array
    actions: Array
    relative: Array | None
    dt: float
    settled: tuple[float, float]

    @property
    def time(self) -> Array:
        """Instants of the histories [s]."""
        return np.asarray(self.dt * np.arange(len(self.attitude_error)), dtype=np.float64)


def has_test_set(env_id: str) -> bool:
    """Whether the env is a task of rbgym: its categories of start states make a test set."""
    return isinstance(getattr(_creator(env_id), "task", None), Task)


def task_of(env_id: str) -> Task:
    """The declaration of a registered task. Raises ValueError for an env that is none."""
    task = getattr(_creator(env_id), "task", None)
    if not isinstance(task, Task):
        raise ValueError(f"env_id must be a task of rbgym, got {env_id!r}")
    return task


def spec_of(env_id: str) -> Any:
    """The registered spec of an env, also of "module:Env-v0"; Gymnasium's error if none is."""
    if not isinstance(env_id, str):
        raise ValueError(f"env_id must be the id of an env, got {env_id!r}")
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except (ModuleNotFoundError, TypeError, ValueError) as error:
            raise ValueError(
                f"env_id must name a module there is, got {env_id!r}: {error}"
            ) from None
    return gym.spec(name)


def by_name(argument: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Arguments of an env by their names, as a dict of its own; ValueError for what is none, and
    for names that are said elsewhere: which env it is, how many, and what is done with it."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{argument} must be a dict of arguments by name, got {value!r}")
    taken = sorted(_TAKEN & value.keys())
    if taken:
        raise ValueError(f"{argument} must hold arguments of the environment alone, got {taken}")
    return dict(value)


def _creator(env_id: str) -> Any:
    entry_point = spec_of(env_id).entry_point
    return load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point


def play(
    policy: Policy | str, env_id: str = "RigidTop-v0", episodes: int = 256, **env_kwargs: Any
) -> Episodes:
    """Run one episode from each of the first `episodes` states of the task's test set.

    The states go round the categories of the task, which decide on `initial`. policy: whatever has
    `predict`; of a Stable-Baselines3 model with a VecNormalize, observations are normalised as they
    were last, and its statistics stay; or a controller's name, or "pretrained". env_kwargs:
    arguments of the env, of which `initial` plays no part: the test set is always the same. Raises
    ValueError for bad arguments.
    """
    if isinstance(policy, str) and policy == PRETRAINED:
        from rbgym.agents import comparison

        policy = comparison.load(PRETRAINED, env_id)
        env_kwargs = comparison.own_kwargs(policy, env_id, env_kwargs)
    return joined(
        [
            play_category(policy, env_id, one.category, one.seeds, env_kwargs | one.kwargs)
            for one in starts_of(env_id, episodes)
        ]
    )


class Starts(NamedTuple):
    """Start states of one category: their seeds, and what the category wants as `initial`."""

    category: str
    initial: Mapping[str, float]
    seeds: list[int]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The argument of the env."""
        return {"initial": self.initial}


def starts_of(env_id: str, episodes: int = len(TEST_SEEDS)) -> list[Starts]:
    """The first `episodes` starts of a task's test set; ValueError if it has not so many."""
    whole = isinstance(episodes, int | np.integer) and is_number(episodes)
    if not whole or not 1 <= episodes <= len(TEST_SEEDS):
        raise ValueError(f"episodes must be from 1 to {len(TEST_SEEDS)}, got {episodes!r}")
    return shared(env_id, TEST_SEEDS[:episodes])


def start_of(env_id: str, episode: int) -> tuple[int, dict[str, Any]]:
    """Seed and env arguments of one episode of a task's test set, counted from 0."""
    seed = TEST_SEEDS[episode]
    one = next(one for one in starts_of(env_id, episode + 1) if seed in one.seeds)
    return seed, one.kwargs


def shared(env_id: str, seeds: range) -> list[Starts]:
    """The seeds, dealt out among the categories of a task."""
    categories = task_of(env_id).categories
    dealt = [
        Starts(category, initial, list(seeds[k :: len(categories)]))
        for k, (category, initial) in enumerate(categories.items())
    ]
    return [one for one in dealt if one.seeds]


def play_category(
    policy: Policy | str, env_id: str, category: str, seeds: list[int], env_kwargs: dict[str, Any]
) -> Episodes:
    """One episode from each of the states that these seeds draw."""
    env = gym.make_vec(
        env_id, num_envs=len(seeds), autoreset_mode=AutoresetMode.DISABLED, **env_kwargs
    )
    try:
        chosen = controllers.make(policy, env) if isinstance(policy, str) else _whole(policy)
        if not callable(getattr(chosen, "predict", None)):
            raise ValueError(f"policy must be a controller's name or have predict, got {policy!r}")
        return _Play(env, seeds, category).run(chosen)
    finally:
        env.close()


def _whole(policy: Any) -> Any:
    """The policy; of a Stable-Baselines3 model, with the normaliser that it was trained behind."""
    normalizer = getattr(policy, "get_vec_normalize_env", lambda: None)()
    if normalizer is None:
        return policy
    from rbgym.agents.policies import TrainedPolicy

    return TrainedPolicy.of(policy, normalizer)


class _Play:
    """The first episode of each lane of a vector env in DISABLED mode."""

    def __init__(self, env: Any, seeds: list[int], category: str) -> None:
        n = env.num_envs
        self.env, self.seeds, self.category = env, seeds, category
        self.running = np.ones(n, dtype=np.bool_)
        self.returns, self.lengths = np.zeros(n), np.zeros(n, dtype=np.int64)
        self.success = np.zeros(n, dtype=np.bool_)
        self.target = isinstance(env.unwrapped.goal, Target) and _shows_quaternion(env)
        self.histories: dict[str, list[Array]] = {name: [] for name in _HISTORIES}

    def run(self, policy: Policy) -> Episodes:
        obs, info = self.env.reset(seed=self.seeds)
        nothing = np.full((len(self.seeds), self.env.single_action_space.shape[0]), np.nan)
        self._record(obs, info, nothing, np.full((len(self.seeds), 3), np.nan))
        start, state = np.ones(len(self.seeds), dtype=np.bool_), None
        while self.running.any():
            actions, state = policy.predict(
                obs, state=state, episode_start=start, deterministic=True
            )
            obs, rewards, terminated, truncated, info = self.env.step(actions)
            self.returns[self.running] += rewards[self.running]
            self.lengths[self.running] += 1
            self._record(obs, info, actions, info["applied_torque"])
            start = done = terminated | truncated
            ended = done & self.running
            if ended.any():
                self.success[ended] = np.asarray(info["is_success"])[ended]
                self.running &= ~done
            if done.any() and self.running.any():
                obs, _ = self.env.reset(options={"reset_mask": done.copy()})
        return self._episodes()

    def _record(self, obs: Any, info: Any, actions: Any, torque: Any) -> None:
        self._keep("attitude_error", info["attitude_error"])
        self._keep("rate_error", info["rate_error"])
        self._keep("torque", torque)
        self._keep("actions", actions)
        if self.target:
            seen = relative(obs) if isinstance(obs, dict) else obs
            self._keep("relative", seen[:, :4])

    def _keep(self, name: str, values: Any) -> None:
        values = np.asarray(values, dtype=np.float64)
        running = self.running.reshape(-1, *(1,) * (values.ndim - 1))
        self.histories[name].append(np.where(running, values, np.nan))

    def _episodes(self) -> Episodes:
        base = self.env.unwrapped
        relative = self.histories.pop("relative")
        return Episodes(
            seeds=np.array(self.seeds),
            category=np.array([self.category] * len(self.seeds)),
            returns=self.returns,
            lengths=self.lengths,
            success=self.success,
            relative=np.stack(relative) if relative else None,
            dt=float(base.dt),
            settled=(base.task.angle, base.task.rate),
            **{name: np.stack(values) for name, values in self.histories.items()},
        )


def _shows_quaternion(env: Any) -> bool:
    """Whether an observation begins with the quaternion (w, x, y, z), w >= 0, or can be made to."""
    space = env.single_observation_space
    if env.unwrapped.task.split:
        return True
    low, high = FORMS["quaternion"].low, FORMS["quaternion"].high
    return bool((space.low[:4] == low).all() and (space.high[:4] == high).all())


def joined(parts: list[Episodes]) -> Episodes:
    """All of them, in the order of their seeds, whatever their categories."""
    order = np.argsort(np.concatenate([part.seeds for part in parts]))
    instants = max(len(part.attitude_error) for part in parts)

    def lanes(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])[order]

    def history(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        if any(value is None for value in values):
            return None
        return np.concatenate([_padded(value, instants) for value in values], axis=1)[:, order]

    first = parts[0]
    return Episodes(
        **{n: lanes(n) for n in ("seeds", "category", "returns", "lengths", "success")},
        **{
            n: history(n) for n in ("attitude_error", "rate_error", "torque", "actions", "relative")
        },
        dt=first.dt,
        settled=first.settled,
    )


def _padded(values: Array, instants: int) -> Array:
    """The history, with nan up to so many instants."""
    missing = (0, instants - len(values))
    return np.pad(values, (missing, *((0, 0),) * (values.ndim - 1)), constant_values=np.nan)
