"""Algorithms SWC1, BBTRAP and BBTRAPWD of Krysl (2007), section 4, after Simo & Wong and
Bottasso & Borri.

All rotate the body by Psi, R_1 = R_0 exp(Psi), and conserve the world momentum of a free body. With
Omega = J^-1 (Pi - h_w) and T the body torque,

    SWC1      Psi = (h/2)(Omega_0 + Omega_1),           L_1 = L_0 + h R_m T_m,  R_m = R_0 exp(Psi/2)
    BBTRAP    Psi = (h/2)(Omega_0 + Omega_1),           L_1 = L_0 + (h/2)(R_0 T_0 + R_1 T_1)
    BBTRAPWD  Psi = (h/2)(Omega_0 + dexp^-1 Omega_1),   the same L_1,  dexp^-1 = (dexp_{-Psi})^-1

The unknown is phi = Psi/2. As dexp_{-Psi} Psi = Psi, BBTRAPWD's equation becomes
Psi = (h/2)(dexp_{-Psi} Omega_0 + Omega_1), and all three read, with Pi_1 = R_1^T L_1,

    F(phi) = (2/h) J phi - (J Omega_start + Pi_1 - h_w)/2 = 0,

Omega_start = Omega_0, or dexp_{-Psi} Omega_0. In the first two a held torque u does the work
Psi . u, and so they conserve the energy of a free body.
"""

import math

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known, required
from rbgym.integrators.interface import (
    CONSERVES_FREE_ENERGY,
    CONSERVES_MOMENTUM,
    Implicit,
    Integrator,
)
from rbgym.integrators.krysl import size_of
from rbgym.integrators.rotations import dexp_factors, exponential, tangent
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed, with_diagonal
from rbgym.quaternion import add, cross, dot, matrix_of, qmul, scale, sub, times, to_body, to_world


class Bottasso(Implicit):
    """Base class: the unknowns are phi, and `half` is the quaternion exp(phi)."""

    fraction = constant(0.5)
    reach = constant(16.0)  # the exponential is at round-off up to |phi| = 4

    @required
    def impulse(self, potential, step, half):
        """Impulse of the torques over the step, in body axes at its end."""

    @required
    def impulse_change(self, potential, step, phi, half):
        """Derivative of the impulse with respect to phi."""

    def start_rate(self, phi, omega):
        """Omega_start."""
        return omega

    bends_start_rate = constant(False, "Whether Omega_start depends on phi.")

    def equation(self, potential, body, step, phi):
        half = exponential(phi)
        F = _residual(self, potential, body, step, phi, half)
        turned = to_body(half, to_body(half, step.Pi_0))
        change = crossed(turned, multiple(2.0, tangent(scale(2.0, phi))))
        change = plus(change, self.impulse_change(potential, step, phi, half))
        if self.bends_start_rate():
            omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
            J, bent = body.J, _dexp_change(phi, omega)
            bent = (scale(J[0], bent[0]), scale(J[1], bent[1]), scale(J[2], bent[2]))
            change = plus(change, bent)
        dF = with_diagonal(scale(2.0 / step.h, body.J), multiple(-0.5, change))
        return F, dF, size_of(body, step, step.h)

    def finish(self, potential, body, step, phi):
        half = exponential(phi)
        q_1 = qmul(qmul(step.q, half), half)
        L_1 = add(step.L, to_world(q_1, self.impulse(potential, step, half)))
        return q_1, L_1, 2.0 * dot(phi, step.u), step.memory

    def defect(self, potential, body, step, phi, Pi_1, o_1):
        F = _residual(self, potential, body, step, phi, exponential(phi))
        return dot(F, F), size_of(body, step, step.h) + dot(Pi_1, Pi_1)

    @known
    def conserves_energy(self, potential):
        return potential.is_free() and not self.bends_start_rate()


@inlined
def _residual(scheme, potential, body, step, phi, half):
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    Pi_1 = add(to_body(half, to_body(half, step.Pi_0)), scheme.impulse(potential, step, half))
    ends = add(times(body.J, scheme.start_rate(phi, omega)), sub(Pi_1, body.rotor))
    return sub(scale(2.0 / step.h, times(body.J, phi)), scale(0.5, ends))


# Taylor coefficients of the derivatives of b and c by y = |Psi|^2, to round-off up to y = 16.
_SLOPES = tuple(
    ((-1.0) ** k * k / math.factorial(2 * k + 2), (-1.0) ** k * k / math.factorial(2 * k + 3))
    for k in range(16, 0, -1)
)


@inlined
def _dexp_change(phi, omega):
    """Derivative of dexp_{-Psi} omega with respect to phi = Psi/2."""
    Psi = scale(2.0, phi)
    y, turn = dot(Psi, Psi), cross(Psi, omega)
    b, c = dexp_factors(y)
    db, dc = 0.0 * y, 0.0 * y
    for of_b, of_c in _SLOPES:
        db, dc = db * y + of_b, dc * y + of_c
    stretch = add(scale(-2.0 * db, turn), scale(2.0 * dc, cross(Psi, turn)))
    # d/dPsi of Psi x (Psi x w) is -[Psi x w]x - [Psi]x [w]x, and [Psi]x [w]x = w Psi^T - (Psi.w) 1.
    bend = plus(outer(omega, Psi), skewed(-dot(Psi, omega), turn))
    change = plus(skewed(0.0, scale(b, omega)), multiple(-c, bend))
    return multiple(2.0, plus(change, outer(stretch, Psi)))


class SWC1(Bottasso):
    """The torque acts at the midpoint: h T_m."""

    def impulse(self, potential, step, half):
        T_m = potential.torque(step.u, to_body(half, step.o_0))
        return to_body(half, scale(step.h, T_m))

    def impulse_change(self, potential, step, phi, half):
        o, turn = to_body(half, step.o_0), tangent(phi)
        T_m = potential.torque(step.u, o)
        change = crossed(to_body(half, T_m), turn)
        if not potential.is_free():
            back = matrix_of((half[0], -half[1], -half[2], -half[3]))
            change = plus(change, product(back, potential.torque_change(o, turn)))
        return multiple(step.h, change)


class BBTrap(Bottasso):
    """The torques act at both ends: (h/2) T_0 and (h/2) T_1."""

    def impulse(self, potential, step, half):
        T_0 = potential.torque(step.u, step.o_0)
        T_1 = potential.torque(step.u, to_body(half, to_body(half, step.o_0)))
        return scale(0.5 * step.h, add(to_body(half, to_body(half, T_0)), T_1))

    def impulse_change(self, potential, step, phi, half):
        turn = multiple(2.0, tangent(scale(2.0, phi)))
        T_0 = potential.torque(step.u, step.o_0)
        change = crossed(to_body(half, to_body(half, T_0)), turn)
        if not potential.is_free():
            o_1 = to_body(half, to_body(half, step.o_0))
            change = plus(change, potential.torque_change(o_1, turn))
        return multiple(0.5 * step.h, change)


class BBTrapWD(BBTrap):
    """BBTRAP with Omega_start = dexp_{-Psi} Omega_0."""

    reach = constant(4.0)  # the series of dexp is at round-off up to |Psi| = 4
    bends_start_rate = constant(True)

    def start_rate(self, phi, omega):
        Psi = scale(2.0, phi)
        b, c = dexp_factors(dot(Psi, Psi))
        turn = cross(Psi, omega)
        return add(sub(omega, scale(b, turn)), scale(c, cross(Psi, turn)))


def _entry(name, scheme, title, symmetric, conserves):
    source = f"Krysl (2007), section 4, {name.upper()}"
    return Integrator(name, scheme, title, source, 2, symmetric, conserves)


_TITLE, _FREE_ENERGY = "Bottasso-Borri trapezoidal", CONSERVES_FREE_ENERGY

INTEGRATORS = (
    _entry("swc1", SWC1(), "Simo-Wong ALGO_C1", True, _FREE_ENERGY),
    _entry("bbtrap", BBTrap(), f"{_TITLE}, truncated", True, _FREE_ENERGY),
    _entry("bbtrapwd", BBTrapWD(), _TITLE, False, CONSERVES_MOMENTUM),
)
