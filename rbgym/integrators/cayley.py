"""Schemes that turn the body by the Cayley map with its mean rates: AKW, AKW_DG and CONVECTED.

    R_1 = R_0 cay(h Omega_m),  Omega_m = J^-1 (P - h_w),  P = (Pi_0 + Pi_1)/2.

With c = tan(theta/2) n, theta n the rotation vector of the step, c = (h/2) Omega_m and

    F(c) = P + c x P - Pi_0 - (h/2) T = 0,  P = (2/h) J c + h_w,

T a body torque with the world impulse h (R_0 + R_1)/2 T: a held torque u, which is its own mean and
does the discrete work 2 c.u, and the pull of the potential, in which the schemes differ. g is the
divided difference of the potential and o_m = (o_0 + o_1)/2.
"""

import math
from typing import NamedTuple

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, required
from rbgym.integrators.interface import (
    CONSERVES_ALL,
    ENERGY,
    MOMENTUM,
    UPRIGHT,
    Explicit,
    Hasty,
    Implicit,
    Integrator,
    conserved,
    with_spin,
)
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed, turning
from rbgym.quaternion import add, cross, dot, qmul, qscale, scale, sub, times, to_world

_REACH = 1e4  # the Cayley map reaches every rotation below half a turn


class Cayley(Implicit):
    """What the schemes share; the unknowns are c."""

    fraction = constant(0.5)
    reach = constant(_REACH)

    @required
    def pull(self, potential, o_0, c):
        """T of the potential."""

    @required
    def pull_change(self, potential, o_0, c):
        """Its derivative with c."""

    def equation(self, potential, body, step, c):
        h, D = step.h, scale(2.0 / step.h, body.J)
        P = add(times(D, c), body.rotor)
        T = _torque(self, potential, step, c)
        F = sub(add(P, cross(c, P)), add(step.Pi_0, scale(0.5 * h, T)))
        dF = turning(D, c, D, P)
        if not potential.is_free():
            dF = plus(dF, multiple(-0.5 * h, self.pull_change(potential, step.o_0, c)))
        size = dot(P, P) + dot(step.Pi_0, step.Pi_0) + h * h * dot(step.u, step.u)
        return F, dF, size

    def finish(self, potential, body, step, c):
        q_1, L_1 = _turned(step, c, _torque(self, potential, step, c))
        return q_1, L_1, 2.0 * dot(c, step.u), step.memory

    def when_symmetric(self, potential):
        kind = type(self)
        if kind in (AKW, AKWdg) and potential.is_axial():
            return _AKW_WHEN_SYMMETRIC
        if kind in (AKW, AKWdg, Convected) and potential.is_free():
            return _WHEN_FREE_AND_SYMMETRIC
        return self

    def defect(self, potential, body, step, c, Pi_1, o_1):
        mean = scale(0.5, add(step.Pi_0, Pi_1))
        r = sub(add(scale(2.0 / step.h, times(body.J, c)), body.rotor), mean)
        return dot(r, r), dot(step.Pi_0, step.Pi_0) + dot(Pi_1, Pi_1) + dot(body.rotor, body.rotor)


@inlined
def _torque(scheme, potential, step, c):
    """T."""
    if potential.is_free():
        return step.u
    return add(step.u, scheme.pull(potential, step.o_0, c))


@inlined
def _turned(step, c, T):
    """Attitude and world momentum at the end of the step."""
    r = 1.0 / math.sqrt(1.0 + dot(c, c))
    q_1 = qscale(r, qmul(step.q, (1.0, c[0], c[1], c[2])))
    mean = scale(r * r, _forward_times(c, T))
    return q_1, add(step.L, to_world(step.q, scale(step.h, mean)))


@inlined
def _forward(c, v):
    """(1 - cross c)^-1 v, which is (1 + R)/2 v."""
    return scale(1.0 / (1.0 + dot(c, c)), _forward_times(c, v))


@inlined
def _forward_times(c, v):
    """1 + c.c times that."""
    return add(add(v, cross(c, v)), scale(dot(c, v), c))


@inlined
def _mean_direction(c, o_0):
    """o_m = (1 + cross c)^-1 o_0."""
    return _forward(scale(-1.0, c), o_0)


@inlined
def _tilting(c, o_0, o_m):
    """Derivative of o_m, half of that of o_1."""
    change = plus(outer(c, o_0), plus(outer(scale(-2.0, o_m), c), skewed(dot(c, o_0), o_0)))
    return multiple(1.0 / (1.0 + dot(c, c)), change)


class WhenFreeAndSymmetric(Explicit):
    """What all of these are for a free body whose first two moments are equal and that has no
    rotors: F(c) = 0 is linear, with c_3 known beforehand."""

    def finish(self, potential, body, step, x):
        spin, k, b = _on_third_axis(body, step, step.h)
        r = 1.0 / (1.0 + k * k)
        c = (r * (b[0] - k * b[1]), r * (b[1] + k * b[0]), spin)
        q_1, L_1 = _turned(step, c, step.u)
        return q_1, _within_reach(c, L_1), 2.0 * dot(c, step.u), step.memory

    def conserves_energy(self, potential):
        return True


class AKWWhenSymmetric(Hasty):
    """AKW of a Lagrange top: the first two moments are equal, the weight acts on the third axis.

    With g = c_1 + i c_2, w = o_1 + i o_2, y = o_m,3, and numbers as in `_Cubic`,

        g = N/(M - f y),  B (o_m,1 + i o_m,2) = w + i g y,

    and y = o_3 + r, r that root of the cubic which grows out of 0 as h grows from 0. f is small
    where the step is short beside the swing of the top, and there is no other root nearby then.
    """

    prepares = constant(True)
    thorough_solves = constant(True)

    def found_root(self, potential, body, step):
        """The cubic, r, and whether it was found."""
        cubic = _cubic_of(potential, body, step, step.h)
        A, T = cubic.A, cubic.T
        # The first terms of its series; then Newton's method, the slope divided by as a series.
        bend = cubic.W - 2.0 * T * T
        r = A - A * A * (T + A * (bend - 5.0 * A * T * (bend + T * T)))
        r -= _change(cubic, r)
        change, slope = _change(cubic, r), _slope(cubic, r)
        # What is left is some slope^3 times the last change.
        left = abs(change * slope * slope * slope)
        return cubic, r - change, (abs(slope) <= 0.2) & (left <= 1e-16)

    def prepare(self, potential, body, step):
        k, r, found = self.found_root(potential, body, step)
        M, N, o, f = k.M, k.N, step.o_0, k.f
        y = o[2] + r
        square = k.M2 + y * (f * f * y - 2.0 * f * M[0])
        both = 1.0 / (square * k.B2)
        real, s = M[0] - f * y, both * k.B2
        c = (s * (N[0] * real + N[1] * M[1]), s * (N[1] * real - N[0] * M[1]), k.spin)
        v, mgl = (o[0] - c[1] * y, o[1] + c[0] * y), potential.gradient(o)[2] * both * square
        pull = mgl * (v[1] - v[0] * k.spin), -mgl * (v[0] + v[1] * k.spin), 0.0
        return (1.0 if found else math.nan, 0.0, 0.0, 0.0), c, add(step.u, pull)

    def finish(self, potential, body, step, x):
        found, c, T = x
        q_1, L_1 = _turned(step, c, T)
        return q_1, scale(found[0], _within_reach(c, L_1)), 2.0 * dot(c, step.u), step.memory

    def thorough(self):
        return _AKW_FAR_WHEN_SYMMETRIC

    def conserves_energy(self, potential):
        return True


class AKWFarWhenSymmetric(AKWWhenSymmetric):
    """The same for steps of any length, one body after the other: the root is followed from a step
    of no length on, until it is found or ends, where two roots meet."""

    def found_root(self, potential, body, step):
        r, found, cubic = 0.0, True, _cubic_of(potential, body, step, step.h)
        stages = 1 if abs(cubic.T) <= 0.1 else 128  # there is no other root nearby
        for stage in range(1, stages + 1):
            part = stage / stages
            cubic = _cubic_of(potential, body, step, step.h * part * part)
            before, change = r, 1.0
            for _ in range(40):
                change = _lack(cubic, r) / (1.0 + _slope(cubic, r))
                r -= change
                if abs(change) <= 1e-15:
                    break
            # One that is far away is another root.
            found = found & (abs(change) <= 1e-13) & ((stages == 1) | (abs(r - before) <= 0.1))
        return cubic, r, found


_WHEN_FREE_AND_SYMMETRIC = WhenFreeAndSymmetric()
_AKW_WHEN_SYMMETRIC, _AKW_FAR_WHEN_SYMMETRIC = AKWWhenSymmetric(), AKWFarWhenSymmetric()


class _Cubic(NamedTuple):
    """r + T r^2 + W r^3 = A, and of what it is made: complex numbers in two, the squares M2 and B2
    of M and of B = 1 + i spin."""

    spin: float
    f: float
    M: tuple[float, float]
    N: tuple[float, float]
    M2: float
    B2: float
    A: float
    T: float
    W: float


@inlined
def _on_third_axis(body, step, h):
    """c_3; (J_3/J_1 - 1) c_3; and (Pi_0 + (h/2) u)/D_1."""
    b = add(step.Pi_0, scale(0.5 * h, step.u))
    spin = 0.5 * h * b[2] * body.J_inv[2]
    return spin, (body.J[2] * body.J_inv[0] - 1.0) * spin, scale(0.5 * h * body.J_inv[0], b)


@inlined
def _cubic_of(potential, body, step, h):
    spin, k, b = _on_third_axis(body, step, h)
    o = step.o_0
    f = 0.25 * h * h * body.J_inv[0] * potential.gradient(o)[2]
    M = 1.0 + k * spin, spin - k
    N = b[0] - b[1] * spin + f * o[1], b[1] + b[0] * spin - f * o[0]
    # conj(N) w conj(B)
    w = o[0] + o[1] * spin, o[1] - o[0] * spin
    z = N[0] * w[0] + N[1] * w[1], N[0] * w[1] - N[1] * w[0]
    B2, M2 = 1.0 + spin * spin, (1.0 + spin * spin) * (1.0 + k * k)
    # B2 r |M - f y|^2 + constant + slope y = 0
    constant, slope = z[0] * M[1] + z[1] * M[0], N[0] * N[0] + N[1] * N[1] - f * z[1]
    bend = f * f * o[2] - 2.0 * f * M[0]
    s = 1.0 / (B2 * (M2 + o[2] * bend) + slope)
    A, T, W = -s * (constant + slope * o[2]), s * B2 * (bend + f * f * o[2]), s * B2 * f * f
    return _Cubic(spin, f, M, N, M2, B2, A, T, W)


@inlined
def _lack(k, r):
    return r - k.A + r * r * (k.T + r * k.W)


@inlined
def _slope(k, r):
    """That of the cubic at r, less one."""
    return r * (2.0 * k.T + 3.0 * k.W * r)


@inlined
def _change(k, r):
    """By how much r is to fall."""
    slope = _slope(k, r)
    return _lack(k, r) * (1.0 - slope * (1.0 - slope))


@inlined
def _within_reach(c, L):
    """L; or NaN, which is refused, where c is too large."""
    return scale(1.0 if dot(c, c) <= _REACH else math.nan, L)


class AKW(Cayley):
    """T = (T_0 + T_1)/2, the mean of the torques at both ends."""

    def pull(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        if potential.is_uniform():
            return cross(o_m, potential.gradient(o_m))
        o_1 = sub(scale(2.0, o_m), o_0)
        return scale(
            0.5, add(cross(o_0, potential.gradient(o_0)), cross(o_1, potential.gradient(o_1)))
        )

    def pull_change(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        if potential.is_uniform():
            return multiple(-1.0, crossed(potential.gradient(o_m), _tilting(c, o_0, o_m)))
        turn = multiple(1.0 / (1.0 + dot(c, c)), skewed(1.0, scale(-1.0, c)))
        return potential.torque_change(sub(scale(2.0, o_m), o_0), turn)

    def conserves_energy(self, potential):
        # Only then the mean of the end torques is the divided difference.
        return potential.is_uniform()


class AKWdg(Cayley):
    """T = o_m x g. Conserves the energy in every potential."""

    def pull(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        return cross(o_m, potential.discrete_gradient(o_0, sub(scale(2.0, o_m), o_0)))

    def pull_change(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        o_1, tilting = sub(scale(2.0, o_m), o_0), _tilting(c, o_0, o_m)
        change = multiple(-1.0, crossed(potential.discrete_gradient(o_0, o_1), tilting))
        if potential.is_uniform():
            return change
        bend = potential.discrete_gradient_change(o_0, o_1, multiple(2.0, tilting))
        return plus(change, crossed(o_m, bend))

    def conserves_energy(self, potential):
        return True


class Convected(Cayley):
    """(R_0 + R_1)/2 T = d x (R_0 + R_1)/2 g, d the world direction.

    The base vectors q_j with the conjugate momenta p_j have L = sum q_j x p_j, and the forces
    g_j d act on their means. Without forces the published system turns the body as AKW does.
    Conserves the energy in every potential.
    """

    def pull(self, potential, o_0, c):
        o_1 = sub(scale(2.0, _mean_direction(c, o_0)), o_0)
        impulse = cross(o_0, _forward(c, potential.discrete_gradient(o_0, o_1)))
        return sub(impulse, cross(c, impulse))

    def pull_change(self, potential, o_0, c):
        o_m = _mean_direction(c, o_0)
        o_1 = sub(scale(2.0, o_m), o_0)
        w = _forward(c, potential.discrete_gradient(o_0, o_1))
        # From w - c x w = g.
        change = skewed(0.0, scale(-1.0, w))
        if not potential.is_uniform():
            tilting = multiple(2.0, _tilting(c, o_0, o_m))
            change = plus(change, potential.discrete_gradient_change(o_0, o_1, tilting))
        inverse = plus(outer(c, c), skewed(1.0, c))
        change = multiple(1.0 / (1.0 + dot(c, c)), product(inverse, change))
        change = crossed(o_0, change)
        return plus(skewed(0.0, cross(o_0, w)), plus(change, multiple(-1.0, crossed(c, change))))

    def conserves_energy(self, potential):
        return True


INTEGRATORS = (
    Integrator(
        "akw",
        AKW(),
        "Austin-Krishnaprasad-Wang midpoint",
        "Krysl (2007), section 4, AKW",
        order=2,
        symmetric=True,
        conserves=with_spin(conserved(free=(ENERGY, MOMENTUM), top=(ENERGY, UPRIGHT))),
    ),
    Integrator(
        "akw_dg",
        AKWdg(),
        "Austin-Krishnaprasad-Wang midpoint with the divided difference of the potential",
        "AKW with the discrete gradient of Gonzalez (1996); here",
        order=2,
        symmetric=True,
        conserves=with_spin(CONSERVES_ALL),
    ),
    Integrator(
        "convected",
        Convected(),
        "convected base vectors with implicit constraints",
        "Krenk & Nielsen (2013), eqs. (22) to (26)",
        order=2,
        symmetric=True,
        conserves=CONSERVES_ALL,
    ),
)
