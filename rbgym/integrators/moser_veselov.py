"""Discrete Moser-Veselov schemes: QUAT_VI and PDMV.

The discrete Lagrangian of Betsch & Siebert (2009), appendix E, is the midpoint rule on quaternions:
kinetic energy of the chord q_1 - q_0, potential V at the mean q_m = (q_0 + q_1)/2. In momenta, and
with e = tan(theta/4) n (see `half_rotation`) and P = (4/h) J e, its step is

    F(e) = (1 - e.e) P + 2 e x P - (1 + e.e)^2 M = 0,

M the momentum that leaves the start, Pi_0 plus the impulse there; Pi_1 is

    ((1 - e.e) P - 2 e x P)/(1 + e.e)^2

plus the impulse at the end. A held torque u gives half of its impulse at each end.

QUAT_VI  V(q_m) gives (h/2) N/(1 + e.e) at either end, g = dV/do at o_m,
         N_0 = (o_0 - e x o_0) x g - (e.o_0) g,  N_1 = (o_1 + e x o_1) x g + (e.o_1) g.
PDMV     discrete Moser-Veselov with preprocessed inertia, Hairer & Vilmart (2006),
         1/J~_j = s/J_j + d with s and d such that the free motion is of order 2, 4 or 6; between
         half kicks of the potential's torque.

Both conserve the energy of a free body: its momenta before and after, (1 - e.e) P +- 2 e x P, have
the same J^-1 norm.
"""

import math
from dataclasses import replace
from typing import NamedTuple

from rbgym.arguments import is_number
from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.integrators.half_rotation import (
    directions,
    mean_tilting,
    whole,
)
from rbgym.integrators.interface import (
    conserves_energy,
    defect,
    equation,
    finish,
    fraction,
    reach,
)
from rbgym.integrators.record import KEEPS_FREE_ENERGY, Integrator
from rbgym.integrators.splitting import ended, kicked
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed, turning
from rbgym.potentials.interface import gradient, hessian, is_free, is_uniform
from rbgym.potentials.none import NoPotential
from rbgym.quaternion import add, cross, dot, scale, sub, times, to_world


class QuatVI(NamedTuple):
    """Names the scheme to the engine."""


class PDMV(NamedTuple):
    """order: of the free motion, 2, 4 or 6."""

    order: int = 6


_ALL = (QuatVI, PDMV)


@for_type(fraction, *_ALL)
def _(scheme):
    return 0.25


@for_type(reach, PDMV)
def _(scheme):
    return 0.1225  # 1.4 rad a step: the series for the moments are not made for more


@choice
def _leaving(scheme, potential, step, e):
    """M."""
    raise NotImplementedError


@choice
def _leaving_change(scheme, potential, step, e):
    """Derivative of M with e."""
    raise NotImplementedError


@choice
def _inertia(scheme, potential, body, step):
    """The moments that the scheme works with."""
    raise NotImplementedError


@for_type(_leaving, QuatVI)
def _(scheme, potential, step, e):
    half, Pi = 0.5 * step.h, add(step.Pi_0, scale(0.5 * step.h, step.u))
    if is_free(potential):
        return Pi
    return add(Pi, scale(half / (1.0 + dot(e, e)), _pull_0(potential, e, step.o_0)))


@inlined
def _pull_0(potential, e, o_0):
    """N_0."""
    o_m, _ = directions(e, o_0)
    g = gradient(potential, o_m)
    return sub(cross(sub(o_0, cross(e, o_0)), g), scale(dot(e, o_0), g))


@inlined
def _pull_1(potential, e, o_0):
    """N_1."""
    o_m, o_1 = directions(e, o_0)
    g = gradient(potential, o_m)
    return add(cross(add(o_1, cross(e, o_1)), g), scale(dot(e, o_1), g))


@for_type(_leaving_change, QuatVI)
def _(scheme, potential, step, e):
    o_0, c = step.o_0, 1.0 / (1.0 + dot(e, e))
    o_m, _ = directions(e, o_0)
    g = gradient(potential, o_m)
    change = plus(outer(g, o_0), crossed(g, skewed(0.0, o_0)))
    change = multiple(-1.0, plus(change, outer(scale(2.0 * c, _pull_0(potential, e, o_0)), e)))
    if not is_uniform(potential):
        bend = product(hessian(potential, o_m), mean_tilting(e, o_0, o_m))
        lever = sub(o_0, cross(e, o_0))
        change = plus(change, plus(crossed(lever, bend), multiple(-dot(e, o_0), bend)))
    return multiple(0.5 * step.h * c, change)


@for_type(_inertia, QuatVI)
def _(scheme, potential, body, step):
    return body.J


@for_type(_leaving, PDMV)
def _(scheme, potential, step, e):
    return kicked(potential, step)


@for_type(_leaving_change, PDMV)
def _(scheme, potential, step, e):
    return multiple(0.0, outer(e, e))


@for_type(_inertia, PDMV)
def _(scheme, potential, body, step):
    Pi, J, a, h2 = kicked(potential, step), body.J, body.J_inv, 0.5 * step.h * step.h
    C, H = h2 * dot(Pi, Pi), h2 * dot(Pi, times(a, Pi))
    r = a[0] * a[1] * a[2]  # 1/D
    S_1, S_2 = J[0] + J[1] + J[2], dot(J, J)
    X_1, X_2 = a[0] + a[1] + a[2], dot(a, a)
    M = S_1 * X_1 - 3.0
    four, six = 1.0 if scheme.order >= 4 else 0.0, 1.0 if scheme.order >= 6 else 0.0
    s = 1.0 + four * (C * S_1 * r / 6.0 - H * X_1 / 3.0)
    d = four * (H * S_1 / 6.0 - C / 3.0) * r
    s += six * C * (C * (S_2 * r - X_1) + H * (1.0 - M)) * r / 30.0
    s += six * H * H * (3.0 * S_1 * r + 2.0 * X_2) / 60.0
    d += six * C * (H * (6.0 * X_1 - S_2 * r) - C * S_1 * r) * r / 60.0
    d -= six * H * H * (9.0 + M) * r / 60.0
    return (1.0 / (s * a[0] + d), 1.0 / (s * a[1] + d), 1.0 / (s * a[2] + d))


@inlined
def _residual(h, J, e, M):
    P, ee = scale(4.0 / h, times(J, e)), dot(e, e)
    turned = add(scale(1.0 - ee, P), scale(2.0, cross(e, P)))
    return sub(turned, scale((1.0 + ee) * (1.0 + ee), M))


@inlined
def _size(step, M):
    return dot(M, M) + dot(step.Pi_0, step.Pi_0) + step.h * step.h * dot(step.u, step.u)


@for_type(equation, *_ALL)
def _(scheme, potential, body, step, e):
    h, J, M = step.h, _inertia(scheme, potential, body, step), _leaving(scheme, potential, step, e)
    D, ee = scale(4.0 / h, J), dot(e, e)
    P = times(D, e)
    dF = turning(scale(1.0 - ee, D), scale(2.0, e), D, scale(2.0, P))
    dF = plus(dF, outer(sub(scale(-2.0, P), scale(4.0 * (1.0 + ee), M)), e))
    if not is_free(potential):
        spread = (1.0 + ee) * (1.0 + ee)
        dF = plus(dF, multiple(-spread, _leaving_change(scheme, potential, step, e)))
    return _residual(h, J, e, M), dF, _size(step, M)


@for_type(defect, *_ALL)
def _(scheme, potential, body, step, e, Pi_1, o_1):
    M = _leaving(scheme, potential, step, e)
    F = _residual(step.h, _inertia(scheme, potential, body, step), e, M)
    return dot(F, F), _size(step, M) + dot(Pi_1, Pi_1)


@for_type(finish, QuatVI)
def _(scheme, potential, body, step, e):
    q_1, L_1, work, memory = ended(NoPotential(), body, step, whole(e))
    if not is_free(potential):
        half = 0.5 * step.h / (1.0 + dot(e, e))
        L_1 = add(L_1, to_world(step.q, scale(half, _pull_0(potential, e, step.o_0))))
        L_1 = add(L_1, to_world(q_1, scale(half, _pull_1(potential, e, step.o_0))))
    return q_1, L_1, work, memory


@for_type(finish, PDMV)
def _(scheme, potential, body, step, e):
    q_1, L_1, work, memory = ended(potential, body, step, whole(e))
    J = _inertia(scheme, potential, body, step)
    # Beyond its range the series for the moments gives none; what is not finite is refused.
    real = (J[0] > 0.0) & (J[1] > 0.0) & (J[2] > 0.0)
    return q_1, scale(1.0 if real else math.nan, L_1), work, memory


@for_type(conserves_energy, *_ALL)
def _(scheme, potential):
    return is_free(potential)


def _checked(record: Integrator) -> Integrator:
    order = record.scheme.order
    if not is_number(order) or order not in (2, 4, 6):
        raise ValueError(f"order of pdmv must be 2, 4 or 6, got {order!r}")
    order = int(order)
    return replace(record, scheme=record.scheme._replace(order=order), free_order=order)


_SUPPORTS = ("potential", "torque", "translation")

INTEGRATORS = (
    Integrator(
        name="quat_vi",
        title="quaternion variational",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_FREE_ENERGY,
        source="Betsch & Siebert (2009), appendix E",
        scheme=QuatVI(),
        supports=_SUPPORTS,
    ),
    Integrator(
        name="pdmv",
        title="preprocessed discrete Moser-Veselov",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_FREE_ENERGY,
        source="Hairer & Vilmart (2006), order 6",
        scheme=PDMV(),
        supports=_SUPPORTS,
        free_order=6,
        checked=_checked,
    ),
)
