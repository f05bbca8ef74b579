"""Success regions, ends of episodes, tallies of events, and costs of constraints."""

from typing import Any

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import required
from rbgym.envs.arguments import in_range, keys, named
from rbgym.envs.rows import Part
from rbgym.quaternion import Vector, add, dot, to_body, upward
from rbgym.rows import LANES, vector

NO_LIMIT = -1e300  # of a cosine: the margin is 1, whatever the attitude
_LOWEST = 1e-16  # height of a cone of radius 1


@inlined
def less(a, b):
    """The smaller number; a if b is NaN."""
    return b if b < a else a


@inlined
def below(square, limit):
    """Margin of a square below its limit, as a fraction of the limit."""
    return (limit - square) / limit


@inlined
def outside(cosine, edge):
    """Margin of a direction outside a cone, as a fraction of the cone's height. cosine: of the
    angle to its axis; edge: of its half angle."""
    return (edge - cosine) / max(1.0 - edge, _LOWEST)


class Success(Part):
    """The success region."""

    @required
    def is_inside(self, rows, buffer, i, gap):
        """Whether the lane at i, `gap` away from its goal, is inside."""


class Settled(Success):
    """(2 sin(angle / 2))^2 below `square`, the rate error below `rate` [rad/s]."""

    square: float
    rate: float

    def is_inside(self, rows, buffer, i, gap):
        return (gap.square < self.square) & (gap.rate_square < self.rate * self.rate)


class Docked(Success):
    """`Settled`, and the centre of mass within `distance` [m] of the dock, below `speed` [m/s]."""

    settled: Any
    distance: float
    speed: float

    def is_inside(self, rows, buffer, i, gap):
        p, v = flight(rows, buffer, i)
        there = (dot(p, p) < self.distance * self.distance) & (dot(v, v) < self.speed * self.speed)
        return there & self.settled.is_inside(rows, buffer, i, gap)


class Unloaded(Success):
    """`Settled`, and the momentum that the wheels hold below `momentum` [kg m^2/s]."""

    settled: Any
    momentum: float

    def is_inside(self, rows, buffer, i, gap):
        held = rows.physics.actuator.held_square(rows.physics, buffer, i)
        empty = held < self.momentum * self.momentum
        return empty & self.settled.is_inside(rows, buffer, i, gap)


class Ending(Part):
    """A condition that ends an episode."""

    @required
    def margin(self, rows, buffer, i, q, omega):
        """How far the lane at i is from the end of its episode: about 1 far away, below 0 once it
        is over. Made of squares, so that it is smooth."""


class Never(Ending):
    """Never ends an episode."""

    def margin(self, rows, buffer, i, q, omega):
        return 1.0


class Limits(Ending):
    """Ends an episode with |omega| above rate [rad/s], or the cosine of the tilt below cos_tilt."""

    rate: float
    cos_tilt: float = NO_LIMIT

    def margin(self, rows, buffer, i, q, omega):
        upright = (upward(q)[2] - self.cos_tilt) / (1.0 - self.cos_tilt)
        most = self.rate * self.rate
        slow = (most - dot(omega, omega)) / most
        return slow if slow < upright else upright


class Berth(Ending):
    """Ends an episode that breaks a rule of docking.

    far [m], fast [m/s]: largest distance and speed. The station is a sphere of `radius` [m] whose
    centre is at -behind [m] on the target's x axis; a flyer must not enter it. Within `near` [m] of
    the dock it must be slower than `approach` [m/s].
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
    """Ends an episode if the scale of a scalable body leaves [least, most]."""

    least: float
    most: float

    def margin(self, rows, buffer, i, q, omega):
        s = buffer[i + rows.physics.memory_row() * LANES]
        return less(s - self.least, self.most - s) / (self.most - self.least)


class Ends(Ending):
    """All conditions that end an episode: the limits, and the task's own."""

    limits: Limits
    own: Any

    def margin(self, rows, buffer, i, q, omega):
        margin = self.limits.margin(rows, buffer, i, q, omega)
        own = self.own.margin(rows, buffer, i, q, omega)
        return own if own < margin else margin

    def sketch(self, instant):
        yield from self.own.sketch(instant)


class Tally(Part):
    """Counts events. This base class counts none. counted: names of its first rows, in `info`."""

    counted = tuple[str, ...]()

    def watch(self, rows, buffer, i, q, begins):
        """Update the counts at the attitude q; they restart from zero where an episode begins."""


class Contacts(Tally):
    """Counts how often the body z axis drops below a height, the cosine of its tilt."""

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
    """Charges costs for violations. This base class charges none."""

    def entries(self, row: int) -> dict[str, tuple[int, int]]:
        """First row and width of its entries in `info`, by name; row: its first row."""
        return {}

    def angles(self) -> list[tuple[Vector, float]]:
        """Boresight (body axes) and half angle [rad] of each keep-out cone."""
        return []

    def obstructs(self, rows, buffer, i, q, omega):
        """Place the cones for a start; returns whether it, or its target, would end the episode."""
        return False

    def margin(self, rows, buffer, i, q, omega):
        """How far the lane at i is from a violation, on the scale of `Ending.margin`."""
        return 1.0

    def charge(self, rows, buffer, i, q, omega, begins):
        """Write the costs of a step (zero at a start); returns whether they end the episode."""
        return False


@inlined
def flight(rows, buffer, i):
    """Position and velocity of a flyer's centre of mass relative to the dock [m, m/s]."""
    row = rows.physics.actuator.state_row(rows.physics)
    p, v = vector(buffer, i, row), vector(buffer, i, row + 3)
    return rows.parts.goal.from_dock(rows, buffer, i, p, v)


def resolve(value: Any, limits: Limits, own: Ending) -> Ends:
    """The ends under `termination`; "none" leaves only the rate limit, which bounds the state."""
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
