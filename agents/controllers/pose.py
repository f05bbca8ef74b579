"""Proportional-derivative control of a pose: position and attitude."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.attitude import AttitudePD
from rbgym.agents.controllers.law import positive_gains
from rbgym.body import RigidBody

Array = NDArray[np.float64]


class PosePD(AttitudePD):
    """Docks: `AttitudePD` for the attitude, and a velocity that is to be had at each distance.

    With p and v the position from the dock and the velocity, in body axes, and r = |p|,

        F = m 2 z k (v_d - v),   v_d = -(p / r) min(k r / (2 z), c(r)),

    so that near the dock p'' + 2 z k p' + k^2 p = 0. c is the speed from which half the force
    brakes to `creep` [m/s] on the way to the distance `near` [m], and `creep` from there on. F is
    shortened, not turned, at its limit. Gains: n, z of the attitude (frequency, damping);
    k (approach).

    Source: ours, but for the attitude, see `AttitudePD`.
    """

    must = "have shape (n, 13) or (13,), got"

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        force_limit: float,
        *,
        rate_limit: float,
        dt: float,
        distance: float,
        speed: float,
        frequency: float = 0.4,
        damping: float = 1.0,
        approach: float = 0.4,
        near: float = 0.35,
        creep: float = 0.1,
    ) -> None:
        super().__init__(
            body, torque_limit, rate_limit=rate_limit, dt=dt, frequency=frequency, damping=damping
        )
        positive_gains(force_limit=force_limit, distance=distance, speed=speed, approach=approach,
                       near=near, creep=creep)  # fmt: skip
        self.mass, self.force_limit = body.mass, force_limit
        self.distance, self.speed = distance, speed
        self.pace, self.pull = approach / (2 * damping), 2 * damping * approach
        self.near, self.creep = near, creep

    @classmethod
    def for_env(cls, env: Any, **gains: float) -> Self:
        """The law for an env, single or vector."""
        base = env.unwrapped
        seen = base.task.more
        return cls(
            base.body,
            base.torque_limit,
            base.torque_scale * base.actuator.force,
            rate_limit=base.rate_limit,
            dt=base.dt,
            distance=seen.distance,
            speed=seen.speed,
            **gains,
        )

    def force(self, position: Array, velocity: Array) -> Array:
        """Force (n, 3) [N, body] within the limit; position, velocity (n, 3) [m, m/s, body]."""
        r = np.linalg.norm(position, axis=-1, keepdims=True)
        braking = 0.5 * self.force_limit / self.mass * np.maximum(r - self.near, 0.0)
        cap = np.sqrt(self.creep**2 + 2.0 * braking)
        wanted = -position / np.maximum(r, 1e-9) * np.minimum(self.pace * r, cap)
        F = self.mass * self.pull * (wanted - velocity)
        excess = np.max(np.abs(F), axis=-1, keepdims=True) / self.force_limit
        limited: Array = F / np.maximum(excess, 1.0)
        return limited

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, 6), forces and torques, for observations (n, 13) and what comes after."""
        rates = rows[:, 4:7] * self.rate_limit
        turn = self._in_limits(self.torque(rows[:, :4], rates, np.zeros_like(rates)))
        push = self.force(rows[:, 7:10] * self.distance, rows[:, 10:13] * self.speed)
        return np.concatenate([push / self.force_limit, turn], axis=1), None

    def fits(self, columns: int) -> bool:
        return columns >= 13
