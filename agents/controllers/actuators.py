"""Controllers for magnetorquers, for reaction wheels and for a scaling force."""

from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import Controller, Law, Plant, fresh, shortened, without
from rbgym.arguments import count, finite, flag, positive
from rbgym.body import RigidBody
from rbgym.envs.actuators import MagneticCoils, ReactionWheels, Scaling, Torque
from rbgym.quaternion import Array
from rbgym.trajectory import checked_body


def damping_rate(coils: MagneticCoils) -> float:
    """2 w (1 + sin i) [1/s]. At this gain the rates across the field decay about as fast as the
    field rotates along the orbit, which turns the undamped rate along the field across it later."""
    orbit = coils.around
    return float(2.0 * orbit.rate * (1.0 + np.sin(orbit.inclination)))


def damping_gain(coils: MagneticCoils, body: RigidBody) -> float:
    """`damping_rate` times the smallest moment [kg m^2/s]."""
    return damping_rate(coils) * float(body.moments.min())


def _square(field: Array) -> Array:
    """|B|^2 (n, 1), above zero."""
    return np.asarray(np.maximum(np.sum(field * field, axis=1, keepdims=True), 1e-18))


@dataclass(eq=False)
class _FieldDamping(Controller):
    """Base of laws that damp rates with coils. gain: k = 2 w (1 + sin i) J_min [kg m^2/s]."""

    gain: float
    _: KW_ONLY
    dipole: float
    field: float
    width: int = 7
    factor: float = 3.0

    def __post_init__(self) -> None:
        self.refuse_gains("gain", "dipole", "field", "factor")
        self.least = count("width", self.width, 0) + 3

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if plant.coils is None:
            raise ValueError(
                f"env must have magnetorquers alone for this controller, got {plant.actuator!r}"
            )
        gain = damping_gain(plant.coils, plant.body)
        shown = plant.columns.get("magnetic_field")
        if shown is None:
            raise ValueError(
                "env must show the magnetic field by name for this controller, got "
                f"{[*plant.columns]}"
            )
        return {**super().arguments(plant), "gain": gain, "width": shown.first}

    def seen(self, rows: Array) -> Array:
        """The field (n, 3) [T] in observations."""
        return rows[:, self.width : self.least] * self.field


@dataclass(eq=False, kw_only=True)
class MagneticRate(_FieldDamping):
    """Cross-product rate damping: m = -(k / |B|^2) B x omega, from gyros and magnetometer.

    The torque m x B damps the rates across B. k = factor 2 w (1 + sin i) J_min, with w and i the
    rate and the inclination of the orbit, J_min the smallest moment of inertia. A moment beyond the
    limit keeps its direction. Gain: factor, by default 3.

    field: the field that observations show as 1 [T]. dipole: moment of a full command [A m^2].

    Source: Avanzini & Giulietti (2012), Magnetic detumbling of a rigid spacecraft, J. Guidance
    35(4).
    """

    rate_limit: float
    late = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("rate_limit")

    def commands(self, rows: Array) -> Array:
        """Commands (n, 3) for observations (n, 10): quaternion, rates, field."""
        omega, B = rows[:, 4:7] * self.rate_limit, self.seen(rows)
        return shortened(self.factor * self.gain * np.cross(omega, B) / _square(B) / self.dipole)


@dataclass(eq=False, kw_only=True)
class BDot(_FieldDamping):
    """Commands a moment against the change of the field that a magnetometer measures; no gyro.

        m = -(k / |B|^2) dB/dt,   each axis cut at its limit m_max, or
        m = -m_max sign(dB/dt)    with bang_bang=True,

    where dB/dt is the mean over the last control period, in body axes. These turn with omega, so
    dB/dt is B x omega plus the field's own rotation, two turns in an orbit, which the body follows
    in the end. The memory is the last B (n, 3); the first command of an episode is zero. The field
    in observations excludes that of the coils, as if they paused for the measurement.

    If a body rotates across B by p in each period, the mean torque over the period that holds m is

        -k omega 2 (1 - cos p) cos p / p^2,

    which brakes the body up to a quarter turn a period, p = pi/2, and speeds it up beyond. Delay
    and lag count as parts of the period.

    Bang-bang slows a fast tumble soonest at first. Coils that are strong for their body then leave
    the spin axis along the field, about which they have no torque: in the test set of
    MagneticDetumble-v1 5 % come to rest, with the proportional law all.

    Gains: factor, on the k of `MagneticRate`, by default 3; bang_bang.

    Source: Stickler & Alfriend (1976), Elementary magnetic attitude control system, J. Spacecraft
    13(5); with |B|^2 and k as Avanzini & Giulietti (2012), see `MagneticRate`.
    """

    dt: float
    bang_bang: bool = False
    by_name: ClassVar[bool] = True
    late = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("dt")
        flag("bang_bang", self.bang_bang)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        B = self.seen(rows)
        begins = fresh(len(rows), state, episode_start)[:, None]
        change = np.where(begins, 0.0, B - (B if state is None else state))
        if self.bang_bang:
            return -np.sign(change), B
        moment = -self.factor * self.gain * change / self.dt / _square(B)
        return np.clip(moment / self.dipole, -1.0, 1.0), B


@dataclass(eq=False)
class MagneticAllocation(Controller):
    """Gives the part of a law's torque u that magnetorquers can make, by the moment

        m = B x u / |B|^2,   whose torque m x B = u - (u . B) B / |B|^2

    is the part of u across the field B. No smaller moment gives that torque, and none gives a
    torque along B. A moment beyond the limit keeps its direction. A torque against the angular
    momentum still removes momentum. A law that holds an attitude does not know which part of u is
    missing, so its accuracy depends on how the field rotates.

    field: the field that observations show as 1 [T]. dipole: moment of a full command [A m^2].
    first: the first column of the field in an observation.

    Source: Silani & Lovera (2005), Magnetic spacecraft attitude control: a survey and some new
    results, Control Engineering Practice 13(3).
    """

    law: Law
    _: KW_ONLY
    dipole: float
    field: float
    first: int = 7
    late = 0.5

    def __post_init__(self) -> None:
        for name in ("dipole", "field"):
            positive(name, getattr(self, name))
        self.least = self.first + 3

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        B = rows[:, self.first : self.least] * self.field
        u, state = self.law.answer(rows[:, : self.first], state, episode_start)
        return shortened(np.cross(B, u) / _square(B) / self.dipole), state


@dataclass(eq=False)
class Allocated(Controller):
    """Distributes a law's torque u among wheels with the axes A as columns and the momenta h.

        c = A^+ (u + omega x A h) + N t,   N the null space of A, and t the nearest to k N^T h
                                           that keeps each c within its limit c_max.

    c is the torque of each wheel on the body. With t = 0 it has the least sum of squares that gives
    u and the gyroscopic torque of the wheels. N t makes no torque as long as all wheels respond:
    k N^T h brings wheels that work against each other to rest, with the time constant 1/k, and
    keeps them from saturation. If a wheel would exceed its limit, t relieves it: with at most four
    wheels t is one number, and each |c_i| <= m is an interval of it. These intervals intersect if m
    is at least the smallest possible largest |c_i| (L-infinity), which is |E u| c_max with the
    `envelope` E of the wheels. So u may be any torque that the wheels have; with t = 0 a pyramid
    loses 13 % of them on average and a third at worst. A larger torque keeps its direction. `pd`
    and laws that shorten u like it stay in the box of `torque_limit`. Wheels that hold momentum
    take torque to rotate, which leaves less for braking: as that torque nears the limits, the law
    stops speeding up the body. Last, it adds the friction of the bearings, which the motors have to
    overcome.

    first, rates: first columns of the wheels' momenta and of the rates in an observation. rate: k
    [1/s]. out: number of a failed wheel, from 0 on. The other three make the torque, and balance
    the friction of its bearing. Without `out` the part of u asked of a failed wheel is lost.

    Source: Markley, Reynolds, Liu & Lebsock (2010), Maximum torque and momentum envelopes for
    reaction-wheel arrays, J. Guidance 33(5), for envelope and L-infinity; Markley & Crassidis
    (2014), Fundamentals of Spacecraft Attitude Determination and Control, for the null space.
    """

    law: Law
    wheels: ReactionWheels
    strength: float = 1.0
    _: KW_ONLY
    first: int = 7
    rates: int = 4
    rate: float = 0.1
    out: int | None = None

    def __post_init__(self) -> None:
        self.law = copy(self.law)  # other wheels may have the given one
        self.axes, self.rate = self.wheels.matrix, self.law.sampled(self.rate)
        answering = without(self.wheels, self.out)
        self.motor = self.strength * self.wheels.torque
        self.share = np.linalg.pinv(answering.matrix)
        self.null = np.linalg.svd(answering.matrix)[2][3:]  # N^T
        if self.out is not None:
            self.share = np.insert(self.share, self.out, 0.0, axis=0)
        self.envelope = self.law.envelope = answering.envelope / self.motor
        self.least = self.first + self.axes.shape[1]

    def act(
        self, rows: Array, state: Any, episode_start: Any, external: Array | float = 0.0
    ) -> tuple[Array, Any]:
        """Commands, one for each wheel, and the law's memory; external: another torque (n, 3) [N m]
        on the body, which the wheels compensate."""
        momenta = rows[:, self.first : self.least] * self.wheels.momentum
        omega = rows[:, self.rates : self.rates + 3] * self.law.rate_limit
        u, state = self.law.answer(rows[:, : self.first], state, episode_start)
        gyroscopic = np.cross(omega, momenta @ self.axes.T)
        u = self.limit_power(u, omega, gyroscopic) - external + gyroscopic
        # The torque of each bearing on the body, smoothed to zero near standstill.
        speed = momenta / self.wheels.inertia - omega @ self.axes
        size = self.wheels.coulomb + self.wheels.viscous * np.abs(speed)
        friction = size * speed / (np.abs(speed) + 1.0)
        if self.out is not None:
            u = u - friction[:, [self.out]] * self.axes[:, self.out]
            friction[:, self.out] = 0.0
        c = self.allocate(u, self.rate * momenta / self.motor) - friction / self.motor
        return np.clip(c, -1.0, 1.0), state

    def limit_power(self, u: Array, omega: Array, gyroscopic: Array) -> Array:
        """u (n, 3) with a factor on the part along omega (n, 3) that speeds up the body: 1 while
        the wheels' gyroscopic torque (n, 3) takes at most half of their limits, falling to 0 when
        it takes all."""
        load = np.max(np.abs(gyroscopic @ self.envelope.T), axis=1, keepdims=True)
        power = np.maximum(np.sum(u * omega, axis=1, keepdims=True), 0.0)
        square = np.maximum(np.sum(omega * omega, axis=1, keepdims=True), 1e-300)
        return np.asarray(u - np.clip(2.0 * load - 1.0, 0.0, 1.0) * power / square * omega)

    def allocate(self, u: Array, relief: Array) -> Array:
        """Commands (n, wheels) within +-1 for torques u (n, 3) [N m]. As far as the limits allow,
        it adds the part of the commands `relief` that makes no torque."""
        least = np.max(np.abs(u @ self.envelope.T), axis=1, keepdims=True)
        most = np.maximum(least, 1.0)
        c = u @ self.share.T / self.motor
        for n in self.null:
            has = np.abs(n) > 1e-9  # the commands of other wheels are within the limits
            middle, half = -c[:, has] / n[has], most / np.abs(n[has])
            low = np.max(middle - half, axis=1, keepdims=True)
            high = np.min(middle + half, axis=1, keepdims=True)
            t = np.clip(relief @ n[:, None], low, np.maximum(low, high))
            c = c + t * n
        return c / most


@dataclass(eq=False)
class Unloading(Controller):
    """Runs a law with wheels while coils or thrusters unload them.

        m = -(k/|B|^2) B x h   of coils, whose torque is m x B = -k (h - (h . B) B / |B|^2);
        u = -k h               of thrusters,

    with h the momentum of the wheels in body axes. The wheels balance this known torque, and so
    lose momentum. Coils remove none along B, but B rotates twice in an orbit. A moment or torque
    beyond the limits keeps its direction.

    other: the `MagneticCoils` or the `Torque` that unload the wheels; most: moment [A m^2] or
    torque [N m] of a full command, () or (3,). rate: k [1/s], by default 0.1 / (the time in which a
    motor fills its wheel), or `damping_rate` of coils if that is less. pulse: fraction of a control
    period of which thrusters give multiples; 0 for other actuators. A command below half a pulse
    fires none, so strong thrusters leave momentum: raise the rate for them.

    Source: Camillo & Markley (1980), Orbit-averaged behavior of magnetic control laws for momentum
    unloading, J. Guidance and Control 3(6).
    """

    law: Allocated
    other: MagneticCoils | Torque
    most: ArrayLike
    _: KW_ONLY
    rate: float | None = None
    pulse: float = 0.0

    def __post_init__(self) -> None:
        self.full = np.broadcast_to(finite("most", self.most, (), (3,)), (3,))
        if (self.full < 0).any():
            raise ValueError(f"most must not be negative, got {self.most!r}")
        if self.rate is None:
            self.rate = 0.1 / self.law.wheels.filling_time
            if isinstance(self.other, MagneticCoils):
                self.rate = min(self.rate, damping_rate(self.other))
        self.refuse_gains("rate")
        self.first = self.law.least  # first column of the field
        self.least = self.first + 3 * isinstance(self.other, MagneticCoils)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands, one for each wheel and three of the others, and the law's memory."""
        momenta = rows[:, self.law.first : self.first] * self.law.wheels.momentum
        u = -self.rate * momenta @ self.law.axes.T  # type: ignore[operator]
        coils = self.other if isinstance(self.other, MagneticCoils) else None
        B = rows[:, self.first : self.least] * 2.0 * coils.field if coils else None
        wanted = u if B is None else np.cross(B, u) / _square(B)
        commands = shortened(wanted / np.where(self.full > 0, self.full, np.inf))
        if self.pulse:
            commands = np.clip(self.pulse * np.round(commands / self.pulse), -1.0, 1.0)
        had = commands * self.full
        torque = had if B is None else np.cross(had, B)
        wheels, state = self.law.act(rows, state, episode_start, torque)
        return np.hstack([wheels, commands]), state


@dataclass(eq=False)
class SpinByScale(Controller):
    """Brings a scalable body to the size at which its momentum gives the commanded spin.

    The spin goes as 1/s^2, so the goal is the scale d = s sqrt(omega_z / spin). The scaling force
    cancels the centrifugal term of the equation of motion, T s'' = s omega.J omega + S, and makes
    it an oscillator:

        S = -s omega.J omega - T (n^2 (s - d) + 2 z n s').

    body: at s = 1. width: columns before s and s'. Gains: frequency n [rad/s], by default
    4, at most 0.45 in a control period; damping z.

    Source: the equations of motion (93) of Moller & Glocker (2012).
    """

    body: RigidBody
    scaling: Scaling
    strength: float
    _: KW_ONLY
    rate_limit: float
    spin_scale: float
    width: int = 8
    frequency: float = 4.0
    damping: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(given := self.scaling, Scaling):
            raise ValueError(f"scaling must be an rbgym.envs.actuators.Scaling, got {given!r}")
        self.refuse_gains("strength", "rate_limit", "spin_scale", "frequency", "damping")
        self.least = count("width", self.width) + 2
        self.inertia = np.asarray(checked_body(self.body).inertia)
        self.half_trace = 0.5 * float(np.trace(self.inertia))

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if plant.scaling is None:
            raise ValueError(f"env must have a body that scales, got {plant.actuator!r}")
        return super().arguments(plant)

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        return {"frequency": min(4.0, 0.45 / plant.env.dt)}

    def commands(self, rows: Array) -> Array:
        """Commands (n, 1) for observations (n, 10): quaternion, rates, commanded spin, s and s'."""
        omega, spin = rows[:, 4:7] * self.rate_limit, rows[:, 7] * self.spin_scale
        s, rate = rows[:, self.width], rows[:, self.width + 1] * self.scaling.rate
        spin = np.where(np.abs(spin) > 1e-6, spin, 1e-6)
        wanted = s * np.sqrt(np.maximum(omega[:, 2] / spin, 0.0))
        pull = self.frequency**2 * (s - wanted) + 2 * self.damping * self.frequency * rate
        kinetic = np.sum(omega * (omega @ self.inertia), axis=1)
        force = -s * kinetic - self.half_trace * pull
        return np.asarray(np.clip(force / (self.strength * self.scaling.force), -1.0, 1.0)[:, None])
