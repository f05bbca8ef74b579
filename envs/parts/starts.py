"""Where episodes begin. Parts as in rbgym.envs.parts.goals."""

import math
from typing import Any, NamedTuple

from rbgym.envs.layout import TARGET
from rbgym.jit import choice, for_type, inlined
from rbgym.quaternion import add, cos_sin, qmul, scale, upward
from rbgym.rows import put_quaternion


class Tilted(NamedTuple):
    """A tilt uniform between two angles [rad] in a uniform direction, near a steady turning.

    Rates [rad/s]: precession about the vertical, plus a spin uniform in mean_spin +- spin about
    the axis, plus rates across the axis uniform in a disc of radius transverse.
    """

    least_tilt: float
    tilt: float
    precession: float
    mean_spin: float
    spin: float
    transverse: float


class Turned(NamedTuple):
    """A target turned away from the world, and the body turned away from the target.

    Each by an angle with the density of Haar's measure, about a uniform axis: the target's angle in
    [0, target_angle] rad, the body's in [least_angle, angle]. With pi for both, and 0 for the
    least, the attitudes are Haar-uniform and independent. The rate is uniform in [least_rate, rate]
    rad/s, about a uniform body axis.
    """

    least_angle: float
    angle: float
    least_rate: float
    rate: float
    target_angle: float = 0.0


@choice
def draw(part: Any, buffer: Any, i: int, a: Any, b: Any, c: Any) -> Any:
    """Attitude and angular velocity of a start, from twelve uniform numbers; sets the target."""
    raise NotImplementedError


@inlined
def on_circle(u):
    """A uniform direction in the plane, from a uniform number."""
    return cos_sin(math.tau * u - math.pi)


@inlined
def on_sphere(u, v):
    """A uniform direction in space, from two uniform numbers."""
    z, around = 2.0 * u - 1.0, on_circle(v)
    across = math.sqrt(max(1.0 - z * z, 0.0))
    return (across * around[0], across * around[1], z)


@inlined
def haar_angle(least, most, u):
    """The rotation angle in [least, most] that divides Haar's measure there as u divides [0, 1].

    The measure of the angles below x is (x - sin x)/pi; it is inverted by bisection.
    """
    low, high = least, most
    below = low - math.sin(low)
    wanted = below + u * (high - math.sin(high) - below)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle - math.sin(middle) < wanted:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@for_type(draw, Tilted)
def _(part, buffer, i, a, b, c):
    cos, sin = cos_sin(0.5 * (part.least_tilt + (part.tilt - part.least_tilt) * a[0]))
    towards, around = on_circle(a[1]), on_circle(b[0])
    q = (cos, -sin * towards[1], sin * towards[0], 0.0)
    across = part.transverse * math.sqrt(a[3])
    spin = part.mean_spin + part.spin * (2.0 * a[2] - 1.0)
    omega = (across * around[0], across * around[1], spin)
    put_quaternion(buffer, i, TARGET, (1.0, 0.0, 0.0, 0.0))
    return q, add(omega, scale(part.precession, upward(q)))


@inlined
def turn(least, most, a, b, c):
    """A rotation by an angle in [least, most], from three uniform numbers."""
    half = 0.5 * haar_angle(least, most, a)
    x, y, z = scale(math.sin(half), on_sphere(b, c))
    return (math.cos(half), x, y, z)


@for_type(draw, Turned)
def _(part, buffer, i, a, b, c):
    target = turn(0.0, part.target_angle, a[0], a[1], a[2])
    put_quaternion(buffer, i, TARGET, target)
    q = qmul(target, turn(part.least_angle, part.angle, a[3], b[0], b[1]))
    speed = part.least_rate + (part.rate - part.least_rate) * b[2]
    return q, scale(speed, on_sphere(b[3], c[0]))
