"""The fastest turn from rest to rest about a fixed axis."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import number, real
from rbgym.inertia import full_tensor
from rbgym.quaternion import Array


def acceleration(axis: Array, inertia: Array, envelope: Array) -> Array:
    """Largest angular acceleration (n,) [rad/s^2] about unit axes (n, 3) that do not turn.

    inertia: (3, 3). envelope: (k, 3) [1/(N m)], the torques u with |envelope u| <= 1.
    """
    excess: Array = np.max(np.abs(axis @ inertia @ envelope.T), axis=-1)
    return np.divide(1.0, excess, out=np.full_like(excess, np.inf), where=excess > 0)


def gyroscopic_load(axis: Array, inertia: Array, envelope: Array) -> Array:
    """Part of the limits that a turn with 1 rad/s about unit axes (n, 3) takes to stay there, (n,).

    At another rate w that is |envelope (e x J e)| w^2. Arguments as for `acceleration`.
    """
    torque = np.cross(axis, axis @ inertia)
    load: Array = np.max(np.abs(torque @ envelope.T), axis=-1)
    return load


def eigenaxis_time(
    angle: ArrayLike,
    axis: ArrayLike,
    inertia: ArrayLike,
    torque_limit: ArrayLike,
    rate_limit: float | None = None,
) -> Array:
    """Least time [s] of a turn from rest to rest about an axis fixed in the body.

    With J_e = |J e| and t_e the largest torque along J e, so that a = t_e / J_e =
    min_i limit_i / |(J e)_i|, full torque one way and then the other takes

        T = 2 sqrt(angle J_e / t_e) = 2 sqrt(angle / a),

    or, where the rate sqrt(a angle) of its middle is beyond r = rate_limit,

        T = angle / r + r / a.

    That is exact about principal axes. About another, omega x J omega has to be had as well, which
    can help to speed up but costs as much in braking: T is then less than any such turn
    takes. It is no bound of turns whose axis wanders, some of which are faster (Bilimoria &
    Wie 1993, Time-optimal three-axis reorientation of a rigid spacecraft, J. Guidance 16(3)).

    angle: (...) [rad], not negative. axis: (..., 3), of any length but 0. inertia: (3,) or (3, 3)
    [kg m^2]. torque_limit: () or (3,) [N m], body axes; inf where an axis that is needed has none.
    rate_limit: [rad/s]. Result (...). Raises ValueError for arguments out of these ranges.
    """
    turn, e = real("angle", angle), real("axis", axis)
    limits = real("torque_limit", torque_limit)
    if not (np.isfinite(turn) & (turn >= 0)).all():
        raise ValueError(f"angle must be finite and not negative, got {angle!r}")
    if e.shape[-1:] != (3,):
        raise ValueError(f"axis must be vectors (..., 3) other than 0, got {axis!r}")
    size = np.linalg.norm(e, axis=-1, keepdims=True)
    if not (np.isfinite(size) & (size > 0)).all():
        raise ValueError(f"axis must be vectors (..., 3) other than 0, got {axis!r}")
    if limits.shape not in ((), (3,)) or not (limits >= 0).all():
        raise ValueError(f"torque_limit must be () or (3,), not negative, got {torque_limit!r}")
    if rate_limit is not None and not number(rate_limit) > 0:
        raise ValueError(f"rate_limit must be positive or None, got {rate_limit!r}")
    momentum = np.abs(e / size @ full_tensor(inertia))
    # The time in which each axis by itself gives the momentum of 1 rad/s.
    parts = np.divide(momentum, limits, out=np.full_like(momentum, np.inf), where=limits > 0)
    slowness = np.max(np.where(momentum > 1e-12 * momentum.max(), parts, 0.0), axis=-1)
    return _least_time(turn, slowness, np.inf if rate_limit is None else rate_limit)


def _least_time(turn: Array, slowness: Array, most: float) -> Array:
    """Of an angle [rad] at 1 / slowness rad/s^2 and at most so fast [rad/s]."""
    turn, slowness = np.broadcast_arrays(turn, slowness)
    free: NDArray[np.float64] = 2.0 * np.sqrt(turn * slowness)
    limited = turn / most + most * slowness if np.isfinite(most) else free
    return np.asarray(np.where(turn > most**2 * slowness, limited, free))
