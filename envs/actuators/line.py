"""What happens to a command on its way: modulation to pulses, a pure delay, a first-order lag.

All three give the mean over each step of the integrator: of the exact response to what comes in, a
mean itself behind another.
Parts as in rbgym.envs.parts.goals.
"""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.layout import COMMAND, LANES


class Continuous(NamedTuple):
    """A command acts at its own strength for the whole period."""


class Pulsed(NamedTuple):
    """A command acts at full strength for a part of the period, a multiple of `pulse` seconds."""

    pulse: float


class Instant(NamedTuple):
    """No delay."""


class Delayed(NamedTuple):
    """A delay of some seconds; slots: as many numbers as periods may begin before it is over."""

    seconds: float
    slots: tuple[float, ...]


class Following(NamedTuple):
    """No lag."""


class Lagging(NamedTuple):
    """What is left of a difference after a step, and on average during it: first order."""

    decay: float
    mean: float


@choice
def acts(pulses: Any, c: float, start: float, end: float, dt: float) -> float:
    """Integral of a command's signal over a part of its period of dt seconds."""
    raise NotImplementedError


@for_type(acts, Continuous)
def _(pulses, c, start, end, dt):
    return c * (end - start)


@for_type(acts, Pulsed)
def _(pulses, c, start, end, dt):
    on = pulses.pulse * math.floor(abs(c) * dt / pulses.pulse + 0.5)
    length = max(min(on, end) - start, 0.0)
    return length if c > 0.0 else -length


@choice
def slots(delay: Any) -> int:
    """How many earlier commands are yet to act; known while compiling."""
    raise NotImplementedError


@for_type(slots, Instant)
def _(delay):
    return 0


@for_type(slots, Delayed)
def _(delay):
    return len(delay.slots)


@choice
def seconds(delay: Any) -> float:
    """The delay."""
    raise NotImplementedError


@for_type(seconds, Instant)
def _(delay):
    return 0.0


@for_type(seconds, Delayed)
def _(delay):
    return delay.seconds


@choice
def signal(
    delay: Any,
    pulses: Any,
    buffer: Any,
    i: int,
    queue: int,
    count: int,
    n: int,
    late: float,
    start: float,
    h: float,
    dt: float,
) -> float:
    """Mean signal of command n of `count` in the step from `start` seconds into the period on.

    queue: the row where the commands of this period and of those before it begin. late: [s].
    """
    raise NotImplementedError


@for_type(signal, Instant)
def _(delay, pulses, buffer, i, queue, count, n, late, start, h, dt):
    c = buffer[i + (COMMAND + n) * LANES]
    return acts(pulses, c, start, start + h, dt) / h


@for_type(signal, Delayed)
def _(delay, pulses, buffer, i, queue, count, n, late, start, h, dt):
    begin = start - late
    ago = min(max(-math.floor(begin / dt), 0.0), float(slots(delay)))  # periods
    begin = max(begin + ago * dt, 0.0)
    k = i + (queue + n) * LANES
    older = buffer[k + int(ago) * count * LANES]
    newer = buffer[k + int(max(ago - 1.0, 0.0)) * count * LANES]
    total = acts(pulses, older, begin, min(begin + h, dt), dt)
    total += acts(pulses, newer, 0.0, max(begin + h - dt, 0.0), dt)
    return total / h


@choice
def lag_rows(lag: Any, count: int) -> int:
    """Number of rows of `count` responses; known while compiling."""
    raise NotImplementedError


@for_type(lag_rows, Following)
def _(lag, count):
    return 0


@for_type(lag_rows, Lagging)
def _(lag, count):
    return count


@choice
def lagged(lag: Any, buffer: Any, k: int, c: float) -> float:
    """Mean of the response at k to a signal held for a step; the response moves on."""
    raise NotImplementedError


@for_type(lagged, Following)
def _(lag, buffer, k, c):
    return c


@for_type(lagged, Lagging)
def _(lag, buffer, k, c):
    lack = buffer[k] - c
    buffer[k] = min(max(c + lag.decay * lack, -1.0), 1.0)
    return c + lag.mean * lack
