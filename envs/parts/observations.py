"""What a policy sees: an attitude in one of several forms, the rates, and perhaps the target's.

Parts as in rbgym.envs.parts.goals. No row is ever outside its bounds, which are those of the space.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from rbgym.compiled.jit import choice, for_type, inlined
from rbgym.envs.layout import OBSERVATION, POSITION, TARGET, VELOCITY
from rbgym.envs.parts.references import ahead
from rbgym.layout import LANES
from rbgym.quaternion import Array, canonical, qconj, qmul, scale, to_body
from rbgym.rows import quaternion, vector


class Form(NamedTuple):
    """Python's side of a form: its class, the lower and the upper bounds of its rows."""

    cls: type
    low: tuple[float, ...]
    high: tuple[float, ...]


class Quaternion(NamedTuple):
    """(w, x, y, z); of q and -q the one whose first component that is not zero is positive."""


class Continuous(NamedTuple):
    """(w, x, y, z) without jumps of sign: of q and -q, either."""


class RotationMatrix(NamedTuple):
    """The nine entries, row by row."""


class Rotation6D(NamedTuple):
    """The first two columns (Zhou et al. 2019): continuous in the attitude, and unique."""


class MRP(NamedTuple):
    """Modified Rodrigues parameters tan(angle / 4) axis, of q or its shadow set: |.| <= 1."""


class LogError(NamedTuple):
    """The rotation vector, angle times axis [rad]: |.| <= pi."""


class World(NamedTuple):
    """(w, x, y, z) of the body in the world, canonical, also where there is a target."""


_ONE = np.ones(9)


def _box(high: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(-high), tuple(high)


FORMS = {
    "quaternion": Form(Quaternion, (0.0, -1.0, -1.0, -1.0), (1.0, 1.0, 1.0, 1.0)),
    "quaternion_continuous": Form(Continuous, *_box(_ONE[:4])),
    "rotation_matrix": Form(RotationMatrix, *_box(_ONE)),
    "rotation_6d": Form(Rotation6D, *_box(_ONE[:6])),
    "mrp": Form(MRP, *_box(_ONE[:3])),
    "log_error": Form(LogError, *_box(math.pi * _ONE[:3])),
}


class Nothing(NamedTuple):
    """No more rows."""


class TargetRate(NamedTuple):
    """The target's angular velocity in body axes / scale, within +-bound."""

    scale: float
    bound: float


class Preview(NamedTuple):
    """The target's rate, and the attitude relative to where the target is `seconds` from now."""

    rate: TargetRate
    seconds: float


class TargetQuaternion(NamedTuple):
    """(w, x, y, z) of the target in the world, canonical."""


class Offset(NamedTuple):
    """Position and velocity of the centre of mass relative to the dock, in body axes, each as a
    part of a largest size: distance [m], speed [m/s]."""

    distance: float
    speed: float


class WantedSpin(NamedTuple):
    """The spin wanted / scale, within +-1."""

    scale: float


class Shown(NamedTuple):
    """form: of the attitude; the rates / scale, never beyond +-bounds; more: what else."""

    form: Any
    scale: float
    bounds: tuple[float, float, float]
    more: Any

    def space(self, beyond: Array) -> spaces.Box:
        """The space of the rows; beyond: bounds of those that an actuator adds, (2, k)."""
        form = next((f for f in FORMS.values() if f.cls is type(self.form)), FORMS["quaternion"])
        low, high = _bounds_of_more(self.more)
        lows = np.array([*form.low, *(-b for b in self.bounds), *low, *beyond[0]], dtype=np.float32)
        highs = np.array([*form.high, *self.bounds, *high, *beyond[1]], dtype=np.float32)
        return spaces.Box(lows, highs, dtype=np.float32)


def _bounds_of_more(more: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    quat = FORMS["quaternion"]
    match more:
        case TargetRate(_, bound):
            return (-bound,) * 3, (bound,) * 3
        case Preview(TargetRate(_, bound), _):
            return (*(-bound,) * 3, *quat.low), (*(bound,) * 3, *quat.high)
        case TargetQuaternion():
            return quat.low, quat.high
        case Offset():
            return (-1.0,) * 6, (1.0,) * 6
        case WantedSpin():
            return (-1.0,), (1.0,)
    return (), ()


# --- in the kernel --------------------------------------------------------------------------


@inlined
def _within(x, bound):
    return min(max(x, -bound), bound)


@inlined
def _put(buffer, k, row, x, bound):
    buffer[k + row * LANES] = _within(x, bound)


@inlined
def _put_quaternion(buffer, k, q):
    for n in range(4):
        _put(buffer, k, n, q[n], 1.0)


@choice
def rows(part: Any) -> int:
    """Number of rows; known while compiling."""
    raise NotImplementedError


@choice
def write(form: Any, buffer: Any, i: int, k: int, q: Any, relative: Any) -> None:
    """Write the attitude from k on: q in the world, `relative` to the target if there is one."""
    raise NotImplementedError


@choice
def write_more(more: Any, reference: Any, buffer: Any, i: int, k: int, q: Any, wanted: Any) -> None:
    """Write what else is shown from k on; wanted: the target's angular velocity, body axes."""
    raise NotImplementedError


def _constant(count: int) -> Any:
    return lambda part: count


for _cls, _count in (
    (Quaternion, 4), (Continuous, 4), (RotationMatrix, 9), (Rotation6D, 6), (MRP, 3),
    (LogError, 3), (World, 4), (Nothing, 0), (TargetRate, 3), (Preview, 7), (TargetQuaternion, 4),
    (Offset, 6), (WantedSpin, 1),
):  # fmt: skip
    for_type(rows, _cls)(_constant(_count))


@for_type(write, Quaternion)
def _(form, buffer, i, k, q, relative):
    _put_quaternion(buffer, k, canonical(relative))


@for_type(write, World)
def _(form, buffer, i, k, q, relative):
    _put_quaternion(buffer, k, canonical(q))


@for_type(write, Continuous)
def _(form, buffer, i, k, q, relative):
    _put_quaternion(buffer, k, relative)


@inlined
def _columns(q):
    w, x, y, z = q
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@for_type(write, RotationMatrix)
def _(form, buffer, i, k, q, relative):
    columns = _columns(relative)
    for row in range(3):
        for column in range(3):
            _put(buffer, k, 3 * row + column, columns[column][row], 1.0)


@for_type(write, Rotation6D)
def _(form, buffer, i, k, q, relative):
    columns = _columns(relative)
    for column in range(2):
        for row in range(3):
            _put(buffer, k, 3 * column + row, columns[column][row], 1.0)


@for_type(write, MRP)
def _(form, buffer, i, k, q, relative):
    c = canonical(relative)
    s = 1.0 / (1.0 + c[0])
    for n in range(3):
        _put(buffer, k, n, s * c[n + 1], 1.0)


@inlined
def _arctangent(t):
    """arctan t for t in [0, 1], to 1e-10: halved twice, then its series."""
    t = t / (1.0 + math.sqrt(1.0 + t * t))
    t = t / (1.0 + math.sqrt(1.0 + t * t))
    y = t * t
    series = 1.0 / 13.0 - y / 15.0
    series = 1.0 / 11.0 - y * series
    series = 1.0 / 9.0 - y * series
    series = 1.0 / 7.0 - y * series
    series = 1.0 / 5.0 - y * series
    series = 1.0 / 3.0 - y * series
    return 4.0 * t * (1.0 - y * series)


@for_type(write, LogError)
def _(form, buffer, i, k, q, relative):
    c = canonical(relative)
    sine = math.sqrt(c[1] * c[1] + c[2] * c[2] + c[3] * c[3])
    # tan(angle / 4) = sine / (1 + cosine) lies in [0, 1].
    angle = 4.0 * _arctangent(min(sine / (1.0 + c[0]), 1.0))
    v = scale(angle / (sine + 1e-300), (c[1], c[2], c[3]))
    for n in range(3):
        _put(buffer, k, n, v[n], math.pi)


@for_type(write_more, Nothing)
def _(more, reference, buffer, i, k, q, wanted):
    return None


@inlined
def _write_rate(part, buffer, k, rate):
    for n in range(3):
        _put(buffer, k, n, rate[n] / part.scale, part.bound)


@for_type(write_more, TargetRate)
def _(more, reference, buffer, i, k, q, wanted):
    _write_rate(more, buffer, k, wanted)


@for_type(write_more, Preview)
def _(more, reference, buffer, i, k, q, wanted):
    _write_rate(more.rate, buffer, k, wanted)
    then = ahead(reference, buffer, i, more.seconds)
    _put_quaternion(buffer, k + 3 * LANES, canonical(qmul(qconj(then), q)))


@for_type(write_more, TargetQuaternion)
def _(more, reference, buffer, i, k, q, wanted):
    _put_quaternion(buffer, k, canonical(quaternion(buffer, i, TARGET)))


@for_type(write_more, Offset)
def _(more, reference, buffer, i, k, q, wanted):
    p = to_body(q, vector(buffer, i, POSITION))
    v = to_body(q, vector(buffer, i, VELOCITY))
    for n in range(3):
        _put(buffer, k, n, p[n] / more.distance, 1.0)
        _put(buffer, k, 3 + n, v[n] / more.speed, 1.0)


@for_type(write_more, WantedSpin)
def _(more, reference, buffer, i, k, q, wanted):
    _put(buffer, k, 0, wanted[2] / more.scale, 1.0)


@inlined
def observe(part, reference, buffer, i, q, relative, omega, wanted):
    """Write the observation rows of the lane at i; attitudes and omega as measured."""
    k = i + OBSERVATION * LANES
    write(part.form, buffer, i, k, q, relative)
    k += rows(part.form) * LANES
    for n in range(3):
        _put(buffer, k, n, omega[n] / part.scale, part.bounds[n])
    write_more(part.more, reference, buffer, i, k + 3 * LANES, q, wanted)


@inlined
def width(part):
    """Number of observation rows; known while compiling."""
    return rows(part.form) + 3 + rows(part.more)
