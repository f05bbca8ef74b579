"""Success and the end of an episode. Parts as in rbgym.envs.parts.goals."""

from typing import Any, NamedTuple

from rbgym.envs.layout import TARGET
from rbgym.jit import choice, for_type
from rbgym.quaternion import Vector, dot, to_body, to_world, upward
from rbgym.rows import quaternion


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


@choice
def is_inside(part: Any, buffer: Any, i: int, square: Any, rate_square: Any) -> bool:
    """Whether the lane is in the success region."""
    raise NotImplementedError


@for_type(is_inside, Settled)
def _(part, buffer, i, square, rate_square):
    return (square < part.square) & (rate_square < part.rate * part.rate)


@choice
def is_over(part: Any, buffer: Any, i: int, q: Any, omega: Any) -> bool:
    """Whether the state ends the episode of the lane at i."""
    raise NotImplementedError


@for_type(is_over, Ends)
def _(part, buffer, i, q, omega):
    return (upward(q)[2] < part.cos_tilt) | (dot(omega, omega) > part.rate * part.rate)


@for_type(is_over, KeepOut)
def _(part, buffer, i, q, omega):
    ends = part.ends
    over = (upward(q)[2] < ends.cos_tilt) | (dot(omega, omega) > ends.rate * ends.rate)
    axis = to_body(quaternion(buffer, i, TARGET), to_world(q, part.axis))
    return over | (dot(axis, part.direction) > part.cos_angle)
