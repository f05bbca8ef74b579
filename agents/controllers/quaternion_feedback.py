"""The eigenaxis regulator with a limited slew rate."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.attitude import AttitudePD, nearer
from rbgym.agents.controllers.eigenaxis import acceleration
from rbgym.agents.controllers.fitting import aimed
from rbgym.body import RigidBody

Array = NDArray[np.float64]


class QuaternionFeedback(AttitudePD):
    """Turns about the eigenaxis, never faster than it can brake.

    `AttitudePD` with the error in a limiter of its own, and the gyroscopic torque apart:

        u = s J (-2 n^2 sat(v) - 2 z n g + omega_t x omega) + omega x J omega,

    sat shortening v, not turning it, to |v| = z r / n: beyond that the body coasts with the slew
    rate r [rad/s] relative to the target. s, at most 1, keeps u within the limits; as neither sat
    nor s turns anything, and all gains go as J, a slew from rest stays on its eigenaxis. r is
    the least of `slew_rate` and of a / (n p), a the largest acceleration about the eigenaxis and
    p = exp(-z f / sin f), cos f = z, the part of n r by which the linear law brakes at most: it
    brakes within the limits. gyroscopic=False leaves omega x J omega out, as the simpler of the
    published laws does.

    Gains: frequency n [rad/s], damping z, slew_rate [rad/s].

    Source: Wie, Weiss & Arapostathis (1989), Quaternion feedback regulator for spacecraft
    eigenaxis rotations, J. Guidance 12(3), control law (7) with gains proportional to J; Wie & Lu
    (1995), Feedback control logic for spacecraft eigenaxis rotations under slew rate and control
    constraints, J. Guidance 18(6), for the cascade of limiters; the rule for r is ours.
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        frequency: float = 1.0,
        damping: float = 1.0,
        slew_rate: float | None = None,
        gyroscopic: bool = True,
    ) -> None:
        gains = {"frequency": frequency, "damping": damping}
        super().__init__(body, torque_limit, rate_limit=rate_limit, dt=dt, **gains)
        if not (self.torque_limit > 0).all():
            raise ValueError(f"torque_limit must be positive, got {self.torque_limit}")
        slew_rate = 0.9 * rate_limit if slew_rate is None else slew_rate
        if not 0 < slew_rate < np.inf:
            raise ValueError(f"slew_rate must be positive, got {slew_rate!r}")
        self.slew_rate, self.cancels = float(slew_rate), gyroscopic
        self.linear = damping / frequency  # |v| over slew rate at which the limiter begins
        angle = np.arccos(min(damping, 1.0))
        self.braking = frequency * np.exp(-min(damping, 1.0) / np.sinc(angle / np.pi))

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The law for an env with a target; gains: frequency, damping, slew_rate, gyroscopic."""
        return cls.of(aimed(env, "quaternion feedback"), **gains)

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        v, omega = nearer(quaternion), angular_velocity
        size = np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
        a = acceleration(v / size, self.inertia, self.envelope)[:, None]
        largest = self.linear * np.minimum(self.slew_rate, a / self.braking)
        u = self.turning(v * np.minimum(1.0, largest / size), omega, wanted)
        gyroscopic = self.gyroscopic(omega) if self.cancels else np.zeros_like(omega)
        return self.limited_beside(u, gyroscopic)
