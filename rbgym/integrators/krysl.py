"""The Euler steps of Krysl (2007) and four compositions of them, sections 3.2 to 3.6.

Each step has two forms. With T the body torque, Omega = J^-1 (Pi - h_w) and s the step length:

              rate form (11), (12)                          momentum form (18), (19)
    forward   R_1 = R_0 exp(s Omega_0)                      the same attitude
              Pi_1 = Pi_0 + s (Pi_0 x Omega_0 + T_0)        L_1 = L_0 + s R_0 T_0
    backward  R_1 = R_0 exp(s Omega_1)                      the same attitude
              Pi_1 = Pi_0 + s (Pi_1 x Omega_1 + T_1)        L_1 = L_0 + s R_1 T_1

TRAP and TRAPM are half a forward and then half a backward step, IMID and IMIDM half a backward and
then half a forward one. Only the backward step solves an equation. Its unknown is phi = s Omega_1;
with P = (1/s) J phi + h_w, the momentum at its end,

    F(phi) = P + phi x P - Pi_0 - s T(exp(-phi) o_0)        rate form
    F(phi) = P - exp(-phi) Pi_0 - s T(exp(-phi) o_0)        momentum form

Energy: IMID conserves that of a free body (16); a held torque u does the work h Omega_m . u on it.
"""

import math

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known
from rbgym.integrators.interface import (
    CONSERVES_MOMENTUM,
    ENERGY,
    Explicit,
    Implicit,
    Integrator,
    Step,
    conserved,
    with_spin,
)
from rbgym.integrators.rotations import exponential, tangent
from rbgym.matrix import crossed, multiple, plus, turning, with_diagonal
from rbgym.quaternion import add, cross, dot, qmul, scale, sub, times, to_body, to_world

_REACH = 16.0  # the series are at round-off up to |phi| = 4


class ForwardEuler(Explicit):
    """A forward step in the rate form, (11)."""

    in_momentum_form = constant(False)

    def finish(self, potential, body, step, x):
        end = _forward(self, potential, body, step, step.h)
        omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
        # Beyond the reach of the series, NaN makes the engine reject the step.
        inside = step.h * step.h * dot(omega, omega) <= _REACH
        return end.q, scale(1.0 if inside else math.nan, end.L), 0.0, step.memory


class ForwardEulerM(ForwardEuler):
    in_momentum_form = constant(True)


class BackwardEuler(Implicit):
    """A backward step in the rate form, (12); base class of all schemes with such a step."""

    fraction = constant(1.0)
    reach = constant(_REACH)
    leads = constant(False, "Whether half a forward step comes before the backward one.")
    follows = constant(False, "Whether half a forward step comes after the backward one.")
    in_momentum_form = constant(False, "Whether the step advances the world momentum.")

    def equation(self, potential, body, step, phi):
        start, s = _start(self, potential, body, step)
        turn, D = exponential(phi), scale(1.0 / s, body.J)
        F = _residual(self, potential, body, start, s, phi, turn)
        if self.in_momentum_form():
            Pi = to_body(turn, start.Pi_0)
            dF = with_diagonal(D, crossed(scale(-1.0, Pi), tangent(phi)))
        else:
            dF = turning(D, phi, D, add(times(D, phi), body.rotor))
        if not potential.is_free():
            o = to_body(turn, start.o_0)
            dF = plus(dF, multiple(-s, potential.torque_change(o, tangent(phi))))
        return F, dF, size_of(body, start, s)

    def finish(self, potential, body, step, phi):
        start, s = _start(self, potential, body, step)
        turn = exponential(phi)
        q, T = qmul(start.q, turn), potential.torque(start.u, to_body(turn, start.o_0))
        P = add(scale(1.0 / s, times(body.J, phi)), body.rotor)
        if self.follows():
            P = add(P, add(cross(P, phi), scale(s, T)))
        L = add(start.L, to_world(q, scale(2.0 * s if self.follows() else s, T)))
        q = qmul(q, turn) if self.follows() else q
        if not self.in_momentum_form():
            L = to_world(q, P)
        return q, L, 2.0 * dot(phi, step.u), step.memory

    def defect(self, potential, body, step, phi, Pi_1, o_1):
        start, s = _start(self, potential, body, step)
        r = _residual(self, potential, body, start, s, phi, exponential(phi))
        return dot(r, r), size_of(body, start, s) + dot(Pi_1, Pi_1)


@inlined
def _forward(scheme, potential, body, step, s):
    """The state after a forward step of length s: attitude, momenta and direction."""
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    phi = scale(s, omega)
    turn = exponential(phi)
    T = potential.torque(step.u, step.o_0)
    q = qmul(step.q, turn)
    if scheme.in_momentum_form():
        L = add(step.L, to_world(step.q, scale(s, T)))
        Pi = to_body(turn, add(step.Pi_0, scale(s, T)))
    else:
        Pi = add(step.Pi_0, scale(s, add(cross(step.Pi_0, omega), T)))
        L = to_world(q, Pi)
    return Step(q, L, Pi, to_body(turn, step.o_0), *step[4:])


@inlined
def _start(scheme, potential, body, step):
    """The state at the start of the backward step, and the length of that step."""
    if scheme.leads():
        return _forward(scheme, potential, body, step, 0.5 * step.h), 0.5 * step.h
    return step, step.h * scheme.fraction()


@inlined
def _residual(scheme, potential, body, start, s, phi, turn):
    P = add(scale(1.0 / s, times(body.J, phi)), body.rotor)
    given = scale(s, potential.torque(start.u, to_body(turn, start.o_0)))
    if scheme.in_momentum_form():
        return sub(P, add(to_body(turn, start.Pi_0), given))
    return sub(add(P, cross(phi, P)), add(start.Pi_0, given))


@inlined
def size_of(body, start, s):
    u, Pi, h_w = start.u, start.Pi_0, body.rotor
    return dot(Pi, Pi) + dot(h_w, h_w) + s * s * dot(u, u)


class BackwardEulerM(BackwardEuler):
    in_momentum_form = constant(True)


class Trap(BackwardEuler):
    leads = constant(True)
    fraction = constant(0.5)


class Trapm(Trap):
    in_momentum_form = constant(True)


class Imid(BackwardEuler):
    follows = constant(True)
    fraction = constant(0.5)

    @known
    def conserves_energy(self, potential):
        return potential.is_free() and not self.in_momentum_form()


class Imidm(Imid):
    in_momentum_form = constant(True)


def _entry(name, scheme, title, where, order, conserves):
    return Integrator(name, scheme, title, f"Krysl (2007), {where}", order, order == 2, conserves)


_SPIN, _FREE_ENERGY = with_spin(conserved()), with_spin(conserved((ENERGY,)))
_KEEPS, _M = "momentum-conserving", CONSERVES_MOMENTUM

INTEGRATORS = (
    _entry("trap", Trap(), "trapezoidal", "section 3.3, TRAP", 2, _SPIN),
    _entry("imid", Imid(), "implicit midpoint", "section 3.4, IMID", 2, _FREE_ENERGY),
    _entry("trapm", Trapm(), f"{_KEEPS} trapezoidal", "section 3.6, TRAPM", 2, _M),
    _entry("imidm", Imidm(), f"{_KEEPS} implicit midpoint", "section 3.6, IMIDM", 2, _M),
    _entry("forward_euler", ForwardEuler(), "forward Euler", "eq. (11)", 1, _SPIN),
    _entry("backward_euler", BackwardEuler(), "backward Euler", "eq. (12)", 1, _SPIN),
    _entry("forward_euler_m", ForwardEulerM(), f"{_KEEPS} forward Euler", "eq. (18)", 1, _M),
    _entry("backward_euler_m", BackwardEulerM(), f"{_KEEPS} backward Euler", "eq. (19)", 1, _M),
)
