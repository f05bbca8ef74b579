"""The rotation of a step from its unknowns, for two kinds of unknowns.

A rotation vector phi: the exponential map and its derivative, exact to round-off for angles up to
4, by series without a branch or a root.

e = tan(theta/4) n, theta n the rotation vector of the step: the rotation over half the step has the
quaternion (1, e)/sqrt(1 + e.e), over the whole step (1 - e.e, 2 e)/(1 + e.e). B = R_half^T.
"""

from rbgym.compiled.jit import inlined
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed
from rbgym.quaternion import add, cross, dot, even_odd, scale, sub


@inlined
def exponential(phi):
    """Quaternion of exp(phi), |phi| <= 4, from a quarter of the angle."""
    y = dot(phi, phi) / 16.0
    c, s = even_odd(y)
    k = 0.5 * s * c
    return (1.0 - 2.0 * y * s * s, k * phi[0], k * phi[1], k * phi[2])


_QUOTIENTS = tuple(float(n * (n + 1)) for n in range(28, 2, -2))


@inlined
def dexp_factors(y):
    """b = (1 - cos t)/t^2 and c = (1 - sin(t)/t)/t^2 for y = t^2 <= 16, to round-off."""
    cos, sinc = even_odd(y / 16.0)
    b = 0.5 * (cos * sinc) * (cos * sinc)  # (1 - cos t)/2 = sin(t/2)^2
    c = 1.0 - y / 930.0  # 30 * 31
    for n in _QUOTIENTS:
        c = 1.0 - y / n * c
    return b, c / 6.0


@inlined
def tangent(phi):
    """dexp_{-phi} = 1 - b [phi]x + c [phi]x[phi]x: maps a change of phi to a body rotation."""
    y = dot(phi, phi)
    b, c = dexp_factors(y)
    return plus(outer(scale(c, phi), phi), skewed(1.0 - c * y, scale(-b, phi)))


@inlined
def whole(e):
    """The quaternion of the whole step."""
    s = 2.0 / (1.0 + dot(e, e))
    return (s - 1.0, s * e[0], s * e[1], s * e[2])


@inlined
def back(e, v):
    """B v."""
    ee = dot(e, e)
    turned = add(sub(scale(1.0 - ee, v), scale(2.0, cross(e, v))), scale(2.0 * dot(e, v), e))
    return scale(1.0 / (1.0 + ee), turned)


@inlined
def forth(e, v):
    """R_half v."""
    ee = dot(e, e)
    turned = add(add(scale(1.0 - ee, v), scale(2.0, cross(e, v))), scale(2.0 * dot(e, v), e))
    return scale(1.0 / (1.0 + ee), turned)


@inlined
def directions(e, o_0):
    """o_m = cos^2(theta/4) R_half^T o_0, and the direction at the end of the step.

    o_m is the value of o = R^T d, a quadratic form in q, at the mean quaternion of both ends.
    """
    half = back(e, o_0)
    return scale(1.0 / (1.0 + dot(e, e)), half), back(e, half)


@inlined
def half_matrix(e):
    """R_half."""
    ee = dot(e, e)
    R = plus(outer(scale(2.0, e), e), skewed(1.0 - ee, scale(2.0, e)))
    return multiple(1.0 / (1.0 + ee), R)


@inlined
def half_turn(e):
    """Matrix that maps a change of e to the body rotation at the middle of the step."""
    return multiple(2.0 / (1.0 + dot(e, e)), skewed(1.0, scale(-1.0, e)))


@inlined
def whole_turn(e):
    """Matrix that maps a change of e to the body rotation at the end of the step."""
    turn = half_turn(e)
    return plus(turn, product(half_matrix(scale(-1.0, e)), turn))


@inlined
def mean_change(e, o_0, o_m):
    """Derivative of o_m with respect to e."""
    c = 1.0 / (1.0 + dot(e, e))
    v = scale(-1.0, add(o_0, scale(2.0 / c, o_m)))
    change = plus(outer(e, o_0), plus(outer(v, e), skewed(dot(e, o_0), o_0)))
    return multiple(2.0 * c * c, change)


@inlined
def end_change(e, o_1):
    """Derivative of o_1 with respect to e."""
    return crossed(o_1, whole_turn(e))
