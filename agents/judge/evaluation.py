"""Measures policies and classical controllers on one fixed set of start states."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.cases import SHIPPED, starts_of
from rbgym.agents.controllers import Policy
from rbgym.agents.judge.episodes import PlayedEpisodes, contenders, play_from
from rbgym.quaternion import Array


@dataclass(frozen=True)
class Evaluation:
    """Figures of `episodes` episodes on the fixed test set.

    success_interval: Wilson's 95 % interval of the success rate. by_category: success rates.
    length: mean [steps]. violating: share of the episodes that violate a constraint, or None.
    unwound: number of successes by the long way round. The others are medians, None where they do
    not apply: final_error, overshoot: of the attitude [deg], if the goal has one; settling_time
    [s], over the successes; effort [N m s]; torque_variation [N m]; wheel_turns: revolutions of a
    wheel; eigenaxis_share: settling time over the least time of a turn about the eigenaxis, from
    rest. played: the episodes.
    """

    episodes: int
    mean_return: float
    std_return: float
    success_rate: float
    success_interval: tuple[float, float]
    final_error: float | None
    settling_time: float | None
    length: float
    violating: float | None
    by_category: dict[str, float]
    overshoot: float | None
    effort: float
    torque_variation: float
    wheel_turns: float | None
    unwound: int | None
    eigenaxis_share: float | None
    played: PlayedEpisodes = field(repr=False)

    @property
    def rank(self) -> tuple[float, float, float]:
        """Sort key: success, then settling time, then effort; the least is best."""
        settled = math.inf if self.settling_time is None else self.settling_time
        return -self.success_rate, settled, self.effort

    def as_dict(self) -> dict[str, Any]:
        """The numbers without the histories, ready for JSON."""
        numbers = {name: value for name, value in vars(self).items() if name != "played"}
        return numbers | {"settled": self.played.settled}


def evaluate(
    policy: Policy | str,
    env_id: str = "RigidTop-v0",
    episodes: int = 256,
    *,
    split: str = "test",
    seed: int = 0,
    estimator: bool = False,
    **env_kwargs: Any,
) -> Evaluation:
    """Measure a policy on the first `episodes` start states of a task's test set.

    policy: any object with predict(observation, state, episode_start, deterministic), such as a
    Stable-Baselines3 model; a controller's name; or "pretrained", the package's policy,
    "pretrained-behind" or "pretrained-dispersed", those of the conditions, which bring the
    arguments of their training, except those that are given. split: "validation" for the set on
    which trainings select their policy, "fresh" for starts drawn by `seed`, also from your own
    `initial`. estimator: put `rbgym.agents.controllers.Estimating` in front of it. env_kwargs:
    arguments of the env. Raises ValueError for bad ones.
    """
    if isinstance(policy, str) and policy in SHIPPED:
        _, ((_, policy, env_kwargs),) = contenders([policy], env_id, env_kwargs)
    starts = starts_of(env_id, episodes, split, seed)
    if split == "fresh" and env_kwargs.get("initial") is not None:
        starts = starts._replace(categories=[])
    return summary(play_from(starts, policy, env_id, env_kwargs, estimator))


def summary(played: PlayedEpisodes) -> Evaluation:
    success = played.success
    n, successes = len(success), int(success.sum())
    times, long_way = settling(played), unwound(played)
    turning = bool(np.nanmax(played.attitude_error) > 0.0)  # 0 if any attitude will do
    reached = np.where(success & np.isfinite(times), times, np.nan)
    return Evaluation(
        episodes=n,
        mean_return=float(played.returns.mean()),
        std_return=float(played.returns.std()),
        success_rate=successes / n,
        success_interval=wilson_interval(successes, n),
        final_error=float(np.degrees(np.median(final_error(played)))) if turning else None,
        settling_time=_median(times[success]),
        length=float(played.lengths.mean()),
        violating=None if np.isnan(played.costs).any() else float((played.costs > 0.0).mean()),
        by_category={
            str(name): float(success[played.category == name].mean())
            for name in dict.fromkeys(played.category)
        },
        overshoot=_median(np.degrees(overshoot(played))) if turning else None,
        effort=float(np.median(effort(played))),
        torque_variation=float(np.median(torque_variation(played))),
        wheel_turns=_median(wheel_turns(played)),
        unwound=None if long_way is None else int(long_way.sum()),
        eigenaxis_share=_median(reached / played.least_time),
        played=played,
    )


def _median(values: Array) -> float | None:
    """The median of the values that are not nan; None if all are."""
    left = values[~np.isnan(values)]
    return float(np.median(left)) if len(left) else None


def settling(played: PlayedEpisodes) -> Array:
    """Time [s] from which each episode stays settled, inf where it does not; (n,)."""
    return settled_from(played.reached, played.lengths, played.dt, played.hold)


def settled_from(reached: Array, lengths: NDArray[np.int64], dt: float, hold: float) -> Array:
    """`settling` of n lanes. reached: (instants, n), 1.0 where the task is done, which needs `hold`
    [s]; what comes after a lane's last period counts as its end. lengths: (n,), in periods dt."""
    steps = np.minimum(np.arange(len(reached))[:, np.newaxis], lengths)
    done = reached[steps, np.arange(len(lengths))] == 1.0
    left = np.round(settling_times(done, dt) - hold, 9)  # 0.32, not 0.32000000000000006
    return np.maximum(left, 0.0)


def settling_times(inside: NDArray[np.bool_], dt: float) -> Array:
    """First time [s] from which a lane stays inside to the end, inf if it ends outside; (n,).
    inside: (instants, n), from time 0 on, dt [s] apart."""
    lasting = np.logical_and.accumulate(inside[::-1])[::-1]
    return np.where(lasting[-1], dt * lasting.argmax(axis=0), np.inf)


def final_error(played: PlayedEpisodes) -> Array:
    """Attitude error [rad] at the end of each episode, (n,)."""
    return played.attitude_error[played.lengths, np.arange(len(played.lengths))]


def overshoot(played: PlayedEpisodes) -> Array:
    """Largest attitude error [rad] after first settling, (n,); 0 if it stays in, nan if never."""
    angle, most = played.attitude_error, played.settled[0]
    reached = np.logical_or.accumulate(angle < most)
    after = np.where(reached & ~np.isnan(angle), angle, -np.inf).max(axis=0)
    return np.where(reached[-1], np.where(after > most, after, 0.0), np.nan)


def effort(played: PlayedEpisodes) -> Array:
    """Integral of the size of the torque [N m s], (n,)."""
    return np.asarray(np.nansum(np.linalg.norm(played.torque, axis=-1), axis=0) * played.dt)


def torque_variation(played: PlayedEpisodes) -> Array:
    """Sum of the sizes of the torque's changes from period to period [N m], (n,)."""
    changes = np.linalg.norm(np.diff(played.torque[1:], axis=0), axis=-1)
    return np.asarray(np.nansum(changes, axis=0))


def wheel_turns(played: PlayedEpisodes) -> Array:
    """Revolutions relative to the body, mean over the wheels, (n,); nan without wheels."""
    speed = np.abs(played.wheel_speed[1:])
    turned = np.nansum(speed, axis=0) * played.dt / (2.0 * math.pi)
    return np.asarray(turned.mean(axis=-1) if turned.shape[-1] else np.full(len(turned), np.nan))


def unwound(played: PlayedEpisodes) -> NDArray[np.bool_] | None:
    """Whether a success turned the long way round, (n,): its quaternion, continuous from a positive
    scalar part on, ended at -1 instead of 1. None without a target."""
    q = played.relative
    if np.isnan(q[0]).all():
        return None
    steps = np.nan_to_num(np.sum(q[1:] * q[:-1], axis=-1), nan=1.0)
    sign = np.cumprod(np.where(steps < 0, -1.0, 1.0), axis=0)
    last, lanes = played.lengths, np.arange(len(played.lengths))
    # A start at w = 0 counts as positive: both ways are of one length, so neither is long.
    end = sign[last - 1, lanes] * q[last, lanes, 0] * np.where(q[0, :, 0] < 0, -1.0, 1.0)
    return played.success & (end < 0)


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % confidence interval of a proportion. Source: Wilson (1927), JASA 22, 209-212."""
    p, z = successes / trials, 1.959963984540054
    center = p + z * z / (2 * trials)
    spread = z * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials**2))
    scale = 1 + z * z / trials
    return max(0.0, (center - spread) / scale), min(1.0, (center + spread) / scale)
