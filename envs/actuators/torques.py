"""A torque about each body axis, at the end of a line of its own."""

from typing import NamedTuple

from rbgym.actuation import act
from rbgym.compiled.jit import for_type
from rbgym.envs.actuators.effector import (
    ACTING,
    commands_of,
    exert,
)
from rbgym.envs.actuators.mounting import turned
from rbgym.layout import SCALE
from rbgym.quaternion import times
from rbgym.rows import put_vector, vector


class Torques(NamedTuple):
    """The SCALE rows times the commands."""


@for_type(commands_of, Torques)
def _(effector):
    return 3


@for_type(exert, Torques)
def _(effector, spread, frame, buffer, i, a, c, h):
    torque = times(vector(buffer, i, SCALE), (c[0], c[1], c[2]))
    torque = turned(spread, buffer, i, a, torque)
    put_vector(buffer, i, a + ACTING, torque)
    act(frame, buffer, i, torque)
