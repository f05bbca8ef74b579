"""What the classical laws share: the interface of learned policies, and the torque's limits."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Law:
    """A feedback law u(quaternion, angular_velocity, target's angular velocity).

    torque_limit: (3,) [N m], body axes. rate_limit: rate [rad/s] that observations show as 1.
    dt: control period [s]. width: columns of an observation that are attitude, rates and perhaps
    the target's rates, all of them by default; what an actuator shows comes after.
    """

    def __init__(self, torque_limit: ArrayLike, *, rate_limit: float, dt: float) -> None:
        self.torque_limit = np.asarray(torque_limit, dtype=np.float64)
        self.rate_limit, self.dt = rate_limit, dt
        self.width: int | None = None

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        """Torque (n, 3) [N m, body] within the limits.

        quaternion: (n, 4), relative to the target where there is one. angular_velocity and wanted,
        that of the target: (n, 3) [rad/s], body axes.
        """
        raise NotImplementedError

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], None]:
        """Actions for observations (n, 7), (7,), or with the target's rate (n, 10), (10,), as
        Stable-Baselines3's models answer; or for a dict of goals.

        observation: quaternion (w, x, y, z), then rates as a part of rate_limit. The other
        arguments are those of learned policies; a law has no memory and no noise.
        """
        if isinstance(observation, dict):
            observation = relative(observation)
        seen = np.asarray(observation, dtype=np.float64)[..., : self.width]
        if seen.ndim not in (1, 2) or seen.shape[-1] not in (7, 10):
            raise ValueError(
                f"observation must have shape (n, 7) or (7,), or 10 columns, got {seen.shape}"
            )
        rows = np.atleast_2d(seen)
        rates = rows[:, 4:] * self.rate_limit
        wanted = rates[:, 3:] if rates.shape[1] == 6 else np.zeros_like(rates)
        u = self.torque(rows[:, :4], rates[:, :3], wanted)
        actions = self._in_limits(u).astype(np.float32)
        return (actions if seen.ndim == 2 else actions[0]), None

    def limited(self, u: Array) -> Array:
        """The torque within the limits, shortened but not turned."""
        parts = self._in_limits(u)
        excess = np.max(np.abs(parts), axis=-1, keepdims=True)
        within: Array = parts / np.maximum(excess, 1.0) * self.torque_limit
        return within

    def _in_limits(self, u: Array) -> Array:
        """The torque in parts of its limits; none about an axis that has no torque."""
        limit = np.where(self.torque_limit > 0, self.torque_limit, np.inf)
        parts: Array = u / limit
        return parts


def relative(goals: dict[str, Any]) -> Array:
    """The plain observation that goal-conditioned ones stand for."""
    from rbgym.quaternion import conjugate, multiply

    state = np.asarray(goals["observation"], dtype=np.float64)
    target = np.asarray(goals["desired_goal"], dtype=np.float64)
    relative = multiply(conjugate(target), state[..., :4])
    return np.concatenate([relative, state[..., 4:]], axis=-1)
