"""A torque about each body axis, alone or with a force along each, for six degrees of freedom.

The centre of mass obeys p'' = R F / m (Mandre 2008, section 5), F the force in body axes. Like a
held torque, F acts in the body axes at the middle of the step, R_m being the mean attitude:

    v_1 = v_0 + h R_m F / m,   p_1 = p_0 + h (v_0 + v_1)/2,

so the impulse of a step is h R_m F to the last bit, and the kinetic energy changes by exactly the
work R_m F . (p_1 - p_0).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rbgym.compiled.record import constant
from rbgym.engine.actuation import act
from rbgym.envs.actuators.driven import Driven, Torquing
from rbgym.envs.actuators.effector import Effector, Setting
from rbgym.envs.parts.columns import BODY, Column
from rbgym.envs.rows import Key
from rbgym.quaternion import Array, add, dot, rotate, scale, times, to_world
from rbgym.rows import FAILED, LANES, Physics, put_quaternion, put_vector, quaternion, vector, view

# Rows, counted from the first of the state.
POSITION, VELOCITY = 0, 3  # 3 each: of the centre of mass, world axes [m, m/s]
_MASS = 6  # the episode's mass [kg]
_BEFORE = 7  # 4: attitude at the start of the step


@dataclass(frozen=True)
class Torque(Effector):
    """A torque about each body axis, cut at its limit."""

    uses_limits: ClassVar[bool] = True
    is_steady: ClassVar[bool] = True

    def record(self, setting: Setting, line: Any) -> "Torques":
        return Torques(line)

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        return (Column("torque", 3, unit="N m", frame=BODY, scale=limits),)

    def fitted(self, satellite: Any) -> Effector | None:
        return self

    def largest(self, setting: Setting) -> Array:
        return setting.limits


class Torques(Torquing):
    """The torque of a full command times the commands."""

    line: Any
    has_limits = constant(True)

    def torque_of(self, physics, buffer, i, c, h):
        full = vector(buffer, i, physics.actuator.own_row(physics))
        return self.mounted(physics, buffer, i, times(full, c))


@dataclass(frozen=True)
class Forces(Effector):
    """A force along and a torque about each body axis; commands: forces, then torques.

    force: of a full command [N]. `torque_limit` is the torque of a full command.
    """

    force: float = 1.0
    positive: ClassVar = ("force",)
    uses_limits: ClassVar[bool] = True
    is_tied: ClassVar[bool] = True
    needs: ClassVar[str] = "translation"
    keys: ClassVar[Mapping[str, Key]] = {
        "position": Key(POSITION, 3, 0.0, -1e6, 1e6),
        "velocity": Key(VELOCITY, 3, 0.0, -1e4, 1e4),
    }

    def record(self, setting: Setting, line: Any) -> "BodyForces":
        return BodyForces(line, setting.scale * self.force, setting.body.mass)

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        force = Column("force", 3, unit="N", frame=BODY, scale=strength * self.force)
        return (force, *Torque().commands(limits, strength))

    def fitted(self, satellite: Any) -> Effector | None:
        return None if satellite.force is None else replace(self, force=satellite.force)

    def largest(self, setting: Setting) -> Array:
        return setting.limits

    def places(self, physics: Physics) -> dict[str, tuple[int, int]]:
        return {"applied_force": (physics.actuator.applied_row(physics) + 3, 3)}

    def sketch(self, instant: Any) -> Iterable[Any]:
        place, state = instant.body.position, instant.state
        force = instant.info["applied_force"] * (instant.time > 0)
        yield instant.vector("force", force, "N", self.force * instant.env.torque_scale)
        target, arm = state["target_quaternion"], np.array(instant.task.goal.dock())
        dock = rotate(target, arm)
        drift = rotate(target, np.cross(state["target_angular_velocity"], arm))
        away, speed = (float(np.linalg.norm(v)) for v in (place - dock, state["velocity"] - drift))
        yield f"{away:.2f} m from the dock at {speed:.2f} m/s"
        # View from a direction in which the station does not hide the dock.
        x, y, z = rotate(target, np.array([1.0, 0.0, 0.0])).tolist()
        seen_from = math.atan2(y, x) + math.radians(65.0), math.radians(20.0 if z > -0.3 else -20.0)
        yield instant.framing(0.5 * (place + dock), 0.5 * away + 2.5 * instant.reach, seen_from)


class BodyForces(Driven):
    """force: of a full command along each body axis [N]; mass [kg]."""

    line: Any
    force: float
    mass: float
    channels = constant(6)
    has_limits = constant(True)
    effector_rows = constant(_BEFORE + 4)
    acting_rows = constant(6)

    def exert(self, physics, buffer, i, c, h):
        row = self.state_row(physics)
        q, _ = view(physics, buffer, i)
        put_quaternion(buffer, i, row + _BEFORE, q)
        full = vector(buffer, i, self.own_row(physics))
        torque = self.mounted(physics, buffer, i, times(full, (c[3], c[4], c[5])))
        force = self.mounted(physics, buffer, i, scale(self.force, (c[0], c[1], c[2])))
        put_vector(buffer, i, self.acting_row(physics), torque)
        put_vector(buffer, i, self.acting_row(physics) + 3, force)
        act(physics, buffer, i, torque)

    def book(self, physics, buffer, i, h):
        row = self.state_row(physics)
        q_0, (q_1, _) = quaternion(buffer, i, row + _BEFORE), view(physics, buffer, i)
        w, x, y, z = q_0[0] + q_1[0], q_0[1] + q_1[1], q_0[2] + q_1[2], q_0[3] + q_1[3]
        size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
        half_way = (size * w, size * x, size * y, size * z)
        taken = 0.0 if buffer[i + FAILED * LANES] > 0.0 else h
        force = to_world(half_way, vector(buffer, i, self.acting_row(physics) + 3))
        v_0 = vector(buffer, i, row + VELOCITY)
        pushed = scale(taken / buffer[i + (row + _MASS) * LANES], force)
        v_1 = add(v_0, pushed)
        p = add(vector(buffer, i, row + POSITION), scale(0.5 * taken, add(v_0, v_1)))
        put_vector(buffer, i, row + VELOCITY, v_1)
        put_vector(buffer, i, row + POSITION, p)

    def more_energy(self, physics, buffer, i):
        row = self.state_row(physics)
        v = vector(buffer, i, row + VELOCITY)
        return 0.5 * buffer[i + (row + _MASS) * LANES] * dot(v, v)

    def ready(self, physics, buffer, i, placed, mass, u):
        buffer[i + (self.state_row(physics) + _MASS) * LANES] = mass * self.mass
