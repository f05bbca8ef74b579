"""Momentum-conserving implicit midpoint rule, algorithm IMIDM of Krysl (2007), section 3.6.

    Psi = h J^-1 (exp(-Psi/2) Pi_0 + (h/2) T_m),  R_1 = R_0 exp(Psi),
    Pi_1 = exp(-Psi) Pi_0 + h exp(-Psi/2) T_m,    T_m at the attitude R_0 exp(Psi/2)

The unknown is phi = Psi/2, and with the momentum Pi_m = exp(-phi) Pi_0 seen half-way

    F(phi) = (2/h) J phi + h_w - Pi_m - (h/2) T_m = 0.
"""

from typing import NamedTuple

from rbgym.integrators.interface import correct, defect, finish, fraction, reach
from rbgym.jit import for_type, inlined
from rbgym.matrix import crossed, outer, plus, skewed, solve, with_diagonal
from rbgym.potentials import gradient, is_free
from rbgym.quaternion import (
    add,
    cross,
    dot,
    even_odd,
    qmul,
    scale,
    sub,
    times,
    to_body,
    to_world,
)


class IMIDM(NamedTuple):
    """Names the scheme to the engine."""


@for_type(fraction, IMIDM)
def _(scheme):
    return 0.5


@for_type(reach, IMIDM)
def _(scheme):
    return 4.0  # the series below are at round-off up to |phi| = 2, four radians a step


@inlined
def _exponential(phi):
    """Quaternion of exp(phi)."""
    c, s = even_odd(0.25 * dot(phi, phi))
    return (c, 0.5 * s * phi[0], 0.5 * s * phi[1], 0.5 * s * phi[2])


@inlined
def _torque(potential, step, half):
    """T_m, at the attitude half-way."""
    if is_free(potential):
        return step.u
    o = to_body(half, step.o_0)
    return add(step.u, cross(o, gradient(potential, o)))


@inlined
def _tangent(phi):
    """dexp_{-phi}, 1 - b [phi]x + c [phi]x[phi]x: the body rotation that changing phi is."""
    y = dot(phi, phi)
    b = 0.5 - y / 24.0 * (1.0 - y / 30.0 * (1.0 - y / 56.0))
    c = 1.0 / 6.0 - y / 120.0 * (1.0 - y / 42.0 * (1.0 - y / 72.0))
    return plus(outer(scale(c, phi), phi), skewed(1.0 - c * y, scale(-b, phi)))


@inlined
def _residual(potential, body, step, phi, half, Pi_m):
    momentum = add(scale(2.0 / step.h, times(body.J, phi)), body.rotor)
    return sub(momentum, add(Pi_m, scale(0.5 * step.h, _torque(potential, step, half))))


@for_type(correct, IMIDM)
def _(scheme, potential, body, step, phi):
    half = _exponential(phi)
    Pi_m = to_body(half, step.Pi_0)
    F = _residual(potential, body, step, phi, half, Pi_m)
    tangent = _tangent(phi)
    turned = crossed(scale(-1.0, Pi_m), tangent)
    if not is_free(potential):
        o = to_body(half, step.o_0)
        g = scale(0.5 * step.h, gradient(potential, o))
        turned = plus(turned, crossed(g, crossed(o, tangent)))
    u, Pi_0, dF = step.u, step.Pi_0, with_diagonal(scale(2.0 / step.h, body.J), turned)
    size = dot(Pi_0, Pi_0) + dot(body.rotor, body.rotor) + step.h**2 * dot(u, u)
    return solve(dF, F), dot(F, F), size


@for_type(finish, IMIDM)
def _(scheme, potential, body, step, phi, memory):
    half = _exponential(phi)
    q_m = qmul(step.q, half)
    L_1 = add(step.L, to_world(q_m, scale(step.h, _torque(potential, step, half))))
    return qmul(q_m, half), L_1, 0.0, memory


@for_type(defect, IMIDM)
def _(scheme, potential, body, step, phi, Pi_1, o_1):
    half = _exponential(phi)
    r = _residual(potential, body, step, phi, half, to_body(half, step.Pi_0))
    return dot(r, r), dot(step.Pi_0, step.Pi_0) + dot(Pi_1, Pi_1) + dot(body.rotor, body.rotor)
