"""Schemes of a free motion between kicks of the torques, RRR and EXACT; half kicks for others.

    L <- L + (h/2) R_0 T_0,  free motion over h,  L <- L + (h/2) R_1 T_1.

RRR splits the free motion into planar rotations. Each term Pi_i^2/(2 J_i) of the energy by itself
turns the body about its axis i, at the constant rate (Pi_i - h_w,i)/J_i: half a step about 1, half
about 2, a whole one about 3, half about 2, half about 1. It is explicit, symplectic and symmetric.

EXACT uses the free motion in closed form (see `elliptic`): without torques the only error is
round-off, at any step length. A kick is exact, too, because the attitude does not change in it. The
scheme is symmetric, symplectic and of order two (Celledoni, Fasso, Saefstroem & Zanna 2008). As the
torques T = u + o x g depend on the attitude alone, kicks and motions of other lengths reach higher
orders cheaply (see `composition`), and the double bracket of torques and motion is again a kick:
with a = J^-1 T,

    (1/2) [B, [A, B]]:  u <- u + bend a x u,  g <- g + bend (a x g + dg (o x a)).

A body whose first two moments are equal needs no elliptic functions: it turns about its momentum
and about its third axis, each at a constant rate.

`rbgym.engine.projection` conserves the energy of a body in a potential. Rotors turn the body about
a fixed axis, half of that turn before the free motion and half after it.
"""

import math

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known
from rbgym.integrators.elliptic import free_rotation, near_rotation
from rbgym.integrators.interface import (
    CONSERVES_ALL,
    CONSERVES_MOMENTUM,
    Body,
    Explicit,
    Hasty,
    Integrator,
    with_spin,
)
from rbgym.matrix import solve, turning
from rbgym.quaternion import (
    add,
    cos_sin,
    cross,
    dot,
    even_odd,
    qconj,
    qmul,
    qscale,
    scale,
    sub,
    times,
    to_body,
    to_world,
)

_REACH = 4.0  # half the angle of a rotation, up to which the series are exact to round-off


@inlined
def half_kick(potential, step):
    """Body momentum after the first half kick."""
    return add(step.Pi_0, scale(0.5 * step.h, potential.torque(step.u, step.o_0)))


@inlined
def end_of_step(potential, body, step, turn):
    """What `finish` returns for a free motion that rotates the body by the quaternion `turn`."""
    q_1, half = qmul(step.q, turn), 0.5 * step.h
    T_0 = potential.torque(step.u, step.o_0)
    T_1 = potential.torque(step.u, to_body(turn, step.o_0))
    L_1 = add(add(step.L, to_world(step.q, scale(half, T_0))), to_world(q_1, scale(half, T_1)))
    # Each kick adds its impulse times the mean of the rates before and after it.
    Pi = add(step.Pi_0, sub(to_body(q_1, L_1), scale(2.0, body.rotor)))
    Pi = add(Pi, scale(0.5 * half, sub(T_0, T_1)))
    return q_1, L_1, half * dot(step.u, times(body.J_inv, Pi)), step.memory


class RRR(Explicit):
    def finish(self, potential, body, step, x):
        h, second = step.h, _shift_body(body)
        motion = (1.0, 0.0, 0.0, 0.0), half_kick(potential, step), 0.0
        motion = _shift_motion(_about_first(body, 0.5 * h, motion))
        motion = _shift_motion(_about_first(second, 0.5 * h, motion))
        motion = _about_first(_shift_body(second), h, motion)
        motion = _about_first(second, 0.5 * h, _shift_motion(_shift_motion(motion)))
        motion = _about_first(body, 0.5 * h, _shift_motion(_shift_motion(motion)))
        turn, _, largest = motion
        q_1, L_1, work, memory = end_of_step(potential, body, step, turn)
        # NaN rejects the step.
        return q_1, scale(1.0 if largest <= _REACH else math.nan, L_1), work, memory


@inlined
def _about_first(body, s, motion):
    """The motion (turn, momentum, largest angle) after a rotation about the first axis for s."""
    q, Pi, largest = motion
    angle = 0.5 * s * body.J_inv[0] * (Pi[0] - body.rotor[0])
    cos, sin = cos_sin(angle)
    q = (
        cos * q[0] - sin * q[1],
        cos * q[1] + sin * q[0],
        cos * q[2] + sin * q[3],
        cos * q[3] - sin * q[2],
    )
    cos, sin = 1.0 - 2.0 * sin * sin, 2.0 * sin * cos
    Pi = (Pi[0], cos * Pi[1] + sin * Pi[2], cos * Pi[2] - sin * Pi[1])
    return q, Pi, max(largest, abs(angle))


@inlined
def _shift(v):
    return (v[1], v[2], v[0])


@inlined
def _shift_body(body):
    """The body with axes renumbered: its second axis becomes the first."""
    return Body(_shift(body.J), _shift(body.J_inv), _shift(body.rotor))


@inlined
def _shift_motion(motion):
    q, Pi, largest = motion
    return (q[0], q[2], q[3], q[1]), _shift(Pi), largest


@inlined
def _pull(potential, body, u, o, bend):
    """Held torque and gradient that act in a kick with this bend."""
    g = potential.gradient(o)
    a = times(body.J_inv, add(u, cross(o, g)))
    change, turn = cross(a, g), cross(o, a)
    if not potential.is_uniform():
        H = potential.hessian(o)
        change = add(change, (dot(H[0], turn), dot(H[1], turn), dot(H[2], turn)))
    return add(u, scale(bend, cross(a, u))), add(g, scale(bend, change))


@inlined
def _first_kick(potential, body, step):
    """Body momentum after the first kick; held torque and gradient in it."""
    u, g = _pull(potential, body, step.u, step.o_0, step.kicks.bend)
    return add(step.Pi_0, scale(step.kicks.before, add(u, cross(step.o_0, g)))), u, g


@inlined
def _end_of_step(potential, body, step, turn, u, g):
    """What `finish` returns for a free motion that rotates the body by the quaternion `turn`; u, g:
    torque and gradient in the first kick."""
    q_1, later, kicks = qmul(step.q, turn), step.later, step.kicks
    # In world axes the torque of a potential about its direction is exactly zero.
    T_0 = add(to_world(step.q, u), potential.world_torque(step.q, g))
    g_1 = later.gradient(later.seen(q_1))
    T_1 = add(to_world(q_1, step.u), later.world_torque(q_1, g_1))
    L_1 = add(step.L, add(scale(kicks.before, T_0), scale(kicks.after, T_1)))
    # Each kick adds its impulse times the mean of the rates before and after it.
    u_0, u_1 = scale(kicks.before, u), scale(kicks.after, step.u)
    Pi_0, Pi_1 = add(step.Pi_0, scale(0.5, u_0)), sub(to_body(q_1, L_1), scale(0.5, u_1))
    work = dot(u_0, times(body.J_inv, Pi_0)) + dot(u_1, times(body.J_inv, Pi_1))
    return q_1, L_1, work, step.memory


class Exact(Hasty):
    """The exact free motion, for many bodies at once; longer steps go to `ExactFar`."""

    is_kicked = constant(True)
    prepares = constant(True)

    def motion(self, body, Pi, h):
        """Quaternion by which a body rotates in a time h, and whether h is short enough."""
        return near_rotation(body.J, Pi, h)

    def prepare(self, potential, body, step):
        Pi, u, g = _first_kick(potential, body, step)
        turn, near = self.motion(body, Pi, step.h)
        # NaN rejects the step; the thorough scheme then takes it.
        return qscale(1.0 if near else math.nan, turn), u, g

    def finish(self, potential, body, step, x):
        turn, u, g = x
        return _end_of_step(potential, body, step, turn, u, g)

    def thorough(self):
        return _EXACT_FAR

    def variant(self, free, rotors, symmetric):
        if rotors:
            return ExactWithRotors()
        if type(self) is not Exact:
            return self
        if free:
            return ExactWhenFreeAndSymmetric() if symmetric else ExactWhenFree()
        return ExactWhenSymmetric() if symmetric else self

    @known
    def conserves_energy(self, potential):
        return potential.is_free()

    @known
    def is_projected(self, potential):
        return not (potential.is_free() or potential.moves())


class ExactFar(Exact):
    """The exact free motion for steps of any length, one body after the other."""

    def motion(self, body, Pi, h):
        return free_rotation(body.J, Pi, h), True


_EXACT_FAR = ExactFar()


class ExactWhenSymmetric(Exact):
    """Bodies whose first two moments are equal; both rotations of up to eight radians a step."""

    def motion(self, body, Pi, h):
        half = scale(0.5 * h * body.J_inv[0], Pi)
        angle = 0.5 * h * (body.J_inv[2] - body.J_inv[0]) * Pi[2]
        square = dot(half, half)
        # cos and sinc of a quarter of the angle; doubles the angle twice
        c, sinc = even_odd(square / 16.0)
        c, sinc = 1.0 - square / 8.0 * sinc * sinc, sinc * c
        w, sinc = 1.0 - square / 2.0 * sinc * sinc, sinc * c
        x, y, z = scale(sinc, half)
        cos, sin = cos_sin(angle)
        turn = (cos * w - sin * z, cos * x + sin * y, cos * y - sin * x, cos * z + sin * w)
        return turn, (square <= _REACH * _REACH) & (abs(angle) <= _REACH)


class ExactWithRotors(Exact):
    def motion(self, body, Pi, h):
        rotor, small = _rotor_turn(body, 0.5 * h)
        turn, near = near_rotation(body.J, to_body(rotor, Pi), h)
        return qmul(rotor, qmul(turn, rotor)), near & small

    def thorough(self):
        return _EXACT_FAR_WITH_ROTORS

    @known
    def conserves_energy(self, potential):
        return False

    @known
    def is_projected(self, potential):
        return not potential.moves()


class ExactFarWithRotors(ExactWithRotors):
    def motion(self, body, Pi, h):
        rotor = _far_rotor_turn(body, 0.5 * h)
        turn = free_rotation(body.J, to_body(rotor, Pi), h)
        return qmul(rotor, qmul(turn, rotor)), True


_EXACT_FAR_WITH_ROTORS = ExactFarWithRotors()


class ExactWhenFree(Exact):
    """Order four with a single motion, if nothing acts but a torque held in body axes.

    With the double bracket in the kicks, the error is of order four (Takahashi & Imada 1984) except
    for a part that a change of variables removes (Rowlands 1991): phi^-1 o step o phi, s = h^2/12,

        phi:  R <- R cay(-s J^-1 u) at constant L, then Pi <- Pi + s (J^-1 Pi) x u.
    """

    level_follows = constant(True)

    def prepare(self, potential, body, step):
        s, u = step.h * step.h / 12.0, step.u
        n, kick = _change_variables(body, step, s)
        change = cross(n, step.Pi_0)
        r = 2.0 / (1.0 + dot(n, n))
        Pi = add(step.Pi_0, scale(r, add(change, cross(n, change))))
        d_0 = add(kick, scale(s, cross(times(body.J_inv, Pi), u)))
        turn, near = self.motion(body, add(Pi, d_0), step.h)
        return qscale(1.0 if near else math.nan, turn), add(Pi, d_0), d_0

    def finish(self, potential, body, step, x):
        s, u, J_inv = step.h * step.h / 12.0, step.u, body.J_inv
        turn, Pi, d_0 = x
        n, kick = _change_variables(body, step, s)
        w = 1.0 / math.sqrt(1.0 + dot(n, n))
        back = (w, w * n[0], w * n[1], w * n[2])
        q_0 = qmul(step.q, qconj(back))
        Pi = add(to_body(turn, Pi), kick)
        shear = turning((1.0, 1.0, 1.0), scale(-s, u), J_inv, (0.0, 0.0, 0.0))
        d_1 = sub(kick, scale(s, cross(times(J_inv, solve(shear, Pi)), u)))
        q_1 = qmul(q_0, turn)
        L_1 = add(step.L, add(to_world(q_0, d_0), to_world(q_1, d_1)))
        return qmul(q_1, back), L_1, 0.0, step.memory

    def thorough(self):
        return _EXACT_FAR_WHEN_FREE


@inlined
def _change_variables(body, step, s):
    """The vector n of phi, whose quaternion (1, n) undoes its rotation; and the kick."""
    a = times(body.J_inv, step.u)
    return scale(0.5 * s, a), scale(0.5 * step.h, add(step.u, scale(s, cross(a, step.u))))


class ExactFarWhenFree(ExactWhenFree):
    motion = ExactFar.motion


_EXACT_FAR_WHEN_FREE = ExactFarWhenFree()


class ExactWhenFreeAndSymmetric(ExactWhenFree):
    motion = ExactWhenSymmetric.motion


@inlined
def _rotor_turn(body, s):
    """The rotation of the body due to the rotors in a time s; whether it is below two radians.

    (Pi - h_w) . J^-1 (Pi - h_w)/2 = Pi . J^-1 Pi/2 - Pi . J^-1 h_w + ...: the second term by itself
    turns the body about a fixed axis.
    """
    half = scale(-0.5 * s, times(body.J_inv, body.rotor))
    cos, sinc = even_odd(dot(half, half))
    return (cos, sinc * half[0], sinc * half[1], sinc * half[2]), dot(half, half) <= 1.0


@inlined
def _far_rotor_turn(body, s):
    """As `_rotor_turn`, for any angle."""
    half = scale(-0.5 * s, times(body.J_inv, body.rotor))
    angle = math.sqrt(dot(half, half))
    sinc = math.sin(angle) / angle if angle > 0.0 else 1.0
    return (math.cos(angle), sinc * half[0], sinc * half[1], sinc * half[2])


INTEGRATORS = (
    Integrator(
        "rrr",
        RRR(),
        "symmetric splitting into planar rotations",
        "McLachlan (1993); Reich (1994)",
        order=2,
        symmetric=True,
        conserves=CONSERVES_MOMENTUM,
    ),
    Integrator(
        "exact",
        Exact(),
        "exact free motion, kicked by the torques",
        "Jacobi's elliptic functions; Celledoni et al. (2008)",
        order=2,
        symmetric=True,
        conserves=with_spin(CONSERVES_ALL),
        energy_by_projection=True,
        free_order=math.inf,
    ),
)
