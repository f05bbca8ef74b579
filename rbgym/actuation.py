"""What the engine asks of an actuator: how the commands of a body become torque.

An actuator is a `NamedTuple` class with bodies registered for the functions below. `Direct` is all
that the engine has of its own; the others are in `rbgym.envs.actuators`. Commands are numbers in
[-1, 1], one for each channel, held for a control period; a step of the integrator is a part of it.

What an actuator keeps between steps stands in rows of its own, the first at a, behind the memory of
the scheme.
"""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type, inlined, otherwise
from rbgym.frames import to_principal
from rbgym.integrators.interface import memory_size
from rbgym.layout import COMMAND, DISTURBANCE, FRESH, LANES, MEMORY, SCALE, TORQUE
from rbgym.quaternion import Vector, add, times
from rbgym.rows import put_vector, vector


class Direct(NamedTuple):
    """A torque about each body axis, the SCALE rows times the command, at once."""


@choice
def channels(actuator: Any) -> int:
    """Number of commands, at most six; known while compiling."""
    raise NotImplementedError


@choice
def own_rows(actuator: Any) -> int:
    """Number of rows that the actuator keeps; known while compiling."""
    raise NotImplementedError


@choice
def is_steady(actuator: Any) -> bool:
    """Whether the torque is the same in all steps of a period; known while compiling."""
    raise NotImplementedError


@otherwise(is_steady)
def _(actuator):
    return False


@choice
def turns_rotors(actuator: Any) -> bool:
    """Whether rotor momentum changes, at the ROTOR_RATE rows; known while compiling."""
    raise NotImplementedError


@otherwise(turns_rotors)
def _(actuator):
    return False


@choice
def hold(actuator: Any, frame: Any, buffer: Any, i: int, a: int) -> None:
    """Take the COMMAND rows as the commands of a new period."""
    raise NotImplementedError


@choice
def drive(
    actuator: Any, frame: Any, buffer: Any, i: int, a: int, start: float, h: float, dt: float
) -> None:
    """Set what acts in the step from `start` seconds into the period of dt on, for h seconds."""
    raise NotImplementedError


@otherwise(drive)
def _(actuator, frame, buffer, i, a, start, h, dt):
    return None


@choice
def settle(actuator: Any, frame: Any, buffer: Any, i: int, a: int, h: float, dt: float) -> None:
    """Book the step of h seconds that was taken."""
    raise NotImplementedError


@otherwise(settle)
def _(actuator, frame, buffer, i, a, h, dt):
    return None


@choice
def more_energy(actuator: Any, buffer: Any, i: int, a: int) -> float:
    """Energy [J] of the system beside that of the body's rotation and of its potential."""
    raise NotImplementedError


@otherwise(more_energy)
def _(actuator, buffer, i, a):
    return 0.0


@for_type(channels, Direct)
def _(actuator):
    return 3


@for_type(own_rows, Direct)
def _(actuator):
    return 0


@for_type(is_steady, Direct)
def _(actuator):
    return True


@for_type(hold, Direct)
def _(actuator, frame, buffer, i, a):
    act(frame, buffer, i, times(vector(buffer, i, SCALE), vector(buffer, i, COMMAND)))


@inlined
def act(frame: Any, buffer: Any, i: int, torque: Vector) -> None:
    """Hold this torque, body axes [N m], and the disturbance beside it."""
    torque = add(torque, vector(buffer, i, DISTURBANCE))
    put_vector(buffer, i, TORQUE, to_principal(frame, buffer, i, torque))
    buffer[i + FRESH * LANES] = 1.0


@inlined
def first_row(keeper: Any) -> int:
    """a: the first of the actuator's rows."""
    return MEMORY + memory_size(keeper)


@inlined
def block_rows(keeper: Any, actuator: Any) -> int:
    """Number of rows of a block."""
    return MEMORY + memory_size(keeper) + own_rows(actuator)
