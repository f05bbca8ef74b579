"""The size of a scalable body, controlled for its spin."""

from typing import Any

import numpy as np

from rbgym.agents.controllers.base import Array, Controller
from rbgym.agents.controllers.law import inertia_of, positive_gains
from rbgym.agents.controllers.plant import Plant
from rbgym.body import RigidBody
from rbgym.envs.actuators import Scaling


class SpinByScale(Controller):
    """Brings a scalable body to the size at which its momentum has the spin wanted.

    The spin goes as 1/s^2, so that the scale wanted is d = s sqrt(omega_z / spin). The scaling
    force holds the body against its own spinning, and what remains of the equation of motion,
    T s'' = s omega.J omega + S, is an oscillator:

        S = -s omega.J omega - T (n^2 (s - d) + 2 z n s').

    body: at s = 1. Gains: frequency n [rad/s], damping z.

    Source: the equations of motion (93) of Moller & Glocker (2012).
    """

    least = 10
    must = "have shape (n, 10) or (10,), got"

    def __init__(
        self,
        body: RigidBody,
        scaling: Scaling,
        strength: float,
        *,
        rate_limit: float,
        spin_scale: float,
        frequency: float = 4.0,
        damping: float = 1.0,
    ) -> None:
        if not isinstance(scaling, Scaling):
            raise ValueError(f"scaling must be an rbgym.envs.actuators.Scaling, got {scaling!r}")
        positive_gains(strength=strength, rate_limit=rate_limit, spin_scale=spin_scale,
                       frequency=frequency, damping=damping)  # fmt: skip
        self.inertia, self.scaling = inertia_of(body), scaling
        self.force = strength * scaling.force
        self.rate_limit, self.spin_scale = rate_limit, spin_scale
        self.half_trace = 0.5 * float(np.trace(self.inertia))
        self.frequency, self.damping = frequency, damping

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if plant.scaling is None:
            raise ValueError(f"env must have a body that scales, got {plant.actuator!r}")
        return {
            "body": plant.body,
            "scaling": plant.scaling,
            "strength": plant.strength,
            "rate_limit": plant.limits["rate_limit"],
            "spin_scale": plant.more.scale,
        }

    def commands(self, rows: Array) -> Array:
        """Commands (n, 1) for observations (n, 10): quaternion, rates, spin wanted, s and s'."""
        omega, spin = rows[:, 4:7] * self.rate_limit, rows[:, 7] * self.spin_scale
        s, rate = rows[:, 8], rows[:, 9] * self.scaling.rate
        spin = np.where(np.abs(spin) > 1e-6, spin, 1e-6)
        wanted = s * np.sqrt(np.maximum(omega[:, 2] / spin, 0.0))
        pull = self.frequency**2 * (s - wanted) + 2 * self.damping * self.frequency * rate
        kinetic = np.sum(omega * (omega @ self.inertia), axis=1)
        force = -s * kinetic - self.half_trace * pull
        commands: Array = np.clip(force / self.force, -1.0, 1.0)[:, None]
        return commands
