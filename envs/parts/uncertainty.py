"""What a policy does not know: noise of sensors, disturbances, bodies that differ."""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rbgym.arguments import finite
from rbgym.body import RigidBody
from rbgym.compiled.record import constant
from rbgym.envs.actuators.mounting import RANGES, Differing
from rbgym.envs.arguments import in_range, keys, triple
from rbgym.envs.parts.observations import More
from rbgym.envs.random import (
    Above,
    LogUniform,
    Normal,
    Uniform,
    normals,
    on_sphere,
)
from rbgym.envs.rows import Part, settle, settle_vector
from rbgym.quaternion import Array, Quaternion, Vector, add, dot, qmul, scale
from rbgym.rows import J_INV, LANES, J, Physics, parameter, put_quaternion, put_vector, vector

if TYPE_CHECKING:
    from rbgym.envs.orbit import Orbit

_BY_SENSORS = 0  # first use of the noise's numbers
_OF_BODY = {"inertia": 0.9, "axes": 1.0, "mass": 0.9, "gravity": 0.9, "torque": 0.9,
            "noise": 0.9}  # fmt: skip
_ANGLES = "axes", "misalignment"
_DISTRIBUTIONS = ("uniform", "log_uniform", "normal")


class Sensor(Part):
    """What is measured of the state: this one measures the state itself."""

    def calibrate(self, rows, buffer, i):
        """Draw what stays for the episode."""

    def kept(self, physics: Physics) -> dict[str, range]:
        """Those of its rows from which what is measured next has a derivative, by name."""
        return {}

    def measure(self, rows, buffer, i, q, relative, omega):
        """Once a control period: the attitude in the world, that relative to a target (the same,
        if there is none) and the angular velocity, as they are measured."""
        return q, relative, omega

    has_bias = False  # whether its rows begin with one of the rates, body axes [rad/s]
    gyro = True  # whether it measures the rates
    sees_sun = constant(False, "Whether it takes an orbit, and a Sun.")
    sees_field = constant(False, "Whether coils show the field as it measures it: `sense_field`.")

    def extra(self) -> More:
        """What it shows after attitude and rates."""
        return More()

    def sense_field(self, rows, buffer, i):
        """Put what a magnetometer measures in place of the field shown; where `sees_field`."""

    def with_orbit(self, orbit: "Orbit", coils: bool) -> "Sensor":
        """The same on an orbit; coils: whether there are any, which show the field."""
        return self

    def suited(self, dt: float, rate_limit: float) -> "Sensor":
        """The sensor for a control period [s] and rates [rad/s]; ValueError for too large ones."""
        return self

    def warn_of_noise(self, angle: float, rate: float) -> None:
        """Warn where no policy without a filter can settle within angle [rad] and rate [rad/s]."""


class Noisy(Sensor):
    """A star tracker and gyroscopes: standard deviations about each body axis.

    attitude [rad] and rate [rad/s]: white noise. rate_bias [rad/s]: drawn once an episode. No
    number is beyond 6.67 standard deviations.
    """

    attitude: float = 0.0
    rate: float = 0.0
    rate_bias: float = 0.0
    is_noisy = constant(True)
    has_bias = True

    def rows_needed(self, physics):
        return 3  # the bias, body axes [rad/s]

    def calibrate(self, rows, buffer, i):
        level = rows.parts.randomization.noisiness(rows, buffer, i)
        bias = scale(level * self.rate_bias, normals(rows.noise_key(buffer, i), 0.0, 9))
        settle_vector(buffer, i, rows.sensor_row(), rows.is_given(buffer, i), bias)

    def measure(self, rows, buffer, i, q, relative, omega):
        key, step = rows.noise_key(buffer, i), rows.elapsed(buffer, i)
        level = rows.parts.randomization.noisiness(rows, buffer, i)
        v = scale(0.5 * level * self.attitude, normals(key, step, _BY_SENSORS))
        length = 1.0 / math.sqrt(1.0 + dot(v, v))
        turn = length, length * v[0], length * v[1], length * v[2]
        noise = scale(level * self.rate, normals(key, step, _BY_SENSORS + 3))
        rates = add(omega, add(vector(buffer, i, rows.sensor_row()), noise))
        return qmul(q, turn), qmul(relative, turn), rates

    def warn_of_noise(self, angle: float, rate: float) -> None:
        warn_unless_below("['attitude']", self.attitude, angle, "rad")
        warn_unless_below("['rate']", self.rate, rate, "rad/s")


def warn_unless_below(name: str, noise: float, threshold: float, unit: str) -> None:
    """Warn of a noise in which a policy without a filter cannot settle."""
    if noise >= threshold:
        warnings.warn(
            f"sensor{name} is not below the success threshold of {threshold:.4g} {unit}: without a "
            f"filter, as rbgym.agents.controllers.Estimating, no policy settles; got {noise!r}",
            UserWarning,
            stacklevel=2,
        )


class Disturbance(Part):
    """A torque beside the commanded one: here none, or that of a callable; see also
    `rbgym.envs.parts.disturbances`."""

    def push(self, rows, buffer, i):
        """Set the disturbance rows of the actuator for the next control period."""

    def largest_torque(self) -> Array:
        """Largest torque about each body axis [N m], (3,)."""
        return np.zeros(3)

    sees_orbit = constant(False, "Whether it takes an orbit.")
    sees_light = constant(False, "Whether it takes a Sun.")

    def along(self, orbit: "Orbit") -> "Disturbance":
        """The same on an orbit."""
        return self


class Randomization(Part):
    """What differs from episode to episode: here nothing, body and torque are always the same."""

    def vary(self, rows, buffer, i, a, b):
        """Give the lane its body and torque for the episode, from eight uniform numbers; returns
        the factor of its mass."""
        return 1.0

    def noisiness(self, rows, buffer, i):
        """The factor of what sensors add to what they measure."""
        return 1.0


class Spread(Randomization):
    """Factors drawn anew for each episode, from distributions of `rbgym.envs.random`.

    inertia: of each principal second moment of the mass, so that every inertia drawn is that of a
    body; tilt: the angle [rad] by which the principal axes are turned, about a uniform axis; mass:
    of all moments and of the weight; gravity: of the weight; full_torque: of the torque limit;
    noise: of noise and biases of sensors. The rest is what they change: principal moments
    [kg m^2], the quaternion from principal axes to body frame, weight moment and limits of the
    torque [N m].

    Rows: principal moments of the episode, 3; factors of mass, gravity and torque; the vector part
    of the quaternion by which the axes are turned in the body frame, 3; the factor of the noise.
    """

    inertia: Any
    tilt: Any
    mass: Any
    gravity: Any
    full_torque: Any
    noise: Any
    moments: Vector
    principal: Quaternion
    mgl: float
    limits: Vector

    def rows_needed(self, physics):
        return 10

    def noisiness(self, rows, buffer, i):
        return parameter(buffer, i + (rows.randomization_row() + 9) * LANES)

    def vary(self, rows, buffer, i, a, b):
        row, given = rows.randomization_row(), rows.is_given(buffer, i)
        k, (x, y, z) = i + (row + 3) * LANES, self.moments
        mass = settle(buffer, k, given, self.mass.drawn(a[3]))
        gravity = settle(buffer, k + LANES, given, self.gravity.drawn(b[1]))
        torque = settle(buffer, k + 2 * LANES, given, self.full_torque.drawn(b[0]))
        more = 1024.0 * b[1]  # digits that the weight hardly takes
        settle(buffer, k + 6 * LANES, given, self.noise.drawn(more - math.floor(more)))
        half = 0.5 * (x + y + z)
        # Second moments, at least zero; the moments of inertia are their sums in pairs.
        p_x = self.inertia.drawn(a[0]) * max(half - x, 0.0)
        p_y = self.inertia.drawn(a[1]) * max(half - y, 0.0)
        p_z = self.inertia.drawn(a[2]) * max(half - z, 0.0)
        moments = (mass * (p_y + p_z), mass * (p_z + p_x), mass * (p_x + p_y))
        moments = settle_vector(buffer, i, row, given, moments)
        put_vector(buffer, i, J, moments)
        put_vector(buffer, i, J_INV, (1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2]))
        physics = rows.physics
        fine = 1024.0 * b[3]
        size = math.sin(0.5 * self.tilt.drawn(fine - math.floor(fine)))
        v = scale(size, on_sphere(b[2], b[3]))
        x, y, z = settle_vector(buffer, i, row + 6, given, v)
        if not physics.frame.is_principal():
            turn = math.sqrt(1.0 - (x * x + y * y + z * z)), x, y, z
            put_quaternion(buffer, i, physics.frame_row(), qmul(turn, self.principal))
        if physics.actuator.has_limits():
            put_vector(buffer, i, physics.actuator.own_row(physics), scale(torque, self.limits))
        physics.potential.weigh(physics, buffer, i, mass * gravity * self.mgl)
        return mass


def _distribution(name: str, value: Any, most: float) -> Any:
    """That of a factor or, of what is turned, an angle [rad], from a number up to `most` or a
    dict. A probability is a number."""
    label, angle = f"randomization[{name!r}]", name in _ANGLES
    if name == "failure" or not isinstance(value, Mapping):
        number = in_range(label, value, 0.0, most)
        drawn = Above(0.0, number) if angle else Uniform(1.0, number)
        return number if name == "failure" else drawn
    if len(value) != 1:
        raise ValueError(f"{label} must have one of {_DISTRIBUTIONS}, got {value!r}")
    ((kind, pair),) = keys(label, value, _DISTRIBUTIONS).items()
    a, b = finite(f"{label}[{kind!r}]", pair, (2,)).tolist()
    low, high = (-1.0, 1.0) if angle else (0.01, 100.0)
    first, last = (a - 3.0 * b, a + 3.0 * b) if kind == "normal" else (a, b)
    if not low <= first <= last <= high or (kind == "log_uniform" and a <= 0.0):
        raise ValueError(
            f"{label}[{kind!r}] must lie within [{low:g}, {high:g}], with three standard "
            f"deviations or the logarithm of what is above 0, got {pair!r}"
        )
    if kind == "log_uniform":
        return LogUniform(0.5 * math.log(a * b), 0.5 * math.log(b / a))
    return Normal(a, b) if kind == "normal" else Uniform(0.5 * (a + b), 0.5 * (b - a))


def chosen_randomization(
    value: Mapping[str, Any] | None, body: RigidBody, mgl: float, limits: Array
) -> tuple[Randomization, Differing | None]:
    """What the argument stands for: how bodies differ, and how actuators do."""
    most = {**_OF_BODY, **RANGES}
    given = keys("randomization", {} if value is None else value, most)
    found = {name: _distribution(name, given.get(name, 0.0), most[name]) for name in most}
    differing = Differing(*(found[name] for name in RANGES))
    spread: Randomization = Randomization()
    if given.keys() & _OF_BODY.keys():
        moments, full = triple("moments", body.moments), triple("limits", limits)
        turn = tuple(body.principal_quaternion.tolist())
        drawn = (found[name] for name in _OF_BODY)
        spread = Spread(*drawn, moments, turn, mgl, full)  # type: ignore[call-arg]
    return spread, differing if given.keys() & RANGES.keys() else None
