"""How a target moves. Parts as in rbgym.envs.parts.goals."""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.envs.layout import ELAPSED, REFERENCE, TARGET, TARGET_RATE
from rbgym.layout import LANES
from rbgym.quaternion import add, cos_sin, qmul, to_body
from rbgym.rows import put_quaternion, put_vector, quaternion


class Still(NamedTuple):
    """The target stays where it is."""


class Wandering(NamedTuple):
    """The target turns smoothly: R(t) = R(0) R_z(a) R_y(b) R_x(c), each angle a swing
    amplitude (sin(w t + p) - sin p) of its own frequency w and phase p.

    amplitude [rad]; slow, fast: range of the frequencies [rad/s]; dt: control period [s].
    """

    amplitude: float
    slow: float
    fast: float
    dt: float

    def largest_rate(self) -> float:
        """Bound of the target's angular velocity [rad/s]."""
        # Of the three axes, z and x may come to lie together.
        return math.sqrt(5.0) * self.amplitude * self.fast


@choice
def begin(reference: Any, buffer: Any, i: int, a: Any, b: Any) -> None:
    """Draw the motion of the lane's target, whose attitude is set, from eight uniform numbers."""
    raise NotImplementedError


@choice
def follow(reference: Any, buffer: Any, i: int) -> None:
    """Move the lane's target to where it is after the steps so far."""
    raise NotImplementedError


@choice
def ahead(reference: Any, buffer: Any, i: int, seconds: float) -> Any:
    """The target's attitude some time from now."""
    raise NotImplementedError


@for_type(begin, Still)
def _(reference, buffer, i, a, b):
    put_vector(buffer, i, TARGET_RATE, (0.0, 0.0, 0.0))


@for_type(follow, Still)
def _(reference, buffer, i):
    return None


@for_type(ahead, Still)
def _(reference, buffer, i, seconds):
    return quaternion(buffer, i, TARGET)


@for_type(begin, Wandering)
def _(reference, buffer, i, a, b):
    k, span = i + REFERENCE * LANES, reference.fast - reference.slow
    for n in range(3):
        buffer[k + n * LANES] = reference.slow + span * a[n]
        buffer[k + (3 + n) * LANES] = b[n]
    put_quaternion(buffer, i, REFERENCE + 6, quaternion(buffer, i, TARGET))


@inlined
def _swing(reference, buffer, i, n, t):
    """One of the three angles, and its rate."""
    k = i + (REFERENCE + n) * LANES
    frequency, phase = buffer[k], buffer[k + 3 * LANES]
    turns = frequency * t / math.tau + phase
    _, from_sin = cos_sin(math.tau * (phase - math.floor(phase + 0.5)))
    cos, sin = cos_sin(math.tau * (turns - math.floor(turns + 0.5)))
    size = reference.amplitude
    return size * (sin - from_sin), size * frequency * cos


@inlined
def _at(reference, buffer, i, t):
    """Attitude and angular velocity (target frame) at the time t [s]."""
    a, a_rate = _swing(reference, buffer, i, 0, t)
    b, b_rate = _swing(reference, buffer, i, 1, t)
    c, c_rate = _swing(reference, buffer, i, 2, t)
    cos, sin = cos_sin(0.5 * a)
    about_z = (cos, 0.0, 0.0, sin)
    cos, sin = cos_sin(0.5 * b)
    about_y = (cos, 0.0, sin, 0.0)
    cos, sin = cos_sin(0.5 * c)
    about_x = (cos, sin, 0.0, 0.0)
    q = qmul(quaternion(buffer, i, REFERENCE + 6), qmul(about_z, qmul(about_y, about_x)))
    rate = add(to_body(about_y, (0.0, 0.0, a_rate)), (0.0, b_rate, 0.0))
    return q, add(to_body(about_x, rate), (c_rate, 0.0, 0.0))


@for_type(follow, Wandering)
def _(reference, buffer, i):
    q, rate = _at(reference, buffer, i, reference.dt * buffer[i + ELAPSED * LANES])
    put_quaternion(buffer, i, TARGET, q)
    put_vector(buffer, i, TARGET_RATE, rate)


@for_type(ahead, Wandering)
def _(reference, buffer, i, seconds):
    t = reference.dt * buffer[i + ELAPSED * LANES] + seconds
    q, _ = _at(reference, buffer, i, t)
    return q
