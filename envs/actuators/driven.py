"""An actuator of the engine, composed: a line for the commands, and an effector at its end.

Rows, from a on: those that stand in `effector` and `mounting`; what the effector keeps for itself;
then what is shown: of the effector, of the lag, of the delay.
"""

from typing import Any, NamedTuple

from rbgym.actuation import (
    channels,
    drive,
    hold,
    more_energy,
    own_rows,
    settle,
    turns_rotors,
)
from rbgym.compiled.jit import choice, for_type, inlined, otherwise
from rbgym.envs.actuators.effector import (
    ACTING,
    APPLIED,
    PRIVATE,
    book,
    commands_of,
    effector_shows,
    energy_of,
    exert,
    has_rotors,
    private_rows,
    ready,
    rebuild,
    show,
)
from rbgym.envs.actuators.line import lag_rows, lagged, seconds, signal, slots
from rbgym.envs.actuators.mounting import LATE, gain, mount
from rbgym.layout import COMMAND, LANES
from rbgym.quaternion import add, scale
from rbgym.rows import put_vector, vector

_NOTHING = (0.0, 0.0, 0.0)


class Driven(NamedTuple):
    """pulses, delay, lag: parts of `line`; effector; spread: part of `mounting`."""

    pulses: Any
    delay: Any
    lag: Any
    effector: Any
    spread: Any


# --- rows -----------------------------------------------------------------------------------


@inlined
def _first_shown(driven):
    return PRIVATE + private_rows(driven.effector)


@inlined
def _first_lagged(driven):
    return _first_shown(driven) + effector_shows(driven.effector)


@inlined
def _queue(driven):
    return _first_lagged(driven) + lag_rows(driven.lag, commands_of(driven.effector))


@for_type(own_rows, Driven)
def _(driven):
    # Of a delay also the command that is too old to be shown.
    count, waiting = commands_of(driven.effector), slots(driven.delay)
    return _queue(driven) + (count * (waiting + 1) if waiting > 0 else 0)


@choice
def shown_rows(actuator: Any) -> int:
    """Number of rows that are shown; known while compiling."""
    raise NotImplementedError


@otherwise(shown_rows)
def _(actuator):
    return 0


@for_type(shown_rows, Driven)
def _(driven):
    count = commands_of(driven.effector)
    return _queue(driven) - _first_shown(driven) + count * slots(driven.delay)


@choice
def shown_from(actuator: Any) -> int:
    """The first of them, counted from a; known while compiling."""
    raise NotImplementedError


@otherwise(shown_from)
def _(actuator):
    return 0


@for_type(shown_from, Driven)
def _(driven):
    return _first_shown(driven)


# --- what the engine asks -------------------------------------------------------------------


@for_type(channels, Driven)
def _(driven):
    return commands_of(driven.effector)


@for_type(turns_rotors, Driven)
def _(driven):
    return has_rotors(driven.effector)


@for_type(more_energy, Driven)
def _(driven, buffer, i, a):
    return energy_of(driven.effector, buffer, i, a)


@for_type(hold, Driven)
def _(driven, frame, buffer, i, a):
    put_vector(buffer, i, a + APPLIED, _NOTHING)
    put_vector(buffer, i, a + APPLIED + 3, _NOTHING)
    count, waiting = commands_of(driven.effector), slots(driven.delay)
    if waiting > 0:
        k = i + (a + _queue(driven)) * LANES
        for n in range(count * waiting - 1, -1, -1):
            buffer[k + (n + count) * LANES] = buffer[k + n * LANES]
        for n in range(count):
            buffer[k + n * LANES] = buffer[i + (COMMAND + n) * LANES]


@inlined
def _command(driven, buffer, i, a, n, start, h, dt):
    """What arrives of command n, on average in the step; none arrives that there is not."""
    count = commands_of(driven.effector)
    if n >= count:
        return 0.0
    late, queue = buffer[i + (a + LATE) * LANES], a + _queue(driven)
    c = signal(driven.delay, driven.pulses, buffer, i, queue, count, n, late, start, h, dt)
    c = lagged(driven.lag, buffer, i + (a + _first_lagged(driven) + n) * LANES, c)
    return gain(driven.spread, buffer, i, a, n) * c


@for_type(drive, Driven)
def _(driven, frame, buffer, i, a, start, h, dt):
    c = (
        _command(driven, buffer, i, a, 0, start, h, dt),
        _command(driven, buffer, i, a, 1, start, h, dt),
        _command(driven, buffer, i, a, 2, start, h, dt),
        _command(driven, buffer, i, a, 3, start, h, dt),
        _command(driven, buffer, i, a, 4, start, h, dt),
        _command(driven, buffer, i, a, 5, start, h, dt),
    )
    exert(driven.effector, driven.spread, frame, buffer, i, a, c, h)


@inlined
def _applied(buffer, i, a, first, share):
    now = scale(share, vector(buffer, i, a + ACTING + first))
    now = add(vector(buffer, i, a + APPLIED + first), now)
    put_vector(buffer, i, a + APPLIED + first, now)


@for_type(settle, Driven)
def _(driven, frame, buffer, i, a, h, dt):
    _applied(buffer, i, a, 0, h / dt)
    _applied(buffer, i, a, 3, h / dt)
    book(driven.effector, driven.spread, frame, buffer, i, a, h)


# --- what the episodes ask ------------------------------------------------------------------


@for_type(rebuild, Driven)
def _(driven, buffer, i):
    rebuild(driven.effector, buffer, i)


@choice
def begin(
    actuator: Any,
    frame: Any,
    buffer: Any,
    i: int,
    a: int,
    placed: bool,
    mass: float,
    u: Any,
    v: Any,
    w: Any,
) -> None:
    """Begin an episode: nothing is under way. u, v, w: four, eight and four uniform numbers."""
    raise NotImplementedError


@otherwise(begin)
def _(actuator, frame, buffer, i, a, placed, mass, u, v, w):
    return None


@for_type(begin, Driven)
def _(driven, frame, buffer, i, a, placed, mass, u, v, w):
    for n in range(own_rows(driven)):
        buffer[i + (a + n) * LANES] = 0.0
    count, late = commands_of(driven.effector), seconds(driven.delay)
    mount(driven.spread, buffer, i, a, count, late, v, w)
    ready(driven.effector, driven.spread, frame, buffer, i, a, placed, mass, u)


@choice
def present(actuator: Any, frame: Any, buffer: Any, i: int, a: int) -> None:
    """Write the rows that the effector shows; the others are always there."""
    raise NotImplementedError


@otherwise(present)
def _(actuator, frame, buffer, i, a):
    return None


@for_type(present, Driven)
def _(driven, frame, buffer, i, a):
    show(driven.effector, frame, buffer, i, i + (a + _first_shown(driven)) * LANES)
