"""Proportional-derivative control of a whole attitude."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.law import Law, positive_gains
from rbgym.body import RigidBody
from rbgym.simulate import checked_body

Array = NDArray[np.float64]


class AttitudePD(Law):
    """Brings the whole attitude to a target, which may move.

    With v the vector part of the error quaternion of positive scalar part, omega_t the target's
    angular velocity in body axes and g = omega - omega_t,

        u = J (-2 n^2 v - 2 z n g + omega_t x omega) + omega x J omega.

    A small error obeys x'' + 2 z n x' + n^2 x = 0. What exceeds the limits is shortened, not
    turned. Gains: frequency n [rad/s], damping z; a target that moves asks for a higher n.

    Source: Wie, Weiss & Arapostathis (1989), as for `AxisPD`; of q and -q the nearer is taken.
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        frequency: float = 0.4,
        damping: float = 1.0,
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        positive_gains(frequency=frequency, damping=damping)
        self.inertia = np.asarray(checked_body(body).inertia)
        self.stiffness, self.damping = 2 * frequency**2, 2 * damping * frequency

    @classmethod
    def of(cls, base: Any, **gains: Any) -> Self:
        """The law for the body, the limits and the period of an env."""
        return cls(base.body, base.torque_limit, rate_limit=base.rate_limit, dt=base.dt, **gains)

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        v, omega = nearer(quaternion), angular_velocity
        return self.limited(self.turning(v, omega, wanted) + self.gyroscopic(omega))

    def turning(self, v: Array, omega: Array, wanted: Array) -> Array:
        """J times the angular acceleration asked for (n, 3) [N m]; v (n, 3) as above."""
        turn = -self.stiffness * v - self.damping * (omega - wanted) + np.cross(wanted, omega)
        return np.asarray(turn @ self.inertia)

    def gyroscopic(self, omega: Array) -> Array:
        """omega x J omega (n, 3) [N m], which a body needs to turn steadily."""
        return np.cross(omega, omega @ self.inertia)


def nearer(quaternion: Array) -> Array:
    """The vector part (n, 3) of that of q and -q whose scalar part is not negative."""
    sign = np.where(quaternion[:, :1] < 0, -1.0, 1.0)
    v: Array = sign * quaternion[:, 1:]
    return v
