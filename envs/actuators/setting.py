"""What an actuator is put into, and what every effector tells of itself."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rbgym.arguments import number
from rbgym.body import RigidBody
from rbgym.quaternion import Array


@dataclass(frozen=True)
class Setting:
    """What an actuator is put into. dt, h: control period and step [s]; horizon: periods of an
    episode; limits: torque of a full command [N m]; scale: `torque_scale`; rate: limit of the
    body's rates [rad/s]."""

    body: RigidBody
    dt: float
    h: float
    horizon: float
    limits: Array
    scale: float
    rate: float


def numbers(owner: Any, *names: str, zero: bool = False) -> None:
    """Refuse what is no positive finite number, or with `zero` no number from 0 up."""
    for name in names:
        value = getattr(owner, name)
        found = number(value)
        if not (0 < found < math.inf or (zero and found == 0)):
            allowed = "a finite number from 0 up" if zero else "a positive finite number"
            raise ValueError(f"{type(owner).__name__}.{name} must be {allowed}, got {value!r}")


class Key(NamedTuple):
    """Rows of something: the first and how many, where it starts if nothing is said, and the least
    and the most that a start may be given."""

    first: int
    width: int
    rest: float
    low: float
    high: float


@dataclass(frozen=True)
class Effector:
    """What all effectors tell.

    keys: what the BEYOND rows are.
    """

    keys: ClassVar[dict[str, Key]] = {}
    uses_limits: ClassVar[bool] = False
    needs: ClassVar[str] = "torque"

    def part(self, setting: Setting) -> Any:
        """The kernel's part."""
        raise NotImplementedError

    def shown(self, setting: Setting) -> Array:
        """Bounds of the rows that it shows, (2, k)."""
        return np.zeros((2, 0))

    def largest(self, setting: Setting) -> Array:
        """Largest torque about each body axis [N m], (3,)."""
        raise NotImplementedError

    def limits(self, setting: Setting) -> Array:
        """Torque [N m] that it can have about each body axis alone, (3,)."""
        return self.largest(setting)

    def state(self, rows: Array, reference: Array) -> dict[str, Array]:
        """What moves beside the attitude, of the BEYOND rows (n, 6) and the REFERENCE rows (n, 3)
        of a body that scales."""
        return {
            name: rows[:, key.first] if key.width == 1 else rows[:, key.first :][:, : key.width]
            for name, key in self.state_keys().items()
        }

    def resting(self) -> Array:
        """The BEYOND rows of a body of which nothing is said, (6,)."""
        rows = np.zeros(6)
        for key in self.state_keys().values():
            rows[key.first : key.first + key.width] = key.rest
        return rows

    def state_keys(self) -> dict[str, Key]:
        """The keys of this one."""
        return self.keys

    def completed(self, state: dict[str, Any]) -> dict[str, Any]:
        """A start that is given, with what follows from the rest of it."""
        return state
