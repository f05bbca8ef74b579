"""Base classes of the elements that users compose an actuator from."""

import math
from collections.abc import Iterable, Mapping
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
from rbgym.integrators import Integrator, supporting
from rbgym.quaternion import Array
from rbgym.rows import Physics


@dataclass(frozen=True)
class Setting:
    """The env that an actuator is built for. dt, h: control period and step [s]; horizon: periods
    of an episode; limits: torque of a full command [N m]; scale: `torque_scale`; rate: limit of the
    body's rates [rad/s]; spread: randomisation of the actuator, if any; disturbed: whether a
    disturbance torque acts; faults: faults that may occur; orbit: the `rbgym.envs.orbit.Orbit`, if
    the env has one of its own."""

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


class Usual(float):
    """A default, in place of which a satellite's part takes the number of the task."""


@dataclass(frozen=True)
class Element:
    """An element of an actuator. positive, not_negative: names of numbers that it checks so.
    uses_limits: whether `torque_limit` sets its strength."""

    uses_limits: ClassVar[bool] = False
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
    """Turns commands into torque.

    needs: the feature that the scheme must support. is_tied: whether only tasks made for it can use
    it. is_steady: whether it can give its `limits` at any time, for a turn from rest to rest. keys:
    its state, which moves in addition to the attitude.
    """

    needs: ClassVar[str] = "torque"
    is_tied: ClassVar[bool] = False
    is_steady: ClassVar[bool] = False
    keys: ClassVar[Mapping[str, Key]] = {}

    @required
    def record(self, setting: Setting, line: Any) -> Any:
        """Its record for compiled code, a `rbgym.envs.actuators.driven.Driven` with this line."""

    @required
    def largest(self, setting: Setting) -> Any:
        """Largest torque about each body axis [N m], (3,)."""

    def limits(self, setting: Setting) -> Any:
        """Torque [N m] that it can give about each body axis alone, (3,)."""
        return self.largest(setting)

    def columns(self) -> tuple[Column, ...]:
        """Its columns at the end of an observation; by default numbers in [-1, 1]."""
        return ()

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        """The columns of an action, scaled by a full command; by default numbers in [-1, 1].
        limits: torque of a full command [N m]; strength: `Setting.scale`."""
        return ()

    @property
    def main(self) -> "Effector":
        """The effector that turns the body."""
        return self

    @property
    def rotors(self) -> Any:
        """Its `ReactionWheels`, if it has any."""
        return None

    @property
    def sheds(self) -> "Effector | None":
        """The effector that unloads its wheels, if it has both."""
        return None

    def fitted(self, satellite: Any) -> "Effector | None":
        """This effector with a `rbgym.envs.satellites.Satellite`'s numbers; None if it has none."""
        return None

    @property
    def around(self) -> Any:
        """The `rbgym.envs.orbit.Orbit` that it needs, if any."""
        return None

    def on(self, orbit: Any) -> Any:
        """This effector on another orbit."""
        return self

    def scheme(self, integrator: str | Integrator) -> Integrator:
        """The scheme for a body with this effector; ValueError if it does not support it."""
        return supporting(self.needs, f"the {self.kind} of the actuator", integrator)

    @property
    def kind(self) -> str:
        """Its name in error messages."""
        return type(self).__name__

    def refuse_unused(self, torque_limit: Any, randomization: Any) -> None:
        """ValueError for arguments that do not apply to this effector."""
        kind = self.kind
        if torque_limit is not None and not self.uses_limits:
            raise ValueError(
                f"torque_limit must be left out with {kind}, which has its own, "
                f"got {torque_limit!r}"
            )
        if "torque" in (randomization or {}) and not self.uses_limits:
            raise ValueError(f"randomization must have actuator_scale, not torque, with {kind}")

    def state_keys(self) -> Mapping[str, Key]:
        """Its state, by name."""
        return self.keys

    def places(self, physics: Physics) -> dict[str, tuple[int, int]]:
        """First row and width of further entries of `info`, or of its state if not in its rows."""
        return {}

    def rest(self, batch: Batch) -> None:
        """Set the state of every body before its first episode, if it is not zero."""

    def sketch(self, instant: Any) -> Iterable[Any]:
        """Shapes and lines of the caption that it adds to a picture, see `rbgym.envs.rows.Part`."""
        return ()
