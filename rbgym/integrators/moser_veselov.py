"""Discrete Moser-Veselov schemes: QUAT_VI and PDMV.

The discrete Lagrangian of Betsch & Siebert (2009), appendix E, is the midpoint rule on quaternions:
kinetic energy of the chord q_1 - q_0, potential V at the mean q_m = (q_0 + q_1)/2. In momenta, and
with e = tan(theta/4) n (see `rotations`) and P = (4/h) J e, its step is

    F(e) = (1 - e.e) P + 2 e x P - (1 + e.e)^2 M = 0,

M the momentum just after the start, Pi_0 plus the impulse there; Pi_1 is

    ((1 - e.e) P - 2 e x P)/(1 + e.e)^2

plus the impulse at the end. A held torque u gives half of its impulse at either end.

QUAT_VI  V(q_m) gives (h/2) N/(1 + e.e) at either end, g = dV/do at o_m,
         N_0 = (o_0 - e x o_0) x g - (e.o_0) g,  N_1 = (o_1 + e x o_1) x g + (e.o_1) g.
PDMV     discrete Moser-Veselov with preprocessed inertia, Hairer & Vilmart (2006),
         1/J~_j = s/J_j + d with s and d such that the free motion has order 2, 4 or 6; between half
         kicks of the potential's torque.

Both conserve the energy of a free body: the momenta (1 - e.e) P +- 2 e x P before and after have
the same J^-1 norm.
"""

import math
from dataclasses import replace

from rbgym.arguments import is_number
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known, required
from rbgym.integrators.interface import CONSERVES_FREE_ENERGY, Implicit, Integrator, with_spin
from rbgym.integrators.rotations import directions, mean_change, whole
from rbgym.integrators.splitting import end_of_step, half_kick
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed, turning
from rbgym.potentials import NoPotential
from rbgym.quaternion import add, cross, dot, scale, sub, times, to_world

_NO_POTENTIAL = NoPotential()


class MoserVeselov(Implicit):
    """Base class: the unknowns are e."""

    fraction = constant(0.25)

    @required
    def leaving(self, potential, step, e):
        """M."""

    @required
    def leaving_change(self, potential, step, e):
        """Derivative of M with respect to e."""

    @required
    def working_moments(self, potential, body, step):
        """The moments of inertia in the scheme's equation."""

    def equation(self, potential, body, step, e):
        h, J = step.h, self.working_moments(potential, body, step)
        M = self.leaving(potential, step, e)
        D, ee = scale(4.0 / h, J), dot(e, e)
        P = times(D, e)
        dF = turning(scale(1.0 - ee, D), scale(2.0, e), D, scale(2.0, P))
        dF = plus(dF, outer(sub(scale(-2.0, P), scale(4.0 * (1.0 + ee), M)), e))
        if not potential.is_free():
            spread = (1.0 + ee) * (1.0 + ee)
            dF = plus(dF, multiple(-spread, self.leaving_change(potential, step, e)))
        return _residual(h, J, e, M), dF, _size(step, M)

    def defect(self, potential, body, step, e, Pi_1, o_1):
        M = self.leaving(potential, step, e)
        F = _residual(step.h, self.working_moments(potential, body, step), e, M)
        return dot(F, F), _size(step, M) + dot(Pi_1, Pi_1)

    @known
    def conserves_energy(self, potential):
        return potential.is_free()


@inlined
def _residual(h, J, e, M):
    P, ee = scale(4.0 / h, times(J, e)), dot(e, e)
    turned = add(scale(1.0 - ee, P), scale(2.0, cross(e, P)))
    return sub(turned, scale((1.0 + ee) * (1.0 + ee), M))


@inlined
def _size(step, M):
    return dot(M, M) + dot(step.Pi_0, step.Pi_0) + step.h * step.h * dot(step.u, step.u)


class QuatVI(MoserVeselov):
    def leaving(self, potential, step, e):
        half, Pi = 0.5 * step.h, add(step.Pi_0, scale(0.5 * step.h, step.u))
        if potential.is_free():
            return Pi
        return add(Pi, scale(half / (1.0 + dot(e, e)), _pull_0(potential, e, step.o_0)))

    def leaving_change(self, potential, step, e):
        o_0, c = step.o_0, 1.0 / (1.0 + dot(e, e))
        o_m, _ = directions(e, o_0)
        g = potential.gradient(o_m)
        change = plus(outer(g, o_0), crossed(g, skewed(0.0, o_0)))
        change = multiple(-1.0, plus(change, outer(scale(2.0 * c, _pull_0(potential, e, o_0)), e)))
        if not potential.is_uniform():
            bend = product(potential.hessian(o_m), mean_change(e, o_0, o_m))
            lever = sub(o_0, cross(e, o_0))
            change = plus(change, plus(crossed(lever, bend), multiple(-dot(e, o_0), bend)))
        return multiple(0.5 * step.h * c, change)

    def working_moments(self, potential, body, step):
        return body.J

    def finish(self, potential, body, step, e):
        q_1, L_1, work, memory = end_of_step(_NO_POTENTIAL, body, step, whole(e))
        if not potential.is_free():
            half = 0.5 * step.h / (1.0 + dot(e, e))
            L_1 = add(L_1, to_world(step.q, scale(half, _pull_0(potential, e, step.o_0))))
            L_1 = add(L_1, to_world(q_1, scale(half, _pull_1(potential, e, step.o_0))))
        return q_1, L_1, work, memory


@inlined
def _pull_0(potential, e, o_0):
    """N_0."""
    o_m, _ = directions(e, o_0)
    g = potential.gradient(o_m)
    return sub(cross(sub(o_0, cross(e, o_0)), g), scale(dot(e, o_0), g))


@inlined
def _pull_1(potential, e, o_0):
    """N_1."""
    o_m, o_1 = directions(e, o_0)
    g = potential.gradient(o_m)
    return add(cross(add(o_1, cross(e, o_1)), g), scale(dot(e, o_1), g))


class PDMV(MoserVeselov):
    """The potential acts by half kicks. order: of the free motion, 2, 4 or 6."""

    order: int = 6
    reach = constant(0.1225)  # 1.4 rad a step: beyond, the series for the moments are not accurate

    def leaving(self, potential, step, e):
        return half_kick(potential, step)

    def leaving_change(self, potential, step, e):
        return multiple(0.0, outer(e, e))

    def working_moments(self, potential, body, step):
        Pi, J, a, h2 = half_kick(potential, step), body.J, body.J_inv, 0.5 * step.h * step.h
        C, H = h2 * dot(Pi, Pi), h2 * dot(Pi, times(a, Pi))
        r = a[0] * a[1] * a[2]  # 1/D
        S_1, S_2 = J[0] + J[1] + J[2], dot(J, J)
        X_1, X_2 = a[0] + a[1] + a[2], dot(a, a)
        M = S_1 * X_1 - 3.0
        four, six = 1.0 if self.order >= 4 else 0.0, 1.0 if self.order >= 6 else 0.0
        s = 1.0 + four * (C * S_1 * r / 6.0 - H * X_1 / 3.0)
        d = four * (H * S_1 / 6.0 - C / 3.0) * r
        s += six * C * (C * (S_2 * r - X_1) + H * (1.0 - M)) * r / 30.0
        s += six * H * H * (3.0 * S_1 * r + 2.0 * X_2) / 60.0
        d += six * C * (H * (6.0 * X_1 - S_2 * r) - C * S_1 * r) * r / 60.0
        d -= six * H * H * (9.0 + M) * r / 60.0
        return (1.0 / (s * a[0] + d), 1.0 / (s * a[1] + d), 1.0 / (s * a[2] + d))

    def finish(self, potential, body, step, e):
        q_1, L_1, work, memory = end_of_step(potential, body, step, whole(e))
        J = self.working_moments(potential, body, step)
        # Beyond its range the series gives no moments of inertia: NaN rejects the step.
        real = (J[0] > 0.0) & (J[1] > 0.0) & (J[2] > 0.0)
        return q_1, scale(1.0 if real else math.nan, L_1), work, memory


def _checked(record: Integrator) -> Integrator:
    (order,) = record.scheme
    if not is_number(order) or order not in (2, 4, 6):
        raise ValueError(f"order of pdmv must be 2, 4 or 6, got {order!r}")
    return replace(record, scheme=PDMV(int(order)), free_order=int(order))


_SUPPORTS = ("potential", "torque", "translation")

INTEGRATORS = (
    Integrator(
        "quat_vi",
        QuatVI(),
        "quaternion variational",
        "Betsch & Siebert (2009), appendix E",
        order=2,
        symmetric=True,
        conserves=with_spin(CONSERVES_FREE_ENERGY),
        supports=_SUPPORTS,
    ),
    Integrator(
        "pdmv",
        PDMV(),
        "preprocessed discrete Moser-Veselov",
        "Hairer & Vilmart (2006), order 6",
        order=2,
        symmetric=True,
        conserves=with_spin(CONSERVES_FREE_ENERGY),
        supports=_SUPPORTS,
        free_order=6,
        checked=_checked,
    ),
)
