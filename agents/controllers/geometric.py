"""Tracking on the group of rotations."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.base import fresh
from rbgym.agents.controllers.fitting import aimed, moves
from rbgym.agents.controllers.law import Law, positive_gains
from rbgym.body import RigidBody
from rbgym.simulate import checked_body

Array = NDArray[np.float64]


class GeometricTracking(Law):
    """Follows a target by errors of rotation matrices.

    With R and R_d the attitudes of body and target, body to world, and w = R^T R_d Omega_d the
    target's angular velocity in body axes, which is observed,

        e_R = 1/2 (R_d^T R - R^T R_d)^vee,    e_Omega = Omega - w,
        u = -k_R e_R - k_Omega e_Omega + Omega x J Omega - J (Omega x w - R^T R_d dOmega_d/dt).

    e_R is sin(angle) times the axis, 2 q_0 v of the error quaternion (q_0, v): the same for q and
    -q, and next to nothing near a half turn, from which the law starts slowly. The last bracket is
    -dw/dt, and had from the change of w in the last period, which is the memory of the law; where
    an episode starts dOmega_d/dt is taken as zero. What exceeds the limits is shortened, not
    turned.

    k_R = n^2 J_max and k_Omega = 2 z n J_max, J_max the largest moment, are numbers, as in the
    paper: about the other axes the law is stiffer and better damped. Gains: frequency n
    [rad/s], damping z.

    Source: Lee, Leok & McClamroch (2010), Geometric tracking control of a quadrotor UAV on SE(3),
    49th IEEE Conference on Decision and Control, eqs. (10), (11) and (16).
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        frequency: float = 0.7,
        damping: float = 1.0,
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        positive_gains(frequency=frequency, damping=damping)
        self.inertia, largest = np.asarray(checked_body(body).inertia), float(np.max(body.moments))
        self.k_R, self.k_Omega = frequency**2 * largest, 2 * damping * frequency * largest

    @classmethod
    def for_env(cls, env: Any, **gains: float) -> Self:
        """The law for an env with a target; gains: frequency, damping."""
        base = aimed(env, "geometric tracking")
        limits = {"rate_limit": base.rate_limit, "dt": base.dt}
        gains = {**({"frequency": 1.2} if moves(base) else {}), **gains}
        return cls(base.body, base.torque_limit, **limits, **gains)

    def feedback(
        self, seen: tuple[Array, Array, Array], state: Array | None, episode_start: Any
    ) -> tuple[Array, Array]:
        q, Omega, w = seen
        begins = fresh(len(q), state, episode_start)[:, None]
        last = w if state is None else state
        turning = np.where(begins, -np.cross(Omega, w), (w - last) / self.dt)
        e_R, e_Omega = 2.0 * q[:, :1] * q[:, 1:], Omega - w
        gyroscopic = np.cross(Omega, Omega @ self.inertia)
        u = -self.k_R * e_R - self.k_Omega * e_Omega + gyroscopic + turning @ self.inertia
        return self.limited(u), w
