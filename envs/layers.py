"""Layers of arguments, from which the numbers of an env come; each overrides those below it.

The lowest layer is the declaration of the task; then come the satellite, the difficulty, and on top
the arguments of `gym.make`. An argument whose value is a dict is merged with the layers below key
by key, an actuator part by part (see `rbgym.envs.actuators.merge`); a key with the value None is
removed. An argument that is None changes nothing.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from rbgym.arguments import is_number
from rbgym.body import RigidBody
from rbgym.compiled.record import Record
from rbgym.envs import actuators
from rbgym.envs.actuators.effector import Element, Usual
from rbgym.envs.orbit import Orbit
from rbgym.envs.satellites import Satellite

Path = tuple[str, ...]
TASK, SATELLITE, DIFFICULTY, ARGUMENT = "task", "satellite", "difficulty", "argument"
OF_BODY = ("inertia", "mass", "center_of_mass")
# Fields of coils that repeat those of the orbit.
_OF_ORBIT = {"orbit", *(one.name for one in fields(Orbit))}
_BY_KEY = ("disturbance", "randomization", "faults", "constraints", "termination")
_TLE = "tle"  # a key that defines a whole orbit
_WHOLE = {"reward", "satellite"}  # replaced as a whole: merged weights would mean neither reward
# Bases of the classes whose objects `rebuilt` makes again.
_BASES = Record, Element, RigidBody, Satellite, Orbit


@dataclass
class Layers:
    """Arguments merged layer by layer; sources: the layer that set each (name,) or (name, key)."""

    arguments: dict[str, Any] = field(default_factory=dict)
    sources: dict[Path, str] = field(default_factory=dict)

    def add(self, source: str, layer: Mapping[str, Any]) -> None:
        for name, value in layer.items():
            if value is None:
                continue
            # A function is added to the disturbances of a dict.
            above = {"torque": value} if name == "disturbance" and callable(value) else value
            below = self.arguments.get(name)
            self.arguments[name] = merged(name, below, above)
            if name == "actuator":
                self._note_parts(source, below or (), actuators.merge(None, above))
            elif isinstance(above, Mapping) and name not in _WHOLE and _TLE not in above:
                for key, one in above.items():
                    if name == "sensor" and isinstance(one, Mapping):
                        self.sources.setdefault((name, str(key)), source)
                        self.note(source, ((name, str(key), str(number)) for number in one))
                    else:
                        self.note(source, [(name, str(key))])
            else:
                self.note(source, [(name,)])

    def _note_parts(self, source: str, below: Iterable[Any], above: Iterable[Any]) -> None:
        """Record a layer as the source of an actuator's parts, without what it takes from below."""
        lower = {type(one): one for one in actuators.split_combined(below)}
        for one in actuators.split_combined(above):
            own, path = lower.get(type(one)), ("actuator", type(one).__name__)
            if one is own:
                continue
            kept: dict[Path, str] = {
                (*path, key): self.source(*path, key)
                for key, number in vars(one).items()
                if own and (source == DIFFICULTY or isinstance(number, Usual))
                if vars(own)[key] == number
            }
            self.note(source, [path])
            self.sources |= kept

    def note(self, source: str, paths: Iterable[Path]) -> None:
        """Record a layer as the source of these paths and of all paths below them."""
        for path in paths:
            for known in [one for one in self.sources if one[: len(path)] == path]:
                del self.sources[known]
            self.sources[path] = source

    def source(self, *path: str) -> str:
        """The layer that set this path or one above it; else the task."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.sources:
                return self.sources[path[:end]]
        return TASK

    def last(self, name: str) -> str:
        """The highest layer that set any part of this argument; else the task."""
        found = {source for path, source in self.sources.items() if path[0] == name}
        return next((one for one in (ARGUMENT, DIFFICULTY, SATELLITE) if one in found), TASK)


def merged(name: str, below: Any, above: Any) -> Any:
    """The argument of this name with a value above that of the layers below."""
    if name == "actuator":
        return actuators.merge(below, above)
    if name == "body" and isinstance(below, RigidBody) and isinstance(above, Mapping):
        below = {name: getattr(below, name) for name in OF_BODY}
    if name == "initial" and isinstance(below, Mapping) and isinstance(above, Mapping):
        below = _without_conflicts(below, above)
    if name in _WHOLE or not isinstance(above, Mapping) or _TLE in above:
        return above
    if name == "sensor" and not isinstance(below, Mapping | None):
        raise ValueError(f"sensor must be an object too, in place of {below!r}, got {above!r}")
    found = {**below, **above} if isinstance(below, Mapping) else dict(above)
    if name == "sensor":  # number by number of each instrument
        lower = below if isinstance(below, Mapping) else {}
        found |= {key: merged(key, lower.get(key), one) for key, one in above.items()}
    return {key: value for key, value in found.items() if value is not None}


def _without_conflicts(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """A preset's bounds of a start, without those that contradict the given ones."""
    rest = dict(preset)
    for name, value in given.items():
        if not isinstance(name, str) or not is_number(value):
            continue
        high, low = name.removeprefix("least_"), f"least_{name}"
        if high != name and value > rest.get(high, value):
            del rest[high]
        if value < rest.get(low, value):
            del rest[low]
    return rest


def resolved(task: Any, episodes: Any, layers: Layers) -> dict[str, Any]:
    """The tree of parts, by the names of the arguments of `gym.make`; a leaf is {"value": plain
    data, "source": name of the layer that set it}."""
    setup, batch, arguments = episodes.setup, episodes.batch, layers.arguments
    parts, body, actuator = setup.parts, batch.bodies[0], setup.actuator
    elements = actuators.split_combined((actuator.effector, *actuator.stages))
    limit = int(setup.limit) if math.isfinite(setup.limit) else None

    def leaf(value: Any, *path: str) -> dict[str, Any]:
        return {"value": plain(value), "source": layers.source(*path)}

    def each(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: leaf(value, name, key) for key, value in values.items()}

    def part(name: str, record: Record, paths: Mapping[str, Path]) -> dict[str, Any]:
        """The fields of a part; arguments may have other names. paths: those of fields, if any."""
        known = {key: layers.source(name, *path) for key, path in paths.items()}
        last = layers.last(name)
        return {
            key: {"value": value, "source": known.get(key, last)}
            for key, value in plain(record).items()
        }

    outer = [name for name in ("difficulty", "satellite") if name in arguments]
    tree: dict[str, Any] = {name: leaf(arguments[name], name) for name in outer}
    tree |= {
        "body": each("body", {name: getattr(body, name) for name in OF_BODY}),
        "mgl": leaf(getattr(batch.potential, "mgl", 0.0), "mgl"),
        "dt": leaf(setup.dt, "dt"),
        "substeps": leaf(setup.substeps, "substeps"),
        "max_episode_steps": leaf(limit, "max_episode_steps"),
        "integrator": leaf(batch.integrator.name, "integrator"),
        "projection": leaf(batch.projection, "projection"),
        "rate_limit": leaf(task.rate_limit, "rate_limit"),
        "torque_limit": leaf(actuator.limits / setup.strength, "torque_limit"),
        "torque_scale": leaf(setup.strength, "torque_scale"),
        "actuator": {
            type(one).__name__: {
                key: leaf(value, "actuator", type(one).__name__, key)
                for key, value in vars(one).items()
                if key not in _OF_ORBIT
            }
            for one in elements
        },
        "initial": each("initial", parts.start._asdict()),
        "success": each(
            "success",
            {name: getattr(task, name) for name in ("angle", "rate", "momentum", "docked")}
            | {"seconds": task.settled_steps * setup.dt},
        ),
        "observation": leaf(arguments.get("observation", "quaternion"), "observation"),
        "info": leaf(setup.info, "info"),
        "reference": part("reference", parts.reference, {}),
        "sensor": part("sensor", parts.sensor, parts.sensor.paths),
        "reward": part("reward", parts.reward, {}),
    }
    for name in _BY_KEY:
        value = arguments.get(name)
        tree[name] = each(name, value) if isinstance(value, Mapping) else leaf(value, name)
    if setup.orbit is not None:
        orbit = asdict(setup.orbit)
        if setup.orbit.date is not None:  # which the field's year follows
            del orbit["year"]
        tree["orbit"] = each("orbit", orbit)
        for coils in (one for one in elements if hasattr(one, "orbit")):
            brought = layers.source("actuator", type(coils).__name__)
            for one in tree["orbit"].values():
                one["source"] = brought if one["source"] == TASK else one["source"]
    return tree


def leaves(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of the tree, each with its name, as body.mass."""
    for name, node in tree.items():
        if {*node} == {"value", "source"}:
            yield before + name, node
        else:
            yield from leaves(node, f"{before}{name}.")


def plain(value: Any, other: Callable[[Any], Any] | None = None) -> Any:
    """The value as numbers, strings, lists and dicts; infinity as None. Other objects become what
    `other` makes of them, by default their names."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, Record):
        return {"kind": type(value).__name__, **plain(value._asdict(), other)}
    if is_dataclass(value) and not isinstance(value, type):
        given = {one.name: getattr(value, one.name) for one in fields(value) if one.init}
        for name, one in [*given.items()]:
            if isinstance(one, Usual) and one == getattr(type(value), name):
                del given[name]  # so that `rebuilt` makes it a default again
        return {"kind": type(value).__name__, **plain(given, other)}
    if isinstance(value, Mapping):
        return {str(name): plain(one, other) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, other) for one in value]
    return other(value) if other else getattr(value, "__qualname__", type(value).__qualname__)


def rebuilt(value: Any) -> Any:
    """Arguments of `gym.make` from what `plain` made of them, tuples in place of lists; ValueError
    for an object whose class rbgym does not have."""
    if isinstance(value, list):
        return tuple(map(rebuilt, value))
    if not isinstance(value, Mapping):
        return value
    found = {name: rebuilt(one) for name, one in value.items()}
    kind = found.pop("kind", None)
    if kind is None:
        return found
    cls = next((one for one in _descendants(_BASES) if one.__name__ == kind), None)
    if cls is None:
        raise ValueError(f"an object of the class {kind} cannot be made from its plain data")
    return cls(**{name: one for name, one in found.items() if one is not None})


def _descendants(classes: Iterable[type]) -> Iterator[type]:
    """The classes, and all that inherit from them."""
    for one in classes:
        yield one
        yield from _descendants(one.__subclasses__())
