"""The reward: a sum of named, weighted terms."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import required
from rbgym.envs.arguments import in_range, keys, named
from rbgym.envs.parts.endings import flight, less
from rbgym.envs.parts.goals import Gap, angle_of
from rbgym.envs.rows import Part
from rbgym.quaternion import dot
from rbgym.rows import LANES, Physics, view

# The terms that a user can weight, in the order of their rows.
TERMS = ("closeness", "success", "attitude", "rate", "effort", "change", "alive", "progress",
         "margin")  # fmt: skip
NAMED: dict[str, Mapping[str, float]] = {"dense": {"closeness": 1.0}, "sparse": {"success": 1.0}}
DISCOUNT = 0.99  # of the progress term
_NEAR = 0.4  # margin below which the margin term counts


class Outcome(NamedTuple):
    """The outcome of a step or start. inside: the success region; over: whether the state ends the
    episode; begins: whether it is a start; slack: margin to an end, see `Ending.margin`."""

    gap: Gap
    inside: bool
    over: bool
    begins: bool
    slack: float


class Reward(Part):
    """Rewards a step."""

    @required
    def value(self, rows, buffer, i, outcome):
        """The reward of the lane at i, zero at a start; stores what the next step needs."""

    def forget(self, rows, buffer, i):
        """Clear the memory of the last episode when the next one starts."""

    def terms(self) -> tuple[str, ...]:
        """Names of its terms; the values of several stand in its first rows, a single one is the
        reward."""
        return ("reward",)


class Shape(Reward):
    """A dense reward, 1 / (1/P + effort): smooth, in (0, 1], 1 only at the goal. effort: the
    mean of the squared command times effort_weight, which is a field of the class."""

    @required
    def remoteness(self, rows, buffer, i, gap):
        """1/P, with P in (0, 1] the reward without effort."""

    def value(self: Any, rows, buffer, i, outcome):
        effort = self.effort_weight * mean_square(rows.physics, buffer, i)
        value = 1.0 / (self.remoteness(rows, buffer, i, outcome.gap) + effort)
        return 0.0 if outcome.begins else value

    def terms(self) -> tuple[str, ...]:
        return ("closeness",)

    def with_tolerances(self, angle: float, rate: float, momentum: float) -> "Shape":
        """The shape for tolerances of angle [rad], rate [rad/s] and rotors' momentum [kg m^2/s]."""
        return self


class Closeness(Shape):
    """P = 1 / (1 + off + rate), off = (2 sin(angle / 2) / scale)^2,
    rate = rate_weight |omega - wanted|^2."""

    scale: float
    rate_weight: float
    effort_weight: float

    def remoteness(self, rows, buffer, i, gap):
        off = gap.square / (self.scale * self.scale)
        return 1.0 + off + self.rate_weight * gap.rate_square


class Approach(Shape):
    """For a free flyer: P = 1 / (1 + off + rate + away + speed), `Closeness` with the terms
    away = (distance from the dock / distance)^2 and speed = speed_weight |velocity|^2."""

    scale: float
    rate_weight: float
    effort_weight: float
    distance: float
    speed_weight: float

    def remoteness(self, rows, buffer, i, gap):
        p, v = flight(rows, buffer, i)
        away = dot(p, p) / (self.distance * self.distance) + self.speed_weight * dot(v, v)
        off = gap.square / (self.scale * self.scale) + self.rate_weight * gap.rate_square
        return 1.0 + off + away


class Miss(Shape):
    """P = 1 / (1 + steepness (sqrt(1 + s) - 1)), with the miss s in units of the tolerances:
    s^2 = (a / angle)^2 + (|omega - wanted| / rate)^2 + (|h| / momentum)^2.

    a: the attitude error [rad]; h: the momenta of the wheels [kg m^2/s]. P has a useful slope
    everywhere: it falls linearly, then as the root of s. At the edge of success, s = 1, it is well
    below 1; half a turn away s is some hundreds. P is convex in s, so a faster slew earns no less:
    on the same path at twice the rates s is at most doubled for half of the time, then zero. The
    tolerances are the task's, see `with_tolerances`.
    """

    steepness: float = 0.3
    effort_weight: float = 0.02
    angle: float = 1.0
    rate: float = 1.0
    momentum: float = math.inf

    def remoteness(self, rows, buffer, i, gap):
        a = angle_of(gap.square) / self.angle
        square = a * a + gap.rate_square / (self.rate * self.rate)
        held = rows.physics.actuator.held_square(rows.physics, buffer, i)
        square += held / (self.momentum * self.momentum)
        return 1.0 + self.steepness * (math.sqrt(1.0 + math.sqrt(square)) - 1.0)

    def with_tolerances(self, angle, rate, momentum):
        return self._replace(angle=angle, rate=rate, momentum=momentum)


class Weighted(Reward):
    """The sum of weight times term; rate_limit [rad/s] is the unit of the rate term.

    closeness: the dense reward, `shape`. success: 1 inside the success region. attitude:
    -sin^2(angle / 2). rate: -(|omega - wanted| / rate_limit)^2. effort: -mean(command^2). change:
    -mean((command - last command)^2) / 4. alive: 1. progress: discount P - last P, with P the
    closeness without its effort, or 0 if the state ends the episode. This potential-based shaping
    does not change the best policy of a learner with that discount (Ng, Harada & Russell 1999).
    margin: -max(0, 1 - m / 0.4), with m the smallest margin (`Ending.margin`) to an end or a cost:
    a penalty that rises before the event, so that it has a derivative.
    """

    shape: Any
    rate_limit: float
    discount: float
    weights: tuple[float, float, float, float, float, float, float, float, float]

    def rows_needed(self, physics):
        return 10 + physics.actuator.channels()  # terms, the last P, the last commands

    def terms(self) -> tuple[str, ...]:
        used = [n for n, weight in enumerate(self.weights) if weight]
        return TERMS[: used[-1] + 1] if used else ()

    def memory_entries(self, physics: Physics) -> dict[str, range]:
        found = {"closeness": range(9, 10)} if self.weights[7] else {}
        if self.weights[5]:
            found["last_command"] = range(10, 10 + physics.actuator.channels())
        return found

    def forget(self, rows, buffer, i):
        for n in range(rows.physics.actuator.channels()):
            buffer[i + (rows.reward_row() + 10 + n) * LANES] = 0.0

    def value(self, rows, buffer, i, outcome):
        shape, w, gap = self.shape, self.weights, outcome.gap
        k = i + rows.reward_row() * LANES
        last = buffer[k + 9 * LANES]
        away = shape.remoteness(rows, buffer, i, gap)
        P = 1.0 / away
        change = _mean_change(rows.physics, buffer, i, k + 10 * LANES)
        buffer[k + 9 * LANES] = P
        effort = mean_square(rows.physics, buffer, i)
        buffer[k] = w[0] / (away + shape.effort_weight * effort)
        buffer[k + LANES] = w[1] if outcome.inside else 0.0
        buffer[k + 2 * LANES] = -0.25 * w[2] * gap.square
        buffer[k + 3 * LANES] = -w[3] * gap.rate_square / (self.rate_limit * self.rate_limit)
        buffer[k + 4 * LANES] = -w[4] * effort
        buffer[k + 5 * LANES] = -0.25 * w[5] * change
        buffer[k + 6 * LANES] = w[6]
        buffer[k + 7 * LANES] = w[7] * ((0.0 if outcome.over else self.discount * P) - last)
        q, omega = view(rows.physics, buffer, i)
        slack = rows.parts.constraints.margin(rows, buffer, i, q, omega)
        near = 1.0 - less(outcome.slack, slack) / _NEAR
        buffer[k + 8 * LANES] = -w[8] * (near if near > 0.0 else 0.0)
        total = 0.0
        for n in range(9):
            value = 0.0 if outcome.begins else buffer[k + n * LANES]
            buffer[k + n * LANES] = value
            total += value
        return total


@inlined
def mean_square(physics, buffer, i):
    """Mean square of the commands."""
    k, total = i + physics.actuator.command_row(physics) * LANES, 0.0
    for n in range(physics.actuator.channels()):
        total += buffer[k + n * LANES] * buffer[k + n * LANES]
    return total / physics.actuator.channels()


@inlined
def _mean_change(physics, buffer, i, k):
    """Mean square of the change from the commands stored at k; stores the new commands there."""
    command, total = i + physics.actuator.command_row(physics) * LANES, 0.0
    for n in range(physics.actuator.channels()):
        change = buffer[command + n * LANES] - buffer[k + n * LANES]
        total += change * change
        buffer[k + n * LANES] = buffer[command + n * LANES]
    return total / physics.actuator.channels()


def resolve(
    value: str | Mapping[str, float] | Callable[..., Any], shape: Shape, rate_limit: float
) -> Reward:
    """The reward of a name or a dict of weights. A callable replaces it, so it has no term."""
    weights: Mapping[str, float] = {}
    if not callable(value) and not isinstance(value, Mapping):
        named("reward", value, NAMED, ", a dict of weights or a callable")
        weights = NAMED[value]
    elif not callable(value):
        given = keys("reward", value, TERMS)
        weights = {n: in_range(f"reward[{n!r}]", one, -1e9, 1e9) for n, one in given.items()}
        if not any(weights.values()):
            raise ValueError(f"reward must have a weight that is not 0, got {value!r}")
    if weights == NAMED["dense"]:
        return shape  # the dense reward alone needs no sum, which is the quickest
    if type(shape).rows_needed is not Part.rows_needed:
        raise ValueError(f"reward must be 'dense' for a shape with a memory, got {value!r}")
    numbers = tuple(weights.get(name, 0.0) for name in TERMS)
    return Weighted(shape, rate_limit, DISCOUNT, numbers)  # type: ignore[arg-type]
