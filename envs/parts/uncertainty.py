"""What a policy does not know: sensor noise, disturbances, randomised bodies."""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rbgym.arguments import finite
from rbgym.body import RigidBody
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant
from rbgym.envs.actuators.mounting import RANGES, Differing
from rbgym.envs.arguments import in_range, keys, triple
from rbgym.envs.parts.observations import More
from rbgym.envs.random import Above, LogUniform, Normal, Uniform, normals, on_sphere
from rbgym.envs.rows import Part, settle, settle_vector
from rbgym.quaternion import Array, Quaternion, Vector, add, dot, qconj, qmul, scale
from rbgym.rows import (
    J_INV,
    LANES,
    J,
    Physics,
    parameter,
    put_quaternion,
    put_vector,
    quaternion,
    quaternion_if,
    vector,
    vector_if,
)

if TYPE_CHECKING:
    from rbgym.envs.orbit import Orbit

_BY_SENSORS = 0  # `use` of its first noise number, see `rbgym.envs.random.normal`
_OF_BODY = {"inertia": 0.9, "axes": 1.0, "mass": 0.9, "gravity": 0.9, "torque": 0.9,
            "noise": 0.9}  # fmt: skip
_ANGLES = "axes", "misalignment"
_DISTRIBUTIONS = ("uniform", "log_uniform", "normal")


class Sensor(Part):
    """Measures the state. This base class measures it exactly."""

    def calibrate(self, rows, buffer, i):
        """Draw the errors that stay constant in an episode, as biases."""

    def measure(self, rows, buffer, i, q, relative, omega):
        """Measure once a control period: the attitude body to world, the attitude relative to the
        target (or to the world if there is none), and the angular velocity."""
        return q, relative, omega

    has_bias = False  # whether its rows begin with a gyro bias, body axes [rad/s]
    gyro = True  # whether it measures the rates
    paths: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # of a field: keys of its argument
    sees_field = constant(False, "Whether `sense_field` replaces the field that coils show.")
    shows_means = constant(False, "Whether it shows mean rates of the last control period.")

    def extra(self) -> More:
        """Its columns after attitude and rates."""
        return More()

    def sense_field(self, rows, buffer, i):
        """Replace the field in the observation by the measured one; called if `sees_field`."""

    def with_orbit(self, orbit: "Orbit", coils: bool) -> "Sensor":
        """The sensor on an orbit; coils: whether the env has coils, which show the field."""
        return self

    def suited(self, dt: float, rate_limit: float) -> "Sensor":
        """The sensor for a control period [s] and rate limit [rad/s]; ValueError if too coarse."""
        return self

    def warn_of_noise(self, angle: float, rate: float) -> None:
        """Warn if noise stops unfiltered policies settling within angle [rad] and rate [rad/s]."""


class Noisy(Sensor):
    """A star tracker and gyroscopes with normal errors, the same about each body axis.

    Standard deviations: of white noise, attitude [rad] and rate [rad/s]; of a bias drawn once an
    episode, rate_bias [rad/s]. No error exceeds 6.67 standard deviations.
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

    def suited(self, dt: float, rate_limit: float) -> "Noisy":
        own = {name: getattr(self, name) for name in Noisy._fields}
        return self._replace(**{n: in_range(f"sensor[{n!r}]", x, 0.0, 1.0) for n, x in own.items()})

    def warn_of_noise(self, angle: float, rate: float) -> None:
        warn_unless_below("['attitude']", self.attitude, angle, "rad")
        warn_unless_below("['rate']", self.rate, rate, "rad/s")


def warn_unless_below(name: str, noise: float, threshold: float, unit: str) -> None:
    """Warn if noise keeps a policy without a filter from settling."""
    if noise >= threshold:
        warnings.warn(
            f"sensor{name} is not below the success threshold of {threshold:.4g} {unit}: without a "
            f"filter, as rbgym.agents.controllers.Estimating, no policy settles; got {noise!r}",
            UserWarning,
            stacklevel=2,
        )


@inlined
def in_its_frame(q, now, seen):
    """The measurement `seen` of the attitude `now`, both in the world, in the frame of q, which may
    be the same attitude relative to a target."""
    return qmul(qmul(q, qconj(now)), seen)


class Outage(Part):
    """A failure of the sensors, whichever they are. This base class never happens."""

    def is_dead(self, rows, buffer, i):
        """Whether a fault has ended the measurements."""
        return False

    def last_measured(self, rows, buffer, i, q, relative, measured):
        """What is seen; q, relative: true attitude as in `Sensor.measure`; measured: its result."""
        return measured


class Failing(Outage):
    """Sensors may fail; the last measurement, in the world, is then held."""

    def rows_needed(self, physics):
        return 7  # last measured attitude and rates

    def memory_entries(self, physics: Physics) -> dict[str, range]:
        return {"last_measured": range(7)}

    def is_dead(self, rows, buffer, i):
        return rows.physics.actuator.line.faults.blinds(rows.physics, buffer, i)

    def last_measured(self, rows, buffer, i, q, relative, measured):
        attitude, _, rate = measured
        row, dead = rows.outage_row(), self.is_dead(rows, buffer, i)
        attitude = quaternion_if(dead, quaternion(buffer, i, row), attitude)
        rate = vector_if(dead, vector(buffer, i, row + 4), rate)
        put_quaternion(buffer, i, row, attitude)
        put_vector(buffer, i, row + 4, rate)
        return in_its_frame(q, q, attitude), in_its_frame(relative, q, attitude), rate


class Disturbance(Part):
    """A torque that acts besides the actuator's. This base class adds none: a user's callable may;
    others are in `rbgym.envs.parts.disturbances`."""

    def push(self, rows, buffer, i):
        """Write the disturbance torque of the next control period."""

    def largest_torque(self) -> Array:
        """Largest torque about each body axis [N m], (3,)."""
        return np.zeros(3)

    def along(self, orbit: "Orbit") -> "Disturbance":
        """The disturbance on an orbit."""
        return self


class Randomization(Part):
    """Varies body and torque from episode to episode. This base class varies nothing."""

    def vary(self, rows, buffer, i, a, b):
        """Draw the lane's body and torque for the episode, from eight uniform numbers; returns the
        factor of its mass."""
        return 1.0

    def noisiness(self, rows, buffer, i):
        """The factor of sensor noise and biases."""
        return 1.0


class Spread(Randomization):
    """Draws factors for each episode, from distributions of `rbgym.envs.random`.

    Each distribution is that of a factor, except tilt. inertia: on each principal second moment of
    the mass, so that a body exists for every inertia drawn; tilt: the angle [rad] that turns the
    principal axes about a uniform axis; mass: on all moments and the weight; gravity: on the
    weight; full_torque: on the torque limit; noise: on sensor noise and biases. The other fields
    are the nominal values: principal moments [kg m^2], the quaternion from principal axes to body
    frame, weight moment and torque limits [N m].

    Rows: principal moments of the episode, 3; factors of mass, gravity and torque; the vector part
    of the quaternion that turns the principal axes in the body frame, 3; the factor of noise.
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
        mass = settle(buffer, k, given, self.mass.quantile(a[3]))
        gravity = settle(buffer, k + LANES, given, self.gravity.quantile(b[1]))
        torque = settle(buffer, k + 2 * LANES, given, self.full_torque.quantile(b[0]))
        more = 1024.0 * b[1]  # the weight hardly depends on the later digits: use them again
        settle(buffer, k + 6 * LANES, given, self.noise.quantile(more - math.floor(more)))
        half = 0.5 * (x + y + z)
        # Second moments, at least zero. A moment of inertia is the sum of two of them.
        p_x = self.inertia.quantile(a[0]) * max(half - x, 0.0)
        p_y = self.inertia.quantile(a[1]) * max(half - y, 0.0)
        p_z = self.inertia.quantile(a[2]) * max(half - z, 0.0)
        moments = (mass * (p_y + p_z), mass * (p_z + p_x), mass * (p_x + p_y))
        moments = settle_vector(buffer, i, row, given, moments)
        put_vector(buffer, i, J, moments)
        put_vector(buffer, i, J_INV, (1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2]))
        physics = rows.physics
        fine = 1024.0 * b[3]
        size = math.sin(0.5 * self.tilt.quantile(fine - math.floor(fine)))
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
    """The distribution of a factor, or of an angle [rad], from a number up to `most` or a dict; for
    "failure" the probability itself."""
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


def resolve_randomization(
    value: Mapping[str, Any] | None, body: RigidBody, mgl: float, limits: Array
) -> tuple[Randomization, Differing | None]:
    """The argument `randomization` as its two parts: of bodies and of actuators."""
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
