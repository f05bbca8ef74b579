"""The interface of a potential to the engine and the schemes; no potential, and uniform gravity.

A potential is a function V of one world direction d seen from the body, o = R(q)^T d, so its
gradient with respect to o describes it completely: the body torque is o x dV/do. If d moves, each
step holds it at its midpoint. An energy-momentum scheme conserves the total energy by the divided
difference of V, a vector g with g . (o_1 - o_0) = V(o_1) - V(o_0).

All vectors are tuples of floats in principal axes.
"""

import math
from typing import Any, Self

import numpy as np

from rbgym.arguments import finite, unit
from rbgym.body import RigidBody
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, missing_methods, required
from rbgym.matrix import crossed, multiple, plus, product
from rbgym.quaternion import Vector, add, cross, dot, scale, sub, to_body, to_world, upward
from rbgym.rows import LANES, parameter, parameters, quaternion

_DIFFERENCE = 1e-5  # step of central differences in o, a unit vector
_COINCIDENT = 1e-10  # squared distance below which two ends are too close for a difference quotient
_ZERO = (0.0, 0.0, 0.0)


class Potential(Record):
    """A potential energy V(o), o the upward vertical seen from the body.

    To write your own, subclass this with fields that are floats, tuples of floats or potentials,
    and the methods `energy(o)` and `gradient(o)`. They are compiled, take o as a tuple of three
    floats in the body frame, and must also be defined a little off the unit sphere.
    """

    @required
    def energy(self, o):
        """V [J]."""

    @required
    def gradient(self, o):
        """dV/do [J], a tuple of three floats; the body torque is o x dV/do."""

    def hessian(self, o):
        """Derivative of the gradient [J]."""
        x, y, z = (_DIFFERENCE, 0.0, 0.0), (0.0, _DIFFERENCE, 0.0), (0.0, 0.0, _DIFFERENCE)
        return _columns(
            sub(self.gradient(add(o, x)), self.gradient(sub(o, x))),
            sub(self.gradient(add(o, y)), self.gradient(sub(o, y))),
            sub(self.gradient(add(o, z)), self.gradient(sub(o, z))),
        )

    def discrete_gradient(self, o_0, o_1):
        """Divided difference g with g . (o_1 - o_0) = V(o_1) - V(o_0), symmetric in its ends [J].

        Gonzalez (1996), eq. (3.2): the gradient at the midpoint, corrected along o_1 - o_0.
        """
        d, middle = sub(o_1, o_0), scale(0.5, add(o_0, o_1))
        g, square = self.gradient(middle), dot(d, d)
        error = self.energy(o_1) - self.energy(o_0) - dot(g, d)
        # The quotient is 0/0 where the ends meet; there the correction is below round-off.
        apart = square > _COINCIDENT
        return add(g, scale(error / square if apart else 0.0, d))

    def discrete_hessian(self, o_0, o_1):
        """Derivative of the divided difference with respect to o_1 [J]."""
        x, y, z = (_DIFFERENCE, 0.0, 0.0), (0.0, _DIFFERENCE, 0.0), (0.0, 0.0, _DIFFERENCE)
        return _columns(
            sub(self.discrete_gradient(o_0, add(o_1, x)), self.discrete_gradient(o_0, sub(o_1, x))),
            sub(self.discrete_gradient(o_0, add(o_1, y)), self.discrete_gradient(o_0, sub(o_1, y))),
            sub(self.discrete_gradient(o_0, add(o_1, z)), self.discrete_gradient(o_0, sub(o_1, z))),
        )

    def size(self, o):
        """Scale of the torque at the direction o [N m]: the length of the gradient."""
        g = self.gradient(o)
        return math.sqrt(dot(g, g))

    def round_off(self, o_0, o_1):
        """Torque [N m] with the round-off that the divided difference has beyond that of `size`."""
        return 0.0

    is_free = constant(False, "Whether V is zero everywhere.")
    is_uniform = constant(False, "Whether the gradient is the same at every attitude.")
    moves = constant(False, "Whether the direction d changes with time.")

    def torque(self, u, o):
        """The body torque at the direction o, plus the held torque u."""
        if self.is_free():
            return u
        return add(u, cross(o, self.gradient(o)))

    def world_torque(self, q, g):
        """The torque of a gradient g in world axes, d x R g; its component along d is exactly 0."""
        g = to_world(q, g)
        return (-g[1], g[0], 0.0)

    def across(self, v):
        """The component of a world vector v orthogonal to the direction d."""
        return (v[0], v[1], 0.0)

    def torque_change(self, o, turn):
        """Derivative of the torque at o with unknowns whose change dx turns the body by turn dx."""
        tilting = crossed(o, turn)
        change = multiple(-1.0, crossed(self.gradient(o), tilting))
        if self.is_uniform():
            return change
        return plus(change, crossed(o, product(self.hessian(o), tilting)))

    def discrete_gradient_change(self, o_0, o_1, tilting):
        """Derivative of the divided difference with unknowns on which o_1 depends by `tilting`."""
        return product(self.discrete_hessian(o_0, o_1), tilting)

    # The potential in one lane of a batch; its rows begin at physics.potential_row().
    row_count = constant(4, "Number of rows.")

    def of_lane(self, physics, buffer, i, ahead):
        """The potential with the parameters of one lane, `ahead` seconds after the lane's state."""
        return OfBodyFrame(self, quaternion(buffer, i, physics.potential_row()))

    def seen(self, q):
        """o = R(q)^T d: the direction that the potential depends on, seen from the body."""
        return upward(q)

    def jacobi_term(self, L):
        """What to add to the total energy to get an integral of the motion; L in world axes [J]."""
        return 0.0

    def start_phase(self, physics, buffer, i):
        """Reset a moving direction to its start."""

    def draw_phase(self, physics, buffer, i, u):
        """Draw the direction at the start of an episode from four uniform numbers u."""

    def advance_phase(self, physics, buffer, i, h, good):
        """Advance a moving direction by h seconds, if the step was good."""

    def weigh(self, physics, buffer, i, mgl):
        """Set another weight moment [N m], if the potential is gravity on a top."""

    def checked(self) -> Self:
        """The potential with float fields; a ValueError says what is wrong with it."""
        if missing := missing_methods(type(self)):
            raise ValueError(f"potential must have the methods {', '.join(missing)}, got {self!r}")
        return type(self)(*(_floats(name, value) for name, value in self._asdict().items()))

    def of_class_for(self, body: RigidBody) -> "Potential":
        """The same potential, in a faster class if there is one for a body like this."""
        return self

    def rows_for(self, body: RigidBody) -> list[float]:
        """The rows of a lane with this potential and body; body vectors in principal axes."""
        return [*body.principal_quaternion]


class NoPotential(Potential):
    """No potential: the body is free."""

    is_free = constant(True)
    is_uniform = constant(True)
    row_count = constant(0)

    def of_lane(self, physics, buffer, i, ahead):
        return self

    def seen(self, q):
        return (0.0, 0.0, 1.0)

    def energy(self, o):
        return 0.0

    def gradient(self, o):
        return _ZERO

    def world_torque(self, q, g):
        return _ZERO

    def discrete_gradient(self, o_0, o_1):
        return _ZERO

    def size(self, o):
        return 0.0

    def rows_for(self, body: RigidBody) -> list[float]:
        return []


class HeavyTop(Potential):
    """Uniform gravity on a body with a fixed point: V = mgl (axis . o), o the upward vertical.

    mgl: mass times gravity times distance from pivot to centre of mass [N m].
    axis: unit vector from the pivot to the centre of mass, body axes.

    Source: Betsch & Siebert (2009), section 5.2.
    """

    mgl: float
    axis: Vector = (0.0, 0.0, 1.0)
    is_uniform = constant(True)
    row_count = constant(4)

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        return HeavyTop(parameter(buffer, i + row * LANES), parameters(buffer, i, row + 1))

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

    def of_class_for(self, body: RigidBody) -> Potential:
        plain = type(self) is HeavyTop and self.rows_for(body)[1:] == [0.0, 0.0, 1.0]
        return AxialTop(self.mgl, self.axis) if plain else self


class AxialTop(HeavyTop):
    """A heavy top whose centre of mass lies on the third principal axis."""

    row_count = constant(1)

    def of_lane(self, physics, buffer, i, ahead):
        mgl = parameter(buffer, i + physics.potential_row() * LANES)
        return AxialTop(mgl, (0.0, 0.0, 1.0))

    def energy(self, o):
        return self.mgl * o[2]

    def gradient(self, o):
        return (0.0, 0.0, self.mgl)

    def torque(self, u, o):
        return (u[0] + self.mgl * o[1], u[1] - self.mgl * o[0], u[2])

    def of_class_for(self, body: RigidBody) -> Potential:
        return HeavyTop(self.mgl, self.axis).of_class_for(body)

    def rows_for(self, body: RigidBody) -> list[float]:
        return [self.mgl]


class OfBodyFrame(Potential):
    """A user's potential, written in the body frame, for the engine, which works in principal axes.

    frame: the quaternion from principal axes to the body frame.
    """

    potential: Any
    frame: Any

    def energy(self, o):
        return self.potential.energy(to_world(self.frame, o))

    def gradient(self, o):
        return to_body(self.frame, self.potential.gradient(to_world(self.frame, o)))

    def round_off(self, o_0, o_1):
        d = sub(o_1, o_0)  # by which the round-off of V is divided
        return 0.05 * abs(self.energy(o_1)) / math.sqrt(dot(d, d) + 1e-10)


@inlined
def _columns(x, y, z):
    """The matrix whose columns are x, y, z over twice the difference."""
    s = 0.5 / _DIFFERENCE
    return multiple(s, ((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])))


def number(name: str, value: Any) -> float:
    """The value of a field as a finite float; raises ValueError."""
    return float(finite(f"potential.{name}", value, ()))


def unit_vector(name: str, value: Any) -> Vector:
    """The value of a field as a vector of unit length; raises ValueError."""
    given = unit(f"potential.{name}", value, 3)
    x, y, z = (float(v) for v in given / np.linalg.norm(given))
    return (x, y, z)


def _floats(name: str, value: Any) -> Any:
    if isinstance(value, Potential):
        if missing := missing_methods(type(value)):
            raise ValueError(f"potential.{name} must have the methods {missing}, got {value!r}")
        return value.checked()
    if isinstance(value, tuple):
        return tuple(number(name, v) for v in value)
    return number(name, value)
