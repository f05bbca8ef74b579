"""The eigenaxis regulator with a limited slew rate."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.attitude import AttitudePD, nearer
from rbgym.agents.controllers.eigenaxis import acceleration, gyroscopic_load
from rbgym.agents.controllers.fitting import aimed, moves
from rbgym.agents.controllers.law import positive_gains
from rbgym.arguments import flag
from rbgym.body import RigidBody

Array = NDArray[np.float64]


class QuaternionFeedback(AttitudePD):
    """Turns about the eigenaxis, never faster than it can brake.

    `AttitudePD` with the error in a limiter of its own, and the gyroscopic torque apart:

        u = s J (-2 n^2 sat(v) - 2 z n g + omega_t x omega) + omega x J omega,

    sat shortening v, not turning it, to |v| = z r / n: beyond that the body coasts with the slew
    rate r [rad/s] relative to the target. s, at most 1, keeps u within the limits; as neither sat
    nor s turns anything, and all gains go as J, a slew from rest stays on its eigenaxis. r is at
    most `slew_rate`, and so low that the law brakes within the limits: n r p = a (1 - c r^2), with
    a the largest acceleration about the eigenaxis, c the part of the limits that the gyroscopic
    torque of 1 rad/s about it takes, at most half of them at r, and p = exp(-f / tan f), cos f = z,
    as the linear law brakes by at most n r p. gyroscopic=False leaves omega x J omega out, as the
    simpler of the published laws does.

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
        frequency: float = 0.8,
        damping: float = 1.0,
        slew_rate: float | None = None,
        gyroscopic: bool = True,
    ) -> None:
        gains = {"frequency": frequency, "damping": damping}
        super().__init__(body, torque_limit, rate_limit=rate_limit, dt=dt, **gains)
        self.refuse_idle_axes()
        self.slew_rate = 0.9 * rate_limit if slew_rate is None else slew_rate
        positive_gains(slew_rate=self.slew_rate)
        self.cancels = flag("gyroscopic", gyroscopic)
        self.linear = damping / frequency  # |v| over slew rate at which the limiter begins
        angle = np.arccos(min(damping, 1.0))
        self.braking = frequency * np.exp(-min(damping, 1.0) / np.sinc(angle / np.pi))

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The law for an env with a target; gains: frequency, damping, slew_rate, gyroscopic."""
        base = aimed(env, "quaternion feedback")
        return cls.of(base, **{**({"frequency": 2.0} if moves(base) else {}), **gains})

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        v, omega = nearer(quaternion), angular_velocity
        size = np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
        largest = self.linear * self.slew(v / size)[:, None]
        u = self.turning(v * np.minimum(1.0, largest / size), omega, wanted)
        gyroscopic = self.gyroscopic(omega) if self.cancels else np.zeros_like(omega)
        return self.limited_beside(u, gyroscopic)

    def slew(self, axis: Array) -> Array:
        """The slew rate (n,) [rad/s] about unit axes (n, 3)."""
        a = np.minimum(acceleration(axis, self.inertia, self.envelope), 1e9)
        c = gyroscopic_load(axis, self.inertia, self.envelope)
        r = 2.0 * a / (self.braking + np.sqrt(self.braking**2 + 4.0 * c * a * a))
        half: Array = np.sqrt(0.5 / np.maximum(c, 1e-12))
        return np.asarray(np.minimum(np.minimum(r, half), self.slew_rate))
