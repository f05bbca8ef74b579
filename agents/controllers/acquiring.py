"""Finds the attitude without a first guess, from the Sun, the magnetic field and gyros."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import Flags, fresh, plant_of
from rbgym.agents.controllers.filtering import Gyros, StarTracker, where
from rbgym.agents.controllers.sun import sun_direction
from rbgym.arguments import count, positive, vectors
from rbgym.envs.arguments import in_range
from rbgym.envs.parts.sensors import Instruments
from rbgym.quaternion import (
    Array,
    conjugate,
    from_matrix,
    from_rotation_vector,
    multiply,
    normalized,
    rotate_inverse,
)

_MOST = 1e9  # squares of larger numbers could overflow
_POSITIVE = "rate_limit", "dt", "of_sun", "of_field"
_OF_GYROS = "angle_walk", "rate_walk", "quantisation", "bias"
_NEEDS = "angular_velocity", "magnetic_field", "sun_reference", "field_reference"
APART = 0.3  # least sine of the angle between Sun and field for a first attitude
_AT_FIRST = 0.5  # rad, standard deviation about each axis before the first correction
STRAY = 30.7  # chi-square of three numbers; one in a million is beyond it
_STAYS = 200.0  # s; a constant error counts as a noise whose mean over this time is as large
DOUBTS = 10.0  # the attitude is dropped after this many readings in a row that do not fit


class Fix(NamedTuple):
    """The filter's estimate for n lanes.

    attitude: (n, 4), body to world. bias, covariance: as in `Belief`. known: (n,), whether there is
    an attitude; without one, these three mean nothing. doubt: (n,), number of control periods in a
    row with a reading that did not fit. rate: (n, 3) [rad/s], body axes. sun: (n, 3), unit vector
    to the Sun, body axes; zero in the dark. past: the observations and estimates of the last
    control periods, as many as the star tracker's delay.
    """

    attitude: Array
    bias: Array
    covariance: Array
    known: Flags
    doubt: Array
    rate: Array
    sun: Array
    past: tuple[tuple[Array, "Fix"], ...] = ()

    @property
    def deviation(self) -> Array:
        """Standard deviation of the attitude's whole turn, (n,) [rad]."""
        return np.asarray(np.sqrt(np.trace(self.covariance[:, :3, :3], axis1=1, axis2=2)))


@dataclass(frozen=True)
class Acquiring:
    """A filter that finds the attitude of a body without a first guess, and tracks it.

    TRIAD gives the first attitude, as soon as Sun and field are measured at least 17 degrees apart.
    From then on a multiplicative extended Kalman filter propagates it by the gyros' rates minus
    their estimated bias, and corrects both by each measured direction. With v a measured direction
    in body axes, r the same direction in the world from a model, R the estimated rotation and
    p = R^T r, the error x = (turn, bias) appears as

        v - p = [p x, 0] x + noise,    of the same variance about all axes,

    and correction, gain and covariance are Kalman's, the latter in Joseph's form. The first
    attitude starts at half a radian about each axis, which the first readings reduce. A reading
    corrects nothing if its chi-square is one that a good reading exceeds once in a million; after
    ten control periods of such readings the filter drops the attitude and finds it again. In the
    dark it uses the field alone.

    A star tracker in the observation, where valid, corrects the attitude as in `Estimating`, and
    may give the first one. If it is late, the filter processes the readings since then again.

    The Sun sensor is a fine one or a set of coarse cells. A constant error of it, or of the
    magnetometer, does not average out as noise does. It counts as a noise whose mean over 200 s is
    as large, so that the gyros carry the attitude while Sun and field are nearly parallel.

    places: first column and number of columns, by name, of the whole observation. rate_limit:
    factor of the gyros' column [rad/s]. dt: control period [s]. angle_walk, rate_walk,
    quantisation, bias: of the gyros, see `Instruments`. of_sun, of_field: variance of each
    component of a reading, in the units of its columns. normals: (k, 3), of coarse cells, body
    axes; None for a fine Sun sensor. tracker: of a star tracker. stays: as in `for_env`, to make a
    filter for another env. ValueError for bad ones.

    Source: Black (1964), A passive system for determining the attitude of a satellite, AIAA J.
    2(7), for TRIAD; Lefferts, Markley & Shuster (1982), J. Guidance 5(5), for the filter.
    """

    places: Mapping[str, Sequence[int]]
    rate_limit: float
    dt: float
    angle_walk: float
    rate_walk: float
    quantisation: float
    bias: float
    of_sun: float
    of_field: float
    normals: ArrayLike | None = None
    tracker: Any = None
    stays: float = _STAYS

    def __post_init__(self) -> None:
        if not isinstance(self.places, Mapping):
            raise ValueError(f"places must be a dict by column, got {self.places!r}")
        places = {one: _place(one, value) for one, value in self.places.items()}
        sizes = dict.fromkeys(_NEEDS, 3)
        if self.normals is None:
            sizes["sun_direction"] = 3
        else:
            normals = vectors("normals", self.normals).tolist()
            object.__setattr__(self, "normals", tuple(map(tuple, normals)))
            sizes["coarse_sun"] = len(normals)
        if "target_quaternion" in places:
            sizes["target_quaternion"] = 4
        for one, size in sizes.items():
            if places.get(one, (0, 0))[1] != size:
                raise ValueError(f"places must have {one!r} of size {size}, got {self.places!r}")
        object.__setattr__(self, "places", places)
        for name in (*_OF_GYROS, *_POSITIVE):
            object.__setattr__(self, name, in_range(name, getattr(self, name), 0.0, _MOST))
        for name in (*_POSITIVE, "stays"):
            positive(name, getattr(self, name))
        if not isinstance(self.tracker, StarTracker | None):
            raise ValueError(f"tracker must be a StarTracker or None, got {self.tracker!r}")

    @classmethod
    def for_env(cls, env: Any, stays: float = _STAYS) -> Self:
        """Make the filter for an env, single or vector. stays: time [s] over which a constant error
        counts as a noise whose mean is as large. ValueError if the observations lack a sensor."""
        plant = plant_of(env)
        sensor = plant.env.episodes.setup.parts.sensor
        columns, missing = plant.columns, {*_NEEDS} - {*plant.columns}
        suns = {"sun_direction", "coarse_sun"} & {*columns}
        if missing or not suns or not isinstance(sensor, Instruments):
            lack = sorted(missing) or ["sun_direction or coarse_sun"]
            raise ValueError(
                "env must show gyros, a Sun sensor, a magnetometer and an ephemeris to find an "
                f"attitude, sensor={{'gyro': ..., 'coarse_sun': ..., 'magnetometer': ..., "
                f"'ephemeris': {{}}}}; {lack} are missing of {[*columns]}"
            )
        fine, dt = "sun_direction" in suns, sensor.dt
        held = max(positive("stays", stays) / dt, 1.0)
        noise, bias = ("sun_noise", "sun_bias") if fine else ("cell_noise", "cell_bias")
        of_sun = getattr(sensor, noise) ** 2 / dt + held * getattr(sensor, bias) ** 2
        normals = None if fine else np.asarray(sensor.normals)
        if normals is not None:  # average variance of a direction from half of the cells
            of_sun *= float(np.trace(np.linalg.pinv(0.5 * normals.T @ normals))) / 3.0
        strongest, left = columns["magnetic_field"].factor, Gyros(sensor).left
        of_field = (sensor.field_noise**2 / dt + held * sensor.field_bias**2) / strongest**2
        least = 1e-10  # float32 loses a smaller variance next to that of half a radian
        return cls(
            {name: (one.first, one.size) for name, one in columns.items()},
            **{name: getattr(sensor, name) for name in _OF_GYROS},
            rate_limit=plant.env.rate_limit, dt=dt, normals=normals, stays=stays,
            of_sun=max(of_sun, least) + left, of_field=max(of_field, least) + left,
            tracker=StarTracker(sensor) if "star_tracker" in columns else None,
        )  # fmt: skip

    @cached_property
    def gyros(self) -> Gyros:
        return Gyros(self)

    @cached_property
    def first(self) -> Array:
        """The covariance of a first attitude, before it is corrected, and of the bias."""
        return np.diag([_AT_FIRST**2] * 3 + [self.bias**2] * 3)

    @cached_property
    def columns(self) -> dict[str, slice]:
        """The columns of the observation by name."""
        return {name: slice(first, first + size) for name, (first, size) in self.places.items()}

    @property
    def sun(self) -> slice:
        return self.columns["sun_direction" if self.normals is None else "coarse_sun"]

    def estimate(self, rows: Array, before: Fix | None, episode_start: Any) -> Fix:
        """The estimate after observations (n, columns). before: that of the last control period."""
        begins = fresh(len(rows), before, episode_start)
        if self.tracker is None:
            return self._next(rows, before, begins, None)
        late = self.tracker.late
        valid = np.any(rows[:, self.columns["star_tracker_valid"]] > 0.5, axis=1)
        now = self._next(rows, before, begins, valid & (begins | (late == 0)))
        moments, old = (*(before.past if before else ()), (rows, now)), valid & ~begins
        if late and len(moments) > late and old.any():
            (shown, fix), *later = moments
            moments = ((shown, self._fixed(fix, rows, old)),)
            for shown, held in later:
                fix = self._next(shown, moments[-1][1], np.zeros_like(old), None)
                moments = (*moments, (shown, where(old, fix, held)))
        return moments[-1][1]._replace(past=moments[-late:] if late else ())

    def _fixed(self, fix: Fix, rows: Array, valid: Flags) -> Fix:
        """The estimate corrected by the star tracker's attitude, in the valid lanes."""
        start = fix._replace(bias=0.0 * fix.bias, covariance=self.first + 0.0 * fix.covariance)
        q, b, P, *_ = where(fix.known, fix, start)
        z = np.where(valid[:, None], rows[:, self.columns["star_tracker"]], q)
        noise = self.tracker.noise(rows[:, self.columns["star_tracker_valid"]])
        q, b, P = self.tracker.correct(q, b, P, multiply(conjugate(q), z), noise)
        doubt = np.where(fix.known, fix.doubt, 0.0)  # an attitude found anew begins without doubt
        fixed = fix._replace(attitude=q, bias=b, covariance=P, known=valid, doubt=doubt)
        return where(valid, fixed, fix)

    def _next(self, rows: Array, before: Fix | None, begins: Any, fixed: Any) -> Fix:
        """The estimate a control period later, without a late star tracker. fixed: (n,), lanes in
        which a star tracker without delay has measured, or None."""
        n, column = len(rows), self.columns
        measured = rows[:, column["angular_velocity"]] * self.rate_limit
        B = rows[:, column["magnetic_field"]]
        r_sun, r_field = (rows[:, column[f"{one}_reference"]] for one in ("sun", "field"))
        sun = rows[:, self.sun]
        if self.normals is not None:
            sun = sun_direction(sun, self.normals)
        q, P = np.tile([1.0, 0, 0, 0], (n, 1)), np.tile(self.first, (n, 1, 1))
        fix = Fix(q, np.zeros((n, 3)), P, np.zeros(n, dtype=np.bool_), np.zeros(n), measured, sun)
        if before is not None:
            a = (measured - before.bias) * self.gyros.dt
            turn = from_rotation_vector(a)
            q = normalized(multiply(before.attitude, turn))
            P = self.gyros.spread(before.covariance, a, turn)
            later = before._replace(attitude=q, covariance=P, rate=measured, sun=sun)
            fix = where(before.known & ~begins, later, fix)
        if fixed is not None:
            fix = self._fixed(fix, rows, fixed)
        q, b, P, known, doubt, *_ = fix
        lit = np.any(sun != 0.0, axis=1)
        apart = np.linalg.norm(np.cross(sun, B), axis=1) > APART * np.linalg.norm(B, axis=1)
        found = ~known & lit & apart
        if found.any():
            q[found] = triad(B[found], sun[found], r_field[found], r_sun[found])
        known = known | found
        q, b, P, off_field = corrected(q, b, P, B, r_field, self.of_field, known)
        q, b, P, off_sun = corrected(q, b, P, sun, r_sun, self.of_sun, known & lit)
        doubt = np.where(off_field | off_sun, doubt + 1.0, 0.0)
        known = known & (doubt < DOUBTS)
        return Fix(q, b, P, known, doubt, measured - b, sun)


def _place(name: str, value: Any) -> tuple[int, int]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"places[{name!r}] must be two numbers, got {value!r}")
    return count(f"places[{name!r}]", value[0], least=0), count(f"places[{name!r}]", value[1])


def triad(v: Array, w: Array, r: Array, s: Array) -> Array:
    """Attitudes (n, 4), body to world, that turn v onto r, and w into the plane of r and s. v, w:
    (n, 3), body axes; r, s: the same directions in the world."""

    def frame(a: Array, b: Array) -> Array:
        x, z = _unit(a), _unit(np.cross(a, b))
        return np.stack([x, np.cross(z, x), z], axis=2)

    return from_matrix(frame(r, s) @ np.swapaxes(frame(v, w), 1, 2))


def corrected(
    q: Array, b: Array, P: Array, v: Array, r: Array, variance: float, seen: Flags
) -> tuple[Array, Array, Array, Flags]:
    """Correct attitude, bias and covariance by directions v (n, 3), body axes, which are r in the
    world, in the `seen` lanes. Returns also which are strays, (n,), which correct nothing."""
    p = rotate_inverse(q, r)
    y, H = v - p, np.cross(np.eye(3), p[:, None])  # (n, 3, 3): what a turn changes
    S = H @ P[:, :3, :3] @ np.swapaxes(H, 1, 2) + variance * np.eye(3)
    K = np.swapaxes(np.linalg.solve(S, H @ P[:, :3, :]), 1, 2)
    x = (K @ y[:, :, None])[:, :, 0]
    size = np.sum(y * np.linalg.solve(S, y[:, :, None])[:, :, 0], axis=1)
    F = np.tile(np.eye(6), (len(q), 1, 1))
    F[:, :, :3] -= K @ H
    left = F @ P @ np.swapaxes(F, 1, 2) + variance * K @ np.swapaxes(K, 1, 2)
    fits = seen & (size <= STRAY)
    x = np.where(fits[:, None], x, 0.0)
    q = np.where(fits[:, None], normalized(multiply(q, from_rotation_vector(x[:, :3]))), q)
    return q, b + x[:, 3:], np.where(fits[:, None, None], left, P), seen & ~fits


def _unit(a: Array) -> Array:
    return np.asarray(a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-300))
