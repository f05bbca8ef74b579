"""Potentials that users write."""

from collections.abc import Callable
from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.layout import FRAME
from rbgym.potentials.interface import energy, gradient, of_lane
from rbgym.quaternion import Quaternion, Vector, to_body, to_world
from rbgym.rows import quaternion


class _OfLane(NamedTuple):
    """A user's potential, and the quaternion from principal axes to the body frame."""

    potential: Any
    frame: Quaternion


@choice
def _own_energy(potential: Any, o: Vector) -> float:
    raise NotImplementedError


@choice
def _own_gradient(potential: Any, o: Vector) -> Vector:
    raise NotImplementedError


def register(
    cls: type,
    *,
    energy: Callable[[Any, Vector], float],
    gradient: Callable[[Any, Vector], Vector],
) -> None:
    """Teach the engine a potential V(o), o the upward vertical seen from the body frame.

    cls: a `NamedTuple` class whose fields, the parameters, are floats or tuples of floats.
    energy(potential, o) returns V [J] and gradient(potential, o) the tuple dV/do [J], so that the
    body torque is o x dV/do; both are compiled, get o as a tuple of three floats and must also be
    defined a little off the unit sphere. All schemes then accept instances of cls; those that
    use a divided difference get Gonzalez's, and conserve the total energy.

    Raises ValueError if cls is no NamedTuple class, or has been registered before.
    """
    if not (isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")):
        raise ValueError(f"cls must be a NamedTuple class, got {cls!r}")
    if is_registered(cls):
        raise ValueError(f"cls must be a new class, but {cls.__name__} is registered already")
    for_type(_own_energy, cls)(energy)
    for_type(_own_gradient, cls)(gradient)
    for_type(of_lane, cls)(_of_lane)


def is_registered(cls: type) -> bool:
    """Whether `register` was called for this class."""
    return cls in _own_energy.table.bodies  # type: ignore[attr-defined]


def _of_lane(potential, buffer, i, ahead):
    return _OfLane(potential, quaternion(buffer, i, FRAME))


@for_type(energy, _OfLane)
def _(own, o):
    return _own_energy(own.potential, to_world(own.frame, o))


@for_type(gradient, _OfLane)
def _(own, o):
    return to_body(own.frame, _own_gradient(own.potential, to_world(own.frame, o)))
