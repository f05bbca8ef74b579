"""A torque had from magnetorquers."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.base import Controller
from rbgym.agents.controllers.law import Law
from rbgym.envs.actuators import MagneticCoils

Array = NDArray[np.float64]


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
