"""No potential, and uniform gravity on a body with a fixed point."""

from typing import Self

from rbgym.body import RigidBody
from rbgym.engine.rows import LANES, vector
from rbgym.potentials.interface import Potential, number, unit_vector
from rbgym.quaternion import Vector, dot, scale

_NOTHING = (0.0, 0.0, 0.0)


class NoPotential(Potential):
    """No potential: the body is free."""

    def is_free(self):
        return True

    def is_uniform(self):
        return True

    def row_count(self):
        return 0

    def of_lane(self, physics, buffer, i, ahead):
        return self

    def seen(self, q):
        return (0.0, 0.0, 1.0)

    def energy(self, o):
        return 0.0

    def gradient(self, o):
        return _NOTHING

    def discrete_gradient(self, o_0, o_1):
        return _NOTHING

    def size(self, o):
        return 0.0

    def rows_for(self, body: RigidBody) -> list[float]:
        return []


class HeavyTop(Potential):
    """Uniform gravity on a body with a fixed point: V = mgl (axis . o), o the upward vertical.

    mgl: mass times gravity times the distance from the pivot to the centre of mass [N m].
    axis: unit vector from the pivot to the centre of mass, body axes.

    Source: Betsch & Siebert (2009), section 5.2.
    """

    mgl: float
    axis: Vector = (0.0, 0.0, 1.0)

    def is_uniform(self):
        return True

    def row_count(self):
        return 4

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        return HeavyTop(buffer[i + row * LANES], vector(buffer, i, row + 1))

    def energy(self, o):
        return self.mgl * dot(self.axis, o)

    def gradient(self, o):
        return scale(self.mgl, self.axis)

    def discrete_gradient(self, o_0, o_1):
        return scale(self.mgl, self.axis)

    def size(self, o):
        return abs(self.mgl)

    def weigh(self, physics, buffer, i, mgl):
        buffer[i + physics.potential_row() * LANES] = mgl

    def checked(self) -> Self:
        return type(self)(number("mgl", self.mgl), unit_vector("axis", self.axis))

    def rows_for(self, body: RigidBody) -> list[float]:
        return [self.mgl, *(body.principal_rotation.T @ self.axis)]
