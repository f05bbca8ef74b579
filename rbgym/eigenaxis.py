"""Rest-to-rest rotations about an axis fixed in the body."""

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import Array, real
from rbgym.inertia import full_tensor


def slowness(axis: ArrayLike, inertia: ArrayLike, torque_limit: ArrayLike) -> Array:
    """1 / a (...) [s^2/rad], a = min_i limit_i / |(J e)_i| the largest acceleration about e.

    axis: (..., 3), of any length but 0. inertia: (3,) or (3, 3) [kg m^2]; its moments are not
    checked. torque_limit: () or (3,) [N m], body axes; the result is inf if an axis with momentum
    has limit 0. Raises ValueError for arguments outside these ranges.
    """
    e, limits = real("axis", axis), real("torque_limit", torque_limit)
    size = np.zeros(1)
    if e.shape[-1:] == (3,):
        # Scaled by a power of two, which changes no digit, so that no square over- or underflows.
        e = np.ldexp(e, -np.frexp(np.abs(e).max(axis=-1, keepdims=True))[1])
        size = np.linalg.norm(e, axis=-1, keepdims=True)
    if not (np.isfinite(size) & (size > 0)).all():
        raise ValueError(f"axis must be vectors (..., 3) other than 0, got {axis!r}")
    if limits.shape not in ((), (3,)) or not (limits >= 0).all():
        raise ValueError(f"torque_limit must be () or (3,), not negative, got {torque_limit!r}")
    momentum = np.abs(e / size @ full_tensor(inertia))
    # For each axis by itself, the time to reach its part of the momentum at 1 rad/s.
    with np.errstate(over="ignore"):
        parts = np.divide(momentum, limits, out=np.full_like(momentum, np.inf), where=limits > 0)
    least = 1e-12 * momentum.max(axis=-1, keepdims=True)
    return np.asarray(np.max(np.where(momentum > least, parts, 0.0), axis=-1))


def eigenaxis_time(
    angle: ArrayLike,
    axis: ArrayLike,
    inertia: ArrayLike,
    torque_limit: ArrayLike,
    rate_limit: ArrayLike | None = None,
) -> Array:
    """Least time [s] of a rest-to-rest rotation about an axis fixed in the body.

    With J_e = |J e| and t_e the largest torque along J e, so that a = t_e / J_e =
    min_i limit_i / |(J e)_i|, full torque one way and then the other takes

        T = 2 sqrt(angle J_e / t_e) = 2 sqrt(angle / a),

    or, if its peak rate sqrt(a angle) exceeds r = rate_limit,

        T = angle / r + r / a.

    This is exact about principal axes. About any other axis the torque must also balance
    omega x J omega, which can help to accelerate but costs as much in braking: T is then a lower
    bound for that axis. Rotations whose axis moves can be faster (Bilimoria & Wie 1993,
    Time-optimal three-axis reorientation of a rigid spacecraft, J. Guidance 16(3)).

    angle: (...) [rad], not negative. axis, inertia, torque_limit: as in `slowness`. rate_limit:
    (...) [rad/s]. Result (...). Raises ValueError for arguments outside these ranges.
    """
    turn = real("angle", angle)
    if not (np.isfinite(turn) & (turn >= 0)).all():
        raise ValueError(f"angle must be finite and not negative, got {angle!r}")
    most = np.inf if rate_limit is None else real("rate_limit", rate_limit)
    if not np.all(most > 0):
        raise ValueError(f"rate_limit must be positive or None, got {rate_limit!r}")
    slow = slowness(axis, inertia, torque_limit)
    try:
        np.broadcast_shapes(turn.shape, slow.shape, np.shape(most))
    except ValueError:
        raise ValueError(
            "angle, axis and rate_limit must have leading axes that broadcast, got shapes "
            f"{turn.shape}, {np.shape(axis)} and {np.shape(most)}"
        ) from None
    slow = np.where(turn > 0.0, slow, 0.0)  # no turn takes no time, even without torque
    with np.errstate(
        invalid="ignore", over="ignore"
    ):  # inf - inf and 0 inf in the branch that is not used
        limited = turn / most + most * slow
        return np.where(turn > most**2 * slow, limited, 2.0 * np.sqrt(turn * slow))
