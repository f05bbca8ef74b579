"""Rest-to-rest slews in nearly the least time about the eigenaxis."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.attitude import nearer
from rbgym.agents.controllers.eigenaxis import acceleration, gyroscopic_load
from rbgym.agents.controllers.fitting import aimed
from rbgym.agents.controllers.law import Law, positive_gains
from rbgym.body import RigidBody
from rbgym.quaternion import from_rotation_vector, multiply
from rbgym.simulate import checked_body

Array = NDArray[np.float64]


class BangBang(Law):
    """Full torque towards the target, then full torque against, about the eigenaxis.

    With e the eigenaxis and y the angle of the attitude that would be reached in h seconds at the
    present rate, a the largest acceleration about e that the limits allow, times `braking`, and c
    the part of the limits that the gyroscopic torque of 1 rad/s about e takes,

        f_0(y) = y / h                                  for y <= a h^2,
        f_0(y) = (sqrt(a^2 h^2 + 8 a y) - a h) / 2      beyond,
        f^2 = (1 - exp(-c f_0^2)) / c,  f^2 at most 1 / (2 c), f at most `slew_rate`,

    the rate wanted is -f e, and u = omega x J omega - s J (omega + f e) / h, s at most 1 for u to
    stay within the limits. f_0 is the switching curve of the bang-bang slew, rate^2 = 2 a angle,
    whose time `eigenaxis_time` tells, with a layer of width h about it; near the end the law is
    linear, critically damped with the frequency 1 / h, so that it does not chatter with the control
    period. f is the curve of a body that brakes with a (1 - c rate^2), what is left beside the
    gyroscopic torque; that is had whole up to half of the limits.

    Gains: layer h [s], by default five control periods: behind delays and lags give at least twice
    what they add up to; braking below 1 for what is not known of the body; slew_rate
    [rad/s].

    Source: Wie (2008), Space Vehicle Dynamics and Control, chapter 7, for eigenaxis slews; Han
    (2009), From PID to active disturbance rejection control, IEEE Trans. Industrial Electronics
    56(3), for the curve of a double integrator in discrete time and its layer.
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        layer: float | None = None,
        braking: float = 0.9,
        slew_rate: float | None = None,
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        self.inertia = np.asarray(checked_body(body).inertia)
        self.layer = 5.0 * dt if layer is None else layer
        self.slew_rate = 0.9 * rate_limit if slew_rate is None else slew_rate
        self.braking = braking
        self.refuse_idle_axes()
        positive_gains(layer=self.layer, braking=braking, slew_rate=self.slew_rate)

    @classmethod
    def for_env(cls, env: Any, **gains: float) -> Self:
        """The law for an env with a target at rest; gains: layer, braking, slew_rate."""
        base = aimed(env, "bang-bang slews", still=True)
        limits = {"rate_limit": base.rate_limit, "dt": base.dt}
        return cls(base.body, base.torque_limit, **limits, **gains)

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        omega, h = angular_velocity, self.layer
        v = nearer(multiply(quaternion, from_rotation_vector(h * omega)))
        sine = np.linalg.norm(v, axis=-1, keepdims=True)
        e = v / np.maximum(sine, 1e-12)
        rate = self.curve(2.0 * np.arcsin(np.minimum(sine, 1.0)), e)
        u = -(omega + rate * e) @ self.inertia / h
        return self.limited_beside(u, np.cross(omega, omega @ self.inertia))

    def curve(self, y: Array, e: Array) -> Array:
        """f (n, 1) [rad/s] for the angles y (n, 1) [rad] about the axes e (n, 3)."""
        h = self.layer
        a = self.braking * acceleration(e, self.inertia, self.envelope)[:, None]
        a = np.minimum(a, 1e9)  # without an axis there is no angle either
        braking = 0.5 * (np.sqrt((a * h) ** 2 + 8.0 * a * y) - a * h)
        square = np.where(y <= a * h * h, y / h, braking) ** 2
        c = np.maximum(gyroscopic_load(e, self.inertia, self.envelope)[:, None], 1e-12)
        square = np.minimum(-np.expm1(-c * square) / c, 0.5 / c)
        return np.asarray(np.minimum(np.sqrt(square), self.slew_rate))
