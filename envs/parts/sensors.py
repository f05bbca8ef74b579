"""What is measured of the state. Parts as in rbgym.envs.parts.goals."""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.envs.layout import BIAS, ELAPSED, NOISE
from rbgym.envs.random import normals
from rbgym.layout import LANES
from rbgym.quaternion import add, dot, qmul, scale
from rbgym.rows import put_vector, vector


class Perfect(NamedTuple):
    """The state itself."""


class Noisy(NamedTuple):
    """A star tracker and gyroscopes: standard deviations about each body axis.

    attitude [rad] and rate [rad/s]: white noise. rate_bias [rad/s]: drawn once an episode. No
    number is beyond 3.47 standard deviations.
    """

    attitude: float
    rate: float
    rate_bias: float


@choice
def calibrate(part: Any, buffer: Any, i: int) -> None:
    """Draw what stays for the episode."""
    raise NotImplementedError


@choice
def seen_attitude(part: Any, buffer: Any, i: int, q: Any) -> Any:
    """An attitude of the body, in the world or relative to a target, as it is measured."""
    raise NotImplementedError


@choice
def seen_rate(part: Any, buffer: Any, i: int, omega: Any) -> Any:
    """The angular velocity as it is measured."""
    raise NotImplementedError


@for_type(calibrate, Perfect)
def _(part, buffer, i):
    return None


@for_type(seen_attitude, Perfect)
def _(part, buffer, i, q):
    return q


@for_type(seen_rate, Perfect)
def _(part, buffer, i, omega):
    return omega


@for_type(calibrate, Noisy)
def _(part, buffer, i):
    n = normals(buffer[i + NOISE * LANES], 0.0, 9)
    put_vector(buffer, i, BIAS, scale(part.rate_bias, n))


@for_type(seen_attitude, Noisy)
def _(part, buffer, i, q):
    n = normals(buffer[i + NOISE * LANES], buffer[i + ELAPSED * LANES], 0)
    v = scale(0.5 * part.attitude, n)
    length = 1.0 / math.sqrt(1.0 + dot(v, v))
    return qmul(q, (length, length * v[0], length * v[1], length * v[2]))


@for_type(seen_rate, Noisy)
def _(part, buffer, i, omega):
    n = normals(buffer[i + NOISE * LANES], buffer[i + ELAPSED * LANES], 3)
    return add(omega, add(vector(buffer, i, BIAS), scale(part.rate, n)))
