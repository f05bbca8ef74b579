"""The user's body frame, beside the principal axes in which the engine works.

They are mostly one and the same. Which it is for all bodies of a batch is known by class, so that
compiled code rotates nothing in vain.
"""

import abc

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record
from rbgym.engine.rows import J_INV, ROTOR, L, Q, quaternion, vector
from rbgym.quaternion import qconj, qmul, sub, times, to_body, to_world


class Frame(Record):
    """How the body frame lies in the principal axes."""

    @abc.abstractmethod
    def row_count(self):
        """Number of rows."""

    @abc.abstractmethod
    def to_principal(self, physics, buffer, i, v):
        """Components in principal axes of a vector given in the body frame."""

    @abc.abstractmethod
    def in_principal_axes(self, physics, buffer, i, q, omega):
        """Attitude and rates of the principal axes, from those of the body frame."""

    @abc.abstractmethod
    def in_body_frame(self, physics, buffer, i, q, omega):
        """Attitude and rates of the body frame, from those of the principal axes."""


class Principal(Frame):
    """The body frame is that of the principal axes."""

    def row_count(self):
        return 0

    def to_principal(self, physics, buffer, i, v):
        return v

    def in_principal_axes(self, physics, buffer, i, q, omega):
        return q, omega

    def in_body_frame(self, physics, buffer, i, q, omega):
        return q, omega


class Turned(Frame):
    """The body frame is turned against the principal axes, by a quaternion in its rows."""

    def row_count(self):
        return 4

    def to_principal(self, physics, buffer, i, v):
        return to_body(quaternion(buffer, i, physics.frame_row()), v)

    def in_principal_axes(self, physics, buffer, i, q, omega):
        turn = quaternion(buffer, i, physics.frame_row())
        return qmul(q, turn), to_body(turn, omega)

    def in_body_frame(self, physics, buffer, i, q, omega):
        turn = quaternion(buffer, i, physics.frame_row())
        return qmul(q, qconj(turn)), to_world(turn, omega)


@inlined
def view(physics, buffer, i):
    """Attitude and angular velocity of one lane in the body frame."""
    q = quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    omega = times(vector(buffer, i, J_INV), sub(Pi, vector(buffer, i, ROTOR)))
    return physics.frame.in_body_frame(physics, buffer, i, q, omega)
