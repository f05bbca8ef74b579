"""Where the numbers of an env come from: layers, each of which changes what it names.

The lowest is the task as it is declared; then what a satellite brings, what a difficulty stands
for, and on top the arguments of `gym.make`. An argument whose value is a dict is joined with the
layers below key by key, an actuator part by part (see `rbgym.envs.actuators.joined`); a key whose
value is None is taken away. An argument that is None says nothing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rbgym.body import RigidBody
from rbgym.envs import actuators
from rbgym.envs.arguments import ARGUMENTS

Path = tuple[str, ...]
TASK, SATELLITE, DIFFICULTY, ARGUMENT = "task", "satellite", "difficulty", "argument"
OF_BODY = ("inertia", "mass", "center_of_mass")
# A sum of weights is said whole: one that joined another's would be neither's.
_WHOLE = {"reward", "success"}


@dataclass
class Layers:
    """Arguments joined layer by layer.

    arguments: what came of it. sources: the name of the layer that has said an argument, (name,),
    or a key of it, (name, key).
    """

    arguments: dict[str, Any] = field(default_factory=dict)
    sources: dict[Path, str] = field(default_factory=dict)

    def add(self, source: str, layer: Mapping[str, Any]) -> None:
        """Put a layer on top."""
        for name, value in layer.items():
            if value is None:
                continue
            below = self.arguments.get(name)
            self.arguments[name] = joined = _joined(name, below, value)
            if name == "actuator":
                named = actuators.halved(actuators.joined(None, value))
                self.note(source, ((name, type(one).__name__) for one in named))
            elif isinstance(value, Mapping) and isinstance(below, Mapping) and joined is not value:
                self.note(source, ((name, str(key)) for key in value))
            else:
                self.note(source, [(name,)])

    def note(self, source: str, paths: Iterable[Path]) -> None:
        """Say that these come from a layer, and all that is in them."""
        for path in paths:
            for known in [one for one in self.sources if one[: len(path)] == path]:
                del self.sources[known]
            self.sources[path] = source

    def source(self, *path: str) -> str:
        """The layer which has said this, or something that it is in; else the task."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.sources:
                return self.sources[path[:end]]
        return TASK

    def last(self, name: str) -> str:
        """The highest layer which has said anything of this argument; else the task."""
        said = {source for path, source in self.sources.items() if path[0] == name}
        return next((one for one in (ARGUMENT, DIFFICULTY, SATELLITE) if one in said), TASK)

    def unsaid(self, message: str, given: Mapping[str, Any]) -> str | None:
        """The argument with which a message begins, if nobody has given it."""
        name = next((one for one in ARGUMENTS if re.match(rf"{one}\b", message)), None)
        return None if name in given else name


def _joined(name: str, below: Any, above: Any) -> Any:
    if name == "actuator":
        return actuators.joined(below, above)
    if name == "disturbance":  # so that a callable stands beside the others
        below, above = _by_kind(below), _by_kind(above)
    if name == "body" and isinstance(below, RigidBody) and isinstance(above, Mapping):
        below = {name: getattr(below, name) for name in OF_BODY}
    if name == "initial" and isinstance(below, Mapping) and isinstance(above, Mapping):
        below = _within(below, above)
    if name in _WHOLE or not isinstance(above, Mapping):
        return above
    found = {**below, **above} if isinstance(below, Mapping) else dict(above)
    return {key: value for key, value in found.items() if value is not None}


def _by_kind(disturbance: Any) -> Any:
    """A callable as the torque of a dict."""
    return {"torque": disturbance} if callable(disturbance) else disturbance


def _within(preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What a preset says of a start, but for bounds that contradict what is given."""
    rest = dict(preset)
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, int | float):
            continue
        high, low = name.removeprefix("least_"), f"least_{name}"
        if high != name and value > rest.get(high, value):
            del rest[high]
        if value < rest.get(low, value):
            del rest[low]
    return rest
