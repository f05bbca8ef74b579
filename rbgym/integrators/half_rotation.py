"""The rotation half-way through a step, for schemes whose unknown is e = tan(theta/4) n.

theta n is the rotation vector of the step. The rotation half-way has the quaternion
(1, e)/sqrt(1 + e.e), that of the whole step (1 - e.e, 2 e)/(1 + e.e). B = R_half^T.
"""

from rbgym.compiled.jit import inlined
from rbgym.matrix import crossed, multiple, outer, plus, product, skewed
from rbgym.quaternion import add, cross, dot, scale, sub


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

    o_m is o = R^T d, continued to all quaternions as a quadratic form, at the mean of both ends.
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
    """Body rotation half-way that a change of e makes, as a matrix."""
    return multiple(2.0 / (1.0 + dot(e, e)), skewed(1.0, scale(-1.0, e)))


@inlined
def whole_turn(e):
    """Body rotation at the end of the step that a change of e makes, as a matrix."""
    turn = half_turn(e)
    return plus(turn, product(half_matrix(scale(-1.0, e)), turn))


@inlined
def mean_tilting(e, o_0, o_m):
    """Derivative of o_m with e."""
    c = 1.0 / (1.0 + dot(e, e))
    v = scale(-1.0, add(o_0, scale(2.0 / c, o_m)))
    change = plus(outer(e, o_0), plus(outer(v, e), skewed(dot(e, o_0), o_0)))
    return multiple(2.0 * c * c, change)


@inlined
def end_tilting(e, o_1):
    """Derivative of o_1 with e."""
    return crossed(o_1, whole_turn(e))
