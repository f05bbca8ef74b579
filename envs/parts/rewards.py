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

# What a user can give a weight to, in the order in which the kernel writes them.
TERMS = ("closeness", "success", "attitude", "rate", "effort", "change", "alive", "progress",
         "margin")  # fmt: skip
NAMED: dict[str, Mapping[str, float]] = {"dense": {"closeness": 1.0}, "sparse": {"success": 1.0}}
DISCOUNT = 0.99  # of the progress term
_NEAR = 0.4  # margin below which the margin term counts


class Outcome(NamedTuple):
    """What a step, or a beginning, came to: how far off; in the success region; at an end; the
    margin to one."""

    gap: Gap
    inside: bool
    over: bool
    begins: bool
    slack: float


class Reward(Part):
    """What a step is worth."""

    @required
    def value(self, rows, buffer, i, outcome):
        """The reward of the lane at i, zero at a beginning; keeps what the next step needs."""

    def forget(self, rows, buffer, i):
        """Forget what the last episode left, as the next one begins."""

    def terms(self) -> tuple[str, ...]:
        """Names of its summands, which stand in its first rows; of a single one, the reward's."""
        return ("reward",)

    def kept(self, physics: Physics) -> dict[str, range]:
        """Those of its rows from which the reward of the next step has a derivative, by name."""
        return {}


class Shape(Reward):
    """A dense reward, 1 / (1/P + effort): smooth, in (0, 1], 1 only at the goal.

    effort = effort_weight * mean of the squared command; effort_weight is a field of the class.
    """

    @required
    def remoteness(self, rows, buffer, i, gap):
        """1/P, with P in (0, 1] the reward without effort."""

    def value(self: Any, rows, buffer, i, outcome):
        effort = self.effort_weight * mean_square(rows.physics, buffer, i)
        value = 1.0 / (self.remoteness(rows, buffer, i, outcome.gap) + effort)
        return 0.0 if outcome.begins else value

    def terms(self) -> tuple[str, ...]:
        return ("closeness",)

    def within(self, angle: float, rate: float, momentum: float) -> "Shape":
        """The shape where success lies within angle [rad], rate [rad/s], momentum [kg m^2/s]."""
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
    """Of a body that flies: P = 1 / (1 + off + rate + away + speed), as `Closeness` with
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
    """P = 1 / (1 + steepness (sqrt(1 + s) - 1)), with the miss s counted in tolerances:
    s^2 = (a / angle)^2 + (|omega - wanted| / rate)^2 + (|h| / momentum)^2.

    a: the angle off [rad]; h: the momentum of the rotors [kg m^2/s]. At the edge of success, where
    s is 1, P is well below 1, and half a turn away, where s is some hundreds, there is a slope
    still: it falls as a straight line, then as the root of the miss. It is convex in s, so whoever
    takes the same way at twice the rates, s at most doubled for half of the time and zero then,
    earns no less over an episode. The tolerances are the task's, see `within`.
    """

    steepness: float = 0.3
    effort_weight: float = 0.02
    angle: float = 1.0
    rate: float = 1.0
    momentum: float = math.inf

    def remoteness(self, rows, buffer, i, gap):
        a, h = angle_of(gap.square) / self.angle, rows.physics.rotors.rotor_momentum(buffer, i)
        square = a * a + gap.rate_square / (self.rate * self.rate)
        square += dot(h, h) / (self.momentum * self.momentum)
        return 1.0 + self.steepness * (math.sqrt(1.0 + math.sqrt(square)) - 1.0)

    def within(self, angle, rate, momentum):
        return self._replace(angle=angle, rate=rate, momentum=momentum)


class Weighted(Reward):
    """The sum of weight times term; rate_limit [rad/s] is the unit of the rate term.

    closeness: the dense reward, `shape`. success: 1 inside the success region. attitude:
    -sin^2(angle / 2). rate: -(|omega - wanted| / rate_limit)^2. effort: -mean(command^2). change: a
    quarter of -mean((command - the last)^2). alive: 1. progress: discount P - the last P, with P
    the closeness without its effort, and 0 where the state ends the episode. To a learner with that
    discount, this potential-based shaping changes no best policy (Ng, Harada & Russell 1999).
    margin: -max(0, 1 - m / 0.4), with m the least margin of what ends the episode or costs
    (`Ending.margin`): a price that rises before the event, so that it has a derivative.
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

    def kept(self, physics: Physics) -> dict[str, range]:
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
    """Of the commands."""
    k, total = i + physics.actuator.command_row(physics) * LANES, 0.0
    for n in range(physics.actuator.channels()):
        total += buffer[k + n * LANES] * buffer[k + n * LANES]
    return total / physics.actuator.channels()


@inlined
def _mean_change(physics, buffer, i, k):
    """Mean square of the change of the commands since those at k, whose place they take."""
    command, total = i + physics.actuator.command_row(physics) * LANES, 0.0
    for n in range(physics.actuator.channels()):
        change = buffer[command + n * LANES] - buffer[k + n * LANES]
        total += change * change
        buffer[k + n * LANES] = buffer[command + n * LANES]
    return total / physics.actuator.channels()


def chosen(
    value: str | Mapping[str, float] | Callable[..., Any], shape: Shape, rate_limit: float
) -> Reward:
    """What a name or a dict of weights stands for; a callable takes its place, and has no term."""
    weights: Mapping[str, float] = {}
    if isinstance(value, str):
        named("reward", value, NAMED, ", a dict of weights or a callable")
        weights = NAMED[value]
    elif not callable(value):
        weights = keys("reward", value, TERMS)
        if not any(weights.values()):
            raise ValueError(f"reward must have a weight that is not 0, got {value!r}")
    if weights == NAMED["dense"]:
        return shape  # nothing but it: the quickest
    numbers = (in_range(f"reward[{n!r}]", weights.get(n, 0.0), -1e9, 1e9) for n in TERMS)
    return Weighted(shape, rate_limit, DISCOUNT, tuple(numbers))  # type: ignore[arg-type]
