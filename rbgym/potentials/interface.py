"""What the engine asks of a potential.

A potential is a `NamedTuple` class with bodies registered for the functions below. It is a function
V of one world direction seen from the body, o = R(q)^T d, so that one gradient with respect to o
describes it completely: the body torque is o x dV/do. A direction that moves stands still during a
step, where it is half-way. Its divided difference, a vector g with
g . (o_1 - o_0) = V(o_1) - V(o_0), is what makes an energy-momentum scheme conserve the total
energy.

All vectors are tuples of floats in principal axes.
"""

import math
from typing import Any

from rbgym.compiled.jit import choice, inlined, otherwise
from rbgym.matrix import Matrix, crossed, multiple, plus, product
from rbgym.quaternion import Quaternion, Vector, add, cross, dot, scale, sub, upward

_DIFFERENCE = 1e-5  # of directions, which have length one
_COINCIDENT = 1e-10  # squared distance of ends that are too near for a quotient of differences


@choice
def is_free(potential: Any) -> bool:
    """Whether there is nothing to compute; known while compiling."""
    raise NotImplementedError


@otherwise(is_free)
def _(potential):
    return False


@choice
def is_uniform(potential: Any) -> bool:
    """Whether the gradient is the same at every attitude; known while compiling."""
    raise NotImplementedError


@otherwise(is_uniform)
def _(potential):
    return False


@choice
def moves(potential: Any) -> bool:
    """Whether the direction changes with time; known while compiling."""
    raise NotImplementedError


@otherwise(moves)
def _(potential):
    return False


@choice
def turns(potential: Any, h: float) -> float:
    """By how many turns the phase of a direction that moves changes in h seconds."""
    raise NotImplementedError


@otherwise(turns)
def _(potential, h):
    return 0.0


@choice
def of_lane(potential: Any, buffer: Any, i: int, ahead: float) -> Any:
    """The potential with the parameters of one lane, `ahead` seconds after the lane's state."""
    raise NotImplementedError


@choice
def seen(potential: Any, q: Quaternion) -> Vector:
    """o = R(q)^T d: the direction that the potential depends on, seen from the body."""
    raise NotImplementedError


@otherwise(seen)
def _(potential, q):
    return upward(q)


@choice
def energy(potential: Any, o: Vector) -> float:
    """V [J]."""
    raise NotImplementedError


@choice
def carried(potential: Any, L: Vector) -> float:
    """What the total energy lacks to be an integral of the motion, world momentum L [J]."""
    raise NotImplementedError


@otherwise(carried)
def _(potential, L):
    return 0.0


@choice
def gradient(potential: Any, o: Vector) -> Vector:
    """dV/do [J]; the body torque is o x dV/do."""
    raise NotImplementedError


@choice
def hessian(potential: Any, o: Vector) -> Matrix:
    """Derivative of the gradient [J]."""
    raise NotImplementedError


@otherwise(hessian)
def _(potential, o):
    x, y, z = (_DIFFERENCE, 0.0, 0.0), (0.0, _DIFFERENCE, 0.0), (0.0, 0.0, _DIFFERENCE)
    return _columns(
        sub(gradient(potential, add(o, x)), gradient(potential, sub(o, x))),
        sub(gradient(potential, add(o, y)), gradient(potential, sub(o, y))),
        sub(gradient(potential, add(o, z)), gradient(potential, sub(o, z))),
    )


@choice
def discrete_gradient(potential: Any, o_0: Vector, o_1: Vector) -> Vector:
    """Divided difference g with g . (o_1 - o_0) = V(o_1) - V(o_0), symmetric in its ends [J]."""
    raise NotImplementedError


@otherwise(discrete_gradient)
def _(potential, o_0, o_1):
    # Gonzalez (1996), eq. (3.2): the gradient half-way, corrected along the difference.
    d, middle = sub(o_1, o_0), scale(0.5, add(o_0, o_1))
    g, square = gradient(potential, middle), dot(d, d)
    lack = energy(potential, o_1) - energy(potential, o_0) - dot(g, d)
    # The quotient is 0/0 where the ends meet; there the correction is beyond round-off.
    apart = square > _COINCIDENT
    return add(g, scale(lack / square if apart else 0.0, d))


@choice
def discrete_hessian(potential: Any, o_0: Vector, o_1: Vector) -> Matrix:
    """Derivative of the divided difference with respect to o_1 [J]."""
    raise NotImplementedError


@otherwise(discrete_hessian)
def _(potential, o_0, o_1):
    x, y, z = (_DIFFERENCE, 0.0, 0.0), (0.0, _DIFFERENCE, 0.0), (0.0, 0.0, _DIFFERENCE)
    return _columns(
        sub(_discrete(potential, o_0, add(o_1, x)), _discrete(potential, o_0, sub(o_1, x))),
        sub(_discrete(potential, o_0, add(o_1, y)), _discrete(potential, o_0, sub(o_1, y))),
        sub(_discrete(potential, o_0, add(o_1, z)), _discrete(potential, o_0, sub(o_1, z))),
    )


@inlined
def _discrete(potential, o_0, o_1):
    return discrete_gradient(potential, o_0, o_1)


@inlined
def _columns(x, y, z):
    """The matrix of these central differences."""
    s = 0.5 / _DIFFERENCE
    return multiple(s, ((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])))


@choice
def size(potential: Any, o: Vector) -> float:
    """How large the torque is about the direction o [N m]."""
    raise NotImplementedError


@otherwise(size)
def _(potential, o):
    g = gradient(potential, o)
    return math.sqrt(dot(g, g))


# --- what schemes build on these -------------------------------------------------------------


@inlined
def torque(potential, u, o):
    """The body torque at the direction o, a held one included."""
    if is_free(potential):
        return u
    return add(u, cross(o, gradient(potential, o)))


@inlined
def torque_change(potential, o, turn):
    """Derivative of the torque at o with unknowns that turn the body by the matrix `turn`."""
    tilting = crossed(o, turn)
    change = multiple(-1.0, crossed(gradient(potential, o), tilting))
    if is_uniform(potential):
        return change
    return plus(change, crossed(o, product(hessian(potential, o), tilting)))


@inlined
def discrete_gradient_change(potential, o_0, o_1, tilting):
    """Derivative of the divided difference when o_1 changes by the matrix `tilting`."""
    return product(discrete_hessian(potential, o_0, o_1), tilting)
