"""Quaternion feedback: proportional-derivative attitude control of a top."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.body import RigidBody
from rbgym.potentials import HeavyTop
from rbgym.quaternion import rotate_inverse

Array = NDArray[np.float64]


class QuaternionPD:
    """Holds the axis of a heavy top upright and the body at rest.

    With e the top's axis and o the upward vertical, both in body axes, the shortest rotation that
    takes e to o is the quaternion whose vector part is q_v = e x o / sqrt(2 (1 + e . o)). The body
    torque is Wie's law with that error, and the weight's torque taken off:

        u = J (2 n^2 q_v - 2 z n omega_t - omega_s / T) + omega x J omega + m g l e x o

    omega_t and omega_s are the rates across and along the axis, J the inertia tensor. For a small
    tilt the axis obeys x'' + 2 z n x' + n^2 x = 0, the spin decays as exp(-t / T). What exceeds
    the limits is cut without turning the torque across the axis, which comes before the spin's.

    Since the torque is held for a control period while the body turns under it, e and o are
    taken half a period ahead.

    body, potential: what is controlled. torque_limit: (3,) [N m], body axes. rate_limit: rate
    [rad/s] that the observation shows as 1. dt: control period [s]. frequency: n [rad/s].
    damping: z. spin_time: T [s].

    Source: Wie, Weiss & Arapostathis (1989), Quaternion feedback regulator for spacecraft
    eigenaxis rotations, J. Guidance 12(3), control law (7) with gains proportional to J.
    """

    def __init__(
        self,
        body: RigidBody,
        potential: HeavyTop,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        frequency: float = 10.0,
        damping: float = 1.0,
        spin_time: float = 0.1,
    ) -> None:
        self.inertia = np.asarray(body.inertia)
        self.axis = np.asarray(potential.axis)
        self.mgl = potential.mgl
        self.torque_limit = np.asarray(torque_limit, dtype=np.float64)
        self.rate_limit, self.dt = rate_limit, dt
        self.stiffness = 2 * frequency**2 * self.inertia
        along = np.outer(self.axis, self.axis)
        rates = 2 * damping * frequency * (np.eye(3) - along) + along / spin_time
        self.damping = self.inertia @ rates

    @classmethod
    def for_env(cls, env: Any, **gains: float) -> Self:
        """The law for a top env, single or vector; gains: frequency, damping, spin_time."""
        top = env.unwrapped
        return cls(
            top.body, top.potential, top.torque_limit, rate_limit=top.rate_limit, dt=top.dt, **gains
        )

    def torque(self, quaternion: Array, angular_velocity: Array) -> Array:
        """Torque (n, 3) [N m, body] within the limits; quaternion (n, 4), rates (n, 3) [rad/s]."""
        omega = angular_velocity
        up = rotate_inverse(quaternion, np.array([0.0, 0.0, 1.0]))
        up = up + 0.5 * self.dt * np.cross(up, omega)
        up /= np.linalg.norm(up, axis=-1, keepdims=True)
        lever = np.cross(self.axis, up)
        error = lever / np.sqrt(2 * np.maximum(1 + up @ self.axis, 1e-9))[:, None]
        gyroscopic = np.cross(omega, omega @ self.inertia)
        u = error @ self.stiffness - omega @ self.damping.T + gyroscopic + self.mgl * lever
        spin = (u @ self.axis)[:, None] * self.axis
        across = u - spin
        excess = np.max(np.abs(across) / self.torque_limit, axis=-1, keepdims=True)
        across /= np.maximum(excess, 1.0)
        limited: Array = np.clip(across + spin, -self.torque_limit, self.torque_limit)
        return limited

    def predict(
        self,
        observation: ArrayLike,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], None]:
        """Actions for observations (n, 7) or (7,), as Stable-Baselines3's models answer.

        observation: quaternion (w, x, y, z), body to world, then rates as a part of rate_limit.
        The other arguments are those of learned policies; this law has no memory and no noise.
        """
        seen = np.asarray(observation, dtype=np.float64)
        if seen.ndim not in (1, 2) or seen.shape[-1] != 7:
            raise ValueError(f"observation must have shape (n, 7) or (7,), got {seen.shape}")
        rows = np.atleast_2d(seen)
        u = self.torque(rows[:, :4], rows[:, 4:] * self.rate_limit)
        actions = (u / self.torque_limit).astype(np.float32)
        return (actions if seen.ndim == 2 else actions[0]), None
