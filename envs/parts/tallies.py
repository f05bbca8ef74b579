"""What is counted in an episode. Parts as in rbgym.envs.parts.goals."""

from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.envs.layout import CONTACTS, TOUCHING
from rbgym.layout import LANES
from rbgym.quaternion import upward


class Nothing(NamedTuple):
    """Nothing."""


class Contacts(NamedTuple):
    """How often the body z axis came below a height above the horizontal, cosine of the tilt."""

    height: float


@choice
def tally(part: Any, buffer: Any, i: int, q: Any, begun: Any) -> None:
    """Count what is to be seen at the attitude q, from zero where an episode has just begun."""
    raise NotImplementedError


@for_type(tally, Nothing)
def _(part, buffer, i, q, begun):
    return None


@for_type(tally, Contacts)
def _(part, buffer, i, q, begun):
    k = i + CONTACTS * LANES
    before = 0.0 if begun else buffer[i + TOUCHING * LANES]
    touching = 1.0 if upward(q)[2] < part.height else 0.0
    buffer[k] = (0.0 if begun else buffer[k]) + max(touching - before, 0.0)
    buffer[i + TOUCHING * LANES] = touching
