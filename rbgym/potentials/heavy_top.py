"""Uniform gravity on a body with a fixed point."""

from typing import NamedTuple

from rbgym.compiled.jit import for_type
from rbgym.layout import LANES, POTENTIAL
from rbgym.potentials.interface import (
    discrete_gradient,
    energy,
    gradient,
    is_uniform,
    of_lane,
    size,
)
from rbgym.quaternion import Vector, dot, scale
from rbgym.rows import vector


class HeavyTop(NamedTuple):
    """Uniform gravity on a body with a fixed point: V = mgl (axis . o), o the upward vertical.

    mgl: mass times gravity times the distance from the pivot to the centre of mass [N m].
    axis: unit vector from the pivot to the centre of mass, body axes.

    Source: Betsch & Siebert (2009), section 5.2.
    """

    mgl: float
    axis: Vector = (0.0, 0.0, 1.0)


@for_type(is_uniform, HeavyTop)
def _(potential):
    return True


@for_type(of_lane, HeavyTop)
def _(potential, buffer, i, ahead):
    return HeavyTop(buffer[i + POTENTIAL * LANES], vector(buffer, i, POTENTIAL + 1))


@for_type(energy, HeavyTop)
def _(potential, o):
    return potential.mgl * dot(potential.axis, o)


@for_type(gradient, HeavyTop)
def _(potential, o):
    return scale(potential.mgl, potential.axis)


@for_type(discrete_gradient, HeavyTop)
def _(potential, o_0, o_1):
    return scale(potential.mgl, potential.axis)


@for_type(size, HeavyTop)
def _(potential, o):
    return abs(potential.mgl)
