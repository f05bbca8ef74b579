"""The reward: a sum of named, weighted terms. Parts as in rbgym.envs.parts.goals."""

from typing import Any, NamedTuple

from rbgym.envs.layout import LAST_COMMAND, LAST_POTENTIAL, TERMS
from rbgym.jit import choice, for_type, inlined
from rbgym.layout import LANES
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


class Weighted(NamedTuple):
    """The sum of weight times term; rate_limit [rad/s] is the unit of the rate term.

    closeness: see there. success: 1 inside the success region. attitude: -sin^2(angle / 2).
    rate: -(|omega - wanted| / rate_limit)^2. effort: -mean(command^2). change: a quarter of
    -mean((command - the last)^2). alive: 1. progress: discount P - the last P, with P the
    closeness without its effort, and 0 where the state ends the episode. To a learner with that
    discount, this potential-based shaping changes no best policy (Ng, Harada & Russell 1999).
    """

    shape: Closeness
    rate_limit: float
    discount: float
    weights: tuple[float, float, float, float, float, float, float, float]


@inlined
def potential(shape, square, gap):
    """P of the progress term: closeness without effort."""
    return 1.0 / (1.0 + square / (shape.scale * shape.scale) + shape.rate_weight * dot(gap, gap))


@choice
def reward(
    part: Any,
    buffer: Any,
    i: int,
    square: Any,
    gap: Any,
    command: Any,
    inside: Any,
    over: Any,
    begun: Any,
) -> float:
    """The reward of the lane at i; writes its terms, and keeps what the next step needs."""
    raise NotImplementedError


@for_type(reward, Closeness)
def _(part, buffer, i, square, gap, command, inside, over, begun):
    effort = part.effort_weight * dot(command, command) / 3.0
    value = 1.0 / (1.0 / potential(part, square, gap) + effort)
    value = 0.0 if begun else value
    buffer[i + TERMS * LANES] = value
    return value


@for_type(reward, Weighted)
def _(part, buffer, i, square, gap, command, inside, over, begun):
    shape, w = part.shape, part.weights
    last, P = buffer[i + LAST_POTENTIAL * LANES], potential(shape, square, gap)
    change = sub(command, vector(buffer, i, LAST_COMMAND))
    put_vector(buffer, i, LAST_COMMAND, command)
    buffer[i + LAST_POTENTIAL * LANES] = P
    effort = dot(command, command) / 3.0
    terms = (
        w[0] / (1.0 / P + shape.effort_weight * effort),
        w[1] if inside else 0.0,
        -0.25 * w[2] * square,
        -w[3] * dot(gap, gap) / (part.rate_limit * part.rate_limit),
        -w[4] * effort,
        -w[5] * dot(change, change) / 12.0,
        w[6],
        w[7] * ((0.0 if over else part.discount * P) - last),
    )
    total, k = 0.0, i + TERMS * LANES
    for n in range(8):
        value = 0.0 if begun else terms[n]
        buffer[k + n * LANES] = value
        total += value
    return total
