"""Figures of merit of single episodes, from their histories."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers import eigenaxis_time
from rbgym.agents.judge.cases import Episodes
from rbgym.agents.judge.evaluation import settling

Array = NDArray[np.float64]


def final_error(played: Episodes) -> Array:
    """Attitude error [rad] at the end of each episode, (n,)."""
    last: Array = played.attitude_error[played.lengths, np.arange(len(played.lengths))]
    return last


def overshoot(played: Episodes) -> Array:
    """Largest attitude error [rad] after the first within the settled angle; nan if there is none.

    0 where the error stays within. (n,)
    """
    angle, most = played.attitude_error, played.settled[0]
    reached = np.logical_or.accumulate(angle < most)
    after = np.where(reached & ~np.isnan(angle), angle, -np.inf).max(axis=0)
    return np.where(reached[-1], np.where(after > most, after, 0.0), np.nan)


def effort(played: Episodes) -> Array:
    """Integral of the size of the torque [N m s], (n,)."""
    return np.asarray(np.nansum(np.linalg.norm(played.torque, axis=-1), axis=0) * played.dt)


def torque_variation(played: Episodes) -> Array:
    """Sum of the sizes of the torque's changes from period to period [N m], (n,)."""
    changes = np.linalg.norm(np.diff(played.torque[1:], axis=0), axis=-1)
    return np.asarray(np.nansum(changes, axis=0))


def unwound(played: Episodes) -> NDArray[np.bool_] | None:
    """Whether a successful episode came to its target by the long way round, (n,).

    Followed without jumps from the quaternion of positive scalar part, it ended at -1 instead of 1.
    None for a task without a target attitude.
    """
    if played.relative is None:
        return None
    q = played.relative
    steps = np.nan_to_num(np.sum(q[1:] * q[:-1], axis=-1), nan=1.0)
    sign = np.cumprod(np.where(steps < 0, -1.0, 1.0), axis=0)
    last, lanes = played.lengths, np.arange(len(played.lengths))
    # The first instant counts for w = 0 too: of two ways of one length neither is long.
    end = sign[last - 1, lanes] * q[last, lanes, 0] * np.where(q[0, :, 0] < 0, -1.0, 1.0)
    long_way: NDArray[np.bool_] = played.success & (end < 0)
    return long_way


def share_of_eigenaxis_bound(played: Episodes, env: Any) -> Array | None:
    """Settling time over the least time of a turn about the eigenaxis, (n,).

    nan where the episode did not start at rest or did not succeed. None where there is no such
    bound: without a target attitude, or without a torque limit about every axis.
    env: the single env of the task, which tells inertia and limits.
    """
    limit = np.asarray(env.torque_limit)
    if played.relative is None or not (limit > 0).all():
        return None
    q, time = played.relative[0], settling(played)
    size = np.linalg.norm(q[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(size, np.abs(q[:, 0]))
    fair = (played.rate_error[0] < 1e-6) & played.success & (angle > played.settled[0])
    axis = np.where(fair[:, None], q[:, 1:], [1.0, 0.0, 0.0])
    bound = eigenaxis_time(np.where(fair, angle, 1.0), axis, env.body.inertia, limit)
    return np.where(fair & np.isfinite(time), time, np.nan) / bound
