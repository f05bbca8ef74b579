"""What a policy sees: the attitude in one of several forms, the rates, and perhaps the target; all
within the bounds of the observation space."""

import inspect
import math
from dataclasses import replace
from typing import Any, ClassVar

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known, required
from rbgym.envs.arguments import in_range
from rbgym.envs.parts.columns import BODY, Column
from rbgym.envs.parts.endings import flight
from rbgym.envs.rows import Part
from rbgym.quaternion import Vector, canonical, matrix_of, qconj, qmul, scale, to_body
from rbgym.rows import LANES

_LOWEST = (0.0, -1.0, -1.0, -1.0)  # of a canonical quaternion


class Columns(Part):
    """Some columns of the observation. label (default: the class's name), unit, frame, low, high:
    those of the columns."""

    label, unit, frame = "", "", ""
    low: ClassVar[float | tuple[float, ...]] = -1.0
    high: ClassVar[float] = 1.0

    @required
    def width(self):
        """Number of columns; known while compiling."""

    def columns(self) -> tuple[Column, ...]:
        """The declaration of its `width` columns; its words are the class's docstring."""
        if not self.width():
            return ()
        name, unit, low, high = self.label or type(self).__name__, self.unit, self.low, self.high
        words = " ".join((inspect.getdoc(type(self)) or "").split())
        return (Column(name, self.width(), unit=unit, frame=self.frame, low=low, high=high,
                       words=words),)  # fmt: skip


class Form(Columns):
    """A form of the attitude. Without a frame of its own it uses the goal's."""

    unit = "1"

    @required
    def write(self, buffer, k, q, relative):
        """Write the attitude from k on. q: body to world; relative: to the target, if any, or q."""


class Quaternion(Form):
    """(w, x, y, z); of q and -q the one whose first component that is not zero is positive."""

    label, low = "quaternion", _LOWEST
    width = constant(4)

    def write(self, buffer, k, q, relative):
        put_within(buffer, k, canonical(relative), 1.0)


class World(Quaternion):
    """(w, x, y, z) of the body in the world, canonical, also where there is a target."""

    frame = "body to world"

    def write(self, buffer, k, q, relative):
        put_within(buffer, k, canonical(q), 1.0)


class Continuous(Form):
    """(w, x, y, z) without jumps of sign: of q and -q, either."""

    label = "quaternion_continuous"
    width = constant(4)

    def write(self, buffer, k, q, relative):
        put_within(buffer, k, relative, 1.0)


class RotationMatrix(Form):
    """The nine entries, row by row."""

    label = "rotation_matrix"
    width = constant(9)

    def write(self, buffer, k, q, relative):
        matrix = matrix_of(relative)
        for row in range(3):
            put_within(buffer, k + 3 * row * LANES, matrix[row], 1.0)


class Rotation6D(Form):
    """The first two columns (Zhou et al. 2019): continuous in the attitude, and unique."""

    label = "rotation_6d"
    width = constant(6)

    def write(self, buffer, k, q, relative):
        x, y, _ = matrix_of(qconj(relative))
        put_within(buffer, k, x, 1.0)
        put_within(buffer, k + 3 * LANES, y, 1.0)


class MRP(Form):
    """Modified Rodrigues parameters tan(angle / 4) axis, of q or its shadow set: |.| <= 1."""

    label = "mrp"
    width = constant(3)

    def write(self, buffer, k, q, relative):
        c = canonical(relative)
        put_within(buffer, k, scale(1.0 / (1.0 + c[0]), (c[1], c[2], c[3])), 1.0)


class LogError(Form):
    """The rotation vector, angle times axis [rad]: |.| <= pi."""

    label, unit, low, high = "log_error", "rad", -math.pi, math.pi
    width = constant(3)

    def write(self, buffer, k, q, relative):
        put_within(buffer, k, rotation_vector(relative), math.pi)


class Hidden(Form):
    """No attitude. A policy has to infer it from the other columns."""

    label = "hidden"
    width = constant(0)

    def write(self, buffer, k, q, relative):
        """Nothing."""


_ALL = Quaternion(), Continuous(), RotationMatrix(), Rotation6D(), MRP(), LogError(), Hidden()
FORMS: dict[str, Form] = {one.label: one for one in _ALL}


class More(Columns):
    """Extra columns after attitude and rates. This base class has none."""

    width = constant(0)

    def write_more(self, rows, buffer, i, k, q, wanted):
        """Write the columns from k on; wanted: the target's angular velocity, body axes."""

    def with_rate_limit(self, rate: float) -> "More":
        """The same columns with rates scaled by another rate limit [rad/s]."""
        return self

    def with_preview(self, seconds: float) -> "More":
        """The same columns, and the target's attitude `seconds` from now."""
        if "target_angular_velocity" not in [one.name for one in self.columns()]:
            raise ValueError(f"preview must be left out where the target stays, got {seconds!r}")
        return Both(self, Ahead(in_range("preview", seconds, 1e-9, 1e6)))


class TargetRate(More):
    """The target's angular velocity in body axes / scale, within +-bound."""

    scale: float
    bound: float
    width = constant(3)

    def write_more(self, rows, buffer, i, k, q, wanted):
        x, y, z = wanted
        put_within(buffer, k, (x / self.scale, y / self.scale, z / self.scale), self.bound)

    def columns(self) -> tuple[Column, ...]:
        return (rates_column("target_angular_velocity", self.scale, (self.bound,) * 3),)

    def with_rate_limit(self, rate: float) -> "More":
        return TargetRate(rate, self.bound * self.scale / rate)


class Ahead(More):
    """The attitude relative to the target's attitude `seconds` from now."""

    seconds: float
    width = constant(4)

    def write_more(self, rows, buffer, i, k, q, wanted):
        then = rows.parts.reference.ahead(rows, buffer, i, self.seconds)
        put_within(buffer, k, canonical(qmul(qconj(then), q)), 1.0)

    def columns(self) -> tuple[Column, ...]:
        words, frame = f"where the target is {self.seconds:g} s from now", "body to target"
        return (Column("quaternion_ahead", 4, frame=frame, low=_LOWEST, words=words),)


class TargetQuaternion(More):
    """(w, x, y, z) of the target in the world, canonical."""

    width = constant(4)

    def write_more(self, rows, buffer, i, k, q, wanted):
        put_within(buffer, k, canonical(rows.parts.goal.target(rows, buffer, i)), 1.0)

    def columns(self) -> tuple[Column, ...]:
        return (Column("target_quaternion", 4, frame="target to world", low=_LOWEST),)


class Offset(More):
    """Position and velocity of the centre of mass relative to the dock, body axes, divided by
    distance [m] and speed [m/s]."""

    distance: float
    speed: float
    width = constant(6)

    def write_more(self, rows, buffer, i, k, q, wanted):
        p, v = flight(rows, buffer, i)
        p, v = to_body(q, p), to_body(q, v)
        far, fast = self.distance, self.speed
        put_within(buffer, k, (p[0] / far, p[1] / far, p[2] / far), 1.0)
        put_within(buffer, k + 3 * LANES, (v[0] / fast, v[1] / fast, v[2] / fast), 1.0)

    def columns(self) -> tuple[Column, ...]:
        far, fast, words = self.distance, self.speed, "relative to the dock"
        return (
            Column("position", 3, unit="m", frame=BODY, scale=far, words="from the dock"),
            Column("velocity", 3, unit="m/s", frame=BODY, scale=fast, words=words),
        )


class Both(More):
    """The columns of one part, then those of another."""

    one: Any
    other: Any

    @known
    def width(self):
        return self.one.width() + self.other.width()

    def write_more(self, rows, buffer, i, k, q, wanted):
        self.one.write_more(rows, buffer, i, k, q, wanted)
        self.other.write_more(rows, buffer, i, k + self.one.width() * LANES, q, wanted)

    def columns(self) -> tuple[Column, ...]:
        return (*self.one.columns(), *self.other.columns())

    def with_rate_limit(self, rate: float) -> "More":
        return Both(self.one.with_rate_limit(rate), self.other.with_rate_limit(rate))


class WantedSpin(More):
    """The commanded spin / scale, within +-1."""

    scale: float
    width = constant(1)

    def write_more(self, rows, buffer, i, k, q, wanted):
        put_within(buffer, k, (wanted[2] / self.scale,), 1.0)

    def columns(self) -> tuple[Column, ...]:
        return (Column("wanted_spin", unit="rad/s", frame="body z axis", scale=self.scale),)


class Observation(Part):
    """form: of the attitude; it shows rates / scale, cut at +-most; more, also: extra columns."""

    form: Any
    scale: float
    most: Vector
    more: Any
    also: Any = More()
    rates_width = constant(3, "Number of columns of the rates.")

    @known
    def width(self):
        """Number of columns, without the actuator's."""
        return self.form.width() + self.rates_width() + self.more.width() + self.also.width()

    def observe(self, rows, buffer, i, q, relative, omega, wanted):
        """Write the observation of the lane at i; attitudes and omega as measured."""
        k = i + rows.observation_row() * LANES
        self.form.write(buffer, k, q, relative)
        k += self.form.width() * LANES
        for n in range(self.rates_width()):
            most = self.most[n]
            buffer[k + n * LANES] = min(max(omega[n] / self.scale, -most), most)
        k += self.rates_width() * LANES
        self.more.write_more(rows, buffer, i, k, q, wanted)
        self.also.write_more(rows, buffer, i, k + self.more.width() * LANES, q, wanted)

    def table(self, frame: str, words: str = "") -> tuple[Column, ...]:
        """All columns except the actuator's; frame: of the attitude, if its form has none; words:
        of the rates."""
        form = [replace(one, frame=one.frame or frame) for one in self.form.columns()]
        shows = self.rates_width() > 0
        rates = [rates_column("angular_velocity", self.scale, self.most, words)] if shows else []
        return (*form, *rates, *self.more.columns(), *self.also.columns())


class WithoutRates(Observation):
    """An observation without rates, for an env that has no gyros."""

    rates_width = constant(0)


def rates_column(name: str, scale: float, most: Vector, words: str = "") -> Column:
    """Rates in body axes / scale [rad/s], within +-most."""
    low = [-value for value in most]
    return Column(name, 3, unit="rad/s", frame=BODY, scale=scale, low=low, high=most, words=words)


@inlined
def put_within(buffer, k, values, bound):
    """Write values, cut at +-bound, from k on."""
    for n in range(len(values)):
        buffer[k + n * LANES] = min(max(values[n], -bound), bound)


@inlined
def rotation_vector(q):
    """Angle times axis [rad] of the rotation, |.| <= pi, to 1e-9; the same for q and -q.

    With x = tan(angle / 4) = sine / (1 + cosine) in [0, 1], halving the angle twice leaves a short
    series. Nothing is divided by the sine, so that there is a derivative at the identity too.
    """
    c = canonical(q)
    first = 1.0 / (1.0 + c[0])
    square = (c[1] * c[1] + c[2] * c[2] + c[3] * c[3]) * first * first
    y, first = _halved(min(square, 1.0), first)
    y, first = _halved(y, first)
    series = 1.0 / 13.0 - y / 15.0
    series = 1.0 / 11.0 - y * series
    series = 1.0 / 9.0 - y * series
    series = 1.0 / 7.0 - y * series
    series = 1.0 / 5.0 - y * series
    series = 1.0 / 3.0 - y * series
    return scale(16.0 * first * (1.0 - y * series), (c[1], c[2], c[3]))


@inlined
def _halved(square, slope):
    """The squared tangent of half an angle of this squared tangent, and the slope per sine."""
    share = 1.0 / (1.0 + math.sqrt(1.0 + square))
    return square * share * share, slope * share
