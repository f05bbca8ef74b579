"""What the classical laws of torque share: what they read, and the limits of the torque."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import Array, Controller
from rbgym.agents.controllers.plant import Plant
from rbgym.arguments import finite, number, positive
from rbgym.body import RigidBody
from rbgym.simulate import checked_body

_LARGEST = 1e100


class Law(Controller):
    """A feedback law u(quaternion, angular_velocity, target's angular velocity).

    torque_limit: (3,) [N m], body axes. rate_limit: rate [rad/s] that observations show as 1.
    dt: control period [s], 0 for none. width: columns of an observation that are attitude, rates
    and perhaps the target's rates, all of them by default. envelope: (k, 3) [1/(N m)], the torques
    u that can be had, as |envelope u| <= 1.
    """

    must = "have shape (n, 7) or (7,), or 10 columns, got"

    def __init__(self, torque_limit: ArrayLike, *, rate_limit: float, dt: float) -> None:
        self.torque_limit = finite("torque_limit", torque_limit, (3,))
        if (self.torque_limit < 0).any():
            raise ValueError(f"torque_limit must not be negative, got {torque_limit!r}")
        if not 0 <= number(dt) < np.inf:
            raise ValueError(f"dt must be finite and not negative, got {dt!r}")
        self.rate_limit, self.dt = positive("rate_limit", rate_limit), float(dt)
        self.width: int | None = None
        has = self.torque_limit > 0
        self.envelope: Array = np.diag(1.0 / self.torque_limit[has]) @ np.eye(3)[has]

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        return plant.limits

    def refuse_idle_axes(self) -> None:
        """Raise ValueError where there is an axis without torque."""
        if not (self.torque_limit > 0).all():
            raise ValueError(f"torque_limit must be positive, got {self.torque_limit}")

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        """Torque (n, 3) [N m, body] within the limits.

        quaternion: (n, 4), relative to the target where there is one. angular_velocity and wanted,
        that of the target: (n, 3) [rad/s], body axes.
        """
        raise NotImplementedError

    def feedback(
        self, seen: tuple[Array, Array, Array], state: Any, episode_start: Any
    ) -> tuple[Array, Any]:
        """Torque (n, 3) [N m, body] for what `torque` takes, and the memory afterwards."""
        return self.torque(*seen), None

    def answer(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Torque (n, 3) [N m, body] for observations (n, columns), and the memory afterwards.

        rows: quaternion (w, x, y, z), then rates as a part of rate_limit.
        """
        rates = rows[:, 4 : self.width] * self.rate_limit
        wanted = rates[:, 3:6] if rates.shape[1] == 6 else np.zeros_like(rates[:, :3])
        return self.feedback((rows[:, :4], rates[:, :3], wanted), state, episode_start)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        u, state = self.answer(rows, state, episode_start)
        return self._in_limits(u), state

    def fits(self, columns: int) -> bool:
        return min(columns, self.width or columns) in (7, 10)

    def limited(self, u: Array) -> Array:
        """The torque within the limits, shortened but not turned."""
        parts = self._in_limits(u)
        excess = np.max(np.abs(parts), axis=-1, keepdims=True)
        within: Array = parts / np.maximum(excess, 1.0) * self.torque_limit
        return within

    def limited_beside(self, u: Array, whole: Array) -> Array:
        """whole + s u (n, 3), with the largest s in [0, 1] that is within the limits.

        For u there is always half of them: what `whole` has beyond that is cut off by shortening.
        """
        taken = 2.0 * np.max(np.abs(whole @ self.envelope.T), axis=-1, keepdims=True)
        whole = whole / np.maximum(taken, 1.0)
        p, g = u @ self.envelope.T, whole @ self.envelope.T
        room = (1.0 - np.sign(p) * g) / np.maximum(np.abs(p), 1e-300)
        within: Array = whole + np.minimum(np.min(room, axis=-1, keepdims=True), 1.0) * u
        return within

    def _in_limits(self, u: Array) -> Array:
        """The torque in parts of its limits; none about an axis that has no torque."""
        return np.asarray(u / np.where(self.torque_limit > 0, self.torque_limit, np.inf))


def positive_gains(**gains: float) -> None:
    """Raise ValueError for a gain that is no positive number, or whose powers would be none."""
    for name, value in gains.items():
        if positive(name, value) > _LARGEST:
            raise ValueError(f"{name} must be at most {_LARGEST:g}, got {value!r}")


def inertia_of(body: RigidBody) -> Array:
    """The inertia tensor (3, 3) [kg m^2] of a body; ValueError for anything else."""
    return np.asarray(checked_body(body).inertia)


def nearer(quaternion: Array) -> Array:
    """The vector part (n, 3) of that of q and -q whose scalar part is not negative."""
    return np.where(quaternion[:, :1] < 0, -1.0, 1.0) * quaternion[:, 1:]
