"""What a task asks for: how far attitude and angular velocity are from it."""

import abc
import math
from typing import Any, NamedTuple, Self

import numpy as np

from rbgym.engine.rows import LANES, put_quaternion, quaternion
from rbgym.envs.actuators.effector import Key
from rbgym.envs.parts import Part
from rbgym.quaternion import (
    Array,
    Quaternion,
    Vector,
    add,
    dot,
    qconj,
    qmul,
    scale,
    sub,
    to_body,
    upward,
)

_WORLD = (1.0, 0.0, 0.0, 0.0)


class Gap(NamedTuple):
    """How far a body is from its goal.

    square: that of 2 sin(angle / 2), the angle that the attitude is off. rate_square: that of the
    angular velocity that is off [rad^2/s^2]. wanted: the angular velocity wanted, body axes. shown:
    the attitude that is shown: relative to the target where there is one, else in the world.
    """

    square: float
    rate_square: float
    wanted: Vector
    shown: Quaternion


class Goal(Part):
    """What a task asks for.

    For the task's page, attitude_shown: of what to what; angle_off: what the angle a is, "" where
    any attitude will do; rate_off: the formula of what is off in the rates.
    """

    attitude_shown = "body to world"
    angle_off = "the angle that the attitude is off"
    rate_off = "|omega - omega_d|"

    @abc.abstractmethod
    def compare(self, rows, buffer, i, q, omega):
        """The `Gap` of the lane."""

    def has_target(self):
        """Whether there is a target attitude; known while compiling."""
        return False

    def target(self, rows, buffer, i):
        """The target's attitude, target frame to world; without one, that of the world."""
        return _WORLD

    def put_target(self, rows, buffer, i, q):
        """Take a target's attitude, if there is one."""

    def put_spin(self, rows, buffer, i, spin):
        """Take a spin to be wanted [rad/s], if one is asked for."""

    # --- outside the kernel ---

    def state_keys(self) -> dict[str, Key]:
        """What of its rows is a part of the state, as numbers that a reset can set."""
        return {}

    def completed(self, state: dict[str, Any]) -> dict[str, Any]:
        """A state that a reset is given, with what follows from the rest of it."""
        return state

    def reaches(self, axis: Array, direction: Array, half: float) -> bool:
        """Whether the body axis lies within `half` [rad] of the direction at the goal."""
        return False

    # How it is drawn, of one lane's state.

    def pose(self, state: dict[str, Any]) -> tuple[Any, float] | None:
        """Attitude to be reached, and size as a factor of the present one; None if there is none."""
        return None

    def wanted_tilt(self) -> float | None:
        """Angle [rad] of the body's z axis from the vertical, if one is asked for."""
        return None

    def note(self, state: dict[str, Any], rate: float) -> str:
        """A line for the caption; rate: of the success region [rad/s]."""
        return ""


class Axis(Goal):
    """The body z axis at a nutation angle from the upward vertical, turning steadily.

    The rates asked for are precession about the vertical and spin about the axis. Upright and at
    rest: nutation 0, both rates 0.
    """

    cos_nutation: float = 1.0
    sin_nutation: float = 0.0
    precession: float = 0.0
    spin: float = 0.0
    angle_off = "the angle of the body's z axis from where it is to be"

    @classmethod
    def at(cls, nutation: float, precession: float, spin: float) -> Self:
        """nutation [rad]; precession, spin [rad/s]."""
        return cls(math.cos(nutation), math.sin(nutation), precession, spin)

    def compare(self, rows, buffer, i, q, omega):
        o = upward(q)
        across = math.sqrt(max(1.0 - o[2] * o[2], 0.0))
        square = 2.0 * (1.0 - (self.cos_nutation * o[2] + self.sin_nutation * across))
        wanted = add(scale(self.precession, o), (0.0, 0.0, self.spin))
        gap = sub(omega, wanted)
        return Gap(max(square, 0.0), dot(gap, gap), wanted, q)

    def reaches(self, axis: Array, direction: Array, half: float) -> bool:
        if abs(axis[2]) != 1.0:
            return False
        nutation = self.wanted_tilt() if axis[2] > 0 else math.pi - self.wanted_tilt()
        # Precession leads the axis all around the vertical.
        return bool(abs(math.acos(np.clip(direction[2], -1, 1)) - nutation) <= half)

    def pose(self, state: dict[str, Any]) -> tuple[Any, float] | None:
        return (_WORLD, 1.0) if self == Axis() else None

    def wanted_tilt(self) -> float:
        return math.atan2(self.sin_nutation, self.cos_nutation)


class Target(Goal):
    """The target's attitude and angular velocity, all three axes of them."""

    attitude_shown = "body to target"
    angle_off = "the angle of the rotation from target to body"

    def rows_needed(self, physics):
        return 4

    def compare(self, rows, buffer, i, q, omega):
        relative = qmul(qconj(self.target(rows, buffer, i)), q)
        x, y, z = relative[1], relative[2], relative[3]
        wanted = to_body(relative, rows.parts.reference.target_rate(rows, buffer, i))
        gap = sub(omega, wanted)
        return Gap(4.0 * (x * x + y * y + z * z), dot(gap, gap), wanted, relative)

    def has_target(self):
        return True

    def target(self, rows, buffer, i):
        return quaternion(buffer, i, rows.goal_row())

    def put_target(self, rows, buffer, i, q):
        put_quaternion(buffer, i, rows.goal_row(), q)

    def reaches(self, axis: Array, direction: Array, half: float) -> bool:
        return float(axis @ direction) >= math.cos(half)

    def pose(self, state: dict[str, Any]) -> tuple[Any, float] | None:
        return state["target_quaternion"], 1.0


class Rest(Goal):
    """No angular velocity, at whatever attitude."""

    angle_off = ""

    def compare(self, rows, buffer, i, q, omega):
        return Gap(0.0, dot(omega, omega), (0.0, 0.0, 0.0), q)

    def note(self, state: dict[str, Any], rate: float) -> str:
        return f"goal: below {rate:g} rad/s" if math.isfinite(rate) else ""


class Spin(Goal):
    """An angular velocity about the body z axis, at whatever attitude and nutation."""

    angle_off = ""
    rate_off = "|omega_z - omega_d|"

    def rows_needed(self, physics):
        return 1

    def compare(self, rows, buffer, i, q, omega):
        wanted = buffer[i + rows.goal_row() * LANES]
        gap = omega[2] - wanted
        return Gap(0.0, gap * gap, (0.0, 0.0, wanted), q)

    def put_spin(self, rows, buffer, i, spin):
        buffer[i + rows.goal_row() * LANES] = spin

    def state_keys(self) -> dict[str, Key]:
        return {"target_spin": Key(0, 1, 0.0, -1e4, 1e4)}

    def completed(self, state: dict[str, Any]) -> dict[str, Any]:
        # Unless another is asked for, the spin that it has.
        omega = np.asarray(state["angular_velocity"], dtype=float)
        if omega.shape[-1:] != (3,) or not np.isfinite(omega).all():
            return state  # and refused for that
        return {"target_spin": omega[..., 2], **state}

    def pose(self, state: dict[str, Any]) -> tuple[Any, float] | None:
        # The size at which the momentum about the axis makes the spin that is asked for.
        wanted, spin = float(state["target_spin"]), float(state["angular_velocity"][2])
        return (state["quaternion"], math.sqrt(spin / wanted)) if wanted * spin > 0 else None

    def note(self, state: dict[str, Any], rate: float) -> str:
        return f"spin {state['angular_velocity'][2]:.2f} of {float(state['target_spin']):.2f} rad/s"
