"""A torque about each body axis."""

from dataclasses import dataclass
from typing import Any, ClassVar

from rbgym.engine.actuation import act
from rbgym.engine.rows import put_vector, vector
from rbgym.envs.actuators.driven import Driven
from rbgym.envs.actuators.effector import Effector, Setting
from rbgym.envs.rows import constant
from rbgym.quaternion import Array, times


@dataclass(frozen=True)
class Torque(Effector):
    """A torque about each body axis; beyond the limit it is cut."""

    uses_limits: ClassVar[bool] = True

    def record(self, setting: Setting, line: Any) -> "Torques":
        return Torques(line)

    def largest(self, setting: Setting) -> Array:
        return setting.limits


class Torques(Driven):
    """The torque of a full command times the commands."""

    line: Any
    channels = constant(3)
    has_limits = constant(True)

    def exert(self, physics, buffer, i, c, h):
        torque = times(vector(buffer, i, self.own_row(physics)), (c[0], c[1], c[2]))
        torque = self.mounted(physics, buffer, i, torque)
        put_vector(buffer, i, self.acting_row(physics), torque)
        act(physics, buffer, i, torque)
