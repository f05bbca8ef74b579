"""Torques that nobody commanded. Parts as in rbgym.envs.parts.goals."""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.envs.layout import ELAPSED, NOISE
from rbgym.envs.random import normals
from rbgym.layout import DISTURBANCE, LANES
from rbgym.quaternion import Vector, add, times
from rbgym.rows import put_vector

_USE = 6  # of the noise's numbers; sensors take those before


class Calm(NamedTuple):
    """None."""


class Pushed(NamedTuple):
    """A constant torque, and white noise held for each control period; body axes [N m].

    noise: its standard deviation; no number of it is beyond 3.47 times that.
    """

    constant: Vector
    noise: Vector


@choice
def push(part: Any, buffer: Any, i: int) -> None:
    """Set the torque beside the commanded one, for the next control period."""
    raise NotImplementedError


@for_type(push, Calm)
def _(part, buffer, i):
    return None


@for_type(push, Pushed)
def _(part, buffer, i):
    n = normals(buffer[i + NOISE * LANES], buffer[i + ELAPSED * LANES], _USE)
    put_vector(buffer, i, DISTURBANCE, add(part.constant, times(part.noise, n)))
