"""Success, the end of an episode, and what is counted and charged in it."""

import math
from typing import Any

from rbgym.arguments import unit
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import required
from rbgym.envs.arguments import in_range, keys, named, triple
from rbgym.envs.rows import Part
from rbgym.quaternion import Vector, add, dot, to_body, upward
from rbgym.rows import LANES, vector

_LOWEST = 1e-16  # height of a cone of radius 1


@inlined
def less(a, b):
    """The smaller one; a, where b is not a number."""
    return b if b < a else a


@inlined
def below(square, limit):
    """How far a square is below its limit, as a part of that."""
    return (limit - square) / limit


@inlined
def outside(cosine, edge):
    """How far a direction is outside a cone, as a part of its height, from the cosines of its angle
    and of the half angle."""
    return (edge - cosine) / max(1.0 - edge, _LOWEST)


class Success(Part):
    """The success region."""

    @required
    def is_inside(self, rows, buffer, i, gap):
        """Whether the lane at i is in it, so far off as `gap` says."""


class Settled(Success):
    """(2 sin(angle / 2))^2 below square, the rate off below rate [rad/s]."""

    square: float
    rate: float

    def is_inside(self, rows, buffer, i, gap):
        return (gap.square < self.square) & (gap.rate_square < self.rate * self.rate)


class Docked(Success):
    """Also: the centre of mass within `distance` [m] of the dock, slower than `speed` [m/s]."""

    settled: Any
    distance: float
    speed: float

    def is_inside(self, rows, buffer, i, gap):
        p, v = flight(rows, buffer, i)
        there = (dot(p, p) < self.distance * self.distance) & (dot(v, v) < self.speed * self.speed)
        return there & self.settled.is_inside(rows, buffer, i, gap)


class Unloaded(Success):
    """Also: the momentum of the rotors below `momentum` [kg m^2/s]."""

    settled: Any
    momentum: float

    def is_inside(self, rows, buffer, i, gap):
        h = rows.physics.rotors.rotor_momentum(buffer, i)
        empty = dot(h, h) < self.momentum * self.momentum
        return empty & self.settled.is_inside(rows, buffer, i, gap)


class Ending(Part):
    """What ends an episode."""

    @required
    def margin(self, rows, buffer, i, q, omega):
        """How far the lane at i is from the end of its episode: about 1 far from it, below 0 where
        it is over. A square over that of the limit, so that it is smooth."""

    def is_over(self, rows, buffer, i, q, omega):
        """Whether the state ends the episode of the lane at i."""
        return self.margin(rows, buffer, i, q, omega) < 0.0


class Never(Ending):
    """Nothing more ends it."""

    def margin(self, rows, buffer, i, q, omega):
        return 1.0


class Limits(Ending):
    """|omega| beyond `rate` [rad/s], or the body z axis below cos_tilt of the vertical."""

    rate: float
    cos_tilt: float = -2.0

    def margin(self, rows, buffer, i, q, omega):
        upright = (upward(q)[2] - self.cos_tilt) / (1.0 - self.cos_tilt)
        most = self.rate * self.rate
        slow = (most - dot(omega, omega)) / most
        return slow if slow < upright else upright


class Berth(Ending):
    """What a dock forbids.

    far [m], fast [m/s]: largest distance and speed. The station is a sphere of `radius` [m] whose
    centre is at -behind [m] on the target's x axis: keep out. Within `near` [m] of the dock: no
    faster than `approach` [m/s].
    """

    far: float
    fast: float
    behind: float
    radius: float
    near: float
    approach: float

    def margin(self, rows, buffer, i, q, omega):
        p, v = flight(rows, buffer, i)
        away, speed = dot(p, p), dot(v, v)
        target = rows.parts.goal.target(rows, buffer, i)
        centre = add(to_body(target, p), (self.behind, 0.0, 0.0))
        free = -below(dot(centre, centre), self.radius * self.radius)
        apart = -below(away, self.near * self.near)
        calm = below(speed, self.approach * self.approach)
        calm = calm if calm > apart else apart
        here = less(below(away, self.far * self.far), below(speed, self.fast * self.fast))
        return less(less(free, calm), here)

    def sketch(self, instant):
        yield from instant.station(self.behind)


class OutOfSize(Ending):
    """A scale outside [least, most], of a body that scales."""

    least: float
    most: float

    def margin(self, rows, buffer, i, q, omega):
        s = buffer[i + rows.physics.memory_row() * LANES]
        return less(s - self.least, self.most - s) / (self.most - self.least)


class Ends(Ending):
    """All that ends an episode: limits, and what the task adds."""

    limits: Limits
    own: Any

    def margin(self, rows, buffer, i, q, omega):
        margin = self.limits.margin(rows, buffer, i, q, omega)
        own = self.own.margin(rows, buffer, i, q, omega)
        return own if own < margin else margin

    def sketch(self, instant):
        yield from self.own.sketch(instant)


class Tally(Part):
    """What is counted: here nothing. counted: names of its first rows, in `info`."""

    counted = tuple[str, ...]()

    def watch(self, rows, buffer, i, q, begins):
        """Count what is to be seen at the attitude q, from zero where an episode begins."""


class Contacts(Tally):
    """How often the body z axis came below a height above the horizontal, cosine of the tilt."""

    height: float
    counted = ("contacts",)

    def rows_needed(self, physics):
        return 2  # contacts so far; 1.0 while one lasts

    def watch(self, rows, buffer, i, q, begins):
        k = i + rows.tally_row() * LANES
        before = 0.0 if begins else buffer[k + LANES]
        touching = 1.0 if upward(q)[2] < self.height else 0.0
        buffer[k] = (0.0 if begins else buffer[k]) + max(touching - before, 0.0)
        buffer[k + LANES] = touching

    def sketch(self, instant):
        count = int(instant.info["contacts"])
        yield f"{count} contact{'' if count == 1 else 's'}"


class Constraints(Part):
    """What is charged: here nothing."""

    def entries(self, row: int) -> dict[str, tuple[int, int]]:
        """First row and width of what `info` has, by name; row: the first of all."""
        return {}

    def angles(self) -> list[tuple[Vector, float]]:
        """Of each cone to be kept out of the boresight, body axes, and the half angle [rad]."""
        return []

    def obstructs(self, rows, buffer, i, q):
        """Lay out an episode that begins at q; whether it cannot begin, or end, there."""
        return False

    def margin(self, rows, buffer, i, q, omega):
        """How far the lane at i is from a violation, as of an `Ending`."""
        return 1.0

    def charge(self, rows, buffer, i, q, omega, begins):
        """Write the costs of a step, zero at a beginning; whether they end the episode."""
        return False


@inlined
def flight(rows, buffer, i):
    """Position and velocity of the centre of mass of a body that flies, from the dock [m, m/s]."""
    row = rows.physics.actuator.state_row(rows.physics)
    p, v = vector(buffer, i, row), vector(buffer, i, row + 3)
    return rows.parts.goal.from_dock(rows, buffer, i, p, v)


def chosen(value: Any, limits: Limits, own: Ending) -> Ends:
    """The task's ends, with a rate limit of the user's; "none": the rate limit alone, without which
    the state would have no bound."""
    if value is None or callable(value):
        return Ends(limits, own)
    if isinstance(value, str):
        named("termination", value, ["none"], ", a dict or a callable")
        return Ends(Limits(limits.rate), Never())
    given = keys("termination", value, ("rate_limit",))
    if "rate_limit" in given:
        rate = in_range("termination['rate_limit']", given["rate_limit"], 1e-9, limits.rate)
        limits = limits._replace(rate=rate)
    return Ends(limits, own)


def cone(label: str, value: Any, goal: Any = None) -> tuple[Vector, Vector, float]:
    """Axis, direction and half angle [rad] of a dict; ValueError if it lies over a goal."""
    entries = ("axis", "direction", "half_angle")
    given = keys(label, value, entries)
    if len(given) < len(entries):
        raise ValueError(f"{label} must have axis, direction and half_angle, got {value!r}")
    axis, direction = (unit(f"{label}[{n!r}]", given[n], 3, 1e-9) for n in entries[:2])
    half = in_range(f"{label}['half_angle']", given["half_angle"], 0.0, math.pi)
    if goal is not None and goal.reaches(axis, direction, half):
        raise ValueError(
            f"{label} must leave the goal free, but the cone of {half:.4g} rad lies over it"
        )
    return triple("axis", axis), triple("direction", direction), half
