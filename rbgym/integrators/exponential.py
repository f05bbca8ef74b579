"""The exponential map from rotation vectors to quaternions, and its derivative.

All to round-off for angles up to 4, by series without a branch or a root.
"""

from rbgym.compiled.jit import inlined
from rbgym.matrix import outer, plus, skewed
from rbgym.quaternion import dot, even_odd, scale


@inlined
def exponential(phi):
    """Quaternion of exp(phi), |phi| <= 4: from the quarter of the angle."""
    y = dot(phi, phi) / 16.0
    c, s = even_odd(y)
    k = 0.5 * s * c
    return (1.0 - 2.0 * y * s * s, k * phi[0], k * phi[1], k * phi[2])


@inlined
def dexp_factors(y):
    """b = (1 - cos t)/t^2 and c = (1 - sin(t)/t)/t^2 for y = t^2 <= 16, to round-off."""
    cos, sinc = even_odd(y / 16.0)
    b = 0.5 * (cos * sinc) * (cos * sinc)  # (1 - cos t)/2 is the square of sin(t/2)
    c = 1.0 - y / 930.0
    c = 1.0 - y / 812.0 * c
    c = 1.0 - y / 702.0 * c
    c = 1.0 - y / 600.0 * c
    c = 1.0 - y / 506.0 * c
    c = 1.0 - y / 420.0 * c
    c = 1.0 - y / 342.0 * c
    c = 1.0 - y / 272.0 * c
    c = 1.0 - y / 210.0 * c
    c = 1.0 - y / 156.0 * c
    c = 1.0 - y / 110.0 * c
    c = 1.0 - y / 72.0 * c
    c = 1.0 - y / 42.0 * c
    c = 1.0 - y / 20.0 * c
    return b, c / 6.0


@inlined
def tangent(phi):
    """dexp_{-phi}, 1 - b [phi]x + c [phi]x[phi]x: the body rotation that changing phi is."""
    y = dot(phi, phi)
    b, c = dexp_factors(y)
    return plus(outer(scale(c, phi), phi), skewed(1.0 - c * y, scale(-b, phi)))
