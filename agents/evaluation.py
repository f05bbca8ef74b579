"""Policies and classical controllers measured on one fixed set of start states."""

import math
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from rbgym.agents import controllers
from rbgym.agents.controllers import Policy

Array = NDArray[np.float64]

# Start states are drawn from the lane's own seed: these never meet those of a training run.
TEST_SEEDS = range(1_000_000, 1_000_256)


@dataclass(frozen=True)
class Evaluation:
    """What `episodes` episodes on the fixed test set gave.

    success_interval: Wilson's 95 % interval of the success rate. final_error: median angle [deg].
    settling_time: median over the successes [s], None without any. length: mean [steps].
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
    """Run one episode from each of the first `episodes` states of the test set.

    policy: whatever has `predict`, e.g. a Stable-Baselines3 model, or a controller's name.
    env_kwargs: arguments of the env. Raises ValueError for bad arguments.
    """
    if not 1 <= episodes <= len(TEST_SEEDS):
        raise ValueError(f"episodes must be from 1 to {len(TEST_SEEDS)}, got {episodes!r}")
    env = gym.make_vec(
        env_id, num_envs=episodes, autoreset_mode=AutoresetMode.DISABLED, **env_kwargs
    )
    try:
        chosen = controllers.make(policy, env) if isinstance(policy, str) else policy
        return _summary(_Rollout(env).run(chosen))
    finally:
        env.close()


class _Rollout:
    """The first episode of each lane of a vector env in DISABLED mode."""

    def __init__(self, env: Any) -> None:
        n = env.num_envs
        self.env = env
        self.dt = float(env.unwrapped.dt)
        self.running = np.ones(n, dtype=np.bool_)
        self.returns, self.lengths = np.zeros(n), np.zeros(n, dtype=np.int64)
        self.success = np.zeros(n, dtype=np.bool_)
        self.settled = env.unwrapped.task.angle, env.unwrapped.task.rate
        self.attitude_error: list[Array] = []
        self.rate_error: list[Array] = []

    def run(self, policy: Policy) -> "_Rollout":
        n = self.env.num_envs
        obs, info = self.env.reset(seed=list(TEST_SEEDS[:n]))
        self._record(info)
        start, state = np.ones(n, dtype=np.bool_), None
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


def _summary(rollout: _Rollout) -> Evaluation:
    angle, rate = np.stack(rollout.attitude_error), np.stack(rollout.rate_error)
    n = angle.shape[1]
    success = rollout.success
    inside = (angle < rollout.settled[0]) & (rate < rollout.settled[1])
    settled = settling_times(inside, rollout.dt)
    successes = int(success.sum())
    return Evaluation(
        episodes=n,
        mean_return=float(rollout.returns.mean()),
        std_return=float(rollout.returns.std()),
        success_rate=successes / n,
        success_interval=wilson_interval(successes, n),
        final_error=float(np.degrees(np.median(angle[rollout.lengths, np.arange(n)]))),
        settling_time=float(np.median(settled[success])) if successes else None,
        length=float(rollout.lengths.mean()),
        time=np.asarray(rollout.dt * np.arange(len(angle)), dtype=np.float64),
        attitude_error=angle,
        rate_error=rate,
        settled=rollout.settled,
    )


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
