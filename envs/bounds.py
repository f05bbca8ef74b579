"""How fast a body can turn one control period after the rate limit was last checked."""

import numpy as np

from rbgym.body import RigidBody
from rbgym.quaternion import Array

_SLACK = 1.05  # the schemes follow the motion only to their order


def rate_bounds(
    body: RigidBody, limit: float, torque: Array, dt: float, *, apart: bool = True
) -> Array:
    """Bounds (3,) [rad/s] of the body rates at most `dt` after |omega| was within `limit`.

    torque: largest torque about each axis [N m], all sources together.

    A body with two equal moments keeps its rate across the symmetry axis and its spin apart: each
    changes by its own torque only. Any other body can pour its energy into its smallest axis, and
    is bounded by energy: sqrt(J omega . omega) grows by at most |torque| dt / sqrt(J_min).
    apart: whether nothing couples these axes, as rotors would.
    """
    J = body.moments
    weak = float(np.linalg.norm(torque))
    energy = (np.sqrt(J.max()) * limit + weak * dt / np.sqrt(J.min())) / np.sqrt(J)
    bounds = energy
    if apart and np.array_equal(body.principal_rotation, np.eye(3)) and J[0] == J[1]:
        across = limit + np.hypot(torque[0], torque[1]) * dt / J[0]
        bounds = np.minimum(energy, [across, across, limit + torque[2] * dt / J[2]])
    elif not np.array_equal(body.principal_rotation, np.eye(3)):
        bounds = np.full(3, np.linalg.norm(energy))
    return np.asarray(_SLACK * bounds)
