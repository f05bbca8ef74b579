"""Algorithms SWC1, BBTRAP and BBTRAPWD of Krysl (2007), section 4, after Simo & Wong and
Bottasso & Borri.

All turn the body by Psi, R_1 = R_0 exp(Psi), and keep the world momentum. With
Omega = J^-1 (Pi - h_w) and T the body torque,

    SWC1      Psi = (h/2)(Omega_0 + Omega_1),           L_1 = L_0 + h R_m T_m,  R_m = R_0 exp(Psi/2)
    BBTRAP    Psi = (h/2)(Omega_0 + Omega_1),           L_1 = L_0 + (h/2)(R_0 T_0 + R_1 T_1)
    BBTRAPWD  Psi = (h/2)(Omega_0 + dexp^-1 Omega_1),   the same L_1,  dexp^-1 = (dexp_{-Psi})^-1

The unknown is phi = Psi/2. As dexp_{-Psi} leaves Psi alone, BBTRAPWD's equation becomes
Psi = (h/2)(dexp_{-Psi} Omega_0 + Omega_1), and all three are, with Pi_1 = R_1^T L_1,

    F(phi) = (2/h) J phi - (J Omega_start + Pi_1 - h_w)/2 = 0,

Omega_start = Omega_0, or dexp_{-Psi} Omega_0. The first two do the work Psi . u under a held torque
u, and so conserve the energy of a free body.
"""

from typing import NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.integrators.exponential import dexp_factors, exponential, tangent
from rbgym.integrators.interface import (
    conserves_energy,
    defect,
    equation,
    finish,
    fraction,
    reach,
)
from rbgym.integrators.record import KEEPS_FREE_ENERGY, KEEPS_MOMENTUM, Integrator
from rbgym.matrix import (
    crossed,
    multiple,
    of_quaternion,
    outer,
    plus,
    product,
    skewed,
    with_diagonal,
)
from rbgym.potentials.interface import is_free, torque, torque_change
from rbgym.quaternion import (
    add,
    cross,
    dot,
    qmul,
    scale,
    sub,
    times,
    to_body,
    to_world,
)


class SWC1(NamedTuple):
    """Names the scheme to the engine."""


class BBTrap(NamedTuple):
    """Names the scheme to the engine."""


class BBTrapWD(NamedTuple):
    """Names the scheme to the engine."""


_ALL = (SWC1, BBTrap, BBTrapWD)


@for_type(fraction, *_ALL)
def _(scheme):
    return 0.5


@for_type(reach, SWC1, BBTrap)
def _(scheme):
    return 16.0  # the exponential is at round-off up to |phi| = 4


@for_type(reach, BBTrapWD)
def _(scheme):
    return 4.0  # and the series of dexp up to |Psi| = 4


@choice
def _impulse(scheme, potential, step, half):
    """Impulse of the torques over the step, in the axes of its end; h T at its middle or ends."""
    raise NotImplementedError


@for_type(_impulse, SWC1)
def _(scheme, potential, step, half):
    T_m = torque(potential, step.u, to_body(half, step.o_0))
    return to_body(half, scale(step.h, T_m))


@for_type(_impulse, BBTrap, BBTrapWD)
def _(scheme, potential, step, half):
    T_0 = torque(potential, step.u, step.o_0)
    T_1 = torque(potential, step.u, to_body(half, to_body(half, step.o_0)))
    return scale(0.5 * step.h, add(to_body(half, to_body(half, T_0)), T_1))


@choice
def _impulse_derivative(scheme, potential, step, phi, half):
    """How that changes with phi."""
    raise NotImplementedError


@for_type(_impulse_derivative, SWC1)
def _(scheme, potential, step, phi, half):
    o, turn = to_body(half, step.o_0), tangent(phi)
    T_m = torque(potential, step.u, o)
    change = crossed(to_body(half, T_m), turn)
    if not is_free(potential):
        conjugate = (half[0], -half[1], -half[2], -half[3])
        change = plus(change, product(of_quaternion(conjugate), torque_change(potential, o, turn)))
    return multiple(step.h, change)


@for_type(_impulse_derivative, BBTrap, BBTrapWD)
def _(scheme, potential, step, phi, half):
    turn = multiple(2.0, tangent(scale(2.0, phi)))
    T_0 = torque(potential, step.u, step.o_0)
    change = crossed(to_body(half, to_body(half, T_0)), turn)
    if not is_free(potential):
        o_1 = to_body(half, to_body(half, step.o_0))
        change = plus(change, torque_change(potential, o_1, turn))
    return multiple(0.5 * step.h, change)


@choice
def _start(scheme, phi, omega):
    """Omega_start."""
    raise NotImplementedError


@for_type(_start, SWC1, BBTrap)
def _(scheme, phi, omega):
    return omega


@for_type(_start, BBTrapWD)
def _(scheme, phi, omega):
    Psi = scale(2.0, phi)
    b, c = dexp_factors(dot(Psi, Psi))
    turn = cross(Psi, omega)
    return add(sub(omega, scale(b, turn)), scale(c, cross(Psi, turn)))


@inlined
def _start_derivative(phi, omega):
    """Derivative of dexp_{-Psi} omega with phi = Psi/2; that of b and c to three terms."""
    Psi = scale(2.0, phi)
    y, turn = dot(Psi, Psi), cross(Psi, omega)
    b, c = dexp_factors(y)
    db = -1.0 / 24.0 + y / 360.0 - y * y / 13440.0
    dc = -1.0 / 120.0 + y / 2520.0 - y * y / 120960.0
    stretch = add(scale(-2.0 * db, turn), scale(2.0 * dc, cross(Psi, turn)))
    # Psi x (Psi x w) changes by -[Psi x w]x - [Psi]x [w]x, the last being w Psi^T - (Psi.w) 1.
    bend = plus(outer(omega, Psi), skewed(-dot(Psi, omega), turn))
    change = plus(skewed(0.0, scale(b, omega)), multiple(-c, bend))
    return multiple(2.0, plus(change, outer(stretch, Psi)))


@inlined
def _residual(scheme, potential, body, step, phi, half):
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    Pi_1 = add(to_body(half, to_body(half, step.Pi_0)), _impulse(scheme, potential, step, half))
    ends = add(times(body.J, _start(scheme, phi, omega)), sub(Pi_1, body.rotor))
    return sub(scale(2.0 / step.h, times(body.J, phi)), scale(0.5, ends))


@inlined
def _size(body, step):
    Pi, h_w, u = step.Pi_0, body.rotor, step.u
    return dot(Pi, Pi) + dot(h_w, h_w) + step.h * step.h * dot(u, u)


@choice
def _bends(scheme):
    """Whether Omega_start depends on phi."""
    raise NotImplementedError


@for_type(_bends, SWC1, BBTrap)
def _(scheme):
    return False


@for_type(_bends, BBTrapWD)
def _(scheme):
    return True


@for_type(equation, *_ALL)
def _(scheme, potential, body, step, phi):
    half = exponential(phi)
    F = _residual(scheme, potential, body, step, phi, half)
    turned = to_body(half, to_body(half, step.Pi_0))
    change = crossed(turned, multiple(2.0, tangent(scale(2.0, phi))))
    change = plus(change, _impulse_derivative(scheme, potential, step, phi, half))
    if _bends(scheme):
        omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
        bent = _start_derivative(phi, omega)
        J = body.J
        change = plus(change, (scale(J[0], bent[0]), scale(J[1], bent[1]), scale(J[2], bent[2])))
    dF = with_diagonal(scale(2.0 / step.h, body.J), multiple(-0.5, change))
    return F, dF, _size(body, step)


@for_type(finish, *_ALL)
def _(scheme, potential, body, step, phi):
    half = exponential(phi)
    q_1 = qmul(qmul(step.q, half), half)
    L_1 = add(step.L, to_world(q_1, _impulse(scheme, potential, step, half)))
    return q_1, L_1, 2.0 * dot(phi, step.u), step.memory


@for_type(defect, *_ALL)
def _(scheme, potential, body, step, phi, Pi_1, o_1):
    F = _residual(scheme, potential, body, step, phi, exponential(phi))
    return dot(F, F), _size(body, step) + dot(Pi_1, Pi_1)


@for_type(conserves_energy, SWC1, BBTrap)
def _(scheme, potential):
    return is_free(potential)


INTEGRATORS = (
    Integrator(
        name="swc1",
        title="Simo-Wong ALGO_C1",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_FREE_ENERGY,
        source="Krysl (2007), section 4, SWC1",
        scheme=SWC1(),
    ),
    Integrator(
        name="bbtrap",
        title="Bottasso-Borri trapezoidal, truncated",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_FREE_ENERGY,
        source="Krysl (2007), section 4, BBTRAP",
        scheme=BBTrap(),
    ),
    Integrator(
        name="bbtrapwd",
        title="Bottasso-Borri trapezoidal",
        order=2,
        symmetric=False,
        explicit=False,
        conserves=KEEPS_MOMENTUM,
        source="Krysl (2007), section 4, BBTRAPWD",
        scheme=BBTrapWD(),
    ),
)
