"""Quaternion energy-momentum scheme of Betsch & Siebert (2009), equation (51).

The published system has seven unknowns. With e = tan(theta/4) n, theta n the rotation vector of
the step, it reduces to three: the increment quaternion is (1 - e.e, 2e)/(1 + e.e), the rotation
half-way has the quaternion (1, e)/sqrt(1 + e.e), and

    e = (h/8) J^-1 (Pi_0 + Pi_1 - 2 h_w).

With P = (4/h) J e + h_w, the mean momentum, and the torque tau in the axes half-way, this is

    F(e) = (1 - e.e)(P - Pi_0) + 2 e (e.(P - Pi_0)) + 2 e x P - (1 + e.e)(h/2) tau = 0,

tau = u + o_m x g, o_m = cos^2(theta/4) R_half^T o_0, g the divided difference of the potential.
The world impulse is h R_m tau, R_m the attitude half-way, so that a held torque u acts at full
strength; its discrete work is 4 e.u. tests/test_textbook_agreement.py compares the two systems.
"""

from typing import NamedTuple

from rbgym.integrators.interface import (
    conserves_energy,
    correct,
    defect,
    finish,
    fraction,
)
from rbgym.jit import for_type, inlined
from rbgym.matrix import crossed, multiple, outer, plus, skewed, solve, turning
from rbgym.potentials import discrete_gradient, is_free
from rbgym.quaternion import add, cross, dot, qmul, scale, sub, times, to_world


class QuatEM(NamedTuple):
    """Names the scheme to the engine."""


@for_type(fraction, QuatEM)
def _(scheme):
    return 0.25


@inlined
def _turned(e, v):
    """(1 + e.e) R_half^T v."""
    return add(sub(scale(1.0 - dot(e, e), v), scale(2.0, cross(e, v))), scale(2.0 * dot(e, v), e))


@inlined
def _direction(e, o_0):
    """o_m = cos^2(theta/4) R_half^T o_0, and the direction at the end of the step."""
    c = 1.0 / (1.0 + dot(e, e))
    half = scale(c, _turned(e, o_0))
    return scale(c, half), scale(c, _turned(e, half))


@inlined
def _torque(potential, step, e):
    """Torque tau in the axes half-way."""
    if is_free(potential):
        return step.u
    o_m, o_1 = _direction(e, step.o_0)
    return add(step.u, cross(o_m, discrete_gradient(potential, step.o_0, o_1)))


@inlined
def _torque_derivative(potential, e, o_0):
    """Derivative of -tau; divided differences vary slowly, that of gravity not at all."""
    c = 1.0 / (1.0 + dot(e, e))
    o_m, o_1 = _direction(e, o_0)
    v = scale(-1.0, add(o_0, scale(2.0 / c, o_m)))
    tilting = plus(outer(e, o_0), plus(outer(v, e), skewed(dot(e, o_0), o_0)))
    return crossed(scale(2.0 * c * c, discrete_gradient(potential, o_0, o_1)), tilting)


@for_type(correct, QuatEM)
def _(scheme, potential, body, step, e):
    h, D, ee = step.h, scale(4.0 / step.h, body.J), dot(e, e)
    P = add(times(D, e), body.rotor)
    w = sub(P, step.Pi_0)
    ew, tau = dot(e, w), _torque(potential, step, e)
    F = add(
        add(scale(1.0 - ee, w), scale(2.0 * ew, e)),
        sub(scale(2.0, cross(e, P)), scale(0.5 * h * (1.0 + ee), tau)),
    )
    diagonal = add(scale(1.0 - ee, D), (2.0 * ew, 2.0 * ew, 2.0 * ew))
    dF = plus(
        turning(diagonal, scale(2.0, e), D, scale(2.0, P)),
        plus(
            outer(e, scale(2.0, add(w, times(D, e)))),
            outer(sub(scale(-2.0, w), scale(h, tau)), e),
        ),
    )
    if not is_free(potential):
        dF = plus(dF, multiple(0.5 * h * (1.0 + ee), _torque_derivative(potential, e, step.o_0)))
    size = dot(P, P) + dot(step.Pi_0, step.Pi_0) + h * h * dot(step.u, step.u)
    return solve(dF, F), dot(F, F), size


@for_type(finish, QuatEM)
def _(scheme, potential, body, step, e, memory):
    c = 1.0 / (1.0 + dot(e, e))
    s = 2.0 * c
    q_1 = qmul(step.q, (2.0 * c - 1.0, s * e[0], s * e[1], s * e[2]))
    # R_m tau: the vector of q (1, e) o tau o (1, -e) q* / (1 + e.e).
    tau = _torque(potential, step, e)
    half = add(
        add(scale(1.0 - dot(e, e), tau), scale(2.0, cross(e, tau))), scale(2.0 * dot(e, tau), e)
    )
    L_1 = add(step.L, to_world(step.q, scale(step.h * c, half)))
    return q_1, L_1, 4.0 * dot(e, step.u), memory


@for_type(defect, QuatEM)
def _(scheme, potential, body, step, e, Pi_1, o_1):
    mean = scale(0.5, add(step.Pi_0, Pi_1))
    P = add(scale(4.0 / step.h, times(body.J, e)), body.rotor)
    r = sub(P, mean)
    return dot(r, r), dot(step.Pi_0, step.Pi_0) + dot(Pi_1, Pi_1) + dot(body.rotor, body.rotor)


@for_type(conserves_energy, QuatEM)
def _(scheme, potential):
    return True
