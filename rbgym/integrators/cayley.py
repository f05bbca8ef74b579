"""Schemes that turn the body by the Cayley map with its mean rates: AKW, AKW_DG and CONVECTED.

    R_1 = R_0 cay(h Omega_m),  Omega_m = J^-1 (P - h_w),  P = (Pi_0 + Pi_1)/2.

With c = tan(theta/2) n, theta n the rotation vector of the step, c = (h/2) Omega_m and

    F(c) = P + c x P - Pi_0 - (h/2) T = 0,  P = (2/h) J c + h_w,

T a body torque with the world impulse h (R_0 + R_1)/2 T. The schemes differ in that of the
potential; g is its divided difference and o_m = (o_0 + o_1)/2:

    AKW        T = (T_0 + T_1)/2, the mean of the torques at both ends
    AKW_DG     T = o_m x g
    CONVECTED  (R_0 + R_1)/2 T = d x (R_0 + R_1)/2 g, d the world direction: the base vectors q_j
               with the conjugate momenta p_j have L = sum q_j x p_j, and the forces g_j d act on
               their means. Without forces the published system turns the body as AKW does.

A held torque u is its own mean; its discrete work is 2 c.u. The last two conserve the energy in
every potential, AKW in a uniform one.
"""

import math
from typing import NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.integrators.interface import (
    conserves_energy,
    defect,
    equation,
    finish,
    fraction,
    reach,
)
from rbgym.integrators.record import ENERGY, KEEPS_ALL, MOMENTUM, UPRIGHT, Integrator, kept
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed, turning
from rbgym.potentials.interface import (
    discrete_gradient,
    discrete_gradient_change,
    gradient,
    is_free,
    is_uniform,
    torque_change,
)
from rbgym.quaternion import add, cross, dot, qmul, scale, sub, times, to_world


class AKW(NamedTuple):
    """Names the scheme to the engine."""


class AKWdg(NamedTuple):
    """Names the scheme to the engine."""


class Convected(NamedTuple):
    """Names the scheme to the engine."""


_ALL = (AKW, AKWdg, Convected)


@for_type(fraction, *_ALL)
def _(scheme):
    return 0.5


@for_type(reach, *_ALL)
def _(scheme):
    return 1e4  # the Cayley map reaches every rotation below half a turn


@inlined
def _forward(c, v):
    """(1 - cross c)^-1 v, which is (1 + R)/2 v."""
    return scale(1.0 / (1.0 + dot(c, c)), add(add(v, cross(c, v)), scale(dot(c, v), c)))


@inlined
def _mean_direction(c, o_0):
    """o_m = (1 + cross c)^-1 o_0."""
    return _forward(scale(-1.0, c), o_0)


@inlined
def _tilting(c, o_0, o_m):
    """Derivative of o_m, half of that of o_1."""
    change = plus(outer(c, o_0), plus(outer(scale(-2.0, o_m), c), skewed(dot(c, o_0), o_0)))
    return multiple(1.0 / (1.0 + dot(c, c)), change)


@choice
def _pull(scheme, potential, o_0, c):
    """T of the potential."""
    raise NotImplementedError


@choice
def _pull_change(scheme, potential, o_0, c):
    """Its derivative with c."""
    raise NotImplementedError


@for_type(_pull, AKW)
def _(scheme, potential, o_0, c):
    o_m = _mean_direction(c, o_0)
    if is_uniform(potential):
        return cross(o_m, gradient(potential, o_m))
    o_1 = sub(scale(2.0, o_m), o_0)
    return scale(
        0.5, add(cross(o_0, gradient(potential, o_0)), cross(o_1, gradient(potential, o_1)))
    )


@for_type(_pull_change, AKW)
def _(scheme, potential, o_0, c):
    o_m = _mean_direction(c, o_0)
    if is_uniform(potential):
        return multiple(-1.0, crossed(gradient(potential, o_m), _tilting(c, o_0, o_m)))
    turn = multiple(1.0 / (1.0 + dot(c, c)), skewed(1.0, scale(-1.0, c)))
    return torque_change(potential, sub(scale(2.0, o_m), o_0), turn)


@for_type(_pull, AKWdg)
def _(scheme, potential, o_0, c):
    o_m = _mean_direction(c, o_0)
    return cross(o_m, discrete_gradient(potential, o_0, sub(scale(2.0, o_m), o_0)))


@for_type(_pull_change, AKWdg)
def _(scheme, potential, o_0, c):
    o_m = _mean_direction(c, o_0)
    o_1, tilting = sub(scale(2.0, o_m), o_0), _tilting(c, o_0, o_m)
    change = multiple(-1.0, crossed(discrete_gradient(potential, o_0, o_1), tilting))
    if is_uniform(potential):
        return change
    bend = discrete_gradient_change(potential, o_0, o_1, multiple(2.0, tilting))
    return plus(change, crossed(o_m, bend))


@for_type(_pull, Convected)
def _(scheme, potential, o_0, c):
    o_1 = sub(scale(2.0, _mean_direction(c, o_0)), o_0)
    impulse = cross(o_0, _forward(c, discrete_gradient(potential, o_0, o_1)))
    return sub(impulse, cross(c, impulse))


@for_type(_pull_change, Convected)
def _(scheme, potential, o_0, c):
    o_m = _mean_direction(c, o_0)
    o_1 = sub(scale(2.0, o_m), o_0)
    w = _forward(c, discrete_gradient(potential, o_0, o_1))
    # From w - c x w = g.
    change = skewed(0.0, scale(-1.0, w))
    if not is_uniform(potential):
        tilting = multiple(2.0, _tilting(c, o_0, o_m))
        change = plus(change, discrete_gradient_change(potential, o_0, o_1, tilting))
    inverse = plus(outer(c, c), skewed(1.0, c))
    change = multiple(1.0 / (1.0 + dot(c, c)), product(inverse, change))
    change = crossed(o_0, change)
    return plus(skewed(0.0, cross(o_0, w)), plus(change, multiple(-1.0, crossed(c, change))))


@inlined
def _torque(scheme, potential, step, c):
    """T."""
    if is_free(potential):
        return step.u
    return add(step.u, _pull(scheme, potential, step.o_0, c))


@for_type(equation, *_ALL)
def _(scheme, potential, body, step, c):
    h, D = step.h, scale(2.0 / step.h, body.J)
    P = add(times(D, c), body.rotor)
    T = _torque(scheme, potential, step, c)
    F = sub(add(P, cross(c, P)), add(step.Pi_0, scale(0.5 * h, T)))
    dF = turning(D, c, D, P)
    if not is_free(potential):
        dF = plus(dF, multiple(-0.5 * h, _pull_change(scheme, potential, step.o_0, c)))
    size = dot(P, P) + dot(step.Pi_0, step.Pi_0) + h * h * dot(step.u, step.u)
    return F, dF, size


@for_type(finish, *_ALL)
def _(scheme, potential, body, step, c):
    r = 1.0 / math.sqrt(1.0 + dot(c, c))
    q_1 = qmul(step.q, (r, r * c[0], r * c[1], r * c[2]))
    mean = _forward(c, _torque(scheme, potential, step, c))
    L_1 = add(step.L, to_world(step.q, scale(step.h, mean)))
    return q_1, L_1, 2.0 * dot(c, step.u), step.memory


@for_type(defect, *_ALL)
def _(scheme, potential, body, step, c, Pi_1, o_1):
    mean = scale(0.5, add(step.Pi_0, Pi_1))
    r = sub(add(scale(2.0 / step.h, times(body.J, c)), body.rotor), mean)
    return dot(r, r), dot(step.Pi_0, step.Pi_0) + dot(Pi_1, Pi_1) + dot(body.rotor, body.rotor)


@for_type(conserves_energy, AKW)
def _(scheme, potential):
    # Only then the mean of the end torques is the divided difference.
    return is_uniform(potential)


@for_type(conserves_energy, AKWdg, Convected)
def _(scheme, potential):
    return True


INTEGRATORS = (
    Integrator(
        name="akw",
        title="Austin-Krishnaprasad-Wang midpoint",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=kept(free=(ENERGY, MOMENTUM), top=(ENERGY, UPRIGHT)),
        source="Krysl (2007), section 4, AKW",
        scheme=AKW(),
    ),
    Integrator(
        name="akw_dg",
        title="Austin-Krishnaprasad-Wang midpoint with the divided difference of the potential",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_ALL,
        source="AKW with the discrete gradient of Gonzalez (1996); here",
        scheme=AKWdg(),
    ),
    Integrator(
        name="convected",
        title="convected base vectors with implicit constraints",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_ALL,
        source="Krenk & Nielsen (2013), eqs. (22) to (26)",
        scheme=Convected(),
    ),
)
