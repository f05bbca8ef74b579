"""Policies and classical controllers measured on one fixed set of start states."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers import Policy
from rbgym.agents.judge.cases import Episodes, play

Array = NDArray[np.float64]


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
    """What a policy, or the controller of that name, makes of the test set; arguments as `play`."""
    return summary(play(policy, env_id, episodes, **env_kwargs))


def summary(played: Episodes) -> Evaluation:
    """The figures of merit of these episodes."""
    n, successes = len(played.success), int(played.success.sum())
    settled = settling(played)
    angle, success = played.attitude_error, played.success
    return Evaluation(
        episodes=n,
        mean_return=float(played.returns.mean()),
        std_return=float(played.returns.std()),
        success_rate=successes / n,
        success_interval=wilson_interval(successes, n),
        final_error=float(np.degrees(np.median(angle[played.lengths, np.arange(n)]))),
        settling_time=float(np.median(settled[success])) if successes else None,
        length=float(played.lengths.mean()),
        by_category={
            str(name): float(success[played.category == name].mean())
            for name in dict.fromkeys(played.category)
        },
        time=played.time,
        attitude_error=angle,
        rate_error=played.rate_error,
        settled=played.settled,
    )


def settling(played: Episodes) -> Array:
    """Time [s] at which each episode settled for good, inf where it did not; (n,)."""
    angle, rate = played.attitude_error, played.rate_error
    inside = (angle < played.settled[0]) & (rate < played.settled[1])
    return settling_times(inside | np.isnan(angle), played.dt)


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
