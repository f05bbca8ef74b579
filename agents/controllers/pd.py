"""Proportional-derivative control of an axis, an attitude, a pose, or the rates alone."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.actuators import damping_rate
from rbgym.agents.controllers.base import (
    BodyLaw,
    Law,
    Plant,
    Seen,
    fresh,
    nearer,
    plant_of,
    target_turning,
    weight_torque,
)
from rbgym.arguments import finite
from rbgym.envs.parts.goals import Axis
from rbgym.potentials import HeavyTop, SoftWall, checked
from rbgym.quaternion import Array, from_rotation_vector, multiply, rotate_inverse


def for_env(env: Any, **gains: float) -> Law:
    """The law that fits the goal of an env, single or vector."""
    plant = plant_of(env)
    if plant.has_forces:
        return PosePD.for_env(plant, **gains)
    if plant.axis is not None:
        return AxisPD.for_env(plant, **gains)
    if plant.target:
        return AttitudePD.for_env(plant, **gains)
    if plant.rest:
        return RateDamping.for_env(plant, **gains)
    raise ValueError(f"env must have a goal for which there is a PD law, got {plant.goal!r}")


@dataclass(eq=False)
class AxisPD(BodyLaw):
    """Holds the z axis of a body, such as a heavy top, at an angle from the vertical.

    With e the axis, o the upward vertical and d the nearest direction at the desired angle, all in
    body axes, the shortest rotation from e to d is the quaternion with the vector part
    q_v = e x d / sqrt(2 (1 + e . d)). The torque is Wie's law with that error, minus the torque of
    the weight, plus a feedforward for the goal's motion omega_d = p o + s e:

        u = J (2 n^2 q_v - 2 z n g_t - g_s / T + p o x omega) + omega x J omega + m g l e x o

    with g = omega - omega_d, g_t and g_s its parts across and along the axis, J the inertia tensor.
    A small tilt obeys x'' + 2 z n x' + n^2 x = 0, and the error of the spin decays as exp(-t / T).
    Torque beyond the limits is cut; the part across the axis comes first and keeps its direction.

    Above a soft wall, dV/dz takes the place of mgl.

    The body rotates under a held torque, so the law uses attitude and rates half a period ahead.

    goal: the desired motion. Gains: frequency n [rad/s], by default 10, at most 0.2 in a period,
    and 1 above a wall; damping z; spin_time T [s], by default 1 over that frequency.

    Source: Wie, Weiss & Arapostathis (1989), Quaternion feedback regulator for spacecraft
    eigenaxis rotations, J. Guidance 12(3), control law (7) with gains proportional to J.
    """

    potential: Any
    torque_limit: ArrayLike
    _: KW_ONLY
    goal: Axis = Axis()  # noqa: RUF009  (a tuple)
    frequency: float | None = None
    damping: float = 1.0
    spin_time: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.potential = checked(self.potential)
        usual = 1.0 if isinstance(self.potential, SoftWall) else self.sampled(10.0, 0.2)
        self.frequency = usual if self.frequency is None else self.frequency
        self.refuse_gains("frequency", "damping")
        self.spin_time = 1.0 / self.frequency if self.spin_time is None else self.spin_time
        self.refuse_gains("spin_time")
        heavy = isinstance(self.potential, HeavyTop | SoftWall)
        self.axis = np.asarray(self.potential.axis if heavy else (0.0, 0.0, 1.0))
        self.stiffness = 2 * self.frequency**2 * self.inertia
        along = np.outer(self.axis, self.axis)
        rates = 2 * self.damping * self.frequency * (np.eye(3) - along) + along / self.spin_time
        self.drag = self.inertia @ rates

    def torque(self, q: Array, omega: Array, wanted: Array | None = None) -> Array:
        goal, then = self.goal, multiply(q, from_rotation_vector(0.5 * self.dt * omega))
        now, up = (rotate_inverse(one, np.array([0.0, 0.0, 1.0])) for one in (q, then))
        omega = omega + goal.precession * (up - now)  # as the goal's rates change until then
        across = self.axis - (up @ self.axis)[:, None] * up
        across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
        direction = goal.cos_nutation * up + goal.sin_nutation * across
        lever = np.cross(self.axis, direction)
        error = lever / np.sqrt(2 * np.maximum(1 + direction @ self.axis, 1e-9))[:, None]
        gap = omega - goal.precession * up - goal.spin * self.axis
        weight = weight_torque(self.potential, up)
        forward = goal.precession * np.cross(up, omega) @ self.inertia
        gyroscopic = self.gyroscopic_torque(omega)
        u = error @ self.stiffness - gap @ self.drag.T + forward + gyroscopic - weight
        spin = (u @ self.axis)[:, None] * self.axis
        return np.asarray(np.clip(self.limited(u - spin) + spin, -self.limits, self.limits))


@dataclass(eq=False)
class AttitudePD(BodyLaw):
    """Brings the whole attitude to a target, which may move.

    With v the vector part of the error quaternion with positive scalar part, omega_t the target's
    angular velocity in body axes, a its angular acceleration and g = omega - omega_t,

        u = J (-2 n^2 v - 2 z n g + omega_t x omega + a) + omega x J omega.

    A small error obeys x'' + 2 z n x' + n^2 x = 0. A torque beyond the limits keeps its direction.
    Gains: frequency n [rad/s], damping z. By default n = 2.4 sqrt(b), at most 0.45 in a control
    period, with b the smallest of the largest angular accelerations about the body axes; and
    z = 0.85, which overshoots by 0.6 % of the turn: near it large slews settle soonest, for any
    body. moving: whether the target moves, which needs a higher default: 6.1 sqrt(b), at most 0.3
    in a control period. Then v is shortened to (z / n) sqrt(2 c |v|), c the largest acceleration
    about it, if it is longer, so that half of the torque brakes in time. The law computes a from
    the target's rates now and a period ago, in the target's axes (n, 3), which are the memory. At
    the start of an episode, and without `moving`, it assumes a = 0, and errs by x = a / n^2.

    Source: Wie, Weiss & Arapostathis (1989), as for `AxisPD`; it takes the nearer of q and -q.
    """

    torque_limit: ArrayLike
    _: KW_ONLY
    frequency: float | None = None
    damping: float = 0.85
    moving: bool = False
    # Frequency over `agility`, of a target at rest and of one that moves.
    swift: ClassVar[float] = 2.4
    following: ClassVar[float] = 6.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frequency is None:
            n, most = (self.following, 0.3) if self.moving else (self.swift, 0.45)
            self.frequency = self.sampled(n * self.agility(), most)
        self.refuse_gains("frequency", "damping")
        self.stiffness, self.drag = 2 * self.frequency**2, 2 * self.damping * self.frequency

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        if plant.coils is None:
            return {}
        return {"frequency": 2.0 * plant.coils.around.rate, "damping": 1.7}

    def feedback(self, seen: Seen, state: Any, episode_start: Any) -> tuple[Array, Any]:
        if not self.moving:
            return self.torque(*seen), None
        begins = fresh(len(seen[0]), state, episode_start)
        a, rate = target_turning(seen[0], seen[2], state, begins, self.dt)
        return self.torque(*seen, a), rate

    def torque(self, q: Array, omega: Array, wanted: Array, a: Array | float = 0.0) -> Array:
        """As in `Law`; a: the target's angular acceleration (n, 3) [rad/s^2], body axes."""
        turn = self.turning(nearer(q), omega, wanted, a)
        return self.limited(turn + self.gyroscopic_torque(omega))

    def turning(self, v: Array, omega: Array, wanted: Array, a: Array | float) -> Array:
        """J times the commanded angular acceleration (n, 3) [N m]; v, a (n, 3): see the class."""
        turn = -self.stiffness * self.eased(v) - self.drag * (omega - wanted)
        return np.asarray((turn + np.cross(wanted, omega) + a) @ self.inertia)

    def eased(self, v: Array) -> Array:
        """v (n, 3), so short that the law brakes in time; see the class."""
        if not self.moving:
            return v
        size = np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
        b = np.minimum(self.acceleration(v / size), 1e9)[:, None]
        return np.asarray(v * np.minimum(1.0, self.drag / self.stiffness * np.sqrt(2.0 * b / size)))


@dataclass(eq=False)
class PosePD(AttitudePD):
    """Docks: `AttitudePD` for the attitude, and a desired velocity for each distance.

    With p and v the position and velocity relative to the dock, in body axes, and r = |p|,

        F = m 2 z k (v_d - v),   v_d = -(p / r) min(k r / (2 z), c(r)),

    so near the dock p'' + 2 z k p' + k^2 p = 0. Up to the distance `near` [m] c is the speed
    `creep` [m/s]; beyond it, the speed from which half the force brakes to `creep` on the way to
    `near`. If the target moves, m times the acceleration of the dock is added; dock (3,): its place
    in the target's frame [m]. A force beyond the limit keeps its direction.

    Gains: n, z of the attitude (frequency, damping), by default n = 1.35 sqrt(a), with a as b in
    `AttitudePD`, since the flight takes longer than the turn; k (approach) [1/s], by default
    4 sqrt(b / d), with b the acceleration [m/s^2] of the force and d = 1 m, the order of the
    flight's length; creep, by default sqrt(b near), from which half the force stops at the dock, at
    most 0.1.

    Source: ours, but for the attitude, see `AttitudePD`.
    """

    force_limit: float
    _: KW_ONLY
    distance: float
    speed: float
    approach: float | None = None
    near: float = 0.35
    creep: float | None = None
    dock: ArrayLike = (0.0, 0.0, 0.0)
    swift: ClassVar[float] = 1.35
    following: ClassVar[float] = 1.35

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("force_limit", "near")
        acceleration = self.force_limit / self.body.mass
        if self.approach is None:
            self.approach = self.sampled(4.0 * math.sqrt(acceleration))
        if self.creep is None:
            self.creep = min(0.1, math.sqrt(acceleration * self.near))
        self.refuse_gains("distance", "speed", "approach", "creep")
        self.pace = self.approach / (2 * self.damping)
        self.pull = 2 * self.damping * self.approach
        self.creep_squared = self.creep**2
        self.arm = finite("dock", self.dock, (3,))
        self.least = 16 if self.moving else 13

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        reads = "angular_velocity", "position", "velocity", "target_angular_velocity"
        if not plant.shows(*reads[: 4 if plant.moves else 3]):
            raise ValueError(
                f"env must show the quaternion and {reads}, the last of a target that moves, for "
                f"docking, got {[*plant.columns]}"
            )
        return super().arguments(plant)

    def force(self, position: Array, velocity: Array, swing: Array | float = 0.0) -> Array:
        """Force (n, 3) [N, body] within the limit. position, velocity: relative to the dock; swing:
        the dock's acceleration; each (n, 3) [m, m/s, m/s^2, body]."""
        r = np.linalg.norm(position, axis=-1, keepdims=True)
        braking = 0.5 * self.force_limit / self.body.mass * np.maximum(r - self.near, 0.0)
        cap = np.sqrt(self.creep_squared + 2.0 * braking)
        wanted = -position / np.maximum(r, 1e-9) * np.minimum(self.pace * r, cap)
        F = self.body.mass * (self.pull * (wanted - velocity) + swing)
        excess = np.max(np.abs(F), axis=-1, keepdims=True) / self.force_limit
        return F / np.maximum(excess, 1.0)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, 6), forces and torques, for observations (n, 13), or (n, 16) if moving."""
        q, rates = rows[:, :4], rows[:, 4:7] * self.rate_limit
        wanted = a = swing = np.zeros_like(rates)
        if self.moving:
            wanted = rows[:, 13:16] * self.rate_limit
            begins = fresh(len(rows), state, episode_start)
            a, state = target_turning(q, wanted, state, begins, self.dt)
            arm = rotate_inverse(q, self.arm)
            swing = np.cross(wanted, np.cross(wanted, arm)) + np.cross(a, arm)
        turn = self.in_limits(self.torque(q, rates, wanted, a))
        push = self.force(rows[:, 7:10] * self.distance, rows[:, 10:13] * self.speed, swing)
        return np.concatenate([push / self.force_limit, turn], axis=1), state


@dataclass(eq=False)
class RateDamping(BodyLaw):
    """Removes angular momentum, u = -J omega / T; a torque beyond the limits keeps its direction.

    Without a gyroscopic term the torque opposes the body momentum J omega exactly, so the momentum
    falls as fast as the limits allow. Gain: time T [s], by default two control periods, with coils
    1 / (2 w (1 + sin i)), see `MagneticRate`.

    Source: Athans, Falb & Lacoss (1963), Time-, fuel-, and energy-optimal control of nonlinear
    norm-invariant systems, IEEE Trans. Automatic Control 8(3), for full torque against the
    momentum.
    """

    torque_limit: ArrayLike
    _: KW_ONLY
    time: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time is None:
            self.time = 2.0 * self.dt if self.dt else 1.0
        self.refuse_gains("time")
        self.drag = -self.inertia / self.time

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        return {} if plant.coils is None else {"time": 1.0 / damping_rate(plant.coils)}

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        return self.limited(omega @ self.drag)
