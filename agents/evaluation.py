"""Policies and classical controllers measured on one fixed set of start states."""

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rbgym.agents import controllers
from rbgym.agents.controllers import Policy
from rbgym.envs.task import Task

Array = NDArray[np.float64]

# Start states are drawn from the lane's own seed: these never meet those of a training run. A
# quarter of them is for each category of the task. The set's version is the env's.
TEST_SEEDS = range(1_000_000, 1_000_256)


@dataclass(frozen=True)
class Evaluation:
    """What `episodes` episodes on the fixed test set gave.

    success_interval: Wilson's 95 % interval of the success rate. final_error: median angle [deg].
    settling_time: median over the successes [s], None without any. length: mean [steps].
    by_category: success rate in each of the task's categories.
    time (steps+1,) [s]; attitude_error (steps+1, n) [rad] and rate_error (steps+1, n) [rad/s], how
    far from the goal, are nan after a lane's end. settled: angle [rad] and rate [rad/s] within
    which the task counts as done.
    """

    episodes: int
    mean_return: float
    std_return: float
    success_rate: float
    success_interval: tuple[float, float]
    final_error: float
    settling_time: float | None
    length: float
    by_category: dict[str, float]
    time: Array = field(repr=False)
    attitude_error: Array = field(repr=False)
    rate_error: Array = field(repr=False)
    settled: tuple[float, float] = (0.0, 0.0)

    def as_dict(self) -> dict[str, Any]:
        """The numbers without the histories, ready for JSON."""
        histories = ("time", "attitude_error", "rate_error")
        return {name: value for name, value in vars(self).items() if name not in histories}


def evaluate(
    policy: Policy | str, env_id: str = "RigidTop-v0", episodes: int = 256, **env_kwargs: Any
) -> Evaluation:
    """Run one episode from each of the first `episodes` states of the task's test set.

    The states go round the categories of the task, which decide on `initial`. policy: whatever has
    `predict`, e.g. a Stable-Baselines3 model, or a controller's name. env_kwargs: arguments of the
    env, of which `initial` plays no part: the test set is always the same. Raises ValueError for
    bad arguments.
    """
    rollouts = {}
    for case in starts_of(env_id, episodes):
        kwargs = {**env_kwargs, "initial": case.initial}
        rollouts[case.category] = _rollout(policy, env_id, case.seeds, kwargs)
    return _summary(rollouts)


class Starts(NamedTuple):
    """Starts of the test set that belong to one category, and what it wants as `initial`."""

    category: str
    initial: Mapping[str, float]
    seeds: list[int]


def starts_of(env_id: str, episodes: int = len(TEST_SEEDS)) -> list[Starts]:
    """The first `episodes` starts of a task's test set; ValueError if it has not so many."""
    if not 1 <= episodes <= len(TEST_SEEDS):
        raise ValueError(f"episodes must be from 1 to {len(TEST_SEEDS)}, got {episodes!r}")
    categories = task_of(env_id).categories
    cases = [
        Starts(category, initial, list(TEST_SEEDS[:episodes][k :: len(categories)]))
        for k, (category, initial) in enumerate(categories.items())
    ]
    return [case for case in cases if case.seeds]


def task_of(env_id: str) -> Task:
    """The declaration of a registered task; ValueError for an env that is none of rbgym's."""
    module, _, name = env_id.rpartition(":")
    if module:
        importlib.import_module(module)
    creator: Any = load_env_creator(str(gym.spec(name).entry_point))
    if not isinstance(getattr(creator, "task", None), Task):
        raise ValueError(f"env_id must name a task of rbgym, got {env_id!r}")
    task: Task = creator.task
    return task


def _rollout(
    policy: Policy | str, env_id: str, seeds: list[int], kwargs: dict[str, Any]
) -> "_Rollout":
    env = gym.make_vec(env_id, num_envs=len(seeds), autoreset_mode=AutoresetMode.DISABLED, **kwargs)
    try:
        chosen = controllers.make(policy, env) if isinstance(policy, str) else policy
        return _Rollout(env, seeds).run(chosen)
    finally:
        env.close()


class _Rollout:
    """The first episode of each lane of a vector env in DISABLED mode."""

    def __init__(self, env: Any, seeds: list[int]) -> None:
        n = env.num_envs
        self.env, self.seeds = env, seeds
        self.dt = float(env.unwrapped.dt)
        self.running = np.ones(n, dtype=np.bool_)
        self.returns, self.lengths = np.zeros(n), np.zeros(n, dtype=np.int64)
        self.success = np.zeros(n, dtype=np.bool_)
        self.settled = env.unwrapped.task.angle, env.unwrapped.task.rate
        self.attitude_error: list[Array] = []
        self.rate_error: list[Array] = []

    def run(self, policy: Policy) -> "_Rollout":
        obs, info = self.env.reset(seed=self.seeds)
        self._record(info)
        start, state = np.ones(len(self.seeds), dtype=np.bool_), None
        while self.running.any():
            actions, state = policy.predict(
                obs, state=state, episode_start=start, deterministic=True
            )
            obs, rewards, terminated, truncated, info = self.env.step(actions)
            self.returns[self.running] += rewards[self.running]
            self.lengths[self.running] += 1
            self._record(info)
            start = done = terminated | truncated
            ended = done & self.running
            if ended.any():
                self.success[ended] = np.asarray(info["is_success"])[ended]
                self.running &= ~done
            if done.any() and self.running.any():
                obs, _ = self.env.reset(options={"reset_mask": done.copy()})
        return self

    def _record(self, info: Any) -> None:
        self.attitude_error.append(np.where(self.running, info["attitude_error"], np.nan))
        self.rate_error.append(np.where(self.running, info["rate_error"], np.nan))


def _summary(rollouts: dict[str, _Rollout]) -> Evaluation:
    runs = list(rollouts.values())
    first, steps = runs[0], max(len(run.rate_error) for run in runs)
    # Back in the order of the seeds, whatever their categories.
    order = np.argsort(np.concatenate([run.seeds for run in runs]))
    angle = np.concatenate([_padded(run.attitude_error, steps) for run in runs], axis=1)[:, order]
    rate = np.concatenate([_padded(run.rate_error, steps) for run in runs], axis=1)[:, order]
    lengths = np.concatenate([run.lengths for run in runs])[order]
    returns = np.concatenate([run.returns for run in runs])[order]
    success = np.concatenate([run.success for run in runs])[order]
    n, successes = len(success), int(success.sum())
    inside = (angle < first.settled[0]) & (rate < first.settled[1])
    settled = settling_times(inside | np.isnan(angle), first.dt)
    return Evaluation(
        episodes=n,
        mean_return=float(returns.mean()),
        std_return=float(returns.std()),
        success_rate=successes / n,
        success_interval=wilson_interval(successes, n),
        final_error=float(np.degrees(np.median(angle[lengths, np.arange(n)]))),
        settling_time=float(np.median(settled[success])) if successes else None,
        length=float(lengths.mean()),
        by_category={name: float(run.success.mean()) for name, run in rollouts.items()},
        time=np.asarray(first.dt * np.arange(steps), dtype=np.float64),
        attitude_error=angle,
        rate_error=rate,
        settled=first.settled,
    )


def _padded(history: list[Array], steps: int) -> Array:
    """The history (instants, n), with nan up to `steps` instants."""
    values = np.stack(history)
    return np.pad(values, ((0, steps - len(values)), (0, 0)), constant_values=np.nan)


def settling_times(inside: NDArray[np.bool_], dt: float) -> Array:
    """First time [s] from which a lane stays inside to the end, inf if it ends outside; (n,).

    inside: (instants, n), the first at time 0. dt: between two instants [s].
    """
    lasting = np.logical_and.accumulate(inside[::-1])[::-1]
    times: Array = np.where(lasting[-1], dt * lasting.argmax(axis=0), np.inf)
    return times


def wilson_interval(
    successes: int, trials: int, z: float = 1.959963984540054
) -> tuple[float, float]:
    """Confidence interval of a proportion, 95 % by default.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"successes must be from 0 to trials, got {successes} of {trials}")
    p = successes / trials
    center = p + z * z / (2 * trials)
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials**2))
    scale = 1 + z * z / trials
    return max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale)
