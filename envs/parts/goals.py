"""Goals: how far attitude and angular velocity are from the goal; and how targets move."""

import math
from typing import Any, NamedTuple, Self

import numpy as np

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, required
from rbgym.envs.random import on_sphere
from rbgym.envs.rows import Key, Part
from rbgym.quaternion import (
    Array,
    Quaternion,
    Vector,
    add,
    cos_sin,
    cross,
    dot,
    qconj,
    qmul,
    rotate,
    scale,
    sub,
    to_body,
    to_world,
    upward,
)
from rbgym.rows import LANES, put_quaternion, put_vector, quaternion, vector

_WORLD, _NOWHERE = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
# Chebyshev polynomial of arcsin(sqrt z) / sqrt z for z in [0, 1/2]; error at most 1e-11.
_ARCSINE = (
    0.20080490883347873, -0.3800978569568271, 0.3718252429044575, -0.18557060941638176,
    0.08190381809097139, 0.002128237218721364, 0.024579737152414304, 0.030181533475688627,
    0.044653488653867826, 0.07499971094054032, 0.16666666972322858, 0.999999999994685,
)  # fmt: skip


class Gap(NamedTuple):
    """How far a body is from its goal.

    square: (2 sin(angle / 2))^2 of the attitude error. rate_square: square of the rate error
    [rad^2/s^2]. wanted: the angular velocity of the goal, body axes. shown: the attitude for the
    observation: relative to the target if there is one, else body to world.
    """

    square: float
    rate_square: float
    wanted: Vector
    shown: Quaternion


@inlined
def angle_of(square):
    """The angle [rad] from the square of 2 sin(angle / 2)."""
    y = min(0.25 * square, 1.0)
    z = min(y, 1.0 - y)
    value = 0.0
    for coefficient in _ARCSINE:
        value = value * z + coefficient
    value *= 2.0 * math.sqrt(z)
    return value if y < 0.5 else math.pi - value


class Goal(Part):
    """What a body has to reach.

    has_target: whether there is a target attitude. attitude_shown: frames of the attitude in the
    observation. angle_off: the attitude error in words, for the task's page; "" for any attitude.
    """

    attitude_shown = "body to world"
    angle_off = "the angle that the attitude is off"
    has_target = constant(False)

    @required
    def compare(self, rows, buffer, i, q, omega):
        """The `Gap` of the lane."""

    def target(self, rows, buffer, i):
        """The target's attitude, target frame to world; the identity without a target."""
        return _WORLD

    def put_target(self, rows, buffer, i, q):
        """Set the target's attitude, if there is one."""

    def put_target_rate(self, rows, buffer, i, rate):
        """Set the target's angular velocity, target frame [rad/s]."""

    def put_spin(self, rows, buffer, i, spin):
        """Set the commanded spin [rad/s], for a goal that has one."""

    def dock(self):
        """The dock, a point in the target's frame [m]; by default the world's origin."""
        return _NOWHERE

    def from_dock(self, rows, buffer, i, p, v):
        """Position and velocity [m, m/s] relative to the dock, world axes."""
        return p, v

    def simplest(self) -> "Goal":
        """The same goal, as a class that computes less if there is one."""
        return self

    def state_keys(self) -> dict[str, Key]:
        """Its rows that belong to the state and that a reset can set, by name."""
        return {}

    def complete_state(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state given to a reset, with defaults for entries of the goal that it lacks."""
        return state

    def reaches(self, axis: Array, direction: Array, half: float) -> bool:
        """Whether the body axis lies within `half` [rad] of the direction at the goal."""
        return False

    def least_speed(self) -> float:
        """Lower bound of the angular velocity [rad/s] at the goal."""
        return 0.0


class Axis(Goal):
    """The body z axis at a nutation angle from the upward vertical, in steady rotation.

    The goal's rates are precession about the vertical and spin about the axis. All zero: upright
    and at rest.
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
        if abs(axis[2]) < 1.0 - 1e-9:  # what counts as a unit vector
            return False
        nutation = self.nutation() if axis[2] > 0 else math.pi - self.nutation()
        # Precession leads the axis all around the vertical.
        return bool(abs(math.acos(np.clip(direction[2], -1, 1)) - nutation) <= half)

    def least_speed(self) -> float:
        across = self.precession * self.sin_nutation
        return math.hypot(across, self.precession * self.cos_nutation + self.spin)

    def simplest(self) -> Goal:
        return Upright(*self) if type(self) is Axis and self == Axis() else self

    def nutation(self) -> float:
        """[rad]."""
        return math.atan2(self.sin_nutation, self.cos_nutation)

    def sketch(self, instant):
        angle = self.nutation()
        if angle == self.precession == self.spin == 0:
            yield instant.ghost()
        yield instant.ring(angle or instant.task.angle)
        if angle == 0:
            yield instant.upright()
        if self.spin != 0 and instant.env.potential.is_free():
            yield from instant.polhode()


class Upright(Axis):
    """Upright and at rest."""

    def compare(self, rows, buffer, i, q, omega):
        off = max(2.0 * (1.0 - upward(q)[2]), 0.0)
        return Gap(off, dot(omega, omega), _NOWHERE, q)


class Target(Goal):
    """The attitude and angular velocity of a target, about all three axes."""

    has_target = constant(True)
    attitude_shown = "body to target"
    angle_off = "the angle of the rotation from target to body"

    def rows_needed(self, physics):
        return 7  # attitude, target frame to world, and angular velocity, target frame [rad/s]

    def compare(self, rows, buffer, i, q, omega):
        relative = qmul(qconj(quaternion(buffer, i, rows.goal_row())), q)
        x, y, z = relative[1], relative[2], relative[3]
        wanted = to_body(relative, vector(buffer, i, rows.goal_row() + 4))
        gap = sub(omega, wanted)
        return Gap(4.0 * (x * x + y * y + z * z), dot(gap, gap), wanted, relative)

    def target(self, rows, buffer, i):
        return quaternion(buffer, i, rows.goal_row())

    def put_target(self, rows, buffer, i, q):
        put_quaternion(buffer, i, rows.goal_row(), q)

    def put_target_rate(self, rows, buffer, i, rate):
        put_vector(buffer, i, rows.goal_row() + 4, rate)

    def reaches(self, axis: Array, direction: Array, half: float) -> bool:
        return float(axis @ direction) >= math.cos(half)

    def sketch(self, instant):
        yield instant.ghost(instant.state["target_quaternion"])


class Port(Target):
    """A target that turns about the world's origin, with a dock at `arm` [m] in its frame."""

    arm: Vector

    def dock(self):
        return self.arm

    def from_dock(self, rows, buffer, i, p, v):
        target, rate = self.target(rows, buffer, i), vector(buffer, i, rows.goal_row() + 4)
        return sub(p, to_world(target, self.arm)), sub(v, to_world(target, cross(rate, self.arm)))

    def sketch(self, instant):
        q = instant.state["target_quaternion"]
        yield instant.ghost(q, rotate(q, np.array(self.arm)))


class Rest(Goal):
    """No angular velocity, at any attitude."""

    angle_off = ""

    def compare(self, rows, buffer, i, q, omega):
        return Gap(0.0, dot(omega, omega), (0.0, 0.0, 0.0), q)

    def sketch(self, instant):
        if math.isfinite(instant.task.rate):
            yield f"goal: below {instant.task.rate:.3g} rad/s"


class TowardsSun(Goal):
    """At rest, the body's z axis towards the Sun, in light or shadow; any angle about that axis."""

    angle_off = "the angle of the body's z axis from the direction of the Sun"
    faces_sun = constant(True)

    def compare(self, rows, buffer, i, q, omega):
        to_sun = rows.physics.potential.sunwards(rows.physics, buffer, i)
        off = max(2.0 * (1.0 - to_body(q, to_sun)[2]), 0.0)
        return Gap(off, dot(omega, omega), _NOWHERE, q)

    def sketch(self, instant):
        season, node = float(instant.state["season"]), float(instant.state["node"])
        yield instant.upright(instant.env.potential.sun_at(season, node))


class Spin(Goal):
    """An angular velocity about the body z axis, at any attitude and nutation."""

    angle_off = ""

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

    def complete_state(self, state: dict[str, Any]) -> dict[str, Any]:
        # By default the goal is the spin that the body has.
        omega = np.asarray(state["angular_velocity"], dtype=float)
        return {"target_spin": omega[..., 2], **state}

    def sketch(self, instant):
        body, wanted = instant.body, float(instant.state["target_spin"])
        now = float(instant.state["angular_velocity"][2])
        yield f"spin {now:.2f} of {wanted:.2f} rad/s"
        # The size at which the body would have the commanded spin.
        if wanted * now > 0:
            size = body.scale * math.sqrt(now / wanted)
            yield instant.ghost(body.quaternion, body.position, size)


# Rows of `Wandering`: frequencies [rad/s] and phases [turns] of the angles about z, y and x; the
# target's attitude at the start.
_FREQUENCY, _PHASE, _START = 0, 3, 6


class Reference(Part):
    """How a target moves. This base class leaves it at rest."""

    moves = constant(False)

    def start_attitude(self, rows, buffer, i, q):
        """The target's attitude at the start; q: the one that was drawn for it."""
        return q

    def draw_motion(self, rows, buffer, i, a, b):
        """Draw the motion of the lane's target from eight uniform numbers; its attitude is set."""
        rows.parts.goal.put_target_rate(rows, buffer, i, (0.0, 0.0, 0.0))

    def follow(self, rows, buffer, i):
        """Move the lane's target to the present time."""

    def ahead(self, rows, buffer, i, seconds):
        """The target's attitude some seconds from now."""
        return rows.parts.goal.target(rows, buffer, i)


class Nadir(Reference):
    """The target's z axis points to the Earth and its x axis along the orbital motion, see
    rbgym.envs.orbit. It ignores an attitude that is drawn or given for the target."""

    moves = constant(True)
    is_on_orbit = constant(True)

    def start_attitude(self, rows, buffer, i, q):
        return self.ahead(rows, buffer, i, 0.0)

    def draw_motion(self, rows, buffer, i, a, b):
        """Draw nothing: the orbit determines the motion."""

    def follow(self, rows, buffer, i):
        physics, goal = rows.physics, rows.parts.goal
        q, rate = physics.potential.nadir_frame(physics, buffer, i, 0.0)
        last = goal.target(rows, buffer, i)
        # Choose the sign of q that is continuous.
        sign = -1.0 if q[0] * last[0] + dot(q[1:], last[1:]) < 0.0 else 1.0
        goal.put_target(rows, buffer, i, (sign * q[0], sign * q[1], sign * q[2], sign * q[3]))
        goal.put_target_rate(rows, buffer, i, rate)

    def ahead(self, rows, buffer, i, seconds):
        q, _ = rows.physics.potential.nadir_frame(rows.physics, buffer, i, seconds)
        return q


def nadir(dt: float) -> Nadir:
    """The motion of a target that points to the Earth; dt plays no part."""
    return Nadir()


class Sunward(Reference):
    """The target's z axis points to the Sun, by the shortest rotation from the world's z axis. It
    ignores an attitude that is drawn or given for the target."""

    is_on_orbit = constant(True)
    faces_sun = constant(True)

    def start_attitude(self, rows, buffer, i, q):
        x, y, z = rows.physics.potential.sunwards(rows.physics, buffer, i)
        size = 1.0 / math.sqrt(2.0 + 2.0 * z)  # z > -1: the Sun is never above the South Pole
        return size * (1.0 + z), -size * y, size * x, 0.0

    def follow(self, rows, buffer, i):
        goal = rows.parts.goal
        goal.put_target(rows, buffer, i, self.start_attitude(rows, buffer, i, _WORLD))
        goal.put_target_rate(rows, buffer, i, _NOWHERE)


def sunward(dt: float) -> Sunward:
    """The motion of a target that points to the Sun; dt plays no part."""
    return Sunward()


class Clocked(Reference):
    """The target's motion is a function of the time since the episode's start. A subclass has the
    control period `dt` [s] as a field."""

    moves = constant(True)

    @required
    def at_time(self, rows, buffer, i, t):
        """Attitude (target frame to world) and angular velocity (target frame) at time t [s]."""

    def follow(self: Any, rows, buffer, i):
        q, rate = self.at_time(rows, buffer, i, self.dt * rows.elapsed(buffer, i))
        rows.parts.goal.put_target(rows, buffer, i, q)
        rows.parts.goal.put_target_rate(rows, buffer, i, rate)

    def ahead(self: Any, rows, buffer, i, seconds):
        q, _ = self.at_time(rows, buffer, i, self.dt * rows.elapsed(buffer, i) + seconds)
        return q


class Wandering(Clocked):
    """The target turns smoothly: R(t) = R(0) R_z(a) R_y(b) R_x(c), each angle a swing
    amplitude (sin(w t + p) - sin p) of its own frequency w and phase p.

    dt: control period [s]; amplitude [rad]; slow, fast: range of the frequencies [rad/s].
    """

    dt: float
    amplitude: float
    slow: float
    fast: float

    def largest_rate(self) -> float:
        """Bound of the target's angular velocity [rad/s]."""
        # The z and x axes can coincide, and their rates then add.
        return math.sqrt(5.0) * self.amplitude * self.fast

    def rows_needed(self, physics):
        return 10

    def draw_motion(self, rows, buffer, i, a, b):
        k, span = i + rows.reference_row() * LANES, self.fast - self.slow
        for n in range(3):
            buffer[k + (_FREQUENCY + n) * LANES] = self.slow + span * a[n]
            buffer[k + (_PHASE + n) * LANES] = b[n]
        put_quaternion(buffer, k, _START, rows.parts.goal.target(rows, buffer, i))

    def at_time(self, rows, buffer, i, t):
        k = i + rows.reference_row() * LANES
        cos, sin, a_rate = _swing(self, buffer, k, 0, t)
        about_z = (cos, 0.0, 0.0, sin)
        cos, sin, b_rate = _swing(self, buffer, k, 1, t)
        about_y = (cos, 0.0, sin, 0.0)
        cos, sin, c_rate = _swing(self, buffer, k, 2, t)
        about_x = (cos, sin, 0.0, 0.0)
        q = qmul(quaternion(buffer, k, _START), qmul(about_z, qmul(about_y, about_x)))
        rate = add(to_body(about_y, (0.0, 0.0, a_rate)), (0.0, b_rate, 0.0))
        return q, add(to_body(about_x, rate), (c_rate, 0.0, 0.0))


class Tumbling(Clocked):
    """The target tumbles freely, as a body of revolution about its z axis.

    Its angular momentum is constant in the world. With w the rates at the start and p = (w_x, w_y,
    ratio w_z), the momentum over J_1,

        R(t) = R(0) exp(p t) R_z((1 - ratio) w_z t).

    dt: control period [s]. ratio: J_3 / J_1. The rates at the start have a uniform direction and a
    size uniform in [least, rate] rad/s.

    Source: Goldstein, Classical Mechanics, sec. 5.6.
    """

    dt: float
    ratio: float
    least: float
    rate: float

    def rows_needed(self, physics):
        return 7  # attitude and rates at the start

    def draw_motion(self, rows, buffer, i, a, b):
        size = self.least + (self.rate - self.least) * a[2]
        put_vector(buffer, i, rows.reference_row() + 4, scale(size, on_sphere(a[0], a[1])))
        put_quaternion(buffer, i, rows.reference_row(), rows.parts.goal.target(rows, buffer, i))

    def at_time(self, rows, buffer, i, t):
        x, y, z = vector(buffer, i, rows.reference_row() + 4)
        precession, spin = (x, y, self.ratio * z), (0.0, 0.0, (1.0 - self.ratio) * z)
        about_axis = _rotation(spin, t)
        q = qmul(quaternion(buffer, i, rows.reference_row()), _rotation(precession, t))
        return qmul(q, about_axis), add(to_body(about_axis, precession), spin)


@inlined
def _rotation(rate, t):
    """The quaternion of a rotation at a constant rate [rad/s] for the time t [s]."""
    speed = math.sqrt(dot(rate, rate))
    turns = 0.5 * speed * t / math.tau
    cos, sin = cos_sin(math.tau * (turns - math.floor(turns + 0.5)))
    x, y, z = scale(sin / max(speed, 1e-300), rate)
    return (cos, x, y, z)


@inlined
def _swing(reference, buffer, k, n, t):
    """Cosine and sine of half of angle n, and the rate of that angle."""
    frequency, phase = buffer[k + (_FREQUENCY + n) * LANES], buffer[k + (_PHASE + n) * LANES]
    turns = frequency * t / math.tau + phase
    _, from_sin = cos_sin(math.tau * (phase - math.floor(phase + 0.5)))
    cos, sin = cos_sin(math.tau * (turns - math.floor(turns + 0.5)))
    size = reference.amplitude
    half = cos_sin(0.5 * (size * (sin - from_sin)))
    return half[0], half[1], size * frequency * cos
