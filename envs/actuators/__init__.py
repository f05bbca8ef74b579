"""Actuators turn an action into torque. See docs/actuators.md.

A user gives names or objects, alone or composed: `actuator="pyramid"`, `actuator=Lag(0.05)`,
`actuator=[Delay(0.1), Lag(0.05), ReactionWheels()]`, or as plain data
`actuator={"delay": {"seconds": 0.1}, "wheels": {}}`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from rbgym.arguments import hint
from rbgym.compiled.record import missing_methods
from rbgym.engine.actuation import Direct, Disturbed, Undisturbed
from rbgym.envs.actuators.coils import MagneticCoils
from rbgym.envs.actuators.combined import Combined
from rbgym.envs.actuators.driven import Driven, Line, LineStage
from rbgym.envs.actuators.effector import Effector, Element, Setting
from rbgym.envs.actuators.faults import Faults
from rbgym.envs.actuators.flexible import FlexibleModes
from rbgym.envs.actuators.forces import Forces, Torque
from rbgym.envs.actuators.line import Delay, Lag, Thrusters
from rbgym.envs.actuators.scaling import Scaling
from rbgym.envs.actuators.wheels import ReactionWheels
from rbgym.envs.arguments import made
from rbgym.envs.parts.columns import Column, width
from rbgym.envs.random import Above, Uniform
from rbgym.envs.rows import Key
from rbgym.integrators import Integrator, supporting
from rbgym.quaternion import Array
from rbgym.rows import Physics

__all__ = [
    "Assembly", "Combined", "Delay", "Effector", "FlexibleModes", "Forces", "Lag", "MagneticCoils",
    "ReactionWheels", "Scaling", "Setting", "Thrusters", "Torque", "assemble",
]  # fmt: skip

NAMES: dict[str, Callable[..., Element]] = {
    "torque": Torque,
    "wheels": ReactionWheels,
    "pyramid": ReactionWheels.pyramid,
    "magnetorquers": MagneticCoils,
    "thrusters": Thrusters,
    "lag": Lag,
    "delay": Delay,
    "flexible": FlexibleModes,
    "slosh": FlexibleModes.slosh,
    "forces": Forces,
    "scaling": Scaling,
}


@dataclass(frozen=True)
class Assembly:
    """An effector and the command line before it, ready for an env. stages: the elements of the
    line, and flexible modes. record: for compiled code, see `rbgym.engine.actuation.Actuator`.
    columns: its columns at the end of an observation; commands: the columns of an action. largest:
    bound of the torque about each body axis [N m], (3,), whatever an episode draws; limits: the
    torque that it can give about each axis alone; faults: the faults that may occur."""

    effector: Effector
    stages: tuple[Element, ...]
    record: Direct | Driven
    columns: tuple[Column, ...]
    commands: tuple[Column, ...]
    largest: Array
    limits: Array
    faults: Faults | None

    @property
    def modes(self) -> FlexibleModes | None:
        """Its flexible modes, if it has any."""
        return next((one for one in self.stages if isinstance(one, FlexibleModes)), None)

    def state_keys(self) -> Mapping[str, Key]:
        """The state of effector and modes, counted from the actuator's first row of state."""
        keys, record = dict(self.effector.state_keys()), self.record
        if self.modes is not None and isinstance(record, Driven):
            for name, key in self.modes.keys().items():
                keys[name] = key._replace(first=record.effector_rows() + key.first)
        return keys

    def places(self, physics: Physics) -> dict[str, tuple[int, int]]:
        """First row and width of its state and of what it reports, by name."""
        first = physics.actuator.state_row(physics)
        own = {name: (first + key.first, key.width) for name, key in self.state_keys().items()}
        return {**own, **self.effector.places(physics)}

    def scheme(self, integrator: str | Integrator) -> Integrator:
        """The scheme for a body with this actuator; ValueError if it does not support it."""
        if self.modes is not None:
            supporting("rotors", "the flexible modes of the actuator", integrator)
        return self.effector.scheme(integrator)


def merge(below: Any, above: Any) -> list[Element]:
    """The elements of two actuators; an element above replaces one of its kind below.

    below, above: values of the argument `actuator`; in a dict above, None removes an element. The
    two halves of a `Combined` count separately. Raises ValueError for a value that is no actuator,
    and for two elements of a kind.
    """
    gone, given = [], above
    if isinstance(above, Mapping):
        gone = [name for name, one in above.items() if one is None]
        given = {name: one for name, one in above.items() if one is not None}
    named = dict[type, Element]()
    for one in _combine(_flatten(given)):
        kind = _kind(type(one))
        if kind in named:
            raise ValueError(f"actuator must have one {kind.__name__} at most, got {above!r}")
        named[kind] = one
    parts = {} if below is None else {_kind(type(one)): one for one in _flatten(below)}
    old, new = parts.get(Effector), named.get(Effector)
    halves = split_combined([old]) if old else []
    for cls in [_class_of(name) for name in gone]:
        if _kind(cls) is not Effector:
            parts.pop(cls, None)
            continue
        halves = [half for half in halves if not isinstance(half, cls)]
        if old and not halves and new is None:
            raise ValueError(f"actuator must keep an element that makes torque, got {above!r}")
    if isinstance(old, Combined):
        for kinds in ((ReactionWheels,), (MagneticCoils, Torque)):
            if isinstance(new, kinds):
                halves = [*(half for half in halves if not isinstance(half, kinds)), new]
        if new in halves or (new is None and len(halves) < 2):
            [named[Effector]] = _combine(halves)
    return [*{**parts, **named}.values()]


def split_combined(elements: Iterable[Element]) -> list[Element]:
    """The elements, with each `Combined` as its two halves."""
    return [half for one in elements for half in
            ((one.wheels, one.other) if isinstance(one, Combined) else (one,))]  # fmt: skip


def _kind(cls: type) -> type:
    """The kind of an element of this class; an actuator has at most one of each kind."""
    return Effector if issubclass(cls, Effector) else cls


def assemble(value: Any, default: Any, setting: Setting) -> Assembly:
    """The actuator of a value of the argument; without an effector it takes the default's.

    Raises ValueError for a value that is no actuator, two elements of a kind, numbers that do not
    fit the setting, and classes that lack a method.
    """
    elements = merge(None, default if value is None else value)
    found: dict[type, Any] = {_kind(type(one)): one for one in elements}
    own: Any = next((one for one in _flatten(default) if isinstance(one, Effector)), Torque())
    effector = found.pop(Effector, own)
    if Thrusters in found and isinstance(effector, ReactionWheels):
        effector = Combined(effector, Torque())  # wheels have no valves, so the torque is separate
    elif Thrusters in found and effector.around is not None:
        raise ValueError("actuator must not have thrusters with coils, which have no valves")
    if type(own) is not type(effector) and (own.is_tied or effector.is_tied):
        raise ValueError(
            f"actuator must have {type(own).__name__} as its effector in this task, "
            f"got {type(effector).__name__}"
        )
    modes = found.get(FlexibleModes)
    if modes and effector.is_tied:
        raise ValueError(
            f"actuator must not have flexible modes with {effector.kind}, which moves the body in "
            "another way than by torques"
        )
    if setting.orbit is not None:
        effector = effector.on(setting.orbit)
    spread, disturbance = setting.spread, Disturbed() if setting.disturbed else Undisturbed()
    if spread is not None and spread.delay != Uniform(1.0, 0.0) and Delay not in found:
        raise ValueError("randomization['delay'] must be left out without a Delay in the actuator")
    wheels, steady = effector.rotors, spread is None or spread.friction == Uniform(1.0, 0.0)
    if not steady and not (wheels and (wheels.viscous or wheels.coulomb)):
        raise ValueError("randomization['friction'] must be left out without wheels with friction")
    try:
        records = {kind: one.record(setting) for kind, one in found.items()}
    except ValueError as error:
        raise ValueError(f"actuator: {error}") from None
    if Thrusters in records and isinstance(effector, Combined):  # wheels have no valves
        records[Thrusters] = records[Thrusters]._replace(first=len(effector.wheels.matrix.T))
    kinds, absent = (Thrusters, Delay, Lag, FlexibleModes), LineStage()
    pulses, delay, lag, flexible = (records.get(kind, absent) for kind in kinds)
    faults = setting.faults or absent
    line = Line(pulses, delay, lag, spread or absent, disturbance, faults, flexible)
    is_direct = not (spread or found or setting.faults) and type(effector) is Torque
    record: Any = Direct(disturbance) if is_direct else effector.record(setting, line)
    if missing := missing_methods(type(record)):
        raise ValueError(
            f"actuator must have a {type(record).__name__} with the methods {', '.join(missing)}, "
            f"got {effector!r}"
        )
    rows = max((key.first + key.width for key in effector.state_keys().values()), default=0)
    if rows and type(record).state_row is Driven.state_row and rows > record.effector_rows():
        raise ValueError(
            f"effector_rows must be at least {rows}, as state_keys of {effector!r} say, "
            f"got {record.effector_rows()}"
        )
    largest = effector.largest(setting)
    if spread is not None:
        largest = largest * max(spread.scale.highest, spread.friction.highest)
        if spread.misalignment != Above(0.0, 0.0):
            largest = np.full(3, np.linalg.norm(largest))
    if modes:
        largest = largest + modes.largest(setting)
    limits = effector.limits(setting)
    columns = (*effector.columns(), *(modes.columns(setting.rate) if modes else ()))
    words = "responses of a lag and commands that have yet to act, see docs/actuators.md"
    columns = _fill(columns, record.shown_rows(), "actuator", words)
    commands = effector.commands(setting.limits, setting.scale)
    commands = _fill(commands, record.channels(), "command", "a part of the full one")
    stages = tuple(one for one in elements if not isinstance(one, Effector))
    return Assembly(effector, stages, record, columns, commands, largest, limits, setting.faults)


def _fill(columns: tuple[Column, ...], count: int, name: str, words: str) -> tuple[Column, ...]:
    """The columns, filled up to `count` by one more `Column` of this name."""
    rest = count - width(columns)
    if rest < 0:
        raise ValueError(f"actuator must have at most {count} columns, got {columns!r}")
    return (*columns, Column(name, rest, words=words)) if rest else columns


def _combine(elements: list[Element]) -> list[Element]:
    """The elements; wheels with coils or a torque become one `Combined`, modes become one."""
    modes = [one for one in elements if isinstance(one, FlexibleModes)]
    if len(modes) > 1:
        rest = [one for one in elements if not isinstance(one, FlexibleModes)]
        return _combine([*rest, reduce(FlexibleModes.with_others, modes)])
    wheels = [one for one in elements if isinstance(one, ReactionWheels)]
    others = [one for one in elements if isinstance(one, MagneticCoils | Torque)]
    if len(wheels) != 1 or len(others) != 1:
        return elements
    rest = [one for one in elements if one not in (*wheels, *others)]
    return [Combined(wheels[0], others[0]), *rest]


def _flatten(value: Any) -> list[Element]:
    """The elements of a value of the argument, as a flat list of objects."""
    if isinstance(value, str):
        value = {value: {}}
    if isinstance(value, Mapping):
        return [_made(name, given) for name, given in value.items()]
    if isinstance(value, list | tuple):
        return [one for part in value for one in _flatten(part)]
    if isinstance(value, Element):
        return [value]
    raise ValueError(
        f"actuator must be one of {list(NAMES)}, a dict or list of them, or objects of "
        f"rbgym.envs.actuators, got {value!r}"
    )


def _made(name: Any, given: Any) -> Element:
    """The element of this name, given as itself or as a dict of its arguments."""
    if isinstance(given, _class_of(name)):
        return given
    return made(f"actuator[{name!r}]", NAMES[name], given)


def _class_of(name: Any) -> type[Element]:
    """The class of the element of this name, whose maker is the class or a method of it."""
    if name not in NAMES:
        raise ValueError(f"actuator must be one of {list(NAMES)}, got {name!r}{hint(name, NAMES)}")
    maker: Any = NAMES[name]
    found: type[Element] = getattr(maker, "__self__", maker)
    return found
