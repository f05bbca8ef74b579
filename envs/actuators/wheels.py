"""Reaction wheels: rotors with motors, friction and limits, mounted in the body.

Wheel n turns about the body axis a_n. h_n is its total angular momentum about that axis: with the
speed s_n relative to the body and the inertia I about the axis, h_n = I (s_n + a_n . omega). J, the
inertia of the body, includes everything except these I. Then

    h_n' = u_n + f_n,   L = R (J omega + sum a_n h_n),   f_n = -(c + v |s_n|) sign(s_n),

with u_n the torque of the motor on the wheel, v and c the viscous and the Coulomb friction. The
world momentum L is constant. The energy, omega.J omega/2 + sum h_n^2/(2 I), changes by the work of
motors and friction, (u_n + f_n) s_n dt.

In a step of length h the rate of h_n is constant. It is chosen so that the speed ends at the exact
solution for held u_n and omega: with x = v h / I,

    s_1 = s_0 exp(-x) + (u_n - c sign(s_0)) (h/I) (1 - exp(-x))/x,

for a step of any length. If s passes zero, Coulomb friction changes sign on the way: the wheel then
reaches only (u_n + c sign(s_0))/(u_n - c sign(s_0)) of this s_1, and stops if |u_n| < c. Here u_n
is reduced by I a_n . omega' of the free body, which shifts the moment of the zero. The energy
balance of a step is exact: with the means of h_n and omega over its two ends, the energy gains
sum_n (change of h_n)(mean h_n / I - a_n . mean omega).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import finite, number
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant, known
from rbgym.engine.actuation import act
from rbgym.envs.actuators.driven import Driven
from rbgym.envs.actuators.effector import Effector, Setting, Usual
from rbgym.envs.arguments import in_range
from rbgym.envs.parts.columns import Column
from rbgym.envs.rows import Key
from rbgym.quaternion import Array, Vector, add, cross, dot, scale, sub, times, to_body
from rbgym.rows import FAILED, J_INV, LANES, ROTOR, L, Q, parameters, put_vector, quaternion, vector

FULL_SPEED = 6000.0 * 2.0 * math.pi / 60.0  # rad/s, of a wheel whose inertia is not given
_FASTEST = 1e4  # rad/s, 95,000 rpm: no wheel turns faster
_CHANGES = 4  # first of 4 rows after the momenta: the torque on each wheel [N m]


@dataclass(frozen=True)
class ReactionWheels(Effector):
    """Reaction wheels; a command of 1 is the motor's full torque on the body about the axis.

    axes: (3, 3) or (4, 3), unit vectors in body axes, one row for each wheel. inertia: of a wheel
    about its axis [kg m^2], by default such that it is full at 6000 rpm; the RigidBody must exclude
    it. torque: largest torque of a motor [N m]. momentum: largest momentum of a wheel about its
    axis [kg m^2/s], beyond which the motor cannot drive it. viscous [N m s], coulomb [N m]:
    friction of the bearings, none by default. start: an episode begins with momenta uniform in
    +-start times `momentum`, by default the task's for a satellite's wheels. The observation shows
    the momenta over `momentum`.

    Raises ValueError for axes that leave a direction without torque, for numbers out of range, for
    a wheel that turns faster than 1e4 rad/s, and for a wheel that its motor cannot turn.
    """

    axes: ArrayLike = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    inertia: float = None  # type: ignore[assignment]  # `__post_init__` makes it a number
    torque: float = 5e-3
    momentum: float = 0.03
    viscous: float = 0.0
    coulomb: float = 0.0
    start: float = Usual(0.3)
    positive: ClassVar = ("torque", "momentum", "inertia")
    not_negative: ClassVar = ("viscous", "coulomb")
    needs: ClassVar[str] = "rotors"
    is_steady: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.inertia is None:
            object.__setattr__(self, "inertia", number(self.momentum) / FULL_SPEED)
        super().__post_init__()
        in_range("ReactionWheels.start", self.start, 0.0, 1.0)
        if self.coulomb >= self.torque:
            raise ValueError(
                f"ReactionWheels.coulomb must be less than its torque, {self.torque:g} N m, or the "
                f"wheel cannot turn, got {self.coulomb!r}"
            )
        speed = self.momentum / self.inertia
        if self.viscous > 0.0:  # at this speed friction takes all of the motor's torque
            speed = min(speed, (self.torque - self.coulomb) / self.viscous)
        if speed > _FASTEST:
            raise ValueError(
                f"ReactionWheels.inertia must be at least {self.momentum / _FASTEST:.3g} kg m^2: a "
                f"wheel of {self.momentum:g} kg m^2/s would turn at up to {speed:.4g} rad/s, more "
                f"than the largest speed allowed, {_FASTEST:g}; got {self.inertia!r}"
            )
        axes = finite("ReactionWheels.axes", self.axes, (3, 3), (4, 3))
        if np.abs(axes).max() > 2 or np.abs(np.linalg.norm(axes, axis=1) - 1).max() > 1e-6:
            raise ValueError(f"ReactionWheels.axes must be unit vectors, got {self.axes!r}")
        if np.linalg.matrix_rank(axes, tol=1e-3) < 3:
            raise ValueError(
                "ReactionWheels.axes must span all three directions, but about one direction no "
                f"wheel has torque: got {self.axes!r}"
            )
        axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        object.__setattr__(self, "axes", tuple(tuple(row) for row in axes.tolist()))

    @classmethod
    def pyramid(
        cls,
        cant: float = math.asin(3.0**-0.5),
        *,
        inertia: float = inertia,
        torque: float = torque,
        momentum: float = momentum,
        viscous: float = viscous,
        coulomb: float = coulomb,
        start: float = start,
    ) -> Self:
        """Four wheels about the z axis, their axes raised from the xy plane by `cant` [rad].

        At the default, 35.26 degrees, a torque in any direction takes the same sum of squared motor
        torques. The largest torque still depends on the direction: 1.63 to 2.31 times a motor's.
        """
        if not 0 < number(cant) < math.pi / 2:
            raise ValueError(f"ReactionWheels.pyramid: cant must be in (0, pi/2), got {cant!r}")
        c, s = math.cos(cant), math.sin(cant)
        axes = (c, 0.0, s), (0.0, c, s), (-c, 0.0, s), (0.0, -c, s)
        return cls(axes, inertia, torque, momentum, viscous, coulomb, start)

    @property
    def matrix(self) -> Array:
        """The axes as columns, (3, wheels)."""
        return np.array(self.axes, dtype=float).T

    @property
    def envelope(self) -> Array:
        """E (k, 3): with motors of torque 1, the wheels can give a body torque u iff |E u| <= 1.

        The set of these torques is a zonotope. Two wheels span each facet while all others give
        full torque: along n = a_i x a_j the largest torque is sum_k |n . a_k| (Markley, Reynolds,
        Liu & Lebsock 2010, Maximum torque and momentum envelopes for reaction-wheel arrays, J.
        Guidance 33(5)).
        """
        axes = self.matrix.T
        i, j = np.triu_indices(len(axes), 1)
        normals = np.cross(axes[i], axes[j])
        normals = normals[np.linalg.norm(normals, axis=1) > 1e-9]
        return np.asarray(normals / np.abs(normals @ axes.T).sum(axis=1, keepdims=True))

    @property
    def shares(self) -> Array:
        """Largest torque about each body axis alone, over that of a motor, (3,)."""
        return np.asarray(1.0 / np.abs(self.envelope).max(axis=0))

    @property
    def filling_time(self) -> float:
        """Time [s] in which a motor fills its wheel from rest."""
        return self.momentum / self.torque

    def record(self, setting: Setting, line: Any) -> "Wheels":
        count = self.matrix.shape[1]
        axes = (*map(tuple, self.matrix.T.tolist()), *((0.0, 0.0, 0.0),) * (4 - count))
        start = (float(self.start * self.momentum),) * count
        motor = float(setting.scale * self.torque)
        if motor <= self.coulomb:
            raise ValueError(
                f"torque_scale must leave a motor of {self.torque:g} N m more than the friction of "
                f"{self.coulomb:g} N m, got {setting.scale!r}"
            )
        x = self.viscous * setting.h / self.inertia
        lost = -math.expm1(-x)
        mean = lost / x if x > 0 else 1.0
        numbers = self.inertia, self.momentum, self.coulomb, x, lost, mean
        return Wheels(line, axes, start, motor, *map(float, numbers))

    @property
    def rotors(self) -> "ReactionWheels":
        return self

    def fitted(self, satellite: Any) -> Any:
        own = satellite.wheels
        says = own is None or not isinstance(own.start, Usual)
        return own if says else replace(own, start=Usual(self.start))

    @property
    def frame(self) -> str:
        """Its axes, in words."""
        return f"wheel axes {self.matrix.T.round(6).tolist()} in body axes"

    def columns(self) -> tuple[Column, ...]:
        count, full = self.matrix.shape[1], self.momentum
        return (Column("wheel_momentum", count, unit="N m s", frame=self.frame, scale=full),)

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        count, full = self.matrix.shape[1], strength * self.torque
        frame = f"{self.frame}, on the body"
        return (Column("wheel_torque", count, unit="N m", frame=frame, scale=full),)

    def largest(self, setting: Setting) -> Array:
        speed = self.momentum / self.inertia + setting.rate
        each = setting.scale * self.torque + self.coulomb + self.viscous * speed
        return np.asarray(each * np.abs(self.matrix).sum(axis=1))

    def limits(self, setting: Setting) -> Array:
        return np.asarray(setting.scale * self.torque * self.shares)

    def state_keys(self) -> Mapping[str, Key]:
        return {"wheel_momentum": Key(0, self.matrix.shape[1], 0.0, -self.momentum, self.momentum)}

    def sketch(self, instant: Any) -> Iterable[Any]:
        share = instant.state["wheel_momentum"] / self.momentum
        # Of their speed against the body.
        carried = self.matrix.T @ instant.state["angular_velocity"] * self.inertia
        yield from instant.wheels(self.matrix.T, share - carried / self.momentum)
        yield "wheels " + ", ".join(f"{100 * one:.0f}" for one in share) + " %"


class Wheels(Driven):
    """Up to four wheels; a missing fourth has axis zero. start: for each wheel, the largest
    momentum at the start of an episode [kg m^2/s]. motor: largest torque, with `torque_scale`
    [N m]. slowing: x = v h / I of a step. lost: the fraction of a speed that viscous friction takes
    in a step, 1 - exp(-x); mean: the fraction of an acceleration that it leaves on average,
    (1 - exp(-x))/x. other: for `WheelsAndOther`. The others: see `ReactionWheels`. Rows: momenta of
    four wheels, zero for a missing one; then _CHANGES."""

    line: Any
    axes: tuple[Vector, Vector, Vector, Vector]
    start: tuple[float, ...]
    motor: float
    inertia: float
    momentum: float
    coulomb: float
    slowing: float
    lost: float
    mean: float
    other: Any = None
    effector_rows = constant(_CHANGES + 4)
    turns_rotors = constant(True)

    @known
    def channels(self):
        return len(self.start)

    @known
    def effector_shows(self):
        return len(self.start)

    def bearings(self, physics, buffer, i):
        """Coulomb friction, `lost` and `mean` in this episode."""
        mounting = physics.actuator.line.mounting
        if not mounting.differs_in_friction():
            return self.coulomb, self.lost, self.mean
        factor = mounting.friction_factor(physics, buffer, i)
        x = factor * self.slowing
        lost = -math.expm1(-x)
        return factor * self.coulomb, lost, lost / x if x > 0.0 else 1.0

    def change(self, axis, c, momentum, omega, bend, friction, h):
        """Torque of motor and friction on a wheel in a step of h seconds; bend: angular
        acceleration of the free body, body axes [rad/s^2]."""
        inertia, most, (coulomb, lost, mean) = self.inertia, self.momentum, friction
        before, left = momentum / inertia - dot(axis, omega), dot(axis, bend)
        drive, rub = -self.motor * c, coulomb if before >= 0.0 else -coulomb
        torque = mean * (drive - rub) - lost * inertia * before / h
        after = before + h * (torque / inertia - mean * left)
        if after * rub < 0.0:  # it passes zero
            pull = drive - inertia * left
            after *= max((pull + rub) / (pull - rub), 0.0)
            torque = inertia * ((after - before) / h + left)
        return (min(max(momentum + h * torque, -most), most) - momentum) / h

    def momenta(self, physics, buffer, i):
        k = i + physics.actuator.state_row(physics) * LANES
        return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES], buffer[k + 3 * LANES])

    def mounted_axes(self, physics, buffer, i):
        x = self.axes
        return (
            self.mounted(physics, buffer, i, x[0]),
            self.mounted(physics, buffer, i, x[1]),
            self.mounted(physics, buffer, i, x[2]),
            self.mounted(physics, buffer, i, x[3]),
        )

    def rates(self, physics, buffer, i):
        """Angular velocity of the body, and its acceleration without torque, body axes."""
        q = quaternion(buffer, i, Q)
        Pi, J_inv = to_body(q, vector(buffer, i, L)), parameters(buffer, i, J_INV)
        omega = times(J_inv, sub(Pi, vector(buffer, i, ROTOR)))
        bend = times(J_inv, cross(Pi, omega))
        frame = physics.frame
        _, bend = frame.in_body_frame(physics, buffer, i, q, bend)
        return frame.in_body_frame(physics, buffer, i, q, omega)[1], bend

    def turn(self, physics, buffer, i, c, h):
        """Turn the wheels in the step of h seconds that begins; returns the torque on the body."""
        omega, bend = self.rates(physics, buffer, i)
        axes = self.mounted_axes(physics, buffer, i)
        p, friction = self.momenta(physics, buffer, i), self.bearings(physics, buffer, i)
        last = c[3] if len(self.start) > 3 else 0.0  # a missing wheel has no axis and no command
        changes = (
            self.change(axes[0], c[0], p[0], omega, bend, friction, h),
            self.change(axes[1], c[1], p[1], omega, bend, friction, h),
            self.change(axes[2], c[2], p[2], omega, bend, friction, h),
            self.change(axes[3], last, p[3], omega, bend, friction, h),
        )
        k = i + (physics.actuator.state_row(physics) + _CHANGES) * LANES
        buffer[k], buffer[k + LANES] = changes[0], changes[1]
        buffer[k + 2 * LANES], buffer[k + 3 * LANES] = changes[2], changes[3]
        rate = _sum(axes, changes)
        row = physics.actuator.rotor_rate_row(physics)
        put_vector(buffer, i, row, physics.frame.to_principal(physics, buffer, i, rate))
        self.gather(physics, buffer, i)
        return scale(-1.0, rate)

    def gather(self, physics, buffer, i):
        momenta = self.momenta(physics, buffer, i)
        rotor = _sum(self.mounted_axes(physics, buffer, i), momenta)
        rotor = physics.frame.to_principal(physics, buffer, i, rotor)
        if self.line.modes.exist():
            rotor = add(rotor, self.line.modes.mode_momentum(physics, buffer, i))
        put_vector(buffer, i, ROTOR, rotor)

    def exert(self, physics, buffer, i, c, h):
        torque = self.turn(physics, buffer, i, c, h)
        put_vector(buffer, i, self.acting_row(physics), torque)
        act(physics, buffer, i, (0.0, 0.0, 0.0))

    def book(self, physics, buffer, i, h):
        k = i + physics.actuator.state_row(physics) * LANES
        taken = 0.0 if buffer[i + FAILED * LANES] > 0.0 else h
        for n in range(4):
            buffer[k + n * LANES] += taken * buffer[k + (_CHANGES + n) * LANES]

    def more_energy(self, physics, buffer, i):
        p, more = self.momenta(physics, buffer, i), self.line.modes.mode_energy(physics, buffer, i)
        return more + (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]) / (2.0 * self.inertia)

    def held_square(self, physics, buffer, i):
        h, p = physics.rotors.rotor_momentum(buffer, i), self.momenta(physics, buffer, i)
        # The momenta of four wheels can cancel.
        each = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]
        return each if len(self.start) > 3 else dot(h, h)

    def ready(self, physics, buffer, i, placed, mass, u):
        k = i + physics.actuator.state_row(physics) * LANES
        for n in range(4):
            drawn = self.start[0] * (2.0 * u[n] - 1.0) if n < len(self.start) else 0.0
            buffer[k + n * LANES] = buffer[k + n * LANES] if placed else drawn

    def show_momenta(self, physics, buffer, i):
        k = i + physics.actuator.state_row(physics) * LANES
        shown = i + physics.actuator.shown_row(physics) * LANES
        for n in range(len(self.start)):
            buffer[shown + n * LANES] = buffer[k + n * LANES] / self.momentum

    present = show_momenta


class WheelsAndOther(Wheels):
    """Wheels beside coils or thrusters, which have no rows. Their commands and columns come after
    those of the wheels."""

    @known
    def channels(self):
        return len(self.start) + self.other.channels()

    def has_limits(self):
        return self.other.has_limits()

    @known
    def effector_shows(self):
        return len(self.start) + self.other.effector_shows()

    def field_row(self, physics):
        return self.shown_row(physics) + len(self.start)

    def exert(self, physics, buffer, i, c, h):
        by_wheels, n = self.turn(physics, buffer, i, c, h), len(self.start)
        own = c[4] if n > 3 else c[3], c[5] if n > 3 else c[4], c[6] if n > 3 else c[5]
        torque = self.other.torque_of(physics, buffer, i, own, h)
        put_vector(buffer, i, self.acting_row(physics), add(by_wheels, torque))
        act(physics, buffer, i, torque)

    def present(self, physics, buffer, i):
        self.show_momenta(physics, buffer, i)
        self.other.show_in(physics, buffer, i, self.field_row(physics))


@inlined
def _sum(axes, values):
    one = add(scale(values[0], axes[0]), scale(values[1], axes[1]))
    return add(one, add(scale(values[2], axes[2]), scale(values[3], axes[3])))
