"""Potentials: torques that derive from an energy V. See `rbgym.potentials.interface`.

Adding one is one file and one entry in each of `checked` and `parameters`; a potential of your own
needs no change here, see `register`.
"""

import difflib
from typing import Any, TypeAlias

import numpy as np

from rbgym.arguments import finite, is_number, unit
from rbgym.body import RigidBody
from rbgym.potentials.gravity_gradient import CircularOrbit, GravityGradient
from rbgym.potentials.heavy_top import HeavyTop
from rbgym.potentials.none import NoPotential
from rbgym.potentials.own import is_registered, register
from rbgym.potentials.soft_wall import SIGNS, SoftWall
from rbgym.quaternion import Vector

Potential: TypeAlias = NoPotential | HeavyTop | SoftWall | GravityGradient | CircularOrbit

_UNIT = 1e-9  # how far from unit length or from right angles given vectors may be

__all__ = [
    "CircularOrbit",
    "GravityGradient",
    "HeavyTop",
    "NoPotential",
    "Potential",
    "SoftWall",
    "checked",
    "parameters",
    "register",
]


def checked(potential: Any) -> Any:
    """The potential with float fields, or a `ValueError` that says what is wrong with it."""
    match potential:
        case None | NoPotential():
            return NoPotential()
        case HeavyTop(mgl, axis):
            return HeavyTop(_finite("mgl", mgl), _unit("axis", axis))
        case SoftWall(sign, axis):
            return SoftWall(_sign(sign), _unit("axis", axis))
        case GravityGradient(k, direction):
            return GravityGradient(_finite("k", k), _unit("direction", direction))
        case CircularOrbit(rate, direction, normal):
            d, n = _unit("direction", direction), _unit("normal", normal)
            return CircularOrbit(_finite("rate", rate), d, _across("normal", n, d))
    if not is_registered(type(potential)):
        raise ValueError(
            "potential must be None, NoPotential(), HeavyTop(mgl, axis), SoftWall(sign, axis), "
            "GravityGradient(k, direction), CircularOrbit(rate, direction, normal) or of a class "
            f"given to potentials.register, got {potential!r}"
        )
    return type(potential)(*(_floats(n, v) for n, v in potential._asdict().items()))


def parameters(potential: Any, body: RigidBody) -> list[float]:
    """The lane's rows for this potential on this body, with body vectors in principal axes."""
    match potential:
        case HeavyTop(mgl, axis):
            return [mgl, *(body.principal_rotation.T @ np.asarray(axis))]
        case SoftWall(sign, axis):
            return [float(sign), *(body.principal_rotation.T @ np.asarray(axis))]
        case GravityGradient(k, direction):
            with np.errstate(over="ignore"):
                slopes = 3.0 * k * body.moments
            if not np.isfinite(slopes).all():
                raise ValueError(f"k must be so small that 3 k J is finite, got {k!r}")
            return [*slopes, *direction]
        case CircularOrbit(rate, direction, normal):
            return [*direction, *(rate * np.asarray(normal))]
    return []


def _finite(name: str, value: Any) -> float:
    return float(finite(f"potential.{name}", value, ()))


def _unit(name: str, value: Any) -> Vector:
    vector = unit(f"potential.{name}", value, 3, _UNIT)
    x, y, z = (float(v) for v in vector / np.linalg.norm(vector))
    return (x, y, z)


def _across(name: str, vector: Vector, other: Vector) -> Vector:
    if not abs(np.dot(vector, other)) < _UNIT:
        raise ValueError(f"potential.{name} must be at right angles to {other}, got {vector}")
    return vector


def _sign(value: Any) -> float:
    if is_number(value) and value in SIGNS.values():
        return float(value)
    if not isinstance(value, str) or value not in SIGNS:
        near = difflib.get_close_matches(str(value), SIGNS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"potential.sign must be one of {list(SIGNS)}, got {value!r}{hint}")
    return SIGNS[value]


def _floats(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_finite(name, v) for v in value)
    return _finite(name, value)
