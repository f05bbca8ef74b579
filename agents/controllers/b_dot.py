"""B-dot: rates damped by magnetorquers."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.base import Controller
from rbgym.agents.controllers.law import positive_gains
from rbgym.arguments import count
from rbgym.envs.actuators import MagneticCoils

Array = NDArray[np.float64]


def damping_rate(coils: MagneticCoils) -> float:
    """2 w (1 + sin i) [1/s]: with this the rates across the field decay about as fast as the field
    turns, seen from the orbit, so that what is along it now is across it later."""
    return float(2.0 * coils.orbital_rate * (1.0 + np.sin(coils.inclination)))


class BDot(Controller):
    """The moment m = -(k / |B|^2) dB/dt, with dB/dt = B x omega, the field's own turning left out.

    Its torque, m x B, damps the rates across B with k, which is k = 2 w (1 + sin i) J_min: w and i
    the rate and the inclination of the orbit, J_min the smallest moment. What exceeds the limit is
    shortened, not turned. Gain: a factor of that k.

    field: largest field that is shown as 1 [T]. dipole: moment of a full command [A m^2].

    Source: Avanzini & Giulietti (2012), Magnetic detumbling of a rigid spacecraft, J. Guidance
    35(4); the field's rate is had from the rates instead of differences.
    """

    must = "show the field, got shape"

    def __init__(
        self, gain: float, *, dipole: float, field: float, rate_limit: float, width: int = 7
    ) -> None:
        positive_gains(gain=gain, dipole=dipole, field=field, rate_limit=rate_limit)
        self.gain, self.dipole, self.field = gain, dipole, field
        self.rate_limit, self.width = rate_limit, count("width", width)
        self.least = width + 3

    @classmethod
    def for_env(cls, env: Any, factor: float = 1.0) -> Self:
        """The law for an env with magnetorquers, single or vector."""
        base = env.unwrapped
        coils = base.actuator
        if not isinstance(coils, MagneticCoils):
            raise ValueError(f"env must have magnetorquers for B-dot, got {coils!r}")
        return cls(
            factor * damping_rate(coils) * float(base.body.moments.min()),
            dipole=base.torque_scale * coils.dipole,
            field=2.0 * coils.field,
            rate_limit=base.rate_limit,
            width=base.width,
        )

    def commands(self, rows: Array) -> Array:
        """Commands (n, 3) for observations (n, 10): quaternion, rates, field."""
        omega = rows[:, 4:7] * self.rate_limit
        B = rows[:, self.width : self.width + 3] * self.field
        square = np.maximum(np.sum(B * B, axis=1, keepdims=True), 1e-18)
        m = self.gain * np.cross(omega, B) / square / self.dipole
        shortened: Array = m / np.maximum(np.max(np.abs(m), axis=1, keepdims=True), 1.0)
        return shortened
