"""Scheme of Austin, Krishnaprasad & Wang, algorithm AKW of Krysl (2007), section 4.

    Pi_1 = Pi_0 - h (J^-1 P) x P + (h/2)(T_0 + T_1),  R_1 = R_0 cay(h J^-1 P),  P = (Pi_0 + Pi_1)/2

With c = tan(theta/2) n, theta n the rotation vector of the step, c = (h/2) J^-1 (P - h_w) and

    F(c) = P + c x P - Pi_0 - (h/2) T = 0,  P = (2/h) J c + h_w,  T = (T_0 + T_1)/2.

A held torque u is its own mean, so that its world impulse is h (R_0 + R_1)/2 u, as published; its
discrete work is 2 c.u.
"""

import math
from typing import NamedTuple

from rbgym.integrators.interface import (
    conserves_energy,
    correct,
    defect,
    finish,
    fraction,
    reach,
)
from rbgym.jit import for_type, inlined
from rbgym.matrix import crossed, multiple, outer, plus, skewed, solve, turning
from rbgym.potentials import gradient, is_free, is_uniform
from rbgym.quaternion import add, cross, dot, qmul, scale, sub, times, to_world


class AKW(NamedTuple):
    """Names the scheme to the engine."""


@for_type(fraction, AKW)
def _(scheme):
    return 0.5


@for_type(reach, AKW)
def _(scheme):
    return 1e4  # the Cayley map reaches every rotation below half a turn


@inlined
def _mean_direction(c, o_0):
    """(o_0 + o_1)/2 = (1 + cross c)^-1 o_0."""
    s = 1.0 / (1.0 + dot(c, c))
    return scale(s, add(sub(o_0, cross(c, o_0)), scale(dot(c, o_0), c)))


@inlined
def _torque(potential, step, c):
    """T, the mean of the body torques at both ends."""
    if is_free(potential):
        return step.u
    o_0 = step.o_0
    o_m = _mean_direction(c, o_0)
    if is_uniform(potential):
        return add(step.u, cross(o_m, gradient(potential, o_m)))
    o_1 = sub(scale(2.0, o_m), o_0)
    ends = add(cross(o_0, gradient(potential, o_0)), cross(o_1, gradient(potential, o_1)))
    return add(step.u, scale(0.5, ends))


@inlined
def _torque_derivative(potential, c, o_0):
    """Derivative of -T, the mean of the end torques."""
    o_m = _mean_direction(c, o_0)
    tilting = plus(outer(c, o_0), plus(outer(scale(-2.0, o_m), c), skewed(dot(c, o_0), o_0)))
    o_1 = sub(scale(2.0, o_m), o_0)
    return crossed(scale(1.0 / (1.0 + dot(c, c)), gradient(potential, o_1)), tilting)


@for_type(correct, AKW)
def _(scheme, potential, body, step, c):
    h, D = step.h, scale(2.0 / step.h, body.J)
    P = add(times(D, c), body.rotor)
    F = sub(add(P, cross(c, P)), add(step.Pi_0, scale(0.5 * h, _torque(potential, step, c))))
    dF = turning(D, c, D, P)
    if not is_free(potential):
        dF = plus(dF, multiple(0.5 * h, _torque_derivative(potential, c, step.o_0)))
    size = dot(P, P) + dot(step.Pi_0, step.Pi_0) + h * h * dot(step.u, step.u)
    return solve(dF, F), dot(F, F), size


@for_type(finish, AKW)
def _(scheme, potential, body, step, c, memory):
    s = 1.0 / (1.0 + dot(c, c))
    r = math.sqrt(s)
    q_1 = qmul(step.q, (r, r * c[0], r * c[1], r * c[2]))
    # (R_0 + R_1)/2 T = R_0 (1 - cross c)^-1 T.
    T = _torque(potential, step, c)
    mean = scale(s, add(add(T, cross(c, T)), scale(dot(c, T), c)))
    L_1 = add(step.L, to_world(step.q, scale(step.h, mean)))
    return q_1, L_1, 2.0 * dot(c, step.u), memory


@for_type(defect, AKW)
def _(scheme, potential, body, step, c, Pi_1, o_1):
    mean = scale(0.5, add(step.Pi_0, Pi_1))
    r = sub(add(scale(2.0 / step.h, times(body.J, c)), body.rotor), mean)
    return dot(r, r), dot(step.Pi_0, step.Pi_0) + dot(Pi_1, Pi_1) + dot(body.rotor, body.rotor)


@for_type(conserves_energy, AKW)
def _(scheme, potential):
    # Only then the mean of the end torques is the divided difference.
    return is_uniform(potential)
