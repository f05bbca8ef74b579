"""The Euler steps of Krysl (2007) and the four schemes composed of them, sections 3.2 to 3.6.

With T the body torque, Omega = J^-1 (Pi - h_w) and s the length of the step, two forms of each:

              rate form (11), (12)                          momentum form (18), (19)
    forward   R_1 = R_0 exp(s Omega_0)                      the same attitude
              Pi_1 = Pi_0 + s (Pi_0 x Omega_0 + T_0)        L_1 = L_0 + s R_0 T_0
    backward  R_1 = R_0 exp(s Omega_1)                      the same attitude
              Pi_1 = Pi_0 + s (Pi_1 x Omega_1 + T_1)        L_1 = L_0 + s R_1 T_1

Half a forward and half a backward step make TRAP and TRAPM, half a backward and half a forward one
IMID and IMIDM. Only the backward step asks for a solution. Its unknown is phi = s Omega_1; with
P = (1/s) J phi + h_w, the momentum at its end,

    F(phi) = P + phi x P - Pi_0 - s T(exp(-phi) o_0)        rate form
    F(phi) = P - exp(-phi) Pi_0 - s T(exp(-phi) o_0)        momentum form

Energy: IMID conserves that of a free body (16); a held torque u does the work h Omega_m . u on it.
"""

import math
from typing import NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.integrators.exponential import exponential, tangent
from rbgym.integrators.interface import (
    Step,
    conserves_energy,
    defect,
    equation,
    finish,
    fraction,
    reach,
)
from rbgym.integrators.record import ENERGY, KEEPS_MOMENTUM, Integrator, kept
from rbgym.matrix import crossed, multiple, plus, turning, with_diagonal
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

_REACH = 16.0  # the series are at round-off up to |phi| = 4


class ForwardEuler(NamedTuple):
    """Names the scheme to the engine."""


class BackwardEuler(NamedTuple):
    """Names the scheme to the engine."""


class ForwardEulerM(NamedTuple):
    """Names the scheme to the engine."""


class BackwardEulerM(NamedTuple):
    """Names the scheme to the engine."""


class Trap(NamedTuple):
    """Names the scheme to the engine."""


class Imid(NamedTuple):
    """Names the scheme to the engine."""


class Trapm(NamedTuple):
    """Names the scheme to the engine."""


class Imidm(NamedTuple):
    """Names the scheme to the engine."""


_BACKWARD = (BackwardEuler, BackwardEulerM, Trap, Trapm, Imid, Imidm)


@choice
def _leads(scheme):
    """Whether half a forward step comes before the backward one."""
    raise NotImplementedError


@for_type(_leads, Trap, Trapm)
def _(scheme):
    return True


@for_type(_leads, BackwardEuler, BackwardEulerM, Imid, Imidm)
def _(scheme):
    return False


@choice
def _follows(scheme):
    """Whether half a forward step comes after the backward one."""
    raise NotImplementedError


@for_type(_follows, Imid, Imidm)
def _(scheme):
    return True


@for_type(_follows, BackwardEuler, BackwardEulerM, Trap, Trapm)
def _(scheme):
    return False


@choice
def _in_momentum_form(scheme):
    """Whether the world momentum is what is advanced."""
    raise NotImplementedError


@for_type(_in_momentum_form, ForwardEulerM, BackwardEulerM, Trapm, Imidm)
def _(scheme):
    return True


@for_type(_in_momentum_form, ForwardEuler, BackwardEuler, Trap, Imid)
def _(scheme):
    return False


@for_type(fraction, Trap, Trapm, Imid, Imidm)
def _(scheme):
    return 0.5


@for_type(fraction, BackwardEuler, BackwardEulerM)
def _(scheme):
    return 1.0


@for_type(reach, *_BACKWARD)
def _(scheme):
    return _REACH


@inlined
def _forward(scheme, potential, body, step, s):
    """The state after a forward step of length s: attitude, momenta and direction."""
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    phi = scale(s, omega)
    turn = exponential(phi)
    T = torque(potential, step.u, step.o_0)
    q = qmul(step.q, turn)
    if _in_momentum_form(scheme):
        L = add(step.L, to_world(step.q, scale(s, T)))
        Pi = to_body(turn, add(step.Pi_0, scale(s, T)))
    else:
        Pi = add(step.Pi_0, scale(s, add(cross(step.Pi_0, omega), T)))
        L = to_world(q, Pi)
    return Step(q, L, Pi, to_body(turn, step.o_0), step.u, step.h, step.memory, step.is_new)


@inlined
def _start(scheme, potential, body, step):
    """The state from which the backward step starts, and its length."""
    if _leads(scheme):
        return _forward(scheme, potential, body, step, 0.5 * step.h), 0.5 * step.h
    return step, step.h * fraction(scheme)


@inlined
def _residual(scheme, potential, body, start, s, phi, turn):
    P = add(scale(1.0 / s, times(body.J, phi)), body.rotor)
    given = scale(s, torque(potential, start.u, to_body(turn, start.o_0)))
    if _in_momentum_form(scheme):
        return sub(P, add(to_body(turn, start.Pi_0), given))
    return sub(add(P, cross(phi, P)), add(start.Pi_0, given))


@inlined
def _size(body, start, s):
    u, Pi, h_w = start.u, start.Pi_0, body.rotor
    return dot(Pi, Pi) + dot(h_w, h_w) + s * s * dot(u, u)


@for_type(equation, *_BACKWARD)
def _(scheme, potential, body, step, phi):
    start, s = _start(scheme, potential, body, step)
    turn, D = exponential(phi), scale(1.0 / s, body.J)
    F = _residual(scheme, potential, body, start, s, phi, turn)
    if _in_momentum_form(scheme):
        Pi = to_body(turn, start.Pi_0)
        dF = with_diagonal(D, crossed(scale(-1.0, Pi), tangent(phi)))
    else:
        dF = turning(D, phi, D, add(times(D, phi), body.rotor))
    if not is_free(potential):
        o = to_body(turn, start.o_0)
        dF = plus(dF, multiple(-s, torque_change(potential, o, tangent(phi))))
    return F, dF, _size(body, start, s)


@for_type(finish, *_BACKWARD)
def _(scheme, potential, body, step, phi):
    start, s = _start(scheme, potential, body, step)
    turn = exponential(phi)
    q, T = qmul(start.q, turn), torque(potential, start.u, to_body(turn, start.o_0))
    P = add(scale(1.0 / s, times(body.J, phi)), body.rotor)
    if _follows(scheme):
        P = add(P, add(cross(P, phi), scale(s, T)))
    L = add(start.L, to_world(q, scale(2.0 * s if _follows(scheme) else s, T)))
    q = qmul(q, turn) if _follows(scheme) else q
    if not _in_momentum_form(scheme):
        L = to_world(q, P)
    return q, L, 2.0 * dot(phi, step.u), step.memory


@for_type(defect, *_BACKWARD)
def _(scheme, potential, body, step, phi, Pi_1, o_1):
    start, s = _start(scheme, potential, body, step)
    r = _residual(scheme, potential, body, start, s, phi, exponential(phi))
    return dot(r, r), _size(body, start, s) + dot(Pi_1, Pi_1)


@for_type(finish, ForwardEuler, ForwardEulerM)
def _(scheme, potential, body, step, phi):
    end = _forward(scheme, potential, body, step, step.h)
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    # Beyond the reach of the series there is no step: what is not finite is refused.
    inside = step.h * step.h * dot(omega, omega) <= _REACH
    return end.q, scale(1.0 if inside else math.nan, end.L), 0.0, step.memory


@for_type(conserves_energy, Imid)
def _(scheme, potential):
    return is_free(potential)


INTEGRATORS = (
    Integrator(
        name="trap",
        title="trapezoidal",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=kept(),
        source="Krysl (2007), section 3.3, TRAP",
        scheme=Trap(),
    ),
    Integrator(
        name="imid",
        title="implicit midpoint",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=kept(free=(ENERGY,)),
        source="Krysl (2007), section 3.4, IMID",
        scheme=Imid(),
    ),
    Integrator(
        name="trapm",
        title="momentum-conserving trapezoidal",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_MOMENTUM,
        source="Krysl (2007), section 3.6, TRAPM",
        scheme=Trapm(),
    ),
    Integrator(
        name="imidm",
        title="momentum-conserving implicit midpoint",
        order=2,
        symmetric=True,
        explicit=False,
        conserves=KEEPS_MOMENTUM,
        source="Krysl (2007), section 3.6, IMIDM",
        scheme=Imidm(),
    ),
    Integrator(
        name="forward_euler",
        title="forward Euler",
        order=1,
        symmetric=False,
        explicit=True,
        conserves=kept(),
        source="Krysl (2007), eq. (11)",
        scheme=ForwardEuler(),
    ),
    Integrator(
        name="backward_euler",
        title="backward Euler",
        order=1,
        symmetric=False,
        explicit=False,
        conserves=kept(),
        source="Krysl (2007), eq. (12)",
        scheme=BackwardEuler(),
    ),
    Integrator(
        name="forward_euler_m",
        title="momentum-conserving forward Euler",
        order=1,
        symmetric=False,
        explicit=True,
        conserves=KEEPS_MOMENTUM,
        source="Krysl (2007), eq. (18)",
        scheme=ForwardEulerM(),
    ),
    Integrator(
        name="backward_euler_m",
        title="momentum-conserving backward Euler",
        order=1,
        symmetric=False,
        explicit=False,
        conserves=KEEPS_MOMENTUM,
        source="Krysl (2007), eq. (19)",
        scheme=BackwardEulerM(),
    ),
)
