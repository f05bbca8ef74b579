"""How actuators differ from episode to episode. Parts as in rbgym.envs.parts.goals."""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.envs.actuators.effector import PRIVATE
from rbgym.layout import LANES
from rbgym.quaternion import Vector, scale, to_world
from rbgym.rows import put_vector, vector

_GAIN = PRIVATE - 10  # 6: factors of the commands
_TILT = PRIVATE - 4  # 3: vector part of the quaternion that turns the effector in the body
LATE = PRIVATE - 1  # delay [s]


class Alike(NamedTuple):
    """Every episode has the actuator as it is."""


class Differing(NamedTuple):
    """Drawn for each episode.

    scale: half-width of the factor of each command; misalignment: largest angle [rad] by which the
    whole is turned, about a uniform axis; delay: half-width of the factor of the delay; failure:
    probability that one command, drawn among all, has no effect.
    """

    scale: float
    misalignment: float
    delay: float
    failure: float


@choice
def gain(spread: Any, buffer: Any, i: int, a: int, n: int) -> float:
    """Factor of command n."""
    raise NotImplementedError


@for_type(gain, Alike)
def _(spread, buffer, i, a, n):
    return 1.0


@for_type(gain, Differing)
def _(spread, buffer, i, a, n):
    return buffer[i + (a + _GAIN + n) * LANES]


@choice
def turned(spread: Any, buffer: Any, i: int, a: int, v: Vector) -> Vector:
    """A vector of the effector, in body axes, as it is really mounted."""
    raise NotImplementedError


@for_type(turned, Alike)
def _(spread, buffer, i, a, v):
    return v


@for_type(turned, Differing)
def _(spread, buffer, i, a, v):
    x, y, z = vector(buffer, i, a + _TILT)
    return to_world((math.sqrt(1.0 - (x * x + y * y + z * z)), x, y, z), v)


@choice
def mount(
    spread: Any, buffer: Any, i: int, a: int, count: int, late: float, v: Any, w: Any
) -> None:
    """Draw what differs of an actuator of `count` commands; v, w: eight and four
    uniform numbers."""
    raise NotImplementedError


@for_type(mount, Alike)
def _(spread, buffer, i, a, count, late, v, w):
    buffer[i + (a + LATE) * LANES] = late


@for_type(mount, Differing)
def _(spread, buffer, i, a, count, late, v, w):
    # One of the numbers does for two draws: whether a command fails, and which.
    failing = w[0] < spread.failure
    which = math.floor(w[0] / spread.failure * count) if failing else -1.0
    for n in range(count):
        factor = 1.0 + spread.scale * (2.0 * v[n] - 1.0)
        buffer[i + (a + _GAIN + n) * LANES] = 0.0 if which == n else factor
    z, around = 2.0 * w[1] - 1.0, math.tau * w[2]
    across = math.sqrt(max(1.0 - z * z, 0.0))
    axis = (across * math.cos(around), across * math.sin(around), z)
    # And so does another, by its leading digits and those that follow: delay and angle.
    fine = 1024.0 * w[3]
    size = math.sin(0.5 * spread.misalignment * (fine - math.floor(fine)))
    put_vector(buffer, i, a + _TILT, scale(size, axis))
    factor = 1.0 + spread.delay * (2.0 * math.floor(fine) / 1023.0 - 1.0)
    buffer[i + (a + LATE) * LANES] = factor * late
