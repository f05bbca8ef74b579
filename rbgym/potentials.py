"""Potentials: torques that derive from an energy V.

Every potential is a function of a fixed world direction seen from the body, o = R(q)^T d, so
one gradient with respect to o describes it completely: the body torque is o x dV/do. Its exact
divided difference, a vector g with g . (o_1 - o_0) = V(o_1) - V(o_0), is what makes an
energy-momentum scheme conserve the total energy.

A potential is a small `NamedTuple`; adding one is one class with its `for_type` blocks.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rbgym.jit import choice, for_type, otherwise
from rbgym.layout import LANES, POTENTIAL
from rbgym.quaternion import Array, Quaternion, Vector, dot, scale, upward


class NoPotential(NamedTuple):
    """No potential: the body is free."""


class HeavyTop(NamedTuple):
    """Uniform gravity on a body with a fixed point: V = mgl (axis . o), o the upward vertical.

    mgl: mass times gravity times the distance from the pivot to the centre of mass [N m].
    axis: unit vector from the pivot to the centre of mass, body axes.

    Source: Betsch & Siebert (2009), section 5.2.
    """

    mgl: float
    axis: Vector = (0.0, 0.0, 1.0)


Potential: TypeAlias = NoPotential | HeavyTop


@choice
def is_free(potential: Any) -> bool:
    """Whether there is nothing to compute; known while compiling."""
    raise NotImplementedError


@choice
def is_uniform(potential: Any) -> bool:
    """Whether the gradient is the same at every attitude; known while compiling."""
    raise NotImplementedError


@otherwise(is_uniform)
def _(potential):
    return False


@choice
def of_lane(potential: Any, buffer: Any, i: int) -> Any:
    """The potential with the parameters of one lane, read from the batch."""
    raise NotImplementedError


@choice
def seen(potential: Any, q: Quaternion) -> Vector:
    """o = R(q)^T d: the direction that the potential depends on, seen from the body."""
    raise NotImplementedError


@choice
def energy(potential: Any, o: Vector) -> float:
    """V [J]."""
    raise NotImplementedError


@choice
def gradient(potential: Any, o: Vector) -> Vector:
    """dV/do [J]; the body torque is o x dV/do."""
    raise NotImplementedError


@choice
def discrete_gradient(potential: Any, o_0: Vector, o_1: Vector) -> Vector:
    """Divided difference g with g . (o_1 - o_0) = V(o_1) - V(o_0), symmetric in its ends [J]."""
    raise NotImplementedError


@choice
def size(potential: Any) -> float:
    """Largest size of the torque [N m]."""
    raise NotImplementedError


# --- NoPotential ----------------------------------------------------------------------------


@for_type(is_free, NoPotential)
def _(potential):
    return True


@for_type(is_uniform, NoPotential, HeavyTop)
def _(potential):
    return True


@for_type(of_lane, NoPotential)
def _(potential, buffer, i):
    return potential


@for_type(seen, NoPotential)
def _(potential, q):
    return (0.0, 0.0, 1.0)


@for_type(energy, NoPotential)
def _(potential, o):
    return 0.0


@for_type(gradient, NoPotential)
def _(potential, o):
    return (0.0, 0.0, 0.0)


@for_type(discrete_gradient, NoPotential)
def _(potential, o_0, o_1):
    return (0.0, 0.0, 0.0)


@for_type(size, NoPotential)
def _(potential):
    return 0.0


# --- HeavyTop -------------------------------------------------------------------------------


@for_type(is_free, HeavyTop)
def _(potential):
    return False


@for_type(of_lane, HeavyTop)
def _(potential, buffer, i):
    p = i + POTENTIAL * LANES
    axis = (buffer[p + LANES], buffer[p + 2 * LANES], buffer[p + 3 * LANES])
    return HeavyTop(buffer[p], axis)


@for_type(seen, HeavyTop)
def _(potential, q):
    return upward(q)


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
def _(potential):
    return abs(potential.mgl)


# --- choosing one ---------------------------------------------------------------------------


def checked(potential: Potential | None) -> Potential:
    """The potential with float fields, or a `ValueError` that says what is wrong with it."""
    if potential is None or isinstance(potential, NoPotential):
        return NoPotential()
    if not isinstance(potential, HeavyTop):
        raise ValueError(
            f"potential must be None, NoPotential() or HeavyTop(mgl, axis), got {potential!r}"
        )
    mgl, axis = float(potential.mgl), np.asarray(potential.axis, dtype=float)
    if not np.isfinite(mgl):
        raise ValueError(f"potential.mgl must be finite, got {mgl!r}")
    if axis.shape != (3,) or not abs(np.linalg.norm(axis) - 1) < 1e-9:
        raise ValueError(f"potential.axis must be a unit vector (3,), got {potential.axis!r}")
    x, y, z = (float(v) for v in axis / np.linalg.norm(axis))
    return HeavyTop(mgl, (x, y, z))


def parameters(potential: Potential, rotation: Array) -> list[float]:
    """The lane's rows for this potential, with body vectors turned into principal axes.

    rotation: (3, 3), columns are the principal axes in the body frame.
    """
    if isinstance(potential, NoPotential):
        return []
    return [potential.mgl, *(rotation.T @ np.asarray(potential.axis))]
