"""What is measured of the state."""

import math
from collections.abc import Mapping
from typing import Any

from rbgym.engine.rows import put_vector, vector
from rbgym.envs.arguments import in_range, keys
from rbgym.envs.parts import Part, checked_part
from rbgym.envs.random import normals
from rbgym.quaternion import add, dot, qmul, scale


class Sensor(Part):
    """What is measured; as it stands, the state itself."""

    def calibrate(self, rows, buffer, i):
        """Draw what stays for the episode."""

    def measured_attitude(self, rows, buffer, i, q):
        """An attitude of the body, in the world or relative to a target, as it is measured."""
        return q

    def measured_rate(self, rows, buffer, i, omega):
        """The angular velocity as it is measured."""
        return omega

    def refuse(self, angle: float, rate: float) -> None:
        """ValueError where success within `angle` [rad] and `rate` [rad/s] cannot be seen."""


class Perfect(Sensor):
    """The state itself."""


class Noisy(Sensor):
    """A star tracker and gyroscopes: standard deviations about each body axis.

    attitude [rad] and rate [rad/s]: white noise. rate_bias [rad/s]: drawn once an episode. No
    number is beyond 3.47 standard deviations.
    """

    attitude: float = 0.0
    rate: float = 0.0
    rate_bias: float = 0.0

    def rows_needed(self, physics):
        return 3  # the bias, body axes [rad/s]

    def is_noisy(self):
        return True

    def calibrate(self, rows, buffer, i):
        n = normals(rows.noise_key(buffer, i), 0.0, 9)
        put_vector(buffer, i, rows.sensor_row(), scale(self.rate_bias, n))

    def measured_attitude(self, rows, buffer, i, q):
        n = normals(rows.noise_key(buffer, i), rows.elapsed(buffer, i), 0)
        v = scale(0.5 * self.attitude, n)
        length = 1.0 / math.sqrt(1.0 + dot(v, v))
        return qmul(q, (length, length * v[0], length * v[1], length * v[2]))

    def measured_rate(self, rows, buffer, i, omega):
        n = normals(rows.noise_key(buffer, i), rows.elapsed(buffer, i), 3)
        return add(omega, add(vector(buffer, i, rows.sensor_row()), scale(self.rate, n)))

    def refuse(self, angle: float, rate: float) -> None:
        for field, value, limit, unit in (
            ("attitude", self.attitude, angle, "rad"),
            ("rate", self.rate, rate, "rad/s"),
        ):
            if value >= limit:
                raise ValueError(
                    f"sensor[{field!r}] must be below the success threshold of {limit:.4g} {unit}, "
                    f"got {value!r}"
                )


def chosen(value: Mapping[str, float] | Sensor | None, default: Sensor) -> Sensor:
    """What the argument stands for: standard deviations, or a sensor of one's own."""
    if value is None or isinstance(value, Sensor):
        return checked_part("sensor", default if value is None else value, Sensor)
    given: dict[str, Any] = keys("sensor", value, Noisy._fields)
    return Noisy(**{n: in_range(f"sensor[{n!r}]", v, 0.0, 1.0) for n, v in given.items()})
