"""Coulombic potential with a steep wall.

V = sign (a - 0.001 a^10), a = 1/(1.1 + z), z = axis . o. As a_1 - a_0 = -a_0 a_1 (z_1 - z_0), its
divided difference has no cancellation:

    f_d = -sign a_0 a_1 (1 - 0.001 p),  p = (a_1^10 - a_0^10)/(a_1 - a_0) = sum a_0^i a_1^(9-i).
"""

from typing import Any, Self

import numpy as np

from rbgym.arguments import is_number
from rbgym.body import RigidBody
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant
from rbgym.matrix import multiple, outer
from rbgym.potentials.interface import Potential, unit_vector
from rbgym.quaternion import Array, Vector, dot, scale
from rbgym.rows import LANES, parameter, parameters

SIGNS = {"printed": 1.0, "repulsive": -1.0}
_GAP, _WALL = 1.1, 0.001
BALANCE = (10.0 * _WALL) ** (1.0 / 9.0) - _GAP  # axis . o where the torque is 0


class SoftWall(Potential):
    """Coulombic potential with a wall: V = sign (a - 0.001 a^10) [J], a = 1/(1.1 + axis . o).

    o is the upward vertical, seen from the body.
    sign: "printed" is +1, the integral of the torque that the paper prints: a barrier of 1.50 J at
    axis . o = -0.50 with a pit behind it; the motions in its figures stay on this side.
    "repulsive" is -1, an attraction towards a repulsive wall, as the paper says in words; from the
    paper's start the body bounces at axis . o = -0.655.
    axis: unit vector, body axes.

    Source: Krysl (2007), section 5.4.
    """

    sign: float | Any = "printed"  # compiled code gets a float
    axis: Vector = (0.0, 0.0, 1.0)
    row_count = constant(4)

    def slope(self, height: Array) -> Array:
        """dV/dz [N m] at heights z = axis . o."""
        a, sign = 1.0 / (_GAP + np.asarray(height)), SIGNS.get(str(self.sign), self.sign)
        return np.asarray(sign * (10.0 * _WALL * a**9 - 1.0) * a * a)

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        return SoftWall(parameter(buffer, i + row * LANES), parameters(buffer, i, row + 1))

    def energy(self, o):
        a = _inverse(self, o)
        return self.sign * (a - _WALL * _fifth(a) * _fifth(a))

    def gradient(self, o):
        a = _inverse(self, o)
        slope = -self.sign * a * a * (1.0 - 10.0 * _WALL * _fifth(a) * (a * a) * (a * a))
        return scale(slope, self.axis)

    def hessian(self, o):
        a = _inverse(self, o)
        wall = 110.0 * _WALL * _fifth(a) * (a * a) * (a * a)
        curvature = self.sign * a * a * a * (2.0 - wall)
        return multiple(curvature, outer(self.axis, self.axis))

    def discrete_gradient(self, o_0, o_1):
        a, b = _inverse(self, o_0), _inverse(self, o_1)
        p, _ = _quotient(a, b)
        return scale(-self.sign * a * b * (1.0 - _WALL * p), self.axis)

    def discrete_hessian(self, o_0, o_1):
        a, b = _inverse(self, o_0), _inverse(self, o_1)
        p, dp = _quotient(a, b)
        slope = self.sign * a * b * b * (1.0 - _WALL * (p + b * dp))
        return multiple(slope, outer(self.axis, self.axis))

    def checked(self) -> Self:
        sign: Any = SIGNS.get(self.sign) if isinstance(self.sign, str) else self.sign
        if not is_number(sign) or sign not in SIGNS.values():
            raise ValueError(f"potential.sign must be one of {list(SIGNS)}, got {self.sign!r}")
        return type(self)(float(sign), unit_vector("axis", self.axis))

    def rows_for(self, body: RigidBody) -> list[float]:
        return [float(self.sign), *(body.principal_rotation.T @ self.axis)]


@inlined
def _inverse(wall, o):
    return 1.0 / (_GAP + dot(wall.axis, o))


@inlined
def _fifth(a):
    return (a * a) * (a * a) * a


@inlined
def _quotient(a, b):
    """p and its derivative with respect to b, by Horner's rule in b."""
    p, dp, power = b + a, 1.0, a * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    return p * b + power, dp * b + p
