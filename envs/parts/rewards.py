"""The reward: a sum of named, weighted terms. Parts as in rbgym.envs.parts.goals."""

from typing import Any, NamedTuple

from rbgym.actuation import Direct, channels
from rbgym.compiled.jit import choice, for_type, otherwise
from rbgym.envs.layout import LAST_COMMAND, LAST_POTENTIAL, POSITION, TERMS, VELOCITY
from rbgym.layout import COMMAND, LANES
from rbgym.quaternion import dot, sub
from rbgym.rows import put_vector, vector

# What a user can give a weight to, in the order in which the kernel writes them.
TERM_NAMES = (
    "closeness",
    "success",
    "attitude",
    "rate",
    "effort",
    "change",
    "alive",
    "progress",
)


class Closeness(NamedTuple):
    """The dense reward, 1 / (1 + off + rate + effort): smooth, in (0, 1], 1 only at the goal.

    off = (2 sin(angle / 2) / scale)^2, rate = rate_weight |omega - wanted|^2,
    effort = effort_weight * mean of the squared command.
    """

    scale: float
    rate_weight: float
    effort_weight: float


class Approach(NamedTuple):
    """The dense reward of a body that flies: closeness, with 1 / (1 + off + rate + effort + away +
    speed), away = (distance from the dock / distance)^2, speed = speed_weight |velocity|^2."""

    scale: float
    rate_weight: float
    effort_weight: float
    distance: float
    speed_weight: float


class Weighted(NamedTuple):
    """The sum of weight times term; rate_limit [rad/s] is the unit of the rate term.

    closeness: see there. success: 1 inside the success region. attitude: -sin^2(angle / 2).
    rate: -(|omega - wanted| / rate_limit)^2. effort: -mean(command^2). change: a quarter of
    -mean((command - the last)^2). alive: 1. progress: discount P - the last P, with P the
    closeness without its effort, and 0 where the state ends the episode. To a learner with that
    discount, this potential-based shaping changes no best policy (Ng, Harada & Russell 1999).
    """

    shape: Any
    rate_limit: float
    discount: float
    weights: tuple[float, float, float, float, float, float, float, float]


@choice
def potential(shape: Any, buffer: Any, i: int, square: Any, rate_square: Any) -> float:
    """P of the progress term: closeness without effort."""
    raise NotImplementedError


@for_type(potential, Closeness)
def _(shape, buffer, i, square, rate_square):
    return 1.0 / (1.0 + square / (shape.scale * shape.scale) + shape.rate_weight * rate_square)


@for_type(potential, Approach)
def _(shape, buffer, i, square, rate_square):
    p, v = vector(buffer, i, POSITION), vector(buffer, i, VELOCITY)
    away = dot(p, p) / (shape.distance * shape.distance) + shape.speed_weight * dot(v, v)
    off = square / (shape.scale * shape.scale) + shape.rate_weight * rate_square
    return 1.0 / (1.0 + off + away)


@choice
def mean_square(actuator: Any, buffer: Any, i: int, row: int) -> float:
    """Of the commands in the rows; those that there are not are zero."""
    raise NotImplementedError


@for_type(mean_square, Direct)
def _(actuator, buffer, i, row):
    # By itself, so that the plain case stays as simple as the compiler needs it to vectorise.
    first = vector(buffer, i, row)
    return dot(first, first) / 3.0


@otherwise(mean_square)
def _(actuator, buffer, i, row):
    first, second = vector(buffer, i, row), vector(buffer, i, row + 3)
    return (dot(first, first) + dot(second, second)) / channels(actuator)


@choice
def mean_change(actuator: Any, buffer: Any, i: int) -> float:
    """Mean square of the change of the commands, which are kept as the last ones."""
    raise NotImplementedError


@for_type(mean_change, Direct)
def _(actuator, buffer, i):
    now = vector(buffer, i, COMMAND)
    change = sub(now, vector(buffer, i, LAST_COMMAND))
    put_vector(buffer, i, LAST_COMMAND, now)
    return dot(change, change) / 3.0


@otherwise(mean_change)
def _(actuator, buffer, i):
    now, more = vector(buffer, i, COMMAND), vector(buffer, i, COMMAND + 3)
    change = sub(now, vector(buffer, i, LAST_COMMAND))
    other = sub(more, vector(buffer, i, LAST_COMMAND + 3))
    put_vector(buffer, i, LAST_COMMAND, now)
    put_vector(buffer, i, LAST_COMMAND + 3, more)
    return (dot(change, change) + dot(other, other)) / channels(actuator)


@choice
def reward(
    part: Any,
    buffer: Any,
    i: int,
    square: Any,
    rate_square: Any,
    actuator: Any,
    inside: Any,
    over: Any,
    begun: Any,
) -> float:
    """The reward of the lane at i; writes its terms, and keeps what the next
    step needs."""
    raise NotImplementedError


@for_type(reward, Closeness, Approach)
def _(part, buffer, i, square, rate_square, actuator, inside, over, begun):
    effort = part.effort_weight * mean_square(actuator, buffer, i, COMMAND)
    value = 1.0 / (1.0 / potential(part, buffer, i, square, rate_square) + effort)
    value = 0.0 if begun else value
    buffer[i + TERMS * LANES] = value
    return value


@for_type(reward, Weighted)
def _(part, buffer, i, square, rate_square, actuator, inside, over, begun):
    shape, w = part.shape, part.weights
    last = buffer[i + LAST_POTENTIAL * LANES]
    P = potential(shape, buffer, i, square, rate_square)
    change = mean_change(actuator, buffer, i)
    buffer[i + LAST_POTENTIAL * LANES] = P
    effort = mean_square(actuator, buffer, i, COMMAND)
    terms = (
        w[0] / (1.0 / P + shape.effort_weight * effort),
        w[1] if inside else 0.0,
        -0.25 * w[2] * square,
        -w[3] * rate_square / (part.rate_limit * part.rate_limit),
        -w[4] * effort,
        -0.25 * w[5] * change,
        w[6],
        w[7] * ((0.0 if over else part.discount * P) - last),
    )
    total, k = 0.0, i + TERMS * LANES
    for n in range(8):
        value = 0.0 if begun else terms[n]
        buffer[k + n * LANES] = value
        total += value
    return total
