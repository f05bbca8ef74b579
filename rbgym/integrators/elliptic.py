"""Exact torque-free rotation over any time, in closed form by Jacobi's elliptic functions.

Axes. With a_i = 1/J_i and a_ij = a_i - a_j, axis 3 is the one whose a differs most from the other
two, axis 2 the one closer to it, axis 1 the last: 2 has the middle moment, |a12| <= |a23|. The unit
of momentum is its length, n = Pi/|Pi|, and time is t = |Pi| h.

Momentum. The functions s, c, d of t with

    s' = c d,  c' = -B_c s d,  d' = -B_d s c,  s(0) = 0,  c(0) = d(0) = 1,
    B_c = a23 m,  m = a13 n3^2 + a12 n2^2,  B_d = a12 (a13 n1^2 + a23 n2^2)

are sn(lambda t)/lambda, cn and dn, or the last two swapped; lambda^2 is the larger of B_c and B_d.
They advance n by Jacobi's addition theorems (DLMF 22.8):

    D n1(t) = n1 c - a23 s n2 n3 d,  D n2(t) = n2 c d + a13 s n1 n3,
    D n3(t) = n3 d - a12 s n1 n2 c,  D = d^2 + a12 a13 n1^2 s^2.                             (1)

Attitude. Take the motion with the same constants that passes n2 = 0 at t = 0. On it the plane of
the momentum and axis 3 turns about the momentum by the angle psi (van Zon & Schofield 2007),

    psi' = a1 - a12 a13 m f,  f = s^2/(1 + a12 m s^2).                                       (2)

With s, c, d, D n and C + i S = exp(i psi) at the middle of the step, t = |Pi| h/2, the quaternion
of the whole step is, up to its length,

    ((C c + S m s d) D,      S (1 + a12 m s^2) D n1,
     (S d - C a12 s c) D n2,  (S c d - C a13 s) D n3).                                       (3)

If n2 = 0 at the middle, it follows from (2) by plane trigonometry. The factors of D n hold for
every other start as well, because the exact flow is a discrete Moser-Veselov step whose moments
depend only on the constants of the motion and h (Hairer & Vilmart 2006). No divisor here can
vanish: symmetric bodies, spheres and spins about an axis are no special cases (`splitting` has
shorter formulas for some), and the signs are those of the quaternion that starts at 1 for h = 0.

Other units. If n is the momentum itself, of length l, and t the time, all of this holds with psi'
and the tangents of e times l; then C + i l S replaces the complex number C + i S.

Evaluation. A power series gives f at a short time, and doubling the time does the rest. A complex
number e, of any length, has the angle of the integral of the third kind in (2): in Carlson's
duplication (1995) each arc tangent of that integral has an integer factor.

    s(2t) = 2 s c d/N,  1 - c(2t) = 2 B_c s^2 d^2/N,  1 - d(2t) = 2 B_d s^2 c^2/N,
    N = 1 - B_c B_d s^4 = c^2 + d^2 - c^2 d^2,                                               (4)
    e(2t) = e^2 (N + a12 m s^2 (c^2 + d^2 + c^2 d^2) - 2i a12 a13 m s^3 c d).                (5)

Arithmetic-geometric means (DLMF 19.22) first remove the whole half periods from long times.
"""

import math
from typing import NamedTuple

import numpy as np

from rbgym.compiled.dual import along_three
from rbgym.compiled.jit import MACHINE_CODE, inlined
from rbgym.quaternion import Vector, add, cos_sin, dot, qscale, scale

_DOUBLINGS = 5
_NEAR = 2.56  # the largest (lambda t)^2 for which so many doublings of the series give round-off
_STUCK = 200.0  # lambda t after which a motion on the separatrix has reached the middle axis


class MotionConstants(NamedTuple):
    """Constants of one motion, in the axes 1, 2, 3 of this file.

    n: momentum at the start, in any unit; square: its squared length; hand: -1.0 if axes 1, 2, 3
    are left-handed; gap: (B_c - B_d)/a13, zero on the separatrix; the others as above.
    """

    n: Vector
    square: float
    hand: float
    a1: float
    a12: float
    a13: float
    a23: float
    m: float
    B_c: float
    B_d: float
    gap: float


@inlined
def _order(J):
    """Whether axis 3 is the body's first axis, its second; whether 1 and 2 must then be swapped."""
    # |a_i - a_j| of the other two axes, times J_1 J_2 J_3
    d = abs(J[1] - J[2]) * J[0], abs(J[2] - J[0]) * J[1], abs(J[0] - J[1]) * J[2]
    first = d[0] <= min(d[1], d[2])
    second = d[1] <= d[2] and not first
    x, y, _ = _reorder((first, second, False), d)
    return first, second, x > y


@inlined
def _reorder(order, v):
    """Components 1, 2, 3 of a vector v given in body axes."""
    first, second, swap = order
    x = v[1] if first else (v[2] if second else v[0])
    y = v[2] if first else (v[0] if second else v[1])
    z = v[0] if first else (v[1] if second else v[2])
    return (y, x, z) if swap else (x, y, z)


@inlined
def _undo_reorder(order, v):
    """The inverse of `_reorder`."""
    first, second, swap = order
    x, y, z = (v[1], v[0], v[2]) if swap else v
    return (z, x, y) if first else ((y, z, x) if second else (x, y, z))


@inlined
def _constants(order, J, r, n, square):
    """The constants of the motion; r: 1/(J_1 J_2 J_3)."""
    J, n = _reorder(order, J), _reorder(order, n)
    xx, yy, zz = n[0] * n[0], n[1] * n[1], n[2] * n[2]
    # differences of moments: differences of their reciprocals would lose digits
    a12, a13, a23 = r * J[2] * (J[1] - J[0]), r * J[1] * (J[2] - J[0]), r * J[0] * (J[2] - J[1])
    m = a13 * zz + a12 * yy
    return MotionConstants(
        n=n,
        square=square,
        hand=-1.0 if order[2] else 1.0,
        a1=r * J[1] * J[2],
        a12=a12,
        a13=a13,
        a23=a23,
        m=m,
        B_c=a23 * m,
        B_d=a12 * (a13 * xx + a23 * yy),
        gap=a23 * zz - a12 * xx,
    )


@inlined
def _series(k, t, doublings):
    """s, c, d and e at the time that doublings - 1 more doublings bring to t.

    f'^2 = 4 f (1 - e1 f)(1 - e2 f)(1 - e3 f), so that f'' = 2 - E1 f + E2 f^2 - E3 f^3, gives the
    terms of f = t^2 (1 + f1 + f2 + ...). In units of t.
    """
    t = t / 2.0**doublings
    x = t * t
    e1, e2, e3 = x * k.a12 * k.m, x * k.a13 * k.m, x * k.a12 * k.a13 * k.square
    E1, E2, E3 = 4.0 * (e1 + e2 + e3), 6.0 * (e1 * e2 + e1 * e3 + e2 * e3), 8.0 * e1 * e2 * e3
    f1 = -E1 / 12.0
    f2 = (E2 - E1 * f1) / 30.0
    f3 = (2.0 * E2 * f1 - E1 * f2 - E3) / 56.0
    f4 = (E2 * (2.0 * f2 + f1 * f1) - E1 * f3 - 3.0 * E3 * f1) / 90.0
    f5 = (2.0 * E2 * (f3 + f1 * f2) - E1 * f4 - 3.0 * E3 * (f2 + f1 * f1)) / 132.0
    f6 = E2 * (2.0 * f4 + 2.0 * f1 * f3 + f2 * f2) - E1 * f5
    f6 = (f6 - E3 * (3.0 * f3 + 6.0 * f1 * f2 + f1 * f1 * f1)) / 182.0
    f = 1.0 + (f1 + (f2 + (f3 + (f4 + (f5 + f6)))))
    integral = 1.0 / 3.0 + (f1 / 5.0 + (f2 / 7.0 + (f3 / 9.0 + (f4 / 11.0 + f5 / 13.0))))
    angle = k.a12 * k.a13 * k.m * x * t * integral
    # -tan(angle); the angle is below 1e-3
    e = (1.0, -angle * (1.0 + k.square * angle * angle / 3.0))
    # (4) and (5) with s^2 = x f/g etc., without dividing by g.
    g, y = 1.0 - e1 * f, x * f
    cc, dd = g - k.B_c * y, g - k.B_d * y
    N = g * g - k.B_c * k.B_d * y * y
    square = f * g * cc * dd  # negative beyond the reach, where Python's root would be an error
    scd = t * (math.sqrt(square) if MACHINE_CODE or square >= 0.0 else math.nan)
    u = g * N + k.a12 * k.m * y * (g * (cc + dd) + cc * dd)
    v = -2.0 * k.a12 * k.a13 * k.m * y * scd
    r = 2.0 / N
    c, d = 1.0 - k.B_c * y * dd * r, 1.0 - k.B_d * y * cc * r
    return scd * r, c, d, _square_times(k, e, u, v)


@inlined
def _double_angle(k, y, cc, dd, scd, N, e):
    """(5), with y = s^2."""
    u = N + k.a12 * k.m * y * (cc + dd + cc * dd)
    return _square_times(k, e, u, -2.0 * k.a12 * k.a13 * k.m * y * scd)


@inlined
def _square_times(k, e, u, v):
    """e^2 (u + i v)."""
    p, q = e[0] * e[0] - k.square * e[1] * e[1], 2.0 * e[0] * e[1]
    return p * u - k.square * q * v, p * v + q * u


@inlined
def _double(k, s, c, d, e):
    """(4) and (5). No error grows, because c and d come from 1 - c and 1 - d."""
    y, cc, dd, scd = s * s, c * c, d * d, s * c * d
    N = 1.0 - k.B_c * k.B_d * y * y
    r = 2.0 / N
    e = _double_angle(k, y, cc, dd, scd, N, e)
    return scd * r, 1.0 - k.B_c * y * dd * r, 1.0 - k.B_d * y * cc * r, e


@inlined
def _near(k, t, doublings):
    """s, c, d, e for (lambda t)^2 up to _NEAR, without a branch."""
    s, c, d, e = _series(k, t, doublings)
    for _ in range(doublings - 1):
        s, c, d, e = _double(k, s, c, d, e)
    return s, c, d, e


@inlined
def _double_far(k, s, c, d, e):
    """As `_double`, but c and d keep their digits where both are small; e keeps its length."""
    y, cc, dd, scd = s * s, c * c, d * d, s * c * d
    N = cc + k.B_c * y * dd
    r = 1.0 / N
    p, q = _double_angle(k, y, cc, dd, scd, N, e)
    size = abs(p) + abs(q)
    product, gap = cc * dd, k.a13 * k.gap * y
    return 2.0 * scd * r, (product - gap) * r, (product + gap) * r, (p / size, q / size)


@inlined
def _half_period(B, gap, P):
    """Half a period of s, one of f, and the integral of f over it (DLMF 19.22.8, 19.22.12)."""
    a, g, p = math.sqrt(B), math.sqrt(abs(gap)), math.sqrt(P)
    Q, total = 1.0, 1.0
    for _ in range(30):
        ag, pp = a * g, p * p
        Q *= 0.5 * (pp - ag) / (pp + ag)
        total += Q
        a, g, p = 0.5 * (a + g), math.sqrt(ag), (pp + ag) / (2.0 * p)
        if a - g <= 1e-8 * a and abs(Q) <= 1e-17:  # the next mean is exact to round-off
            break
    T = 2.0 * math.pi / (a + g)
    return T, 0.5 * T * total / P


@inlined
def _remove_half_periods(k, t):
    """t without its whole half periods, their number, and what they add to psi - a1 t."""
    B = max(k.B_c, k.B_d)
    P = B + k.a12 * k.m
    G = k.a12 * k.a13 * k.m
    if k.gap == 0.0:
        # The separatrix has no period: in the end the body spins about the middle axis.
        r = math.copysign(min(abs(t), _STUCK / math.sqrt(B)), t)
        return r, 0.0, -G / P * (t - r)
    T, integral = _half_period(B, k.a13 * k.gap, P)
    halves = np.floor(t / T + 0.5)
    return t - halves * T, halves, -G * integral * halves


@inlined
def _far(k, t):
    """s, c, d, e at any time, and the rest of psi, which e lacks."""
    r, halves, angle = _remove_half_periods(k, t)
    x = max(k.B_c, k.B_d) * r * r
    levels = 0
    while x > _NEAR and levels < 12:
        x, r = 0.25 * x, 0.5 * r
        levels += 1
    s, c, d, e = _near(k, r, _DOUBLINGS)
    for _ in range(levels):
        s, c, d, e = _double_far(k, s, c, d, e)
    # Half a period reverses s and Jacobi's cn, which is c or d: in (3) as if it reversed C and S.
    sign = 1.0 if halves % 2.0 == 0.0 else -1.0
    return s, c, d, (sign * e[0], sign * e[1]), angle


@inlined
def _prepare(J, Pi, h):
    """Order of the axes, constants of the motion and half of the time."""
    order, r = _order(J), 1.0 / (J[0] * J[1] * J[2])
    length = math.sqrt(dot(Pi, Pi) + 1e-300)  # not 0 at rest
    return order, _constants(order, J, r, scale(1.0 / length, Pi), 1.0), 0.5 * h * length


@inlined
def _advance_momentum(k, s, c, d):
    """(1): D, and the two terms of D n1, D n2 and D n3."""
    n, z = k.n, k.hand * s  # in left-handed axes the terms quadratic in n change sign
    D = d * d + k.a12 * k.a13 * n[0] * n[0] * s * s
    first = n[0] * c, n[1] * c * d, n[2] * d
    second = -k.a23 * z * n[1] * n[2] * d, k.a13 * z * n[0] * n[2], -k.a12 * z * n[0] * n[1] * c
    return D, first, second


@inlined
def _sum(first, second, product):
    """first + second; product: first^2 - second^2, accurate to all digits."""
    return product / (first - second) if first * second < 0.0 else first + second


@inlined
def _advance_momentum_far(k, s, c, d):
    """D and D n, accurate also where the body gets closer to the middle axis than at the start."""
    D, p, q = _advance_momentum(k, s, c, d)
    xx, zz, w = k.n[0] * k.n[0] * c * c, k.n[2] * k.n[2] * d * d, k.gap * k.n[1] * k.n[1] * s * s
    n1 = _sum(p[0], q[0], D * (xx - k.a23 * w))
    n3 = _sum(p[2], q[2], D * (zz + k.a12 * w))
    return D, (n1, p[1] + q[1], n3)


@inlined
def _compose(k, psi, s, c, d, e, D, n):
    """(3); psi: any angle, without the angle of e; n: D n."""
    C, S = cos_sin(psi - 2.0 * math.pi * np.floor(psi / (2.0 * math.pi) + 0.5))
    C, S = C * e[0] - k.square * S * e[1], C * e[1] + S * e[0]
    return (
        (C * c + S * k.m * s * d) * D,
        S * (1.0 + k.a12 * k.m * s * s) * n[0],
        (S * d - C * k.a12 * s * c) * n[1],
        (S * c * d - C * k.a13 * s) * n[2],
    )


@inlined
def _turn_near(k, t):
    s, c, d, e = _near(k, t, _DOUBLINGS)
    D, first, second = _advance_momentum(k, s, c, d)
    return _compose(k, k.a1 * t, s, c, d, e, D, add(first, second))


@inlined
def _turn_far(k, t):
    s, c, d, e, angle = _far(k, t)
    D, n = _advance_momentum_far(k, s, c, d)
    p = _compose(k, k.a1 * t + angle, s, c, d, e, D, n)
    # Where c and d are tiny, all of p is tiny.
    return qscale(1.0 / max(max(abs(p[0]), abs(p[1])), max(abs(p[2]), abs(p[3]))), p)


@inlined
def _finish(order, p):
    r = 1.0 / math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    x, y, z = _undo_reorder(order, (r * p[1], r * p[2], r * p[3]))
    return (r * p[0], x, y, z)


@along_three
def near_rotation(J, Pi, h):
    """As `free_rotation`, and whether h is short enough: always true below 3 rad a step.

    Has no branch, for loops over lanes; for longer steps the result is meaningless.
    """
    order, k, t = _prepare(J, Pi, h)
    return _finish(order, _turn_near(k, t)), max(k.B_c, k.B_d) * t * t <= _NEAR


@inlined
def free_rotation(J, Pi, h):
    """Unit quaternion p by which a free body rotates in a time h: q_1 = q_0 o p.

    J: principal moments (3,) [kg m^2]; Pi: body momentum (3,) at the start [kg m^2/s]; h: any time
    [s], also negative. The body momentum at the end is R(p)^T Pi. The error of the attitude is at
    most 3e-15 (1 + |Omega| h + kappa), kappa its sensitivity to relative changes of J and Pi.
    """
    order, k, t = _prepare(J, Pi, h)
    if max(k.B_c, k.B_d) * t * t <= _NEAR:
        return _finish(order, _turn_near(k, t))
    return _finish(order, _turn_far(k, t))
