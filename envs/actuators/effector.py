"""What users compose an actuator of: an effector, and the line before it."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rbgym.arguments import number
from rbgym.body import RigidBody
from rbgym.compiled.record import required
from rbgym.engine.batch import Batch
from rbgym.envs.actuators.faults import Faults
from rbgym.envs.actuators.mounting import Differing
from rbgym.envs.parts.columns import Column
from rbgym.envs.rows import Key
from rbgym.integrators import Integrator, get, names
from rbgym.quaternion import Array
from rbgym.rows import Physics

Rows = Callable[[int, int], Array]  # so many rows of every body, from the given one on: (n, count)


@dataclass(frozen=True)
class Setting:
    """What an actuator is put into. dt, h: control period and step [s]; horizon: periods of an
    episode; limits: torque of a full command [N m]; scale: `torque_scale`; rate: limit of the
    body's rates [rad/s]; spread: how it differs from episode to episode, if it does; disturbed:
    whether a torque acts beside the commanded one; faults: what may fail; orbit: the
    `rbgym.envs.orbit.Orbit`, if the env has one of its own."""

    body: RigidBody
    dt: float
    h: float
    horizon: float
    limits: Array
    scale: float
    rate: float
    spread: Differing | None = None
    disturbed: bool = False
    faults: Faults | None = None
    orbit: Any = None


@dataclass(frozen=True)
class Element:
    """What a user names; positive, not_negative: which of its numbers are to be that."""

    positive: ClassVar[tuple[str, ...]] = ()
    not_negative: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in (*self.positive, *self.not_negative):
            value, zero = getattr(self, name), name in self.not_negative
            found = number(value)
            if not (0 < found < math.inf or (zero and found == 0)):
                allowed = "a finite number from 0 up" if zero else "a positive finite number"
                raise ValueError(f"{type(self).__name__}.{name} must be {allowed}, got {value!r}")


@dataclass(frozen=True)
class Effector(Element):
    """What makes torque of commands.

    needs: what the scheme must support. uses_limits: whether `torque_limit` is its own limit.
    is_tied: to the tasks that are made for it. is_steady: whether it can have its `limits` at any
    time, for a turn from rest to rest. keys: its state, what moves beside the attitude. reported:
    what `info` has of it besides.
    """

    needs: ClassVar[str] = "torque"
    uses_limits: ClassVar[bool] = False
    is_tied: ClassVar[bool] = False
    is_steady: ClassVar[bool] = False
    keys: ClassVar[Mapping[str, Key]] = {}
    reported: ClassVar[Mapping[str, Key]] = {}

    @required
    def record(self, setting: Setting, line: Any) -> Any:
        """The `rbgym.envs.actuators.driven.Driven` with this line, for compiled code."""

    @required
    def largest(self, setting: Setting) -> Any:
        """Largest torque about each body axis [N m], (3,)."""

    def limits(self, setting: Setting) -> Any:
        """Torque [N m] that it can have about each body axis alone, (3,)."""
        return self.largest(setting)

    def columns(self) -> tuple[Column, ...]:
        """What it shows at the end of an observation; by default numbers in [-1, 1]."""
        return ()

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        """What its commands are, the scale that of a full command; by default parts of one. limits:
        torque of a full command [N m], strength: factor of all others, as in a `Setting`."""
        return ()

    @property
    def main(self) -> "Effector":
        """What of it turns the body."""
        return self

    @property
    def rotors(self) -> Any:
        """Its `ReactionWheels`, if it has any."""
        return None

    @property
    def sheds(self) -> "Effector | None":
        """What takes the momentum of its wheels, if it has both."""
        return None

    def fitted(self, satellite: Any) -> "Effector | None":
        """The same with the numbers of a `rbgym.envs.satellites.Satellite`, if that has it."""
        return None

    @property
    def around(self) -> Any:
        """The `rbgym.envs.orbit.Orbit` that it needs, if it does."""
        return None

    def on(self, orbit: Any) -> Any:
        """The same on another orbit."""
        return self

    def scheme(self, integrator: str | Integrator) -> Integrator:
        """The scheme that steps a body with this effector; ValueError unless it supports that."""
        found = get(integrator)
        if self.needs not in found.supports:
            able = [name for name in names() if self.needs in get(name).supports]
            raise ValueError(
                f"integrator must support {self.needs!r} for the {self.kind} of the "
                f"actuator, got {found.name!r}, which supports {found.supports}; it works with "
                f"{able}"
            )
        return found

    @property
    def kind(self) -> str:
        """What errors call it."""
        return type(self).__name__

    def refuse_unused(self, torque_limit: Any, randomization: Any) -> None:
        """ValueError for arguments that such an effector has no use for."""
        kind = self.kind
        if torque_limit is not None and not self.uses_limits:
            raise ValueError(
                f"torque_limit must be left out with {kind}, which has its own, "
                f"got {torque_limit!r}"
            )
        if "torque" in (randomization or {}) and not self.uses_limits:
            raise ValueError(f"randomization must have actuator_scale, not torque, with {kind}")

    def state_keys(self) -> Mapping[str, Key]:
        """Names and rows of what moves beside the attitude."""
        return self.keys

    def places(self, physics: Physics) -> dict[str, tuple[int, int]]:
        """First row and width of what moves beside the attitude, and of what is reported."""
        first = physics.actuator.state_row(physics)
        keys = {**self.state_keys(), **self.reported}
        return {name: (first + key.first, key.width) for name, key in keys.items()}

    def state(self, physics: Physics, rows: Rows) -> dict[str, Array]:
        """What moves beside the attitude, (n,) or (n, width)."""
        places, found = self.places(physics), {}
        for name in self.state_keys():
            values = rows(*places[name])
            found[name] = values[:, 0] if values.shape[1] == 1 else values
        return found

    def rest(self, batch: Batch) -> None:
        """Give every body its state before its first episode, where that is not zero."""

    def sketch(self, instant: Any) -> Iterable[Any]:
        """What it adds to a picture: shapes, most of which an `Instant` of rbgym.envs.rendering
        makes, and lines of the caption."""
        return ()
