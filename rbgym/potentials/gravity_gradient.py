"""Gravity gradient about an inertially fixed direction.

V = (1/2) c . S c with c = R^T d and S = 3 k J; its divided difference is S (c_0 + c_1)/2.
"""

from typing import NamedTuple

from rbgym.jit import for_type
from rbgym.layout import POTENTIAL
from rbgym.potentials.interface import (
    discrete_gradient,
    discrete_hessian,
    energy,
    gradient,
    hessian,
    of_lane,
    seen,
)
from rbgym.quaternion import Vector, add, dot, scale, times, to_body
from rbgym.rows import vector


class GravityGradient(NamedTuple):
    """Gravity gradient about an inertially fixed direction: V = 1.5 k c . J c, c = R^T direction.

    k: gravitational parameter over the cube of the distance [1/s^2].
    direction: unit vector towards the centre of attraction, world axes.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, section 8.1.
    """

    k: float
    direction: Vector = (0.0, 0.0, 1.0)


class _OfLane(NamedTuple):
    """stiffness: diagonal of S [J]; direction: d."""

    stiffness: Vector
    direction: Vector


@for_type(of_lane, GravityGradient)
def _(potential, buffer, i):
    return _OfLane(vector(buffer, i, POTENTIAL), vector(buffer, i, POTENTIAL + 3))


@for_type(seen, _OfLane)
def _(potential, q):
    return to_body(q, potential.direction)


@for_type(energy, _OfLane)
def _(potential, o):
    return 0.5 * dot(o, times(potential.stiffness, o))


@for_type(gradient, _OfLane)
def _(potential, o):
    return times(potential.stiffness, o)


@for_type(hessian, _OfLane)
def _(potential, o):
    s = potential.stiffness
    return ((s[0], 0.0, 0.0), (0.0, s[1], 0.0), (0.0, 0.0, s[2]))


@for_type(discrete_gradient, _OfLane)
def _(potential, o_0, o_1):
    return scale(0.5, times(potential.stiffness, add(o_0, o_1)))


@for_type(discrete_hessian, _OfLane)
def _(potential, o_0, o_1):
    s = scale(0.5, potential.stiffness)
    return ((s[0], 0.0, 0.0), (0.0, s[1], 0.0), (0.0, 0.0, s[2]))
