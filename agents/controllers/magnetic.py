"""Magnetorquers: rates damped by B-dot, and any law's torque had from them."""

from typing import Any, Self

import numpy as np

from rbgym.agents.controllers.base import Array, Controller
from rbgym.agents.controllers.law import Law, positive_gains
from rbgym.agents.controllers.plant import Plant
from rbgym.arguments import count
from rbgym.envs.actuators import MagneticCoils


def damping_rate(coils: MagneticCoils) -> float:
    """2 w (1 + sin i) [1/s]: with this the rates across the field decay about as fast as the field
    turns, seen from the orbit, so that what is along it now is across it later."""
    return float(2.0 * coils.orbital_rate * (1.0 + np.sin(coils.inclination)))


class BDot(Controller):
    """The moment m = -(k / |B|^2) dB/dt, with dB/dt = B x omega, the field's own turning left out.

    Its torque, m x B, damps the rates across B with k, which is k = 2 w (1 + sin i) J_min: w and i
    the rate and the inclination of the orbit, J_min the smallest moment. What exceeds the limit is
    shortened, not turned. Gain: factor, of that k.

    field: largest field that is shown as 1 [T]. dipole: moment of a full command [A m^2].

    Source: Avanzini & Giulietti (2012), Magnetic detumbling of a rigid spacecraft, J. Guidance
    35(4); the field's rate is had from the rates instead of differences.
    """

    must = "show the field, got shape"

    def __init__(
        self,
        gain: float,
        *,
        dipole: float,
        field: float,
        rate_limit: float,
        width: int = 7,
        factor: float = 1.0,
    ) -> None:
        positive_gains(gain=gain, dipole=dipole, field=field, rate_limit=rate_limit, factor=factor)
        self.gain, self.dipole, self.field = factor * gain, dipole, field
        self.rate_limit, self.width = rate_limit, count("width", width)
        self.least = width + 3

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        coils = plant.coils
        if coils is None:
            raise ValueError(f"env must have magnetorquers for B-dot, got {plant.actuator!r}")
        return {
            "gain": damping_rate(coils) * float(plant.body.moments.min()),
            "dipole": plant.strength * coils.dipole,
            "field": 2.0 * coils.field,
            "rate_limit": plant.limits["rate_limit"],
            "width": plant.width,
        }

    def commands(self, rows: Array) -> Array:
        """Commands (n, 3) for observations (n, 10): quaternion, rates, field."""
        omega = rows[:, 4:7] * self.rate_limit
        B = rows[:, self.width : self.width + 3] * self.field
        square = np.maximum(np.sum(B * B, axis=1, keepdims=True), 1e-18)
        m = self.gain * np.cross(omega, B) / square / self.dipole
        shortened: Array = m / np.maximum(np.max(np.abs(m), axis=1, keepdims=True), 1.0)
        return shortened


class MagneticAllocation(Controller):
    """What magnetorquers can have of a law's torque u: the moment

        m = B x u / |B|^2,   whose torque m x B = u - (u . B) B / |B|^2

    is the part of u across the field B, from the smallest moment that has it. Along B there is
    none. What exceeds the largest moment is shortened, not turned. A torque against the angular
    momentum still takes momentum away; a law that holds an attitude does not see what it
    lacks, and is only as good as the field's turning lets it be.

    field: largest field that is shown as 1 [T]. dipole: moment of a full command [A m^2]. first:
    column of an observation from which it shows the field.

    Source: Silani & Lovera (2005), Magnetic spacecraft attitude control: a survey and some new
    results, Control Engineering Practice 13(3).
    """

    must = "show the field, got shape"

    def __init__(self, law: Law, *, dipole: float, field: float, first: int = 7) -> None:
        self.law, self.dipole, self.field, self.first = law, dipole, field, first
        self.least = first + 3

    @classmethod
    def of(cls, law: Law, coils: MagneticCoils, strength: float = 1.0, *, first: int = 7) -> Self:
        """For the coils of an env; strength: factor of all torques."""
        return cls(law, dipole=strength * coils.dipole, field=2.0 * coils.field, first=first)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, 3), and the law's memory."""
        B = rows[:, self.first : self.least] * self.field
        u, state = self.law.answer(rows[:, : self.first], state, episode_start)
        m = np.cross(B, u) / np.maximum(np.sum(B * B, axis=1, keepdims=True), 1e-18) / self.dipole
        return m / np.maximum(np.max(np.abs(m), axis=1, keepdims=True), 1.0), state
