"""The user's body frame, beside the principal axes in which the engine works.

They are mostly one and the same. Which it is for all bodies of a batch is known by type, so that
compiled code rotates nothing in vain.
"""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.layout import FRAME, J_INV, ROTOR, L, Q
from rbgym.quaternion import Vector, qconj, qmul, sub, times, to_body, to_world
from rbgym.rows import quaternion, vector


class Principal(NamedTuple):
    """The body frame is that of the principal axes."""


class Turned(NamedTuple):
    """The body frame is turned against the principal axes by the FRAME rows."""


@choice
def to_principal(frame: Any, buffer: Any, i: int, v: Vector) -> Vector:
    """Components in principal axes of a vector given in the body frame."""
    raise NotImplementedError


@for_type(to_principal, Principal)
def _(frame, buffer, i, v):
    return v


@for_type(to_principal, Turned)
def _(frame, buffer, i, v):
    return to_body(quaternion(buffer, i, FRAME), v)


@choice
def in_principal_axes(frame: Any, buffer: Any, i: int, q: Any, omega: Vector) -> Any:
    """Attitude and rates of the principal axes, from those of the body frame."""
    raise NotImplementedError


@for_type(in_principal_axes, Principal)
def _(frame, buffer, i, q, omega):
    return q, omega


@for_type(in_principal_axes, Turned)
def _(frame, buffer, i, q, omega):
    turn = quaternion(buffer, i, FRAME)
    return qmul(q, turn), to_body(turn, omega)


@choice
def in_body_frame(frame: Any, buffer: Any, i: int, q: Any, omega: Vector) -> Any:
    """Attitude and rates of the body frame, from those of the principal axes."""
    raise NotImplementedError


@for_type(in_body_frame, Principal)
def _(frame, buffer, i, q, omega):
    return q, omega


@for_type(in_body_frame, Turned)
def _(frame, buffer, i, q, omega):
    turn = quaternion(buffer, i, FRAME)
    return qmul(q, qconj(turn)), to_world(turn, omega)


@inlined
def view(frame, buffer, i):
    """Attitude and angular velocity of one lane in the body frame."""
    q = quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    omega = times(vector(buffer, i, J_INV), sub(Pi, vector(buffer, i, ROTOR)))
    return in_body_frame(frame, buffer, i, q, omega)
