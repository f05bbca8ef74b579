"""Torques that are known at samples only: held, or continued by Lagrange's polynomial.

Mandre (2008), section 7.3: through the last three samples a, b, c, taken P apart, the torque at the
time s P after the last is

    a s (s + 1)/2 - b s (s + 2) + c (s + 1)(s + 2)/2,

through two of them c + (c - b) s. (The paper's x = (t_s - t)/h has the sign the other way round.) A
sample that is far from what the former ones foretold is a jump, and makes the history start anew.
"""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.layout import LANES
from rbgym.quaternion import Vector, add, dot, scale, sub
from rbgym.rows import put_vector, vector, vector_if


class Held(NamedTuple):
    """The torque of a sample stays until the next."""


class Lagrange(NamedTuple):
    """Torques are continued through the last three samples.

    jump: the largest miss of a torque without a jump, in units of the largest of the samples.
    """

    jump: float = 0.5


class Samples(NamedTuple):
    """a, b, c: the last three, oldest first [N m]; known: how many of them there are, from 0 on.

    elapsed: time since the last [s]; period: time between the last two [s].
    """

    a: Vector
    b: Vector
    c: Vector
    known: float
    elapsed: float
    period: float


@choice
def size(sampling: Any) -> int:
    """Number of values to be kept."""
    raise NotImplementedError


@choice
def load(sampling: Any, buffer: Any, m: int) -> Any:
    """The samples of the lane whose first row is at m."""
    raise NotImplementedError


@choice
def store(sampling: Any, buffer: Any, m: int, samples: Any, keep: bool) -> None:
    """Write the samples, unless `keep` asks to leave them."""
    raise NotImplementedError


@choice
def forget(sampling: Any, buffer: Any, m: int) -> None:
    """No samples yet."""
    raise NotImplementedError


@choice
def taken(sampling: Any, samples: Any, u: Vector, is_new: bool) -> Any:
    """The samples with the torque u among them, if it is a new one."""
    raise NotImplementedError


@choice
def later(sampling: Any, samples: Any, h: float) -> Any:
    """The samples after a step of length h."""
    raise NotImplementedError


@choice
def torque_at(sampling: Any, samples: Any, u: Vector, time: float) -> Vector:
    """The torque `time` after the start of the step, u the last sample."""
    raise NotImplementedError


# --- Held -----------------------------------------------------------------------------------


@for_type(size, Held)
def _(sampling):
    return 0


@for_type(load, Held)
def _(sampling, buffer, m):
    return ()


@for_type(store, Held)
def _(sampling, buffer, m, samples, keep):
    return None


@for_type(forget, Held)
def _(sampling, buffer, m):
    return None


@for_type(taken, Held)
def _(sampling, samples, u, is_new):
    return samples


@for_type(later, Held)
def _(sampling, samples, h):
    return samples


@for_type(torque_at, Held)
def _(sampling, samples, u, time):
    return u


# --- Lagrange -------------------------------------------------------------------------------


@inlined
def _foretold(samples, time):
    """The torque `time` after the last sample."""
    a, b, c, known = samples.a, samples.b, samples.c, samples.known
    s = time / samples.period if known > 1.5 else 0.0
    line = add(c, scale(s, sub(c, b)))
    parabola = add(scale(0.5 * s * (s + 1.0), a), scale(-s * (s + 2.0), b))
    parabola = add(parabola, scale(0.5 * (s + 1.0) * (s + 2.0), c))
    return vector_if(known > 2.5, parabola, line)


@for_type(torque_at, Lagrange)
def _(sampling, samples, u, time):
    return _foretold(samples, samples.elapsed + time)


@for_type(taken, Lagrange)
def _(sampling, samples, u, is_new):
    a, b, c = samples.a, samples.b, samples.c
    miss = sub(u, _foretold(samples, samples.elapsed))
    largest = max(max(dot(a, a), dot(b, b)), max(dot(c, c), dot(u, u)))
    smooth = dot(miss, miss) <= sampling.jump * sampling.jump * largest
    smooth = smooth & (samples.known > 0.5)
    known = min(samples.known + 1.0, 3.0) if smooth else 1.0
    return Samples(
        vector_if(is_new, vector_if(smooth, b, u), a),
        vector_if(is_new, vector_if(smooth, c, u), b),
        vector_if(is_new, u, c),
        known if is_new else samples.known,
        0.0 if is_new else samples.elapsed,
        samples.elapsed if is_new & smooth else samples.period,
    )


@for_type(later, Lagrange)
def _(sampling, samples, h):
    elapsed = samples.elapsed + h
    return Samples(samples.a, samples.b, samples.c, samples.known, elapsed, samples.period)


@for_type(size, Lagrange)
def _(sampling):
    return 12


@for_type(load, Lagrange)
def _(sampling, buffer, m):
    return Samples(
        vector(buffer, m, 0),
        vector(buffer, m, 3),
        vector(buffer, m, 6),
        buffer[m + 9 * LANES],
        buffer[m + 10 * LANES],
        buffer[m + 11 * LANES],
    )


@for_type(store, Lagrange)
def _(sampling, buffer, m, samples, keep):
    put_vector(buffer, m, 0, vector_if(keep, vector(buffer, m, 0), samples.a))
    put_vector(buffer, m, 3, vector_if(keep, vector(buffer, m, 3), samples.b))
    put_vector(buffer, m, 6, vector_if(keep, vector(buffer, m, 6), samples.c))
    buffer[m + 9 * LANES] = buffer[m + 9 * LANES] if keep else samples.known
    buffer[m + 10 * LANES] = buffer[m + 10 * LANES] if keep else samples.elapsed
    buffer[m + 11 * LANES] = buffer[m + 11 * LANES] if keep else samples.period


@for_type(forget, Lagrange)
def _(sampling, buffer, m):
    for row in range(12):
        buffer[m + row * LANES] = 0.0
