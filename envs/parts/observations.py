"""What a policy sees: an attitude in one of several forms, the rates, and perhaps the target's.

No number is ever outside its bounds, which are those of the space.
"""

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, required
from rbgym.engine.rows import LANES
from rbgym.envs.arguments import in_range
from rbgym.envs.parts.endings import flight
from rbgym.envs.rows import Part
from rbgym.quaternion import Array, Vector, canonical, qconj, qmul, scale, to_body

Bounds = tuple[tuple[float, ...], tuple[float, ...]]  # lowest and highest of some columns
_QUATERNION: Bounds = (0.0, -1.0, -1.0, -1.0), (1.0,) * 4


class Columns(Part):
    """Some columns of the observation."""

    @required
    def width(self):
        """Number of columns; known while compiling."""

    def bounds(self) -> Bounds:
        """Of the columns."""
        return (-1.0,) * self.width(), (1.0,) * self.width()


# --- forms of the attitude ------------------------------------------------------------------


class Form(Columns):
    """A form of the attitude."""

    @required
    def write(self, buffer, k, q, relative):
        """Write the attitude from k on: q in the world, `relative` to a target if there is one."""


class Quaternion(Form):
    """(w, x, y, z); of q and -q the one whose first component that is not zero is positive."""

    width = constant(4)

    def write(self, buffer, k, q, relative):
        _put(buffer, k, canonical(relative), 1.0)

    def bounds(self) -> Bounds:
        return _QUATERNION


class World(Quaternion):
    """(w, x, y, z) of the body in the world, canonical, also where there is a target."""

    def write(self, buffer, k, q, relative):
        _put(buffer, k, canonical(q), 1.0)


class Continuous(Form):
    """(w, x, y, z) without jumps of sign: of q and -q, either."""

    width = constant(4)

    def write(self, buffer, k, q, relative):
        _put(buffer, k, relative, 1.0)


class RotationMatrix(Form):
    """The nine entries, row by row."""

    width = constant(9)

    def write(self, buffer, k, q, relative):
        x, y, z = _columns(relative)
        for row in range(3):
            _put(buffer, k + 3 * row * LANES, (x[row], y[row], z[row]), 1.0)


class Rotation6D(Form):
    """The first two columns (Zhou et al. 2019): continuous in the attitude, and unique."""

    width = constant(6)

    def write(self, buffer, k, q, relative):
        x, y, _ = _columns(relative)
        _put(buffer, k, x, 1.0)
        _put(buffer, k + 3 * LANES, y, 1.0)


class MRP(Form):
    """Modified Rodrigues parameters tan(angle / 4) axis, of q or its shadow set: |.| <= 1."""

    width = constant(3)

    def write(self, buffer, k, q, relative):
        c = canonical(relative)
        _put(buffer, k, scale(1.0 / (1.0 + c[0]), (c[1], c[2], c[3])), 1.0)


class LogError(Form):
    """The rotation vector, angle times axis [rad]: |.| <= pi."""

    width = constant(3)

    def write(self, buffer, k, q, relative):
        _put(buffer, k, rotation_vector(relative), math.pi)

    def bounds(self) -> Bounds:
        return (-math.pi,) * 3, (math.pi,) * 3


FORMS: dict[str, Form] = {
    "quaternion": Quaternion(),
    "quaternion_continuous": Continuous(),
    "rotation_matrix": RotationMatrix(),
    "rotation_6d": Rotation6D(),
    "mrp": MRP(),
    "log_error": LogError(),
}

# --- what else is shown ---------------------------------------------------------------------


class More(Columns):
    """What is shown beside attitude and rates: here nothing."""

    width = constant(0)

    def write_more(self, rows, buffer, i, k, q, wanted):
        """Write it from k on; wanted: the target's angular velocity, body axes."""

    def columns(self, first: int) -> str:
        """Rows of the table of the observation on the task's page, from column `first` on."""
        return ""

    def with_preview(self, seconds: float) -> "More":
        """The same with the target so far ahead."""
        raise ValueError(f"preview must be left out where the target stays, got {seconds!r}")


class TargetRate(More):
    """The target's angular velocity in body axes / scale, within +-bound."""

    scale: float
    bound: float
    width = constant(3)

    def write_more(self, rows, buffer, i, k, q, wanted):
        x, y, z = wanted
        _put(buffer, k, (x / self.scale, y / self.scale, z / self.scale), self.bound)

    def bounds(self) -> Bounds:
        return (-self.bound,) * 3, (self.bound,) * 3

    def columns(self, first: int) -> str:
        return (
            f"| {first}-{first + 2} | angular velocity of the target in body axes / "
            f"({self.scale:g} rad/s) | +-{self.bound:.3g} |"
        )

    def with_preview(self, seconds: float) -> "More":
        return Preview(self, in_range("preview", seconds, 1e-9, 1e6))


class Preview(More):
    """The target's rate, and the attitude relative to where the target is `seconds` from now."""

    rate: Any
    seconds: float
    width = constant(7)

    def write_more(self, rows, buffer, i, k, q, wanted):
        self.rate.write_more(rows, buffer, i, k, q, wanted)
        then = rows.parts.reference.ahead(rows, buffer, i, self.seconds)
        _put(buffer, k + 3 * LANES, canonical(qmul(qconj(then), q)), 1.0)

    def bounds(self) -> Bounds:
        low, high = self.rate.bounds()
        return (*low, *_QUATERNION[0]), (*high, *_QUATERNION[1])


class TargetQuaternion(More):
    """(w, x, y, z) of the target in the world, canonical."""

    width = constant(4)

    def write_more(self, rows, buffer, i, k, q, wanted):
        _put(buffer, k, canonical(rows.parts.goal.target(rows, buffer, i)), 1.0)

    def bounds(self) -> Bounds:
        return _QUATERNION


class Offset(More):
    """Position and velocity of the centre of mass relative to the dock, in body axes, each as a
    part of a largest size: distance [m], speed [m/s]."""

    distance: float
    speed: float
    width = constant(6)

    def write_more(self, rows, buffer, i, k, q, wanted):
        p, v = flight(rows, buffer, i)
        p, v = to_body(q, p), to_body(q, v)
        for n in range(3):
            buffer[k + n * LANES] = _within(p[n] / self.distance, 1.0)
            buffer[k + (3 + n) * LANES] = _within(v[n] / self.speed, 1.0)

    def columns(self, first: int) -> str:
        return (
            f"| {first}-{first + 2} | position from the dock in body axes / ({self.distance:g} m) "
            f"| +-1 |\n| {first + 3}-{first + 5} | velocity in body axes / ({self.speed:g} m/s) "
            "| +-1 |"
        )


class Both(More):
    """What one part shows, then what another does."""

    one: Any
    other: Any

    def width(self):
        return self.one.width() + self.other.width()

    def write_more(self, rows, buffer, i, k, q, wanted):
        self.one.write_more(rows, buffer, i, k, q, wanted)
        self.other.write_more(rows, buffer, i, k + self.one.width() * LANES, q, wanted)

    def bounds(self) -> Bounds:
        (low, high), (more_low, more_high) = self.one.bounds(), self.other.bounds()
        return (*low, *more_low), (*high, *more_high)

    def columns(self, first: int) -> str:
        return f"{self.one.columns(first)}\n{self.other.columns(first + self.one.width())}"


class WantedSpin(More):
    """The spin wanted / scale, within +-1."""

    scale: float
    width = constant(1)

    def write_more(self, rows, buffer, i, k, q, wanted):
        buffer[k] = _within(wanted[2] / self.scale, 1.0)

    def columns(self, first: int) -> str:
        return f"| {first} | spin wanted / ({self.scale:g} rad/s) | +-1 |"


# --- all of it ------------------------------------------------------------------------------


class Shown(Part):
    """form: of the attitude; the rates / scale, never beyond +-most; more, also: what else."""

    form: Any
    scale: float
    most: Vector
    more: Any
    also: Any = More()

    def width(self):
        """Number of columns, but for the actuator's."""
        return self.form.width() + 3 + self.more.width() + self.also.width()

    def observe(self, rows, buffer, i, q, relative, omega, wanted):
        """Write the observation of the lane at i; attitudes and omega as measured."""
        k = i + rows.observation_row() * LANES
        self.form.write(buffer, k, q, relative)
        k += self.form.width() * LANES
        for n in range(3):
            buffer[k + n * LANES] = _within(omega[n] / self.scale, self.most[n])
        k += 3 * LANES
        self.more.write_more(rows, buffer, i, k, q, wanted)
        self.also.write_more(rows, buffer, i, k + self.more.width() * LANES, q, wanted)

    def space(self, of_actuator: Array) -> spaces.Box:
        """The space of the columns; of_actuator: bounds of those that an actuator adds, (2, k)."""
        form, more, also = self.form.bounds(), self.more.bounds(), self.also.bounds()
        low = [*form[0], *(-most for most in self.most), *more[0], *also[0], *of_actuator[0]]
        high = [*form[1], *self.most, *more[1], *also[1], *of_actuator[1]]
        return spaces.Box(np.array(low, np.float32), np.array(high, np.float32))


@inlined
def _within(x, bound):
    return min(max(x, -bound), bound)


@inlined
def _put(buffer, k, values, bound):
    for n in range(len(values)):
        buffer[k + n * LANES] = _within(values[n], bound)


@inlined
def _columns(q):
    w, x, y, z = q
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@inlined
def rotation_vector(q):
    """Angle times axis [rad] of q or -q, |.| <= pi, to 1e-9."""
    c = canonical(q)
    sine = math.sqrt(c[1] * c[1] + c[2] * c[2] + c[3] * c[3])
    # tan(angle / 4) = sine / (1 + cosine) lies in [0, 1].
    angle = 4.0 * _arctangent(min(sine / (1.0 + c[0]), 1.0))
    return scale(angle / (sine + 1e-300), (c[1], c[2], c[3]))


@inlined
def _arctangent(t):
    """arctan t for t in [0, 1], to 1e-10: halved twice, then its series."""
    t = t / (1.0 + math.sqrt(1.0 + t * t))
    t = t / (1.0 + math.sqrt(1.0 + t * t))
    y = t * t
    series = 1.0 / 13.0 - y / 15.0
    series = 1.0 / 11.0 - y * series
    series = 1.0 / 9.0 - y * series
    series = 1.0 / 7.0 - y * series
    series = 1.0 / 5.0 - y * series
    series = 1.0 / 3.0 - y * series
    return 4.0 * t * (1.0 - y * series)
