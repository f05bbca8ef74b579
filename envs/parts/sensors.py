"""Gyros, a star tracker, Sun sensors and a magnetometer with the numbers of their data sheets, and
`resolve_sensor`, which makes a sensor from an argument."""

import functools
import math
from typing import Any, ClassVar

import numpy as np

from rbgym.arguments import flag, unit
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known
from rbgym.envs.arguments import in_range, keys, triple
from rbgym.envs.parts.columns import BODY, WORLD, Column
from rbgym.envs.parts.observations import Both, More, put_within, rotation_vector
from rbgym.envs.parts.uncertainty import Noisy, Sensor, in_its_frame, warn_unless_below
from rbgym.envs.random import normal, normals
from rbgym.envs.rows import checked_part, settle_vector
from rbgym.quaternion import Vector, add, canonical, cross, dot, qconj, qmul, scale, times, to_body
from rbgym.rows import (
    LANES,
    Physics,
    put_quaternion,
    put_vector,
    quaternion,
    quaternion_if,
    vector,
    vector_if,
    view,
)

_BY_TRACKER, _BY_GYRO, _BY_BIAS, _BY_FIELD = 0, 3, 9, 12  # first random numbers of a step's noise
_BIAS, _LAST, _SEEN, _HEAD, _COMING = 0, 3, 7, 11, 12  # rows, counted from the sensor's first
_NO_STEP = 2.0**40  # counter, in place of the step, of numbers drawn once an episode
_OF_SUN = 2.0**41  # added to the step: counters of the Sun sensor
_BY_SCALES, _BY_MOUNTING = 3, 6  # first random numbers, drawn once an episode
_OF_CELLS, _OF_BIASES, _TOGETHER = 2.0**42, 2.0**43, 12  # counters of cells; cells per counter
_MOST_TURN = 3.0  # rad in a control period; beyond half a turn its direction is ambiguous
# Arguments of each instrument, and their largest values.
_NUMBERS = {
    "gyro": {"angle_walk": 1.0, "rate_walk": 1.0, "bias": 1.0, "scale_factor": 0.1,
             "misalignment": 0.1, "quantisation": 1.0},
    "star_tracker": {"across_boresight": 1.0, "about_boresight": 1.0, "period": 1e6,
                     "slew_rate": math.inf, "latency": 1e6, "sun_exclusion": math.pi,
                     "earth_exclusion": 0.5 * math.pi},
    "sun_sensor": {"noise": 1.0, "bias": 1.0},
    "coarse_sun": {"noise": 1.0, "bias": 1.0},
    "magnetometer": {"noise": 1.0, "bias": 1.0},
    "ephemeris": {},
}  # fmt: skip
# Of the fields of `Instruments`.
_PREFIX = {"sun_sensor": "sun_", "magnetometer": "field_", "coarse_sun": "cell_"}
_OTHERS = {"star_tracker": ["boresight", "flag"], "coarse_sun": ["normals"]}  # not numbers
_FIELDS = {  # of `Instruments`, by instrument and number
    (instrument, name): _PREFIX.get(instrument, "") + name
    for instrument, numbers in _NUMBERS.items()
    for name in numbers
} | {(instrument, name): name for instrument, names in _OTHERS.items() for name in names}
_MOST_CELLS, _MOST_HEADS = 24, 4
_CUBE = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]  # one cell per side


class Prompt(Record):
    """A star tracker without latency."""

    coming_rows = constant(0)

    def delivered(self, buffer, i, row, step, taken, new, head):
        """Whether a measurement arrives now, its attitude and head; row: the first of this record.
        taken, new, head: whether one is taken now, its attitude and head."""
        return taken, new, head


class Late(Record):
    """A star tracker with a latency of `periods` control periods, one measurement at a time."""

    periods: float
    coming_rows = constant(6)  # the attitude under way, the step of its arrival, its head

    def delivered(self, buffer, i, row, step, taken, new, head):
        k, coming = i + (row + 4) * LANES, quaternion(buffer, i, row)
        served = buffer[k + LANES]
        buffer[k + LANES] = head if taken else served
        arrives = (buffer[k] == step) & (step > 0.0)
        put_quaternion(buffer, i, row, quaternion_if(taken, new, coming))
        # The measurement at the start of an episode is known at once and does not arrive later.
        due = step + self.periods if step > 0.0 else 0.0
        buffer[k] = due if taken else buffer[k]
        served = served if step > 0.0 else head
        return arrives | (step == 0.0), quaternion_if(step > 0.0, coming, new), served


class Shaded(Record):
    """A star tracker that is never blinded."""

    def is_blind(self, rows, buffer, i, q, boresight):
        """Whether Sun or Earth is too close to the boresight."""
        return False


class Open(Record):
    """A star tracker that the Sun, if the Earth does not hide it, blinds within this angle."""

    cosine: float

    def is_blind(self, rows, buffer, i, q, boresight):
        physics = rows.physics
        to_sun = physics.potential.sunwards(physics, buffer, i)
        near = dot(to_body(q, to_sun), boresight) > self.cosine
        return near & physics.potential.is_lit(physics, buffer, i)


class Limb(Record):
    """A star tracker that the Earth's limb blinds within an angle of this cosine and sine."""

    cosine: float
    sine: float

    def is_blind(self, rows, buffer, i, q, boresight):
        physics, potential = rows.physics, rows.physics.potential
        up, nearness = potential.upwards(potential.place(physics, buffer, i, 0.0))
        ground = potential.ground * nearness  # sine of the Earth's angular radius
        edge = math.sqrt(1.0 - ground * ground) * self.cosine - ground * self.sine
        return -dot(to_body(q, up), boresight) > edge


@inlined
def _error(key, step, use, noise, bias):
    """An error (3,); noise, bias: standard deviations, drawn in each step and once an episode."""
    drawn = scale(noise, normals(key, step, use))
    return add(drawn, scale(bias, normals(key, _NO_STEP, use)))


class Unmeasured(Record):
    """A magnetometer without errors."""

    def mark(self, rows, buffer, i):
        """Replace the field in the rows by its measurement."""


class Magnetometer(Record):
    """Standard deviations about each axis [T]: noise, of a measurement; bias, of an episode."""

    noise: float
    bias: float

    def mark(self, rows, buffer, i):
        physics, key = rows.physics, rows.noise_key(buffer, i)
        row, share = physics.actuator.field_row(physics), 0.5 / physics.potential.field
        share *= rows.parts.randomization.noisiness(rows, buffer, i)
        step, noise, bias = rows.elapsed(buffer, i), self.noise * share, self.bias * share
        seen = add(vector(buffer, i, row), _error(key, step, _BY_FIELD, noise, bias))
        put_within(buffer, i + row * LANES, seen, 1.0)


class SunSensor(More):
    """The measured direction of the Sun, body axes; zero in the shadow of the Earth. Standard
    deviations about each axis across it [rad]: noise, of a measurement; bias, of an episode."""

    noise: float
    bias: float
    width = constant(3)

    def write_more(self, rows, buffer, i, k, q, wanted):
        physics, key, step = rows.physics, rows.noise_key(buffer, i), rows.elapsed(buffer, i)
        truth, _ = view(physics, buffer, i)
        level = rows.parts.randomization.noisiness(rows, buffer, i)
        error = _error(key, step + _OF_SUN, 0, level * self.noise, level * self.bias)
        seen = add(to_body(truth, physics.potential.sunwards(physics, buffer, i)), error)
        size = 1.0 / math.sqrt(dot(seen, seen))
        size = size if physics.potential.is_lit(physics, buffer, i) else 0.0
        put_within(buffer, k, scale(size, seen), 1.0)

    def columns(self) -> tuple[Column, ...]:
        words = "measured; zero in the shadow of the Earth"
        return (Column("sun_direction", 3, frame=BODY, words=words),)


class Straight(Record):
    """Gyros whose axes are the body's, without scale factor errors."""

    def skewed(self, mean, key, level):
        """The mean rate with errors of scale factor and mounting, without bias and noise."""
        return mean


class Skewed(Straight):
    """Gyros with errors. Standard deviations: factors, of each axis's scale factor; turned_by
    [rad], of the turn about each axis by which all three are misaligned."""

    factors: float
    turned_by: float

    def skewed(self, mean, key, level):
        stretch = scale(level * self.factors, normals(key, _NO_STEP, _BY_SCALES))
        lean = scale(level * self.turned_by, normals(key, _NO_STEP, _BY_MOUNTING))
        return add(mean, add(times(stretch, mean), cross(lean, mean)))


class Whole(Record):
    """Gyros without quantisation."""

    residue_rows = constant(0)

    def in_counts(self, buffer, i, row, step, rates):
        """The rates in the observation; row: the first of the remainder."""
        return rates


class Counts(Record):
    """Gyros that show whole multiples of `lsb` [rad/s] and add the remainder to the next ones."""

    lsb: float
    residue_rows = constant(3)

    def in_counts(self, buffer, i, row, step, rates):
        # The reading of the start leaves no remainder, and gets none from the last episode.
        kept = vector_if(step > 0.0, vector(buffer, i, row), (0.0, 0.0, 0.0))
        x, y, z = scale(1.0 / self.lsb, add(rates, kept))
        # As floats: with a tiny lsb there are more counts than integers.
        whole = np.floor(x + 0.5), np.floor(y + 0.5), np.floor(z + 0.5)
        left = scale(self.lsb, add((x, y, z), scale(-1.0, whole)))
        put_vector(buffer, i, row, vector_if(step > 0.0, left, (0.0, 0.0, 0.0)))
        return scale(self.lsb, whole)


class CosineCells(More):
    """Coarse Sun sensors: the cosine of the angle from each cell's normal to the Sun; zero with the
    Sun behind the cell and in the shadow of the Earth. normals: unit vectors, body axes. Standard
    deviations over a cell's largest current: noise, of a measurement; bias, of an episode."""

    normals: tuple[Vector, ...]
    noise: float
    bias: float

    @known
    def width(self):
        return len(self.normals)

    def write_more(self, rows, buffer, i, k, q, wanted):
        physics, key = rows.physics, rows.noise_key(buffer, i)
        step = _OF_CELLS + 2.0 * rows.elapsed(buffer, i)
        truth, _ = view(physics, buffer, i)
        towards = to_body(truth, physics.potential.sunwards(physics, buffer, i))
        light = 1.0 if physics.potential.is_lit(physics, buffer, i) else 0.0
        level = rows.parts.randomization.noisiness(rows, buffer, i)
        for n in range(len(self.normals)):
            block, use = n // _TOGETHER, n % _TOGETHER
            noise = self.noise * normal(key, step + block, use)
            noise += self.bias * normal(key, _OF_BIASES + block, use)
            current = light * max(dot(self.normals[n], towards), 0.0) + level * noise
            buffer[k + n * LANES] = min(max(current, -1.0), 1.0)

    def columns(self) -> tuple[Column, ...]:
        words = "of each cell; in the shadow of the Earth only noise"
        return (Column("coarse_sun", len(self.normals), words=words),)


class FieldSensor(More):
    """The measured magnetic field, body axes. largest: bound of the field on the orbit [T]; noise,
    bias: as in `Magnetometer`."""

    largest: float
    noise: float
    bias: float
    width = constant(3)

    def write_more(self, rows, buffer, i, k, q, wanted):
        physics, key = rows.physics, rows.noise_key(buffer, i)
        truth, _ = view(physics, buffer, i)
        level = rows.parts.randomization.noisiness(rows, buffer, i)
        step, noise, bias = rows.elapsed(buffer, i), level * self.noise, level * self.bias
        error = _error(key, step, _BY_FIELD, noise, bias)
        B = to_body(truth, physics.potential.field_ahead(physics, buffer, i, 0.0))
        put_within(buffer, k, scale(1.0 / self.largest, add(B, error)), 1.0)

    def columns(self) -> tuple[Column, ...]:
        words = "measured"
        return (Column("magnetic_field", 3, unit="T", frame=BODY, scale=self.largest, words=words),)


class Ephemeris(More):
    """Directions in the world from clock, orbit and models: the Sun, also in the shadow, and the
    magnetic field. largest: bound of the field on the orbit [T], set with the orbit."""

    largest: float = 1.0
    width = constant(6)

    def write_more(self, rows, buffer, i, k, q, wanted):
        physics, potential = rows.physics, rows.physics.potential
        put_within(buffer, k, potential.sunwards(physics, buffer, i), 1.0)
        B = potential.field_ahead(physics, buffer, i, 0.0)
        put_within(buffer, k + 3 * LANES, scale(1.0 / self.largest, B), 1.0)

    def columns(self) -> tuple[Column, ...]:
        words = "from models"
        return (
            Column("sun_reference", 3, frame=WORLD, words=words),
            Column("field_reference", 3, unit="T", frame=WORLD, scale=self.largest, words=words),
        )


class Tracker(More):
    """The attitude in the world that a star tracker measured, if it is new, and a flag for that of
    each head. others: of `Instruments`."""

    others: tuple[Vector, ...] = ()

    @known
    def width(self):
        return 5 + len(self.others)

    def write_more(self, rows, buffer, i, k, q, wanted):
        first, dead = rows.sensor_row(), rows.parts.outage.is_dead(rows, buffer, i)
        head = 0.0 if dead else buffer[i + (first + _HEAD) * LANES]
        valid = min(head, 1.0)
        w, x, y, z = canonical(quaternion(buffer, i, first + _SEEN))
        put_within(buffer, k, (valid * w, valid * x, valid * y, valid * z), 1.0)
        for n in range(1 + len(self.others)):
            buffer[k + (4 + n) * LANES] = 1.0 if head == n + 1.0 else 0.0

    def columns(self) -> tuple[Column, ...]:
        frame, words = "body to world", "measured; zero without a new measurement"
        news = "1: a new measurement, 0: none" + (", by each head" if self.others else "")
        low = (0.0, -1.0, -1.0, -1.0)
        return (
            Column("star_tracker", 4, frame=frame, low=low, words=words),
            Column("star_tracker_valid", 1 + len(self.others), low=0.0, words=news),
        )


class Instruments(Sensor):
    """Rate-integrating gyros, a star tracker, Sun sensors, fine and coarse, and a magnetometer.

    The gyros measure the mean rate of the control period, its turn / dt. angle_walk [rad/sqrt(s)]:
    density of their white noise; rate_walk [rad/s^1.5]: density of the random walk of their bias;
    bias [rad/s]: its standard deviation at the start of an episode. The bias walks during the
    average, so that with normal n_u and n_v

        b' = b + rate_walk sqrt(dt) n_u,
        measured = mean rate + (b + b') / 2 + sqrt(angle_walk^2 / dt + rate_walk^2 dt / 12) n_v:

    the variances of angle and bias do not depend on dt. scale_factor, misalignment [rad]: standard
    deviations as in `Skewed`, drawn once an episode. The gyros show the turn about each axis in
    whole multiples of quantisation [rad], see `Counts`.

    The star tracker has the standard deviations across_boresight and about_boresight [rad];
    boresight: a unit vector, body axes; others: those of further heads. It measures at the start of
    an episode and then every `period` [s], rounded to control periods, if the body is not faster
    than slew_rate [rad/s] and a head sees the stars: the Sun is hidden by the Earth or not within
    sun_exclusion [rad] of its boresight, which is not within earth_exclusion [rad] of the Earth's
    limb or inside it; either angle at 0 leaves that body out. The first such head measures;
    otherwise the last attitude is held. A measurement arrives after latency [s], rounded too, at
    most the period.

    field_noise [T sqrt(s)], sun_noise [rad sqrt(s)], cell_noise [sqrt(s)]: densities of white
    noise, with the deviation noise / sqrt(dt) in a control period; field_bias [T], sun_bias [rad],
    cell_bias: deviations of biases, drawn once an episode. See `Magnetometer`, which replaces the
    coils' exact field, `SunSensor`, `CosineCells` with these normals, and `Ephemeris`. Errors are
    at most 6.67 standard deviations. gyro: whether there are gyros; without, rates are not shown if
    the attitude is hidden. The env sets dt, the control period [s]; the other fields are the
    records of the parts.

    Source: Farrenkopf (1978), Analytic steady-state accuracy solutions for two common spacecraft
    attitude estimators, J. Guidance and Control 1(4), for the gyros; Crassidis & Junkins,
    Optimal Estimation of Dynamic Systems, for them in discrete time.
    """

    angle_walk: float = 0.0
    rate_walk: float = 0.0
    bias: float = 0.0
    scale_factor: float = 0.0
    misalignment: float = 0.0
    quantisation: float = 0.0
    across_boresight: float = 0.0
    about_boresight: float = 0.0
    boresight: Vector = (0.0, 0.0, 1.0)
    others: tuple[Vector, ...] = ()
    period: float = 0.0
    slew_rate: float = math.inf
    latency: float = 0.0
    sun_exclusion: float = 0.0
    earth_exclusion: float = 0.0
    field_noise: float = 0.0
    field_bias: float = 0.0
    sun_noise: float = 0.0
    sun_bias: float = 0.0
    cell_noise: float = 0.0
    cell_bias: float = 0.0
    normals: tuple[Vector, ...] = ()
    dt: float = 1.0
    readout: Any = Prompt()
    blinding: Any = Shaded()
    limb: Any = Shaded()
    mounting: Any = Straight()
    counting: Any = Whole()
    compass: Any = Unmeasured()
    meter: More = More()
    eye: More = More()
    cells: More = More()
    ephemeris: More = More()
    tracker: More = More()
    gyro: bool = True
    is_noisy = constant(True)
    shows_means = constant(True)
    has_bias = True
    paths: ClassVar = {field: path for path, field in _FIELDS.items()}

    def extra(self) -> More:
        fitted = self.eye, self.cells, self.meter, self.ephemeris, self.tracker
        shown = [one for one in fitted if one.width()]
        return functools.reduce(Both, shown) if shown else More()

    def rows_needed(self, physics):
        # Bias, last attitude, tracked attitude, number of the head that measured it, 0 unless now;
        # one under way; remainder of the gyros.
        return self._residue_row() + self.counting.residue_rows()

    def _residue_row(self):
        return _COMING + self.readout.coming_rows()

    @known
    def faces_sun(self):
        shown = self.eye.width() + self.cells.width() + self.ephemeris.width()
        return isinstance(self.blinding, Open) or shown > 0

    @known
    def is_on_orbit(self):
        return isinstance(self.limb, Limb)

    @known
    def sees_field(self):
        return isinstance(self.compass, Magnetometer)

    def sense_field(self, rows, buffer, i):
        self.compass.mark(rows, buffer, i)

    def memory_entries(self, physics: Physics) -> dict[str, range]:
        found = {"last_attitude": range(_LAST, _SEEN), "tracked": range(_SEEN, _HEAD)}
        late = {"coming": range(_COMING, _COMING + 4)} if self.readout.coming_rows() else {}
        return found | late

    def calibrate(self, rows, buffer, i):
        level = rows.parts.randomization.noisiness(rows, buffer, i)
        bias = scale(level * self.bias, normals(rows.noise_key(buffer, i), 0.0, _BY_BIAS))
        settle_vector(buffer, i, rows.sensor_row() + _BIAS, rows.is_given(buffer, i), bias)

    def measure(self, rows, buffer, i, q, relative, omega):
        row, step, key = rows.sensor_row(), rows.elapsed(buffer, i), rows.noise_key(buffer, i)
        # An episode begins without a past turn: its first reading is the present rate.
        level = rows.parts.randomization.noisiness(rows, buffer, i)
        turn = rotation_vector(qmul(qconj(quaternion(buffer, i, row + _LAST)), q))
        mean = vector_if(step > 0.0, scale(1.0 / self.dt, turn), omega)
        mean = self.mounting.skewed(mean, key, level)
        before = vector(buffer, i, row + _BIAS)
        walk = level * self.rate_walk * math.sqrt(self.dt) if step > 0.0 else 0.0
        bias = add(before, scale(walk, normals(key, step, _BY_BIAS)))
        white = math.sqrt(self.angle_walk**2 / self.dt + self.rate_walk**2 * self.dt / 12.0)
        noise = scale(level * white, normals(key, step, _BY_GYRO))
        put_vector(buffer, i, row + _BIAS, bias)
        rates = add(mean, add(scale(0.5, add(before, bias)), noise))
        rates = self.counting.in_counts(buffer, i, row + self._residue_row(), step, rates)
        put_quaternion(buffer, i, row + _LAST, q)
        axis, head, blind = self._serving(rows, buffer, i, q)
        every = max(math.floor(self.period / self.dt + 0.5), 1.0)
        due = step - every * math.floor(step / every) == 0.0
        slow = dot(omega, omega) <= self.slew_rate * self.slew_rate
        able = due & slow & (not blind)
        if self._has_several():  # at a start without a flag, the first head measures
            axis = vector_if(able, axis, self.boresight)
        n = normals(key, step, _BY_TRACKER)
        along = scale((self.about_boresight - self.across_boresight) * dot(n, axis), axis)
        v = scale(0.5 * level, add(scale(self.across_boresight, n), along))
        w = 1.0 / math.sqrt(1.0 + dot(v, v))
        new, held = qmul(q, (w, w * v[0], w * v[1], w * v[2])), quaternion(buffer, i, row + _SEEN)
        taken = able | (step == 0.0)
        coming = row + _COMING
        fresh, new, head = self.readout.delivered(buffer, i, coming, step, taken, new, head)
        seen = quaternion_if(fresh, new, held)
        put_quaternion(buffer, i, row + _SEEN, seen)
        # A blinded tracker shows no attitude at the start either.
        buffer[i + (row + _HEAD) * LANES] = head if fresh & (able | (step > 0.0)) else 0.0
        return in_its_frame(q, q, seen), in_its_frame(relative, q, seen), rates

    def _serving(self, rows, buffer, i, q):
        """Boresight and number of the head that measures, from 1, and whether all are blind."""
        axis, head = self.boresight, 1.0
        blind = self._is_blinded(rows, buffer, i, q, axis)
        if self._has_several():
            for n in range(len(self.others)):
                serves = blind & (not self._is_blinded(rows, buffer, i, q, self.others[n]))
                axis = vector_if(serves, self.others[n], axis)
                head, blind = n + 2.0 if serves else head, blind & (not serves)
        return axis, head, blind

    def _is_blinded(self, rows, buffer, i, q, axis):
        blind = self.blinding.is_blind(rows, buffer, i, q, axis)
        return blind | self.limb.is_blind(rows, buffer, i, q, axis)

    @known
    def _has_several(self):
        return len(self.others) > 0

    def suited(self, dt: float, rate_limit: float) -> "Instruments":
        numbers: dict[str, float] = {}
        for instrument, largest in _NUMBERS.items():
            for name, most in largest.items():
                field, label = _FIELDS[instrument, name], f"sensor[{instrument!r}][{name!r}]"
                if name == "quantisation":  # the observation shows no larger rates
                    most = min(most, rate_limit * dt)
                numbers[field] = in_range(label, getattr(self, field), 0.0, most)
        for axis in (self.boresight, *self.others):
            unit("sensor['star_tracker']['boresight']", axis, 3)
        if rate_limit * dt > _MOST_TURN:
            raise ValueError(
                f"sensor must be of a body that turns by at most {_MOST_TURN:g} rad in a control "
                f"period, got one with rate_limit {rate_limit:g} rad/s and dt {dt!r}"
            )
        late = math.floor(self.latency / dt + 0.5)
        if late > max(math.floor(self.period / dt + 0.5), 1):
            raise ValueError(
                "sensor['star_tracker']['latency'] must be at most the period between two "
                f"measurements, {max(self.period, dt):g} s, got {self.latency!r}"
            )
        compass, eye, wide = self.compass, self.eye, math.sqrt(dt)
        skewed = self.scale_factor or self.misalignment
        normals = self.normals or (_CUBE if self.cell_noise or self.cell_bias else ())
        normals = _normals(normals) if normals else ()
        cells = CosineCells(normals, self.cell_noise / wide, self.cell_bias)
        if self.sees_field() or self.meter.width() or self.field_noise or self.field_bias:
            compass = Magnetometer(self.field_noise / wide, self.field_bias)
        if eye.width() or self.sun_noise or self.sun_bias:
            eye = SunSensor(self.sun_noise / wide, self.sun_bias)
        limb = Limb(math.cos(self.earth_exclusion), math.sin(self.earth_exclusion))
        return self._replace(
            **numbers,
            dt=dt,
            readout=Late(float(late)) if late else Prompt(),
            blinding=Open(math.cos(self.sun_exclusion)) if self.sun_exclusion else Shaded(),
            limb=limb if self.earth_exclusion else Shaded(),
            mounting=Skewed(self.scale_factor, self.misalignment) if skewed else Straight(),
            counting=Counts(self.quantisation / dt) if self.quantisation else Whole(),
            compass=compass,
            meter=More(),
            eye=eye,
            normals=normals,
            cells=cells if normals else More(),
            tracker=Tracker(self.others) if self.tracker.width() else More(),
        )

    def with_orbit(self, orbit: Any, coils: bool) -> "Instruments":
        largest, found = 2.0 * orbit.field, self
        if self.ephemeris.width():
            found = found._replace(ephemeris=Ephemeris(largest))
        if self.sees_field() and not coils:
            found = found._replace(compass=Unmeasured(), meter=FieldSensor(largest, *self.compass))
        return found

    def warn_of_noise(self, angle: float, rate: float) -> None:
        for name in ("across_boresight", "about_boresight"):
            warn_unless_below(f"['star_tracker'][{name!r}]", getattr(self, name), angle, "rad")
        threshold = rate * math.sqrt(self.dt)
        warn_unless_below("['gyro']['angle_walk']", self.angle_walk, threshold, "rad/sqrt(s)")


def resolve_sensor(value: Any, dt: float, rate_limit: float, hides: bool = False) -> Sensor:
    """The sensor of an argument: standard deviations, instruments, or a `Sensor`; None is without
    errors. hides: whether only a star tracker shows the attitude."""
    if value is None or isinstance(value, Sensor):
        found: Sensor = checked_part("sensor", Sensor() if value is None else value, Sensor)
        return found.suited(dt, rate_limit)
    given = keys("sensor", value, (*Noisy._fields, *_NUMBERS))
    if not given.keys() & _NUMBERS.keys():
        return Noisy(**given).suited(dt, rate_limit)
    if given.keys() - _NUMBERS.keys():
        raise ValueError(
            f"sensor must have keys from {list(_NUMBERS)} or from {list(Noisy._fields)}, "
            f"got {list(given)}"
        )
    fields: dict[str, Any] = {"gyro": "gyro" in given}
    for instrument, numbers in given.items():
        known = [*_NUMBERS[instrument], *_OTHERS.get(instrument, [])]
        checked = keys(f"sensor[{instrument!r}]", numbers, known)
        fields |= {_FIELDS[instrument, name]: number for name, number in checked.items()}
    if "boresight" in fields:
        fields["boresight"], *others = _boresights(fields["boresight"])
        fields["others"] = tuple(others)
    shows = flag("sensor['star_tracker']['flag']", fields.pop("flag", hides))
    if shows and "star_tracker" in given:
        fields["tracker"] = Tracker()
    if "coarse_sun" in given:
        fields["normals"] = _normals(fields.get("normals", _CUBE))
    if "magnetometer" in given:
        fields["compass"] = Magnetometer(0.0, 0.0)
    if "sun_sensor" in given:
        fields["eye"] = SunSensor(0.0, 0.0)
    if "ephemeris" in given:
        fields["ephemeris"] = Ephemeris()
    return Instruments(**fields).suited(dt, rate_limit)


def _boresights(value: Any) -> list[Vector]:
    """The boresights of one vector or of a list of them, of unit length."""
    name, found = "sensor['star_tracker']['boresight']", []
    several = isinstance(value, list | tuple) and any(
        isinstance(one, list | tuple | np.ndarray) for one in value
    )
    heads = value if several else [value]
    if len(heads) > _MOST_HEADS:
        raise ValueError(f"{name} must be of at most {_MOST_HEADS} heads, got {value!r}")
    for one in heads:
        axis = triple(name, one)
        if not math.isfinite(length := float(np.linalg.norm(axis))) or length < 1e-100:
            raise ValueError(f"{name} must be a vector other than 0, got {axis!r}")
        found.append(triple(name, [x / length for x in axis]))
    return found


def _normals(value: Any) -> tuple[Vector, ...]:
    name = "sensor['coarse_sun']['normals']"
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= _MOST_CELLS:
        raise ValueError(f"{name} must be a list of 1 to {_MOST_CELLS} vectors, got {value!r}")
    return tuple(triple(name, unit(f"{name}[{n}]", one, 3)) for n, one in enumerate(value))
