"""No potential."""

from typing import NamedTuple

from rbgym.compiled.jit import for_type
from rbgym.potentials.interface import (
    discrete_gradient,
    energy,
    gradient,
    is_free,
    is_uniform,
    of_lane,
    seen,
    size,
)

_NOTHING = (0.0, 0.0, 0.0)


class NoPotential(NamedTuple):
    """No potential: the body is free."""


@for_type(is_free, NoPotential)
def _(potential):
    return True


@for_type(is_uniform, NoPotential)
def _(potential):
    return True


@for_type(of_lane, NoPotential)
def _(potential, buffer, i, ahead):
    return potential


@for_type(seen, NoPotential)
def _(potential, q):
    return (0.0, 0.0, 1.0)


@for_type(energy, NoPotential)
def _(potential, o):
    return 0.0


@for_type(gradient, NoPotential)
def _(potential, o):
    return _NOTHING


@for_type(discrete_gradient, NoPotential)
def _(potential, o_0, o_1):
    return _NOTHING


@for_type(size, NoPotential)
def _(potential, o):
    return 0.0
