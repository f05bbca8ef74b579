"""Coulombic potential that ends in a steep wall.

With a = 1/(1.1 + z), z = axis . o, V = sign (a - 0.001 a^10). As a_1 - a_0 = -a_0 a_1 (z_1 - z_0),
its divided difference has no cancellation:

    f_d = -sign a_0 a_1 (1 - 0.001 p),  p = (a_1^10 - a_0^10)/(a_1 - a_0) = sum a_0^i a_1^(9-i).
"""

from typing import NamedTuple

import numpy as np

from rbgym.compiled.jit import for_type, inlined
from rbgym.layout import LANES, POTENTIAL
from rbgym.matrix import multiple, outer
from rbgym.potentials.interface import (
    discrete_gradient,
    discrete_hessian,
    energy,
    gradient,
    hessian,
    of_lane,
)
from rbgym.quaternion import Array, Vector, dot, scale
from rbgym.rows import vector

SIGNS = {"printed": 1.0, "repulsive": -1.0}
_GAP, _WALL = 1.1, 0.001


class SoftWall(NamedTuple):
    """Coulombic potential with a wall: V = sign (a - 0.001 a^10) [J], a = 1/(1.1 + axis . o).

    o is the upward vertical, seen from the body.
    sign: "printed" is +1, which the paper's torque integrates to: a barrier of 1.50 J at
    axis . o = -0.50 with a pit behind it; the motion of its figures stays on this side.
    "repulsive" is -1, an attraction towards a wall that repels, as the paper's prose has it; from
    the paper's start the body bounces at axis . o = -0.655.
    axis: unit vector, body axes.

    Source: Krysl (2007), section 5.4.
    """

    sign: float | str = "printed"
    axis: Vector = (0.0, 0.0, 1.0)

    def slope(self, height: Array) -> Array:
        """dV/dz [N m] at heights z = axis . o."""
        a, sign = 1.0 / (_GAP + np.asarray(height)), SIGNS.get(str(self.sign), self.sign)
        return np.asarray(sign * (10.0 * _WALL * a**9 - 1.0) * a * a)


@for_type(of_lane, SoftWall)
def _(potential, buffer, i, ahead):
    return SoftWall(buffer[i + POTENTIAL * LANES], vector(buffer, i, POTENTIAL + 1))


@inlined
def _inverse(potential, o):
    return 1.0 / (_GAP + dot(potential.axis, o))


@inlined
def _fifth(a):
    return (a * a) * (a * a) * a


@for_type(energy, SoftWall)
def _(potential, o):
    a = _inverse(potential, o)
    return potential.sign * (a - _WALL * _fifth(a) * _fifth(a))


@for_type(gradient, SoftWall)
def _(potential, o):
    a = _inverse(potential, o)
    slope = -potential.sign * a * a * (1.0 - 10.0 * _WALL * _fifth(a) * (a * a) * (a * a))
    return scale(slope, potential.axis)


@for_type(hessian, SoftWall)
def _(potential, o):
    a = _inverse(potential, o)
    wall = 110.0 * _WALL * _fifth(a) * (a * a) * (a * a)
    curvature = potential.sign * a * a * a * (2.0 - wall)
    return multiple(curvature, outer(potential.axis, potential.axis))


@inlined
def _quotient(a, b):
    """p, and its derivative with b: by Horner's rule in b."""
    p, dp, power = b + a, 1.0, a * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    p, dp, power = p * b + power, dp * b + p, power * a
    return p * b + power, dp * b + p


@for_type(discrete_gradient, SoftWall)
def _(potential, o_0, o_1):
    a, b = _inverse(potential, o_0), _inverse(potential, o_1)
    p, _ = _quotient(a, b)
    return scale(-potential.sign * a * b * (1.0 - _WALL * p), potential.axis)


@for_type(discrete_hessian, SoftWall)
def _(potential, o_0, o_1):
    a, b = _inverse(potential, o_0), _inverse(potential, o_1)
    p, dp = _quotient(a, b)
    slope = potential.sign * a * b * b * (1.0 - _WALL * (p + b * dp))
    return multiple(slope, outer(potential.axis, potential.axis))
