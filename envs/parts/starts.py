"""Where episodes begin. Parts as in rbgym.envs.parts.goals."""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.envs.layout import POSITION, TARGET, TARGET_SPIN, VELOCITY
from rbgym.integrators.free_scale import SCALE
from rbgym.layout import LANES
from rbgym.quaternion import add, cos_sin, qmul, scale, to_world, upward
from rbgym.rows import put_quaternion, put_vector


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


class Adrift(NamedTuple):
    """Turned, as in `Turned`, and away from a dock at the world's origin.

    The centre of mass is at a distance uniform in [least_distance, distance] m, in a direction
    uniform within `cone_angle` [rad] of the target's x axis; its velocity is uniform in size up to
    `speed` [m/s], and in direction.
    """

    least_angle: float
    angle: float
    least_rate: float
    rate: float
    target_angle: float
    least_distance: float
    distance: float
    cone_angle: float
    speed: float


class Spun(NamedTuple):
    """A Haar-uniform attitude, a spin uniform in [least_spin, spin] rad/s about the body z axis of
    either sign, and rates across it uniform in a disc of radius transverse [rad/s]. The spin wanted
    is the one that the momentum has at a scale whose logarithm is uniform between those of
    least_scale and scale."""

    least_spin: float
    spin: float
    transverse: float
    least_scale: float
    scale: float


# Of the angle; from 26 % too much, or from pi, to the last digit.
_NEWTON_STEPS = 6


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

    The measure of the angles below x is (x - sin x)/pi. It is inverted by Newton's method from
    above: (x - sin x) bends upwards, so that no step goes too far, and is at least x^3/12.
    """
    below = least - math.sin(least)
    wanted = below + u * (most - math.sin(most) - below)
    x = min((12.0 * wanted) ** (1.0 / 3.0), math.pi)
    for _ in range(_NEWTON_STEPS):
        half = math.sin(0.5 * x)
        # What is added keeps an angle of zero from dividing zero by zero.
        x -= (x - math.sin(x) - wanted) / (2.0 * half * half + 1e-300)
    return min(max(x, least), most)


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


@for_type(draw, Adrift)
def _(part, buffer, i, a, b, c):
    target = turn(0.0, part.target_angle, a[0], a[1], a[2])
    put_quaternion(buffer, i, TARGET, target)
    q = qmul(target, turn(part.least_angle, part.angle, a[3], b[0], b[1]))
    # Two numbers in one: 1024 rates, or speeds, each with many directions.
    fine = 1024.0 * b[2]
    share = fine - math.floor(fine)
    rate = part.least_rate + (part.rate - part.least_rate) * math.floor(fine) / 1023.0
    omega = scale(rate, on_sphere(share, b[3]))
    across, around = 1.0 - c[0] * (1.0 - math.cos(part.cone_angle)), on_circle(c[1])
    side = math.sqrt(max(1.0 - across * across, 0.0))
    towards = to_world(target, (across, side * around[0], side * around[1]))
    share = c[2]
    away = part.least_distance + (part.distance - part.least_distance) * share
    put_vector(buffer, i, POSITION, scale(away, towards))
    fine, turned = 1024.0 * c[3], 1024.0 * share
    towards = on_sphere(fine - math.floor(fine), turned - math.floor(turned))
    velocity = scale(part.speed * math.floor(fine) / 1023.0, towards)
    put_vector(buffer, i, VELOCITY, velocity)
    return q, omega


@for_type(draw, Spun)
def _(part, buffer, i, a, b, c):
    put_quaternion(buffer, i, TARGET, (1.0, 0.0, 0.0, 0.0))
    q = turn(0.0, math.pi, a[0], a[1], a[2])
    spin = part.least_spin + (part.spin - part.least_spin) * a[3]
    spin = spin if b[0] < 0.5 else -spin
    across, around = part.transverse * math.sqrt(b[1]), on_circle(b[2])
    low, high = math.log(part.least_scale), math.log(part.scale)
    size = math.exp(low + (high - low) * b[3])
    buffer[i + TARGET_SPIN * LANES] = spin / (size * size)
    buffer[i + SCALE * LANES] = 1.0
    return q, (across * around[0], across * around[1], spin)
