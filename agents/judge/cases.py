"""The fixed start states of a task, and what a policy makes of them."""

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rbgym.agents import controllers
from rbgym.agents.controllers import Policy, eigenaxis_time
from rbgym.agents.controllers.base import relative
from rbgym.agents.policies.trained import TrainedPolicy
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
# Of Episodes: one value of each episode, and one of each instant and episode.
_LANES = ("seeds", "category", "returns", "lengths", "success", "least_time")
_HISTORIES = ("attitude_error", "rate_error", "torque", "actions", "relative")


@dataclass(frozen=True)
class Episodes:
    """One episode from each of n start states, in the order of their seeds.

    category (n,): the task's, of each start. returns, lengths [steps], success (n,). least_time
    (n,): of a turn from the start to the target about the eigenaxis [s], nan where the start is not
    at rest or there is no such bound.
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
    least_time: Array
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

    def chosen(self, lanes: NDArray[Any]) -> "Episodes":
        """Some of the episodes: a mask (n,), or their places in order."""
        found = {name: getattr(self, name)[lanes] for name in _LANES}
        found |= {name: getattr(self, name)[:, lanes] for name in _HISTORIES if self._has(name)}
        return Episodes(**(vars(self) | found))

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None


def joined(parts: list[Episodes]) -> Episodes:
    """All of them, in the order of their seeds, whatever their categories."""
    instants = max(len(part.attitude_error) for part in parts)
    found = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _LANES}
    for name in _HISTORIES:
        if all(part._has(name) for part in parts):
            histories = [_padded(getattr(part, name), instants) for part in parts]
            found[name] = np.concatenate(histories, axis=1)
    return Episodes(**(vars(parts[0]) | found)).chosen(np.argsort(found["seeds"]))


def _padded(values: Array, instants: int) -> Array:
    """The history, with nan up to so many instants."""
    missing = (0, instants - len(values))
    return np.pad(values, (missing, *((0, 0),) * (values.ndim - 1)), constant_values=np.nan)


def has_test_set(env_id: str) -> bool:
    """Whether the env is a task of rbgym: its categories of start states make a test set."""
    return isinstance(_task(env_id), Task)


def task_of(env_id: str) -> Task:
    """The declaration of a registered task. Raises ValueError for an env that is none."""
    task = _task(env_id)
    if not isinstance(task, Task):
        raise ValueError(f"env_id must be a task of rbgym, got {env_id!r}")
    return task


def _task(env_id: str) -> Any:
    creator: Any = spec_of(env_id).entry_point
    creator = load_env_creator(creator) if isinstance(creator, str) else creator
    return getattr(creator, "task", None)


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
    """The first `episodes` start states of a task's test set, by category; the n-th of each
    category has every n-th seed. Raises ValueError for more than there are."""
    whole = is_number(episodes) and episodes == int(episodes)
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
        from rbgym.agents.judge import comparison

        policy = comparison.load(PRETRAINED, env_id)
        env_kwargs = comparison.own_kwargs(policy, env_id, env_kwargs)
    return play_from(starts_of(env_id, episodes), policy, env_id, env_kwargs)


def play_from(
    starts: Iterable[Starts], policy: Policy | str, env_id: str, env_kwargs: Mapping[str, Any]
) -> Episodes:
    """One episode from each of these start states."""
    parts = []
    for one in starts:
        mode: dict[str, Any] = {"autoreset_mode": AutoresetMode.DISABLED}
        env = gym.make_vec(env_id, len(one.seeds), **mode, **{**env_kwargs, **one.kwargs})
        try:
            parts.append(_Play(env, one).run(_player(policy, env)))
        finally:
            env.close()
    return joined(parts)


def _player(policy: Any, env: Any) -> Any:
    """What has `predict`: a controller made for the env; a Stable-Baselines3 model with the
    normaliser that it was trained behind; or the policy itself."""
    player = controllers.make(policy, env) if isinstance(policy, str) else policy
    if not callable(getattr(player, "predict", None)):
        raise ValueError(f"policy must be a controller's name or have predict, got {policy!r}")
    return TrainedPolicy.of(player) if hasattr(player, "get_vec_normalize_env") else player


class _Play:
    """The first episode of each lane of a vector env in DISABLED mode."""

    def __init__(self, env: Any, start: Starts) -> None:
        n = env.num_envs
        self.env, self.start = env, start
        self.running = np.ones(n, dtype=np.bool_)
        self.returns, self.lengths = np.zeros(n), np.zeros(n, dtype=np.int64)
        self.success = np.zeros(n, dtype=np.bool_)
        self.target = isinstance(env.unwrapped.goal, Target) and _shows_quaternion(env)
        self.histories: dict[str, list[Array]] = {name: [] for name in _HISTORIES}

    def run(self, policy: Policy) -> Episodes:
        n = len(self.running)
        obs, info = self.env.reset(seed=self.start.seeds)
        nothing = np.full((n, self.env.single_action_space.shape[0]), np.nan)
        self._record(obs, info, nothing, np.full((n, 3), np.nan))
        start, state = np.ones(n, dtype=np.bool_), None
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
        seen = {"attitude_error": info["attitude_error"], "rate_error": info["rate_error"],
                "torque": torque, "actions": actions}  # fmt: skip
        if self.target:
            seen["relative"] = (relative(obs) if isinstance(obs, dict) else obs)[:, :4]
        for name, values in seen.items():
            values = np.asarray(values, dtype=np.float64)
            running = self.running.reshape(-1, *(1,) * (values.ndim - 1))
            self.histories[name].append(np.where(running, values, np.nan))

    def _episodes(self) -> Episodes:
        base, n = self.env.unwrapped, len(self.running)
        found: Any = {k: np.stack(v) if v else None for k, v in self.histories.items()}
        return Episodes(
            seeds=np.array(self.start.seeds),
            category=np.array([self.start.category] * n),
            returns=self.returns,
            lengths=self.lengths,
            success=self.success,
            least_time=_least_time(base, found["relative"], found["rate_error"][0]),
            dt=float(base.dt),
            settled=(base.task.angle, base.task.rate),
            **found,
        )


def _least_time(env: Any, attitude: Array | None, rate_error: Array) -> Array:
    """`Episodes.least_time`. attitude: relative to the target, (instants, n, 4)."""
    limit = np.asarray(env.torque_limit)
    if attitude is None or not (limit > 0).all():
        return np.full(len(rate_error), np.nan)
    q = attitude[0]
    angle = 2.0 * np.arctan2(np.linalg.norm(q[:, 1:], axis=1), np.abs(q[:, 0]))
    fair = (rate_error < 1e-6) & (angle > env.task.angle)
    axis = np.where(fair[:, None], q[:, 1:], [1.0, 0.0, 0.0])
    least = eigenaxis_time(np.where(fair, angle, 1.0), axis, env.body.inertia, limit)
    return np.where(fair, least, np.nan)


def _shows_quaternion(env: Any) -> bool:
    """Whether an observation begins with the quaternion (w, x, y, z), w >= 0, or can be made to."""
    space = env.single_observation_space
    if env.unwrapped.task.split:
        return True
    low, high = FORMS["quaternion"].bounds()
    return bool((space.low[:4] == low).all() and (space.high[:4] == high).all())
