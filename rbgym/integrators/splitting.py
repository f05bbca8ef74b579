"""RRR: a free motion made of planar rotations between half kicks of the torques; kicks for others.

    L <- L + (h/2) R_0 T_0,  free motion over h,  L <- L + (h/2) R_1 T_1.

Each term Pi_i^2/(2 J_i) of the energy alone turns the body about its axis i, at the constant rate
(Pi_i - h_w,i)/J_i: half a step of 1, half of 2, the whole of 3, half of 2, half of 1. The scheme is
explicit, symplectic and symmetric.
"""

import math

from rbgym.compiled.jit import inlined
from rbgym.integrators.interface import (
    CONSERVES_MOMENTUM,
    Body,
    Explicit,
    Integrator,
)
from rbgym.quaternion import add, cos_sin, dot, qmul, scale, sub, times, to_body, to_world

_REACH = 4.0  # half the angle of a planar rotation, for which the series are at round-off


@inlined
def kicked(potential, step):
    """Body momentum after the first half kick."""
    return add(step.Pi_0, scale(0.5 * step.h, potential.torque(step.u, step.o_0)))


@inlined
def end_of_step(potential, body, step, turn):
    """What `finish` returns for a free motion that turns the body by the quaternion `turn`."""
    q_1, half = qmul(step.q, turn), 0.5 * step.h
    T_0 = potential.torque(step.u, step.o_0)
    T_1 = potential.torque(step.u, to_body(turn, step.o_0))
    L_1 = add(add(step.L, to_world(step.q, scale(half, T_0))), to_world(q_1, scale(half, T_1)))
    # Each kick adds its impulse times the mean of the rates before and after it.
    Pi = add(step.Pi_0, sub(to_body(q_1, L_1), scale(2.0, body.rotor)))
    Pi = add(Pi, scale(0.5 * half, sub(T_0, T_1)))
    return q_1, L_1, half * dot(step.u, times(body.J_inv, Pi)), step.memory


class RRR(Explicit):
    """The free motion made of planar rotations about the axes 1, 2, 3, 2, 1."""

    def finish(self, potential, body, step, x):
        h, second = step.h, _shifted_body(body)
        motion = (1.0, 0.0, 0.0, 0.0), kicked(potential, step), 0.0
        motion = _shifted_motion(_about_first(body, 0.5 * h, motion))
        motion = _shifted_motion(_about_first(second, 0.5 * h, motion))
        motion = _about_first(_shifted_body(second), h, motion)
        motion = _about_first(second, 0.5 * h, _shifted_motion(_shifted_motion(motion)))
        motion = _about_first(body, 0.5 * h, _shifted_motion(_shifted_motion(motion)))
        turn, _, largest = motion
        q_1, L_1, work, memory = end_of_step(potential, body, step, turn)
        # What is not finite is refused.
        return q_1, scale(1.0 if largest <= _REACH else math.nan, L_1), work, memory


@inlined
def _about_first(body, s, motion):
    """The motion (turn, momentum, largest angle) after turning about the first axis for s."""
    q, Pi, largest = motion
    angle = 0.5 * s * body.J_inv[0] * (Pi[0] - body.rotor[0])
    cos, sin = cos_sin(angle)
    q = (
        cos * q[0] - sin * q[1],
        cos * q[1] + sin * q[0],
        cos * q[2] + sin * q[3],
        cos * q[3] - sin * q[2],
    )
    cos, sin = 1.0 - 2.0 * sin * sin, 2.0 * sin * cos
    Pi = (Pi[0], cos * Pi[1] + sin * Pi[2], cos * Pi[2] - sin * Pi[1])
    return q, Pi, max(largest, abs(angle))


@inlined
def _shifted(v):
    return (v[1], v[2], v[0])


@inlined
def _shifted_body(body):
    """The body with its second axis named the first."""
    return Body(_shifted(body.J), _shifted(body.J_inv), _shifted(body.rotor))


@inlined
def _shifted_motion(motion):
    q, Pi, largest = motion
    return (q[0], q[2], q[3], q[1]), _shifted(Pi), largest


INTEGRATORS = (
    Integrator(
        "rrr",
        RRR(),
        "symmetric splitting into planar rotations",
        "McLachlan (1993); Reich (1994)",
        order=2,
        symmetric=True,
        conserves=CONSERVES_MOMENTUM,
    ),
)
