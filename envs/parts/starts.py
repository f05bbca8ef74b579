"""Starts: how an episode's first attitude and angular velocity are drawn."""

import math
from collections.abc import Mapping
from typing import Any, Self

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import required
from rbgym.envs.arguments import in_range, keys
from rbgym.envs.random import on_circle, on_sphere
from rbgym.envs.rows import Part
from rbgym.quaternion import add, cos_sin, even_odd, qmul, scale, to_world, upward
from rbgym.rows import LANES, put_vector

Ranges = Mapping[str, tuple[float, float]]


class Start(Part):
    """Draws where episodes begin. Its fields, all numbers, are what `initial` may set; a field
    `least_x` must not exceed `x`."""

    @required
    def draw(self, rows, buffer, i, a, b, c):
        """Draw attitude and angular velocity of a start, from twelve uniform numbers in three
        tuples; sets the target, if there is one."""

    def ranges(self, rate_limit: float) -> Ranges:
        """Allowed range of fields, by name; of the others, from 0 to the rate limit [rad/s]."""
        return {}

    def least_speed(self) -> float:
        """Lower bound of the angular velocities [rad/s] with which episodes begin."""
        return 0.0

    def refuse(self, limits: Any, goal: Any) -> None:
        """ValueError if episodes would end at once, or if the numbers do not fit the goal."""

    def resolve(self, initial: Any, limits: Any, goal: Any, ranges: Ranges, reference: Any) -> Self:
        """The start with `initial` applied; limits: `endings.Limits`; ranges: the task's own."""
        fields = tuple(self._asdict())
        allowed = dict.fromkeys(fields, (0.0, limits.rate))
        allowed |= {**self.ranges(limits.rate), **ranges}
        given = keys("initial", {} if initial is None else initial, fields)
        if reference.is_on_orbit() and "target_angle" in given:
            raise ValueError("initial['target_angle'] must be left out of a target on an orbit")
        for name, value in given.items():
            given[name] = in_range(f"initial[{name!r}]", value, *allowed[name])
        # Kernels are compiled for the types of the numbers.
        new = self._replace(**({name: float(x) for name, x in self._asdict().items()} | given))
        for low in fields:
            high = low.removeprefix("least_")
            if high in fields and getattr(new, low) > getattr(new, high):
                raise ValueError(
                    f"initial[{low!r}] must be at most {high} = {getattr(new, high)}, "
                    f"got {getattr(new, low)}"
                )
        new.refuse(limits, goal)
        if new.least_speed() > limits.rate:
            raise ValueError(
                f"initial must have rates up to the limit of {limits.rate:g} rad/s, where episodes "
                f"end, got at least {new.least_speed():.4g}"
            )
        return new


class Tilted(Start):
    """A tilt uniform between two angles [rad] in a uniform direction, near a steady rotation.

    Rates [rad/s]: precession about the vertical, plus a spin uniform in mean_spin +- spin about
    the axis, plus rates across the axis uniform in a disc of radius transverse.
    """

    least_tilt: float = 0.0
    tilt: float = 0.0
    precession: float = 0.0
    mean_spin: float = 0.0
    spin: float = 0.0
    transverse: float = 0.0

    def draw(self, rows, buffer, i, a, b, c):
        cos, sin = cos_sin(0.5 * (self.least_tilt + (self.tilt - self.least_tilt) * a[0]))
        towards, around = on_circle(a[1]), on_circle(b[0])
        q = (cos, -sin * towards[1], sin * towards[0], 0.0)
        across = self.transverse * math.sqrt(a[3])
        spin = self.mean_spin + self.spin * (2.0 * a[2] - 1.0)
        omega = (across * around[0], across * around[1], spin)
        rows.parts.goal.put_target(rows, buffer, i, (1.0, 0.0, 0.0, 0.0))
        return q, add(omega, scale(self.precession, upward(q)))

    def ranges(self, rate_limit: float) -> Ranges:
        angle, signed = (0.0, math.pi), (-rate_limit, rate_limit)
        return {"least_tilt": angle, "tilt": angle, "precession": signed, "mean_spin": signed}

    def least_speed(self) -> float:
        tilts, spins = (self.least_tilt, self.tilt), (-self.spin, self.spin)
        own = [self.precession * math.cos(tilt) + self.mean_spin for tilt in tilts]
        along = [rate + spin for rate in own for spin in spins]  # the axis
        across = abs(self.precession) * min(map(math.sin, tilts)) - self.transverse
        return math.hypot(max(min(along), -max(along), 0.0), max(across, 0.0))

    def refuse(self, limits: Any, goal: Any) -> None:
        if math.cos(self.least_tilt) < limits.cos_tilt:
            raise ValueError(
                f"initial['least_tilt'] must be below {math.acos(limits.cos_tilt):.4g}, where "
                f"episodes end, got {self.least_tilt}"
            )


class _Aimed(Start):
    """A start with a target: the body is rotated away from it, and rotates."""

    def ranges(self, rate_limit: float) -> Ranges:
        return dict.fromkeys(("least_angle", "angle", "target_angle"), (0.0, math.pi))

    def least_speed(self: Any) -> float:
        return float(self.least_rate)

    def refuse(self: Any, limits: Any, goal: Any) -> None:
        if self.target_angle and not goal.has_target():
            raise ValueError(
                f"initial['target_angle'] must be 0 without a target, got {self.target_angle}"
            )


class TurnedAway(_Aimed):
    """The target is rotated away from the world, and the body away from the target.

    Both rotation angles have the density of Haar's measure and both axes are uniform: the target's
    angle in [0, target_angle] rad, the body's in [least_angle, angle]. With target_angle = angle =
    pi and least_angle = 0 the attitudes are Haar-uniform and independent. The rate is uniform in
    [least_rate, rate] rad/s, about a uniform body axis.
    """

    least_angle: float = 0.0
    angle: float = math.pi
    least_rate: float = 0.0
    rate: float = 0.0
    target_angle: float = 0.0

    def draw(self, rows, buffer, i, a, b, c):
        target = turn(0.0, self.target_angle, a[0], a[1], a[2])
        target = rows.parts.reference.start_attitude(rows, buffer, i, target)
        rows.parts.goal.put_target(rows, buffer, i, target)
        q = qmul(target, turn(self.least_angle, self.angle, a[3], b[0], b[1]))
        speed = self.least_rate + (self.rate - self.least_rate) * b[2]
        return q, scale(speed, on_sphere(b[3], c[0]))


class Adrift(_Aimed):
    """Attitude and rates as in `TurnedAway`, and a position away from a dock.

    The centre of mass is at a distance uniform in [least_distance, distance] m, in a direction
    uniform within `cone_angle` [rad] of the target's x axis; its velocity is uniform in size up to
    `speed` [m/s], and in direction.
    """

    least_angle: float = 0.0
    angle: float = math.pi
    least_rate: float = 0.0
    rate: float = 0.0
    target_angle: float = math.pi
    least_distance: float = 0.0
    distance: float = 0.0
    cone_angle: float = math.pi
    speed: float = 0.0

    def draw(self, rows, buffer, i, a, b, c):
        target = turn(0.0, self.target_angle, a[0], a[1], a[2])
        rows.parts.goal.put_target(rows, buffer, i, target)
        # Clear the last episode's rate: it would give the dock a velocity, which may end this one.
        rows.parts.goal.put_target_rate(rows, buffer, i, (0.0, 0.0, 0.0))
        q = qmul(target, turn(self.least_angle, self.angle, a[3], b[0], b[1]))
        # One uniform number gives two: the rate (or speed) in 1024 steps, then a direction.
        fine = 1024.0 * b[2]
        share = fine - math.floor(fine)
        rate = self.least_rate + (self.rate - self.least_rate) * math.floor(fine) / 1023.0
        omega = scale(rate, on_sphere(share, b[3]))
        across, around = 1.0 - c[0] * (1.0 - math.cos(self.cone_angle)), on_circle(c[1])
        side = math.sqrt(max(1.0 - across * across, 0.0))
        towards = to_world(target, (across, side * around[0], side * around[1]))
        share = c[2]
        away = self.least_distance + (self.distance - self.least_distance) * share
        position = rows.physics.actuator.state_row(rows.physics)
        there = to_world(target, rows.parts.goal.dock())
        put_vector(buffer, i, position, add(there, scale(away, towards)))
        fine, turned = 1024.0 * c[3], 1024.0 * share
        towards = on_sphere(fine - math.floor(fine), turned - math.floor(turned))
        velocity = scale(self.speed * math.floor(fine) / 1023.0, towards)
        put_vector(buffer, i, position + 3, velocity)
        return q, omega

    def ranges(self, rate_limit: float) -> Ranges:
        lengths = dict.fromkeys(("least_distance", "distance"), (0.0, 1e6))
        own = {**lengths, "cone_angle": (0.0, math.pi), "speed": (0.0, 1e4)}
        return {**super().ranges(rate_limit), **own}


class Spun(Start):
    """A Haar-uniform attitude; a spin uniform in [least_spin, spin] rad/s about the body z axis, of
    either sign; rates across it uniform in a disc of radius transverse [rad/s]. The commanded spin
    is the spin that the body would have at a random scale, log-uniform in [least_scale, scale]."""

    least_spin: float
    spin: float
    transverse: float
    least_scale: float
    scale: float

    def draw(self, rows, buffer, i, a, b, c):
        q = turn(0.0, math.pi, a[0], a[1], a[2])
        spin = self.least_spin + (self.spin - self.least_spin) * a[3]
        spin = spin if b[0] < 0.5 else -spin
        across, around = self.transverse * math.sqrt(b[1]), on_circle(b[2])
        low, high = math.log(self.least_scale), math.log(self.scale)
        size = math.exp(low + (high - low) * b[3])
        rows.parts.goal.put_target(rows, buffer, i, (1.0, 0.0, 0.0, 0.0))
        rows.parts.goal.put_spin(rows, buffer, i, spin / (size * size))
        buffer[i + rows.physics.memory_row() * LANES] = 1.0  # the scale, which `OutOfSize` checks
        return q, (across * around[0], across * around[1], spin)

    def ranges(self, rate_limit: float) -> Ranges:
        return dict.fromkeys(("least_scale", "scale"), (0.1, 10.0))

    def least_speed(self) -> float:
        return self.least_spin


@inlined
def haar_angle(least, most, u):
    """The quantile u of a rotation angle in [least, most] under Haar's measure.

    Its distribution function is (x - sin x)/pi. A series in the cube root of 6 (x - sin x) inverts
    it, at most 1.1 % too small, and Halley's method refines the result.
    """
    below = least - _sine(least)[0]
    wanted = below + u * (most - _sine(most)[0] - below)
    root = (6.0 * wanted) ** (1.0 / 3.0)
    square = root * root
    x = root * (1.0 + square * (1.0 / 60.0 + square * (1.0 / 1400.0 + square / 25200.0)))
    for _ in range(2):  # enough for the last digit
        sin, slope = _sine(x)
        beyond = x - sin - wanted
        # 1e-300 avoids 0 / 0 at an angle of zero.
        x -= beyond * slope / (slope * slope - 0.5 * beyond * sin + 1e-300)
    return min(max(x, least), most)


@inlined
def _sine(x):
    """sin x and 1 - cos x, for x in [0, pi], to round-off."""
    small = x < 0.5 * math.pi
    half = 0.5 * (x if small else math.pi - x)
    cos, sin = even_odd(half * half)
    sin *= half
    return 2.0 * sin * cos, 2.0 * (sin * sin if small else cos * cos)


@inlined
def turn(least, most, a, b, c):
    """A rotation by an angle in [least, most], from three uniform numbers."""
    cos, sin = cos_sin(0.5 * haar_angle(least, most, a))
    x, y, z = scale(sin, on_sphere(b, c))
    return (cos, x, y, z)
