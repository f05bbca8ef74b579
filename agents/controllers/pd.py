"""Proportional-derivative attitude control: of an axis, of a whole attitude, of the rates alone."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.attitude import AttitudePD
from rbgym.agents.controllers.b_dot import damping_rate
from rbgym.agents.controllers.fitting import moves
from rbgym.agents.controllers.law import Law, positive_gains
from rbgym.agents.controllers.pose import PosePD
from rbgym.body import RigidBody
from rbgym.envs.actuators import Forces, MagneticCoils
from rbgym.envs.parts.goals import Axis, Rest, Target
from rbgym.potentials import HeavyTop, SoftWall, checked
from rbgym.quaternion import from_rotation_vector, multiply, rotate_inverse
from rbgym.simulate import checked_body

Array = NDArray[np.float64]


def for_env(env: Any, **gains: float) -> Law:
    """The law that fits the goal of an env, single or vector."""
    base = env.unwrapped
    limits: dict[str, Any] = {"rate_limit": base.rate_limit, "dt": base.dt}
    if isinstance(base.actuator, Forces):
        return PosePD.for_env(base, **gains)
    match base.goal:
        case Axis():
            if isinstance(base.potential, SoftWall):
                gains = {"frequency": 1.0, "spin_time": 1.0, **gains}
            return AxisPD.for_env(base, **gains)
        case Target():
            return AttitudePD.of(base, **{**({"frequency": 2.0} if moves(base) else {}), **gains})
        case Rest():
            if isinstance(base.actuator, MagneticCoils):
                gains = {"time": 1.0 / damping_rate(base.actuator), **gains}
            return RateDamping(base.body, base.torque_limit, **limits, **gains)
    raise ValueError(f"env must have a goal that a PD law is known for, got {base.goal!r}")


class AxisPD(Law):
    """Holds the z axis of a body, a heavy top perhaps, at an angle from the vertical.

    With e the axis, o the upward vertical and d the nearest direction at the angle wanted, all in
    body axes, the shortest rotation that takes e to d is the quaternion whose vector part is
    q_v = e x d / sqrt(2 (1 + e . d)). The body torque is Wie's law with that error, the weight's
    torque taken off and that of the motion wanted, omega_d = p o + s e, put in:

        u = J (2 n^2 q_v - 2 z n g_t - g_s / T + p o x omega) + omega x J omega + m g l e x o

    g = omega - omega_d, g_t and g_s its parts across and along the axis, J the inertia tensor. For
    a small tilt the axis obeys x'' + 2 z n x' + n^2 x = 0, the spin's error decays as exp(-t / T).
    What exceeds the limits is cut without turning the torque across the axis, which comes before
    the spin's.

    Above a soft wall, dV/dz stands for mgl.

    Since the torque is held for a control period while the body turns under it, the attitude is
    taken half a period ahead.

    body, potential: what is controlled. goal: what is wanted. Gains: frequency n [rad/s],
    damping z, spin_time T [s].

    Source: Wie, Weiss & Arapostathis (1989), Quaternion feedback regulator for spacecraft
    eigenaxis rotations, J. Guidance 12(3), control law (7) with gains proportional to J.
    """

    def __init__(
        self,
        body: RigidBody,
        potential: Any,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        goal: Axis = Axis(),  # noqa: B008  (a tuple)
        frequency: float = 10.0,
        damping: float = 1.0,
        spin_time: float = 0.1,
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        self.inertia, self.goal = np.asarray(checked_body(body).inertia), goal
        potential = checked(potential)
        heavy = isinstance(potential, HeavyTop | SoftWall)
        self.axis = np.asarray(potential.axis if heavy else (0.0, 0.0, 1.0))
        self.potential = potential
        positive_gains(frequency=frequency, damping=damping, spin_time=spin_time)
        self.stiffness = 2 * frequency**2 * self.inertia
        along = np.outer(self.axis, self.axis)
        rates = 2 * damping * frequency * (np.eye(3) - along) + along / spin_time
        self.damping = self.inertia @ rates

    @classmethod
    def for_env(cls, env: Any, **gains: float) -> Self:
        """The law for an env, single or vector; gains: frequency, damping, spin_time."""
        top = env.unwrapped
        return cls(
            top.body,
            top.potential,
            top.torque_limit,
            rate_limit=top.rate_limit,
            dt=top.dt,
            goal=top.goal,
            **gains,
        )

    def _slope(self, height: Array) -> Array:
        """dV/dz of the potential, z the height of the axis, (n,)."""
        match self.potential:
            case HeavyTop(mgl, _):
                return np.full_like(height, mgl)
            case SoftWall() as wall:
                return wall.slope(height)
        return np.zeros_like(height)

    def torque(
        self, quaternion: Array, angular_velocity: Array, wanted: Array | None = None
    ) -> Array:
        """Torque (n, 3) [N m, body] within the limits; quaternion (n, 4), rates (n, 3) [rad/s]."""
        omega, goal = angular_velocity, self.goal
        then = multiply(quaternion, from_rotation_vector(0.5 * self.dt * omega))
        up = rotate_inverse(then, np.array([0.0, 0.0, 1.0]))
        direction = up
        if goal.sin_nutation != 0.0:
            across = self.axis - (up @ self.axis)[:, None] * up
            across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
            direction = goal.cos_nutation * up + goal.sin_nutation * across
        lever = np.cross(self.axis, direction)
        error = lever / np.sqrt(2 * np.maximum(1 + direction @ self.axis, 1e-9))[:, None]
        gap = omega - goal.precession * up - goal.spin * self.axis
        weight = -self._slope(up @ self.axis)[:, None] * np.cross(self.axis, up)
        forward = goal.precession * np.cross(up, omega) @ self.inertia
        gyroscopic = np.cross(omega, omega @ self.inertia)
        u = error @ self.stiffness - gap @ self.damping.T + forward + gyroscopic - weight
        spin = (u @ self.axis)[:, None] * self.axis
        limited: Array = np.clip(
            self.limited(u - spin) + spin, -self.torque_limit, self.torque_limit
        )
        return limited


class RateDamping(Law):
    """Takes angular momentum away, u = -J omega / T, shortened but not turned at the limits.

    Without a gyroscopic term the torque opposes the body momentum J omega exactly, and so its size
    falls as fast as the limits let it. Gain: time T [s], by default with coils that of B-dot.

    Source: Athans, Falb & Lacoss (1963), Time-, fuel-, and energy-optimal control of nonlinear
    norm-invariant systems, IEEE Trans. Automatic Control 8(3), for full torque against the
    momentum.
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        time: float = 1.0,
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        positive_gains(time=time)
        self.inertia, self.time = np.asarray(checked_body(body).inertia), time

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        return self.limited(-(angular_velocity @ self.inertia) / self.time)
