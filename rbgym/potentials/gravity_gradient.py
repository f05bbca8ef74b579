"""Gravity gradient about an inertially fixed direction, and on a circular orbit.

V = (1/2) c . S c with c = R^T d and S = 3 k J; its divided difference is S (c_0 + c_1)/2.
"""

import math
from typing import NamedTuple

from rbgym.compiled.jit import for_type
from rbgym.layout import LANES, PHASE, POTENTIAL, J
from rbgym.potentials.interface import (
    carried,
    discrete_gradient,
    discrete_hessian,
    energy,
    gradient,
    hessian,
    moves,
    of_lane,
    seen,
    turns,
)
from rbgym.quaternion import Vector, add, cos_sin, cross, dot, scale, times, to_body
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


class CircularOrbit(NamedTuple):
    """Gravity gradient on a circular orbit: V = 1.5 rate^2 c . J c, c = R^T d, d turning.

    V depends on time, and the total energy H is not conserved. What is reported in its place is
    Jacobi's integral, H - rate (normal . L), which the exact motion conserves; a scheme of order p
    conserves it to its order. As d stands still during a step, at its place half-way, no scheme is
    of higher order than two here, except by composition.

    rate: orbital angular velocity [rad/s].
    direction: unit vector from the body to the centre of attraction at the start, world axes.
    normal: unit vector about which the orbit turns, world axes, across `direction`.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, sections 8.1 and 9.1.
    """

    rate: float
    direction: Vector = (1.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)


class _OrbitOfLane(NamedTuple):
    """stiffness: diagonal of S [J]; direction: d; rate: angular velocity of d [rad/s]."""

    stiffness: Vector
    direction: Vector
    rate: Vector


_EITHER = (_OfLane, _OrbitOfLane)


@for_type(of_lane, GravityGradient)
def _(potential, buffer, i, ahead):
    return _OfLane(vector(buffer, i, POTENTIAL), vector(buffer, i, POTENTIAL + 3))


@for_type(of_lane, CircularOrbit)
def _(potential, buffer, i, ahead):
    start, rate = vector(buffer, i, POTENTIAL), vector(buffer, i, POTENTIAL + 3)
    square = dot(rate, rate)
    speed = math.sqrt(square)
    phase = buffer[i + PHASE * LANES] + speed * ahead / math.tau
    cos, sin = cos_sin(math.tau * (phase - math.floor(phase + 0.5)))
    # An orbit that does not turn has no direction to turn about.
    quarter = scale(1.0 / (speed + 1e-300), cross(rate, start))
    direction = add(scale(cos, start), scale(sin, quarter))
    return _OrbitOfLane(scale(3.0 * square, vector(buffer, i, J)), direction, rate)


@for_type(moves, CircularOrbit)
def _(potential):
    return True


@for_type(turns, _OrbitOfLane)
def _(potential, h):
    return math.sqrt(dot(potential.rate, potential.rate)) * h / math.tau


@for_type(carried, _OrbitOfLane)
def _(potential, L):
    return -dot(potential.rate, L)


@for_type(seen, *_EITHER)
def _(potential, q):
    return to_body(q, potential.direction)


@for_type(energy, *_EITHER)
def _(potential, o):
    return 0.5 * dot(o, times(potential.stiffness, o))


@for_type(gradient, *_EITHER)
def _(potential, o):
    return times(potential.stiffness, o)


@for_type(hessian, *_EITHER)
def _(potential, o):
    s = potential.stiffness
    return ((s[0], 0.0, 0.0), (0.0, s[1], 0.0), (0.0, 0.0, s[2]))


@for_type(discrete_gradient, *_EITHER)
def _(potential, o_0, o_1):
    return scale(0.5, times(potential.stiffness, add(o_0, o_1)))


@for_type(discrete_hessian, *_EITHER)
def _(potential, o_0, o_1):
    s = scale(0.5, potential.stiffness)
    return ((s[0], 0.0, 0.0), (0.0, s[1], 0.0), (0.0, 0.0, s[2]))
