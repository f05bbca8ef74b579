"""What differs from episode to episode besides the start. Parts as in rbgym.envs.parts.goals."""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined, otherwise
from rbgym.layout import J_INV, LANES, POTENTIAL, SCALE, J
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Vector, scale
from rbgym.rows import put_vector


class Nominal(NamedTuple):
    """Every episode has the same body and the same torque."""


class Spread(NamedTuple):
    """Factors drawn uniformly from 1 +- a part of one, anew for each episode.

    inertia: of each principal second moment of the mass, so that every inertia drawn is that of a
    body; mass: of all of them and of the weight; gravity: of the weight; torque: of the torque
    limit. The rest is what they multiply: principal moments [kg m^2], weight moment and limits of
    the torque [N m].
    """

    inertia: float
    mass: float
    gravity: float
    torque: float
    moments: Vector
    mgl: float
    limits: Vector


@choice
def vary(part: Any, potential: Any, buffer: Any, i: int, a: Any, b: Any) -> float:
    """Give the lane its body and torque for the episode, from eight uniform numbers; returns the
    factor of its mass."""
    raise NotImplementedError


@for_type(vary, Nominal)
def _(part, potential, buffer, i, a, b):
    return 1.0


@inlined
def _factor(part, u):
    return 1.0 + part * (2.0 * u - 1.0)


@for_type(vary, Spread)
def _(part, potential, buffer, i, a, b):
    mass, (x, y, z) = _factor(part.mass, a[3]), part.moments
    half = 0.5 * (x + y + z)
    # Second moments, at least zero; the moments of inertia are their sums in pairs.
    p_x = _factor(part.inertia, a[0]) * max(half - x, 0.0)
    p_y = _factor(part.inertia, a[1]) * max(half - y, 0.0)
    p_z = _factor(part.inertia, a[2]) * max(half - z, 0.0)
    moments = (mass * (p_y + p_z), mass * (p_z + p_x), mass * (p_x + p_y))
    put_vector(buffer, i, J, moments)
    put_vector(buffer, i, J_INV, (1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2]))
    put_vector(buffer, i, SCALE, scale(_factor(part.torque, b[0]), part.limits))
    weigh(potential, buffer, i, mass * _factor(part.gravity, b[1]) * part.mgl)
    return mass


@choice
def weigh(potential: Any, buffer: Any, i: int, mgl: float) -> None:
    """Give a potential of gravity its weight moment [N m]; there is none in the others."""
    raise NotImplementedError


@for_type(weigh, HeavyTop)
def _(potential, buffer, i, mgl):
    buffer[i + POTENTIAL * LANES] = mgl


@otherwise(weigh)
def _(potential, buffer, i, mgl):
    return None
