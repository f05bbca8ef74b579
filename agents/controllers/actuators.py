"""Control by what is no plain torque: magnetorquers, reaction wheels, a force that scales."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import Bound, Controller, Law, Plant, fresh, shortened, without
from rbgym.arguments import count, finite, flag
from rbgym.body import RigidBody
from rbgym.envs.actuators import MagneticCoils, ReactionWheels, Scaling, Torque
from rbgym.quaternion import Array
from rbgym.trajectory import checked_body


def damping_rate(coils: MagneticCoils) -> float:
    """2 w (1 + sin i) [1/s]: with this the rates across the field decay about as fast as the field
    turns, seen from the orbit, so that what is along it now is across it later."""
    orbit = coils.around
    return float(2.0 * orbit.rate * (1.0 + np.sin(orbit.inclination)))


def damping_gain(coils: MagneticCoils, body: RigidBody) -> float:
    """`damping_rate` times the smallest moment [kg m^2/s]."""
    return damping_rate(coils) * float(body.moments.min())


def _square(field: Array) -> Array:
    """|B|^2 (n, 1), above zero."""
    return np.asarray(np.maximum(np.sum(field * field, axis=1, keepdims=True), 1e-18))


def _field_turned(periods: float) -> Bound:
    """For laws whose moment m is that of so many control periods before, on average. In body axes
    the field B turns meanwhile, at the rate limit w at most: beyond a quarter turn m x B drives."""
    return Bound(
        "turn at the rate limit until a command acts [rad]",
        0.5 * np.pi,
        lambda plant: plant.env.rate_limit * (periods * plant.env.dt + plant.delay + plant.lag),
    )


@dataclass(eq=False)
class _FieldDamping(Controller):
    """What takes rates away by coils, with k = 2 w (1 + sin i) J_min [kg m^2/s]."""

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
        """The field (n, 3) [T] that observations show."""
        return rows[:, self.width : self.least] * self.field


@dataclass(eq=False, kw_only=True)
class MagneticRate(_FieldDamping):
    """Cross-product rate damping: the moment m = -(k / |B|^2) B x omega, of gyros and magnetometer.

    Its torque, m x B, damps the rates across B with k, which is k = 2 w (1 + sin i) J_min: w and i
    the rate and the inclination of the orbit, J_min the smallest moment. What exceeds the limit is
    shortened, not turned. Gain: factor, of that k, by default 3.

    field: largest field that is shown as 1 [T]. dipole: moment of a full command [A m^2].

    Source: Avanzini & Giulietti (2012), Magnetic detumbling of a rigid spacecraft, J. Guidance
    35(4).
    """

    rate_limit: float
    holds: ClassVar[tuple[Bound, ...]] = (_field_turned(0.5),)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("rate_limit")

    def commands(self, rows: Array) -> Array:
        """Commands (n, 3) for observations (n, 10): quaternion, rates, field."""
        omega, B = rows[:, 4:7] * self.rate_limit, self.seen(rows)
        return shortened(self.factor * self.gain * np.cross(omega, B) / _square(B) / self.dipole)


@dataclass(eq=False, kw_only=True)
class BDot(_FieldDamping):
    """The moment against the change of the field that a magnetometer sees: no gyro is read.

        m = -(k / |B|^2) dB/dt,   each axis cut at its limit m_max, or
        m = -m_max sign(dB/dt)    with bang_bang=True,

    dB/dt the change of B in body axes in the last control period, over that period. In axes that
    turn with omega it is B x omega but for the field's own turning, twice around in an orbit, which
    the body ends up following. The memory is the last B (n, 3); where an episode starts nothing is
    commanded. The field that is shown is without that of the coils, as if they paused while it is
    measured.

    A body that turns steadily by p in each period, across B, has the torque

        -k omega 2 (1 - cos p) cos p / p^2

    on average over the period for which m is held: it is braked up to a quarter turn a period, p =
    pi/2, and spun up beyond. Delay and lag count as parts of the period.

    Bang-bang slows a fast tumble soonest at first. Coils that are strong for their body then keep
    the spin axis along the field, about which there is no torque: of the test set of
    MagneticDetumble-v1 5 % come to rest, by the proportional law all.

    Gains: factor, of the k of `MagneticRate`, by default 3; bang_bang.

    Source: Stickler & Alfriend (1976), Elementary magnetic attitude control system, J. Spacecraft
    13(5); with |B|^2 and k as Avanzini & Giulietti (2012), see `MagneticRate`.
    """

    dt: float
    bang_bang: bool = False
    by_name: ClassVar[bool] = True
    holds: ClassVar[tuple[Bound, ...]] = (_field_turned(1.0),)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("dt")
        flag("bang_bang", self.bang_bang)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, 3) for observations (n, 10), of which the field is read, and that field."""
        B = self.seen(rows)
        begins = fresh(len(rows), state, episode_start)[:, None]
        change = np.where(begins, 0.0, B - (B if state is None else state))
        if self.bang_bang:
            return -np.sign(change), B
        moment = -self.factor * self.gain * change / self.dt / _square(B)
        return np.clip(moment / self.dipole, -1.0, 1.0), B


@dataclass(eq=False)
class MagneticAllocation(Controller):
    """What magnetorquers can have of a law's torque u: the moment

        m = B x u / |B|^2,   whose torque m x B = u - (u . B) B / |B|^2

    is the part of u across the field B, from the smallest moment that has it. Along B there is
    none. What exceeds the largest moment is shortened, not turned. A torque against the angular
    momentum still takes momentum away; a law that holds an attitude does not see what it
    lacks, and is only as good as the field's turning lets it be.

    field: largest field that is shown as 1 [T]. dipole: moment of a full command [A m^2]. first:
    column of an observation from which it shows the field.

    Source: Silani & Lovera (2005), Magnetic spacecraft attitude control: a survey and some new
    results, Control Engineering Practice 13(3).
    """

    law: Law
    _: KW_ONLY
    dipole: float
    field: float
    first: int = 7
    holds: ClassVar[tuple[Bound, ...]] = (_field_turned(0.5),)

    def __post_init__(self) -> None:
        self.least = self.first + 3

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands (n, 3), and the law's memory."""
        B = rows[:, self.first : self.least] * self.field
        u, state = self.law.answer(rows[:, : self.first], state, episode_start)
        return shortened(np.cross(B, u) / _square(B) / self.dipole), state


@dataclass(eq=False)
class Allocated(Controller):
    """A law's torque u by wheels with the axes A as columns and the momenta h.

        c = A^+ (u + omega x A h) + N t,   N the null space of A, and t the nearest to k N^T h
                                           that keeps each c within its limit c_max.

    c is the torque of each wheel on the body: what adds up to u, the gyroscopic torque of the
    wheels taken off, with the least sum of squares for t = 0. N t makes no torque as long as all
    wheels answer: k N^T h takes wheels that work against each other to rest, with the time 1/k, and
    keeps them from saturation. Where a wheel would be beyond its limit, t relieves it: as there are
    four wheels at most, t is a number, and each |c_i| <= m an interval of it. Those have one t in
    common as long as m is at least the smallest largest c of any allocation (L-infinity), which is
    |E u| c_max with the `envelope` E of the wheels. So every torque that the wheels can give is
    given; with t = 0, a pyramid loses 13 % of them on average and a third at worst. A torque beyond
    is shortened, not turned. Turning wheels that hold momentum takes torque, which braking has to
    find room beside: as it nears the limits, u no longer speeds the body up. Then the friction of
    the bearings, which the motors have to overcome, is put in.

    first, rates: columns of an observation from which it shows the wheels' momenta, and the rates.
    rate: k [1/s]. out: number of a wheel that does not answer, from 0 on. The three others make the
    torque, that of its bearing included. A law that is not told loses what it asks of that wheel.

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
        self.axes = self.wheels.matrix
        answering = without(self.wheels, self.out)
        self.motor = self.strength * self.wheels.torque
        self.share = np.linalg.pinv(answering.matrix)
        self.null = np.linalg.svd(answering.matrix)[2][3:]  # N^T
        if self.out is not None:
            self.share = np.insert(self.share, self.out, 0.0, axis=0)
        self.envelope = self.law.envelope = answering.envelope / self.motor
        self.least = self.first + self.axes.shape[1]

    def act(
        self, rows: Array, state: Any, episode_start: Any, beside: Array | float = 0.0
    ) -> tuple[Array, Any]:
        """Commands, one for each wheel, and the memory; beside: torque (n, 3) [N m] to take off."""
        momenta = rows[:, self.first : self.least] * self.wheels.momentum
        omega = rows[:, self.rates : self.rates + 3] * self.law.rate_limit
        u, state = self.law.answer(rows[:, : self.first], state, episode_start)
        gyroscopic = np.cross(omega, momenta @ self.axes.T)
        u = self.unhurried(u, omega, gyroscopic) - beside + gyroscopic
        # The torque of each bearing on the body; near standstill it is not relied upon.
        speed = momenta / self.wheels.inertia - omega @ self.axes
        size = self.wheels.coulomb + self.wheels.viscous * np.abs(speed)
        rubbing = size * speed / (np.abs(speed) + 1.0)
        if self.out is not None:
            u = u - rubbing[:, [self.out]] * self.axes[:, self.out]
            rubbing[:, self.out] = 0.0
        c = self.shared(u, self.rate * momenta / self.motor) - rubbing / self.motor
        return np.clip(c, -1.0, 1.0), state

    def unhurried(self, u: Array, omega: Array, gyroscopic: Array) -> Array:
        """u (n, 3) less what of it speeds the body up, as far as the wheels' gyroscopic torque
        (n, 3) at the rate (n, 3) takes more than half of their limits; where it takes all of them,
        nothing is left of that."""
        load = np.max(np.abs(gyroscopic @ self.envelope.T), axis=1, keepdims=True)
        power = np.maximum(np.sum(u * omega, axis=1, keepdims=True), 0.0)
        square = np.maximum(np.sum(omega * omega, axis=1, keepdims=True), 1e-300)
        return np.asarray(u - np.clip(2.0 * load - 1.0, 0.0, 1.0) * power / square * omega)

    def shared(self, u: Array, relief: Array) -> Array:
        """Commands (n, wheels) within +-1 for torques u (n, 3) [N m]; of the commands `relief` what
        makes no torque is added, as far as there is room."""
        least = np.max(np.abs(u @ self.envelope.T), axis=1, keepdims=True)
        most = np.maximum(least, 1.0)
        c = u @ self.share.T / self.motor
        for n in self.null:
            has = np.abs(n) > 1e-9  # others c leaves within the limits
            middle, half = -c[:, has] / n[has], most / np.abs(n[has])
            low = np.max(middle - half, axis=1, keepdims=True)
            high = np.min(middle + half, axis=1, keepdims=True)
            t = np.clip(relief @ n[:, None], low, np.maximum(low, high))
            c = c + t * n
        return c / most


@dataclass(eq=False)
class Unloading(Controller):
    """A law by wheels, whose momentum coils or thrusters beside them take away meanwhile.

        m = -(k/|B|^2) B x h   of coils, whose torque is m x B = -k (h - (h . B) B / |B|^2);
        u = -k h               of thrusters,

    h the momentum of the wheels in body axes. The wheels hold against that torque, which is known,
    and so take it up. Along B coils take nothing; but B turns, twice around in an orbit. What
    exceeds the limits is shortened, not turned.

    other: the `MagneticCoils` or the `Torque` beside the wheels; most: moment [A m^2] or torque
    [N m] of a full command, () or (3,). rate: k [1/s], by default a tenth over the time in which a
    motor fills its wheel, or `damping_rate` of coils where that is less.

    Source: Camillo & Markley (1980), Orbit-averaged behavior of magnetic control laws for momentum
    unloading, J. Guidance and Control 3(6).
    """

    law: Allocated
    other: MagneticCoils | Torque
    most: ArrayLike
    _: KW_ONLY
    rate: float | None = None

    def __post_init__(self) -> None:
        self.full = np.broadcast_to(finite("most", self.most, (), (3,)), (3,))
        if (self.full < 0).any():
            raise ValueError(f"most must not be negative, got {self.most!r}")
        if self.rate is None:
            self.rate = 0.1 / self.law.wheels.filling_time
            if isinstance(self.other, MagneticCoils):
                self.rate = min(self.rate, damping_rate(self.other))
        self.refuse_gains("rate")
        self.first = self.law.least  # where the field is shown
        self.least = self.first + 3 * isinstance(self.other, MagneticCoils)

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands, one for each wheel and three of the others, and the law's memory."""
        momenta = rows[:, self.law.first : self.first] * self.law.wheels.momentum
        u = -self.rate * momenta @ self.law.axes.T  # type: ignore[operator]
        coils = self.other if isinstance(self.other, MagneticCoils) else None
        B = rows[:, self.first : self.least] * 2.0 * coils.field if coils else None
        wanted = u if B is None else np.cross(B, u) / _square(B)
        commands = shortened(wanted / np.where(self.full > 0, self.full, np.inf))
        had = commands * self.full
        torque = had if B is None else np.cross(had, B)
        wheels, state = self.law.act(rows, state, episode_start, torque)
        return np.hstack([wheels, commands]), state


@dataclass(eq=False)
class SpinByScale(Controller):
    """Brings a scalable body to the size at which its momentum has the spin wanted.

    The spin goes as 1/s^2, so that the scale wanted is d = s sqrt(omega_z / spin). The scaling
    force holds the body against its own spinning, and what remains of the equation of motion,
    T s'' = s omega.J omega + S, is an oscillator:

        S = -s omega.J omega - T (n^2 (s - d) + 2 z n s').

    body: at s = 1. width: columns before s and s'. Gains: frequency n [rad/s], damping z.

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
        if not isinstance(self.scaling, Scaling):
            raise ValueError(
                f"scaling must be an rbgym.envs.actuators.Scaling, got {self.scaling!r}"
            )
        self.refuse_gains("strength", "rate_limit", "spin_scale", "frequency", "damping")
        self.least = count("width", self.width) + 2
        self.inertia = np.asarray(checked_body(self.body).inertia)
        self.half_trace = 0.5 * float(np.trace(self.inertia))

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if plant.scaling is None:
            raise ValueError(f"env must have a body that scales, got {plant.actuator!r}")
        return super().arguments(plant)

    def commands(self, rows: Array) -> Array:
        """Commands (n, 1) for observations (n, 10): quaternion, rates, spin wanted, s and s'."""
        omega, spin = rows[:, 4:7] * self.rate_limit, rows[:, 7] * self.spin_scale
        s, rate = rows[:, self.width], rows[:, self.width + 1] * self.scaling.rate
        spin = np.where(np.abs(spin) > 1e-6, spin, 1e-6)
        wanted = s * np.sqrt(np.maximum(omega[:, 2] / spin, 0.0))
        pull = self.frequency**2 * (s - wanted) + 2 * self.damping * self.frequency * rate
        kinetic = np.sum(omega * (omega @ self.inertia), axis=1)
        force = -s * kinetic - self.half_trace * pull
        return np.asarray(np.clip(force / (self.strength * self.scaling.force), -1.0, 1.0)[:, None])
