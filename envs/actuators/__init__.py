"""Actuators: what becomes of an action. See docs/actuators.md.

By name or as objects, alone or composed: `actuator="pyramid"`, `actuator=Lag(0.05)`,
`actuator=[Delay(0.1), Lag(0.05), ReactionWheels()]`, or in plain data
`actuator={"delay": {"seconds": 0.1}, "wheels": {}}`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rbgym import layout
from rbgym.actuation import Direct
from rbgym.engine.batch import Batch
from rbgym.envs.actuators.driven import Driven
from rbgym.envs.actuators.line import Continuous, Following, Instant
from rbgym.envs.actuators.models import (
    Forces,
    MagneticCoils,
    ReactionWheels,
    Scaling,
    Torque,
)
from rbgym.envs.actuators.mounting import Alike, Differing
from rbgym.envs.actuators.setting import Effector, Setting
from rbgym.envs.actuators.stages import Delay, Lag, Thrusters
from rbgym.envs.arguments import hint, made
from rbgym.integrators import Integrator, get, names
from rbgym.integrators.free_scale import REFERENCE, FreeScale
from rbgym.quaternion import Array

__all__ = [
    "Actuator",
    "Delay",
    "Forces",
    "Lag",
    "MagneticCoils",
    "ReactionWheels",
    "Scaling",
    "Setting",
    "Thrusters",
    "Torque",
    "at_rest",
    "chosen",
    "refuse_unused",
    "scheme_for",
    "state_beyond",
]

NAMES: dict[str, Callable[..., Any]] = {
    "torque": Torque,
    "wheels": ReactionWheels,
    "pyramid": ReactionWheels.pyramid,
    "magnetorquers": MagneticCoils,
    "thrusters": Thrusters,
    "lag": Lag,
    "delay": Delay,
    "forces": Forces,
    "scaling": Scaling,
}
_LINE = (Thrusters, Delay, Lag)
_TIED = (Forces, Scaling)  # to the tasks that are made for them


@dataclass(frozen=True)
class Actuator:
    """An effector with what is before it, in its setting.

    part: what the kernels need. shown: bounds of the rows that observations end with, (2, k).
    largest: torque about each body axis that may act [N m], (3,); limits: that it can have about
    each alone.
    """

    effector: Effector
    part: Any
    shown: Array
    largest: Array
    limits: Array

    @property
    def is_direct(self) -> bool:
        """Whether a command is the torque."""
        return isinstance(self.part, Direct)

    def strongest(self, spread: Differing | None) -> Array:
        """`largest`, of any actuator that the spread may draw."""
        if spread is None:
            return self.largest
        torque = self.largest * (1.0 + spread.scale)
        return np.full(3, np.linalg.norm(torque)) if spread.misalignment else torque


def chosen(value: Any, default: Any, spread: Differing | None, setting: Setting) -> Actuator:
    """What an argument stands for; what it leaves out is the default's, or plain.

    Raises ValueError for what is none, two of a kind, and numbers that do not fit the setting.
    """
    parts = [*_listed(default)] if value is None else [*_listed(value)]
    found: dict[type, Any] = {}
    for one in parts:
        kind = Effector if isinstance(one, Effector) else type(one)
        if kind in found:
            raise ValueError(f"actuator must have one {kind.__name__} at most, got {value!r}")
        found[kind] = one
    own = next(p for p in _listed(default) if isinstance(p, Effector))
    effector = found.get(Effector, own)
    if type(own) is not type(effector) and isinstance(own, _TIED) | isinstance(effector, _TIED):
        raise ValueError(
            f"actuator must have {type(own).__name__} as its effector in this task, "
            f"got {type(effector).__name__}"
        )
    late = found.get(Delay)
    if spread is not None and spread.delay > 0 and late is None:
        raise ValueError("randomization['delay'] must be left out without a Delay in the actuator")
    if spread is not None and spread.misalignment > 0 and isinstance(effector, Scaling):
        raise ValueError("randomization['misalignment'] must be left out for a scaling force")
    plain = not (spread or found.keys() - {Effector}) and type(effector) is Torque
    part: Any = Direct()
    if not plain:
        pulses, lag = found.get(Thrusters), found.get(Lag)
        part = Driven(
            pulses=pulses.part(setting) if pulses else Continuous(),
            delay=late.part(setting, spread.delay if spread else 0.0) if late else Instant(),
            lag=lag.part(setting) if lag else Following(),
            effector=effector.part(setting),
            spread=spread or Alike(),
        )
    return Actuator(
        effector,
        part,
        _bounds(part, effector.shown(setting)),
        effector.largest(setting),
        effector.limits(setting),
    )


def _bounds(part: Any, own: Array) -> Array:
    """Bounds of all rows shown: those of the line are commands."""
    from rbgym.envs.actuators.driven import shown_rows

    ones = np.ones(shown_rows(part) - own.shape[1])
    return np.concatenate([own, [-ones, ones]], axis=1)


def _listed(value: Any) -> list[Any]:
    """The objects that an argument names."""
    if isinstance(value, Mapping):
        return [_made(name, numbers) for name, numbers in value.items()]
    if isinstance(value, str):
        return [_made(value, {})]
    if isinstance(value, list | tuple):
        return [one for part in value for one in _listed(part)]
    if isinstance(value, (Effector, *_LINE)):
        return [value]
    raise ValueError(
        f"actuator must be one of {list(NAMES)}, a dict or list of them, or objects of "
        f"rbgym.envs.actuators, got {value!r}"
    )


def _made(name: Any, numbers: Any) -> Any:
    if name not in NAMES:
        raise ValueError(f"actuator must be one of {list(NAMES)}, got {name!r}{hint(name, NAMES)}")
    return made(f"actuator[{name!r}]", NAMES[name], numbers)


def scheme_for(integrator: str | Integrator, effector: Effector) -> Integrator:
    """The scheme that steps a body with this effector; ValueError unless it supports that."""
    record = get(integrator)
    if effector.needs not in record.supports:
        able = [name for name in names() if effector.needs in get(name).supports]
        raise ValueError(
            f"integrator must support {effector.needs!r} for the {type(effector).__name__} of the "
            f"actuator, got {record.name!r}, which supports {record.supports}; it works with {able}"
        )
    return replace(record, scheme=FreeScale()) if effector.needs == "scale" else record


def at_rest(effector: Effector, batch: Batch) -> None:
    """Give every body what it has beside its attitude before its first episode."""
    batch.put_rows(layout.BEYOND, np.tile(effector.resting(), (batch.size, 1)))
    if effector.needs == "scale":
        batch.put_rows(REFERENCE, np.array([body.moments for body in batch.bodies]))


def state_beyond(effector: Effector, batch: Batch) -> dict[str, Array]:
    """What moves beside the attitude of every body now."""
    return effector.state(batch.rows(layout.BEYOND, 6), batch.rows(REFERENCE, 3))


def refuse_unused(effector: Effector, torque_limit: Any, randomization: Any) -> None:
    """ValueError for arguments that such an effector has no use for."""
    kind = type(effector).__name__
    if torque_limit is not None and not effector.uses_limits:
        raise ValueError(
            f"torque_limit must be left out with {kind}, which has its own, got {torque_limit!r}"
        )
    if "torque" in (randomization or {}) and not effector.uses_limits:
        raise ValueError(f"randomization must have actuator_scale, not torque, with {kind}")
