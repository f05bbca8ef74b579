"""The arguments of an environment, and the functions that check them: each raises a ValueError that
names the argument and the values allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import finite, hint, number

if TYPE_CHECKING:  # importing them takes numba, which a check of names does not need
    from rbgym.body import RigidBody
    from rbgym.envs.orbit import Orbit
    from rbgym.envs.parts.uncertainty import Sensor
    from rbgym.envs.satellites import Satellite
    from rbgym.integrators import Integrator
    from rbgym.quaternion import Vector

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of every environment of a task; see docs/tasks.md."""

    difficulty: str = "medium"
    satellite: str | Mapping[str, Any] | Satellite | None = None
    rate_limit: float | None = None
    success: Mapping[str, float] | None = None
    integrator: str | Integrator | None = None
    dt: float | None = None
    substeps: int | None = None
    body: RigidBody | Mapping[str, Any] | None = None
    mgl: float | None = None
    torque_limit: ArrayLike | None = None
    torque_scale: float = 1.0
    actuator: Any = None
    reward: str | Mapping[str, float] | Callable[..., ArrayLike] = "dense"
    observation: str | Sequence[str] | Callable[..., ArrayLike] | None = None
    info: str | Sequence[str] | None = None
    sensor: Mapping[str, Any] | Sensor | None = None
    termination: str | Mapping[str, Any] | Callable[..., ArrayLike] | None = None
    constraints: Mapping[str, Any] | None = None
    disturbance: Mapping[str, Any] | Callable[..., ArrayLike] | None = None
    randomization: Mapping[str, Any] | None = None
    faults: Mapping[str, Any] | None = None
    initial: str | Mapping[str, float] | None = None
    preview: float | None = None
    orbit: Orbit | Mapping[str, float] | None = None
    reference: str | None = None
    projection: bool = True

    @classmethod
    def check_names(cls, given: Iterable[str]) -> None:
        """Raise UnknownArgument for a name that is not an argument."""
        for name in given:
            if name not in ARGUMENTS:
                raise UnknownArgument(
                    f"__init__() got an unexpected keyword argument {name!r}"
                    f"{hint(name, ARGUMENTS)}; an env takes {list(ARGUMENTS)}"
                )


ARGUMENTS = tuple(one.name for one in fields(Arguments))


class UnknownArgument(TypeError, ValueError):
    """An argument that an env does not take: a TypeError, as Python and libraries that try
    arguments expect, and a ValueError, as for every bad argument of rbgym."""


def named(argument: str, value: Any, names: Iterable[str], or_else: str = "") -> None:
    """Raise ValueError unless the value is one of the names; or_else: other values allowed, in
    words for the message."""
    known = list(names)
    if not isinstance(value, str) or value not in known:
        raise ValueError(
            f"{argument} must be one of {known}{or_else}, got {value!r}{hint(value, known)}"
        )


def keys(argument: str, value: Any, known: Collection[str]) -> dict[str, Any]:
    """The value as a dict; ValueError if it is not a mapping or has an unknown key."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{argument} must be a dict with keys from {list(known)}, got {value!r}")
    for key in value:
        if key not in known:
            raise ValueError(
                f"{argument} must have keys from {list(known)}, got {key!r}{hint(key, known)}"
            )
    return dict(value)


def copied(argument: str, value: Any) -> Any:
    """A copy, as deep as mappings, lists, tuples and arrays go; other objects stay the same.
    ValueError if one holds itself."""
    try:
        if isinstance(value, Mapping):
            return {key: copied(argument, one) for key, one in value.items()}
        if type(value) in (list, tuple):
            return type(value)(copied(argument, one) for one in value)
    except RecursionError:
        raise ValueError(f"{argument} must not hold itself") from None
    return value.copy() if isinstance(value, np.ndarray) else value


def made(argument: str, kind: Callable[..., T], value: Any) -> T:
    """Call `kind` with a mapping of its arguments; ValueError if one is unknown or missing."""
    known = inspect.signature(kind).parameters
    given = keys(argument, value, known)
    missing = [n for n, one in known.items() if one.default is one.empty and n not in given]
    if missing:
        raise ValueError(f"{argument} must have {' and '.join(missing)}, got {value!r}")
    try:
        return kind(**given)
    except ValueError as error:
        raise ValueError(f"{argument}: {error}") from None


def made_or_given(argument: str, kind: type[T], value: Any) -> T:
    """An object of this class, given as itself or as a dict of its arguments; else ValueError."""
    if isinstance(value, Mapping):
        return made(argument, kind, value)
    if not isinstance(value, kind):
        raise ValueError(f"{argument} must be a {kind.__name__} or a dict for one, got {value!r}")
    return value


def in_range(argument: str, value: Any, low: float, high: float) -> float:
    """The value as a float; ValueError if it is not a number in [low, high]."""
    found = number(value)
    if not low <= found <= high:
        raise ValueError(f"{argument} must be in [{low:g}, {high:g}], got {value!r}")
    return found


def triple(argument: str, value: Any) -> Vector:
    """The value as three finite floats; else ValueError."""
    x, y, z = finite(argument, value, (3,)).tolist()
    return (x, y, z)
