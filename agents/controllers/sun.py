"""The direction of the Sun from coarse cells, and a law that points to it."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import BodyLaw, Plant
from rbgym.arguments import count, vectors
from rbgym.envs.parts.goals import TowardsSun
from rbgym.quaternion import Array

_LIT, _DARK = 0.1, 0.5  # fractions of a cell's largest current
_SLIGHT = 1e-6  # added to the diagonal of the normal equations, so that they have a solution
_INDEPENDENT, _GRAZING = 1e-2, 1e-6  # least determinant of the normal equations; cosine
_PASSES = 3
OPPOSITE, NUDGE = 0.999, 0.1  # cosine, and sine of an angle, beyond noise


def sun_direction(currents: Array, normals: ArrayLike) -> Array:
    """Unit vectors to the Sun in body axes, (n, 3); zero in the dark, and if fewer than three cells
    face the Sun or their normals lie nearly in one plane.

    currents: (n, k), of each cell the cosine of its angle to the Sun, over the largest current.
    normals: (k, 3), unit vectors. s is the least-squares solution of N s = c over the cells that
    see the Sun: first those with a current, then those that face the direction just found, since a
    cell at grazing incidence has hardly any current.
    """
    normals = np.asarray(normals, dtype=float)
    lit = currents > _LIT
    for _ in range(_PASSES):
        square = np.einsum("nk,ki,kj->nij", lit, normals, normals) + _SLIGHT * np.eye(3)
        s = np.linalg.solve(square, ((lit * currents) @ normals)[:, :, None])[:, :, 0]
        lit = s @ normals.T > -_GRAZING
    size = np.linalg.norm(s, axis=1, keepdims=True)
    seen = (size > _DARK) & (np.linalg.det(square)[:, None] > _INDEPENDENT)
    return np.where(seen, s / np.maximum(size, _DARK), 0.0)


def off_sun(sun: Array) -> Array:
    """The attitude error (n, 4): inverse of the shortest rotation that points the body z axis to
    the Sun (n, 3), body axes; the identity in the dark."""
    x, y, z = sun.T
    dark, opposite = ~np.any(sun != 0.0, axis=1), z < -1.0 + 1e-6
    w = np.sqrt(np.maximum(0.5 * (1.0 + z), 0.0))
    half = 0.5 / np.maximum(w, 1e-3)
    q = np.stack([w, y * half, -x * half, np.zeros_like(w)], axis=1)
    q = np.where(opposite[:, None], [0.0, 1.0, 0.0, 0.0], q)
    return np.where(dark[:, None], [1.0, 0.0, 0.0, 0.0], q)


@dataclass(eq=False)
class SunPointing(BodyLaw):
    """Turns the body's z axis to the Sun with gyros and coarse cells; it needs no attitude.

    With s the direction of the Sun from the cells and z the axis, both in body axes, the shortest
    rotation from z to s has the quaternion with the vector part v = z x s / sqrt(2 (1 + z . s)):

        u = J (2 n^2 v - 2 d n omega) + omega x J omega.

    A small angle x from the Sun obeys x'' + 2 d n x' + n^2 x = 0. Opposite to the Sun, where all
    ways are equally long, it turns about the x axis. In the dark it sets v = 0: the rates decay,
    and the axis stays in place except for the gyros' drift. A torque beyond the limits keeps its
    direction.

    normals: of the cells, (k, 3). rates, cells: their first columns in an observation. Gains:
    frequency n [rad/s], by default 0.7 sqrt(a), a the smallest of the largest angular accelerations
    about the body axes, at most 0.15 in a control period; damping d. Other laws are faster, but
    noise e of the direction causes rates of e sqrt(n^3 dt / (4 d)).

    Source: Wie, Weiss & Arapostathis (1989), as for `AxisPD`; the direction: `sun_direction`.
    """

    torque_limit: ArrayLike
    _: KW_ONLY
    normals: ArrayLike
    rates: int
    cells: int
    frequency: float | None = None
    damping: float = 0.85
    by_name: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.facing = vectors("normals", self.normals)
        first = count("cells", self.cells, 0)
        self.seen = slice(first, first + len(self.facing))
        if self.frequency is None:
            self.frequency = self.sampled(0.7 * self.agility(), 0.15)
        self.refuse_gains("frequency", "damping")
        self.stiffness, self.drag = 2 * self.frequency**2, 2 * self.damping * self.frequency
        self.least = max(count("rates", self.rates, 0) + 3, self.seen.stop)

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        shown = [plant.columns.get(name) for name in ("angular_velocity", "coarse_sun")]
        if not isinstance(plant.goal, TowardsSun) or None in shown:
            raise ValueError(
                "env must have a goal towards the Sun, gyros and coarse cells for this controller, "
                f"its goal is {plant.goal!r}, and it shows {[*plant.columns]}"
            )
        rates, cells = (one.first for one in shown if one)
        return {**super().arguments(plant), "rates": rates, "cells": cells}

    def answer(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        omega = rows[:, self.rates : self.rates + 3] * self.rate_limit
        return self.towards(sun_direction(rows[:, self.seen], self.facing), omega), None

    def towards(self, s: Array, omega: Array) -> Array:
        """Torque (n, 3) [N m] within the limits; s (n, 3): unit vectors to the Sun, zero in the
        dark, and omega (n, 3) [rad/s], body axes."""
        lever = np.cross([0.0, 0.0, 1.0], s)
        lever[:, 0] += NUDGE * (s[:, 2] < -OPPOSITE)
        size = np.linalg.norm(lever, axis=1, keepdims=True)
        half = np.sqrt(np.maximum(0.5 * (1.0 - s[:, 2:]), 0.0))  # sin(angle / 2)
        v = half * lever / np.maximum(size, 1e-9)
        turn = self.stiffness * v - self.drag * omega
        return self.limited(turn @ self.inertia + self.gyroscopic_torque(omega))
