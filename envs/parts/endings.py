"""Success and the end of an episode. Parts as in rbgym.envs.parts.goals."""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.envs.layout import POSITION, TARGET, VELOCITY
from rbgym.integrators.free_scale import SCALE
from rbgym.layout import LANES
from rbgym.quaternion import Vector, add, dot, to_body, to_world, upward
from rbgym.rows import quaternion, vector


class Settled(NamedTuple):
    """The success region: (2 sin(angle / 2))^2 below square, the rate off below rate [rad/s]."""

    square: float
    rate: float


class Ends(NamedTuple):
    """|omega| beyond `rate` [rad/s], or the body z axis below cos_tilt of the vertical."""

    rate: float
    cos_tilt: float = -2.0


class KeepOut(NamedTuple):
    """Also: a body axis within a cone about a direction.

    ends: what else ends the episode. direction: in the target frame, where the task has a target,
    else in the world.
    """

    ends: Ends
    axis: Vector
    direction: Vector
    cos_angle: float


class Docked(NamedTuple):
    """Also: the centre of mass within `distance` [m] of the dock, slower than `speed` [m/s]."""

    square: float
    rate: float
    distance: float
    speed: float


class Berth(NamedTuple):
    """Also: what a dock at the world's origin forbids.

    far [m], fast [m/s]: largest distance and speed. The station is a sphere of `radius` [m] whose
    centre is at -behind [m] on the target's x axis: keep out. Within `near` [m] of the dock: no
    faster than `approach` [m/s].
    """

    ends: Ends
    far: float
    fast: float
    behind: float
    radius: float
    near: float
    approach: float


class OutOfSize(NamedTuple):
    """Also: a scale outside [smallest, largest]."""

    ends: Ends
    smallest: float
    largest: float


@choice
def is_inside(part: Any, buffer: Any, i: int, square: Any, rate_square: Any) -> bool:
    """Whether the lane is in the success region."""
    raise NotImplementedError


@for_type(is_inside, Settled)
def _(part, buffer, i, square, rate_square):
    return (square < part.square) & (rate_square < part.rate * part.rate)


@for_type(is_inside, Docked)
def _(part, buffer, i, square, rate_square):
    p, v = vector(buffer, i, POSITION), vector(buffer, i, VELOCITY)
    there = (dot(p, p) < part.distance * part.distance) & (dot(v, v) < part.speed * part.speed)
    return there & (square < part.square) & (rate_square < part.rate * part.rate)


@choice
def is_over(part: Any, buffer: Any, i: int, q: Any, omega: Any) -> bool:
    """Whether the state ends the episode of the lane at i."""
    raise NotImplementedError


@for_type(is_over, Ends)
def _(part, buffer, i, q, omega):
    return (upward(q)[2] < part.cos_tilt) | (dot(omega, omega) > part.rate * part.rate)


@for_type(is_over, KeepOut)
def _(part, buffer, i, q, omega):
    over = is_over(part.ends, buffer, i, q, omega)
    axis = to_body(quaternion(buffer, i, TARGET), to_world(q, part.axis))
    return over | (dot(axis, part.direction) > part.cos_angle)


@for_type(is_over, Berth)
def _(part, buffer, i, q, omega):
    p, v = vector(buffer, i, POSITION), vector(buffer, i, VELOCITY)
    away, speed = dot(p, p), dot(v, v)
    station = add(to_body(quaternion(buffer, i, TARGET), p), (part.behind, 0.0, 0.0))
    inside = dot(station, station) < part.radius * part.radius
    hasty = (away < part.near * part.near) & (speed > part.approach * part.approach)
    lost = (away > part.far * part.far) | (speed > part.fast * part.fast)
    return is_over(part.ends, buffer, i, q, omega) | inside | hasty | lost


@for_type(is_over, OutOfSize)
def _(part, buffer, i, q, omega):
    s = buffer[i + SCALE * LANES]
    out = (s < part.smallest) | (s > part.largest)
    return is_over(part.ends, buffer, i, q, omega) | out
