"""Reaction wheels combined with coils or thrusters, which unload the wheels. The torque T of these
is external: the world momentum L changes by the impulse of T alone, and the energy by the work of
T, of the motors and of friction (rbgym.envs.actuators.wheels)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rbgym.envs.actuators.coils import MagneticCoils
from rbgym.envs.actuators.driven import Torquing
from rbgym.envs.actuators.effector import Effector, Setting
from rbgym.envs.actuators.forces import Torque
from rbgym.envs.actuators.wheels import ReactionWheels, Wheels, WheelsAndOther
from rbgym.envs.orbit import Orbit
from rbgym.envs.parts.columns import Column
from rbgym.envs.rows import Key
from rbgym.quaternion import Array


@dataclass(frozen=True)
class Combined(Effector):
    """Wheels with coils or thrusters. `torque_limit` is the torque of the thrusters.

    Commands and columns: the wheels come first. Its state is the wheels' state. A list or dict of
    both makes one: `actuator=[ReactionWheels(), MagneticCoils()]`.
    """

    wheels: ReactionWheels
    other: MagneticCoils | Torque
    needs: ClassVar[str] = "rotors"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.wheels, ReactionWheels):
            raise ValueError(f"Combined.wheels must be ReactionWheels, got {self.wheels!r}")
        if not isinstance(self.other, MagneticCoils | Torque):
            raise ValueError(f"Combined.other must be MagneticCoils or Torque, got {self.other!r}")

    @property
    def uses_limits(self) -> bool:  # type: ignore[override]
        return self.other.uses_limits

    def record(self, setting: Setting, line: Any) -> WheelsAndOther:
        wheels, other = (one.record(setting, line) for one in (self.wheels, self.other))
        if type(wheels) is not Wheels or not isinstance(other, Torquing):
            raise ValueError(
                "actuator must combine wheels with coils or torque, with records of rbgym, "
                f"got {type(wheels).__name__} and {type(other).__name__}"
            )
        return WheelsAndOther(*wheels._replace(other=other))

    def columns(self) -> tuple[Column, ...]:
        return (*self.wheels.columns(), *self.other.columns())

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        return (*self.wheels.commands(limits, strength), *self.other.commands(limits, strength))

    def largest(self, setting: Setting) -> Array:
        return self.wheels.largest(setting) + np.asarray(self.other.largest(setting))

    @property
    def kind(self) -> str:
        return f"{self.wheels.kind} and {self.other.kind}"

    @property
    def main(self) -> Effector:
        return self.other if self.uses_limits else self.wheels  # thrusters, else wheels

    @property
    def rotors(self) -> ReactionWheels:
        return self.wheels

    @property
    def sheds(self) -> Effector:
        return self.other

    def fitted(self, satellite: Any) -> Effector | None:
        if satellite.wheels is None or satellite.coils is None:
            return None
        return Combined(self.wheels.fitted(satellite), satellite.coils)

    def limits(self, setting: Setting) -> Array:
        return np.asarray(self.main.limits(setting))

    def state_keys(self) -> Mapping[str, Key]:
        return self.wheels.state_keys()

    @property
    def around(self) -> Orbit | None:
        return self.other.around

    def on(self, orbit: Orbit | Mapping[str, float]) -> "Combined":
        return replace(self, other=self.other.on(orbit))

    def sketch(self, instant: Any) -> Iterable[Any]:
        yield from self.wheels.sketch(instant)
        yield from self.other.sketch(instant)
