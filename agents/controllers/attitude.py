"""Laws for a target attitude: slews about the eigenaxis or past cones, hysteresis, tracking."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import BodyLaw, Plant, Seen, fresh, nearer, target_turning
from rbgym.agents.controllers.pd import AttitudePD
from rbgym.arguments import count, flag, number, unit
from rbgym.envs.arguments import in_range
from rbgym.quaternion import Array, from_rotation_vector, multiply, rotate

_LAYER = 1.25  # control periods, of `BangBang`
PLACES = np.arange(1, 17) / 16.0  # fractions of a turn at which `Detour` checks it


@dataclass(eq=False, kw_only=True)
class QuaternionFeedback(AttitudePD):
    """Turns about the eigenaxis, never faster than it can brake.

    `AttitudePD` with a limited error and a separate gyroscopic torque:

        u = s J (-2 n^2 sat(v) - 2 z n g + omega_t x omega + a) + omega x J omega,

    where sat scales v down to |v| = z r / n: with a larger error the body coasts at the slew rate r
    [rad/s] relative to the target. s, at most 1, keeps u within the limits. Neither sat nor s
    changes a direction and all gains are proportional to J, so a slew from rest stays on its
    eigenaxis. r is at most `slew_rate`, and low enough to brake within the limits: n r p =
    b (1 - c r^2), with b the largest acceleration about the eigenaxis, c the fraction of the limits
    that the gyroscopic torque of 1 rad/s about it takes (c r^2 at most one half), and
    p = exp(-f / tan f), cos f = z, since the linear law brakes by at most n r p. gyroscopic=False
    omits omega x J omega, as the simpler of the published laws does.

    Gains: frequency n [rad/s], by default 2.8 sqrt(b) as for `AttitudePD`, damping z, slew_rate
    [rad/s], by default 0.9 times the rate limit.

    Source: Wie, Weiss & Arapostathis (1989), as for `AxisPD`; Wie & Lu (1995), Feedback control
    logic for spacecraft eigenaxis rotations under slew rate and control constraints, J. Guidance
    18(6), for the cascade of limiters; the rule for r is ours.
    """

    slew_rate: float | None = None
    gyroscopic: bool = True
    swift = 2.8
    slews = "quaternion feedback"
    every_axis = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fastest = 0.9 * self.rate_limit if self.slew_rate is None else self.slew_rate
        self.refuse_gains(slew_rate=self.fastest)
        flag("gyroscopic", self.gyroscopic)
        n: Any = self.frequency
        self.linear = self.damping / n  # |v| over slew rate where the limiter begins
        z = min(self.damping, 1.0)
        self.braking = n * np.exp(-z / np.sinc(np.arccos(z) / np.pi))

    def torque(self, q: Array, omega: Array, wanted: Array, a: Array | float = 0.0) -> Array:
        u = self.turning(nearer(q), omega, wanted, a)
        coupling = self.gyroscopic_torque(omega) if self.gyroscopic else np.zeros_like(omega)
        return self.limited_sum(u, coupling)

    def eased(self, v: Array) -> Array:
        size = np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
        largest = self.linear * self.slew(v / size)[:, None]
        return np.asarray(v * np.minimum(1.0, largest / size))

    def slew(self, axis: Array) -> Array:
        """The slew rate (n,) [rad/s] about unit axes (n, 3)."""
        a, c = np.minimum(self.acceleration(axis), 1e9), self.gyroscopic_load(axis)
        r = 2.0 * a / (self.braking + np.sqrt(self.braking**2 + 4.0 * c * a * a))
        half: Array = np.sqrt(0.5 / np.maximum(c, 1e-12))
        return np.asarray(np.minimum(np.minimum(r, half), self.fastest))


@dataclass(eq=False)
class BangBang(BodyLaw):
    """Full torque towards the target, then full torque against it, about the eigenaxis.

    With e the eigenaxis and y the angle of the attitude that the body reaches in h seconds at its
    present rate, a the largest acceleration about e that the limits allow, times `braking`, and c
    the fraction of the limits that the gyroscopic torque of 1 rad/s about e takes,

        f_0(y) = y / h                                  for y <= a h^2,
        f_0(y) = (sqrt(a^2 h^2 + 8 a y) - a h) / 2      beyond,
        f^2 = (1 - exp(-c f_0^2)) / c,  f^2 at most 1 / (2 c), f at most `slew_rate`,

    the desired rate is -f e, and u = omega x J omega - s J (omega + f e) / h, with s at most 1 to
    keep u within the limits. f_0 is the switching curve of the bang-bang slew, rate^2 = 2 a angle,
    with a layer of width h about it; `eigenaxis_time` gives the time of that slew. Near the end the
    law is linear and critically damped with the frequency 1 / h, so it does not chatter with the
    control period. f is the curve of a body that brakes with a (1 - c rate^2), the part that the
    gyroscopic torque leaves; this torque counts up to half of the limits.

    Gains: layer h [s], by default 1.25 control periods, or 2 for an env with sensors, longer as
    flexible modes add to the inertia, plus a delay, because noise, an inertia that follows late and
    commands that act at an uncertain time make a narrow layer chatter; braking, below 1 for an
    uncertain body; slew_rate [rad/s].

    Source: Wie (2008), Space Vehicle Dynamics and Control, chapter 7, for eigenaxis slews; Han
    (2009), From PID to active disturbance rejection control, IEEE Trans. Industrial Electronics
    56(3), for the curve of a double integrator in discrete time and its layer.
    """

    torque_limit: ArrayLike
    _: KW_ONLY
    layer: float | None = None
    braking: float = 0.9
    slew_rate: float | None = None
    slews = "bang-bang slews"
    still = True
    every_axis = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.h = _LAYER * self.dt if self.layer is None else self.layer
        self.fastest = 0.9 * self.rate_limit if self.slew_rate is None else self.slew_rate
        self.refuse_gains("braking", layer=self.h, slew_rate=self.fastest)

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        periods = 2.0 if plant.measured else _LAYER
        return {"layer": periods * (1.0 + plant.given["swing"]) * plant.given["dt"] + plant.delay}

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        h = self.h
        v = nearer(multiply(q, from_rotation_vector(h * omega)))
        sine = np.linalg.norm(v, axis=-1, keepdims=True)
        e = v / np.maximum(sine, 1e-12)
        rate = self.curve(2.0 * np.arcsin(np.minimum(sine, 1.0)), e)
        u = -(omega + rate * e) @ self.inertia / h
        return self.limited_sum(u, self.gyroscopic_torque(omega))

    def curve(self, y: Array, e: Array) -> Array:
        """f (n, 1) [rad/s] for the angles y (n, 1) [rad] about the axes e (n, 3)."""
        h = self.h
        a = np.minimum(self.braking * self.acceleration(e)[:, None], 1e9)  # no axis, no angle
        braking = 0.5 * (np.sqrt((a * h) ** 2 + 8.0 * a * y) - a * h)
        square = np.where(y <= a * h * h, y / h, braking) ** 2
        c = np.maximum(self.gyroscopic_load(e)[:, None], 1e-12)
        square = np.minimum(-np.expm1(-c * square) / c, 0.5 / c)
        return np.asarray(np.minimum(np.sqrt(square), self.fastest))


@dataclass(eq=False, kw_only=True)
class Hysteretic(AttitudePD):
    """`AttitudePD` towards q or -q as a memory h = +-1 chooses, not always towards the nearer.

        u = J (-2 n^2 h v - 2 z n g + omega_t x omega + a) + omega x J omega,
        h changes its sign if h q_0 < -delta,

    with q = (q_0, v) the error quaternion. Near a half turn noise decides which way is the shorter;
    this law keeps its direction until q_0 is beyond zero by delta. Observations do not distinguish
    q from -q, so the memory also holds the last quaternion, and the law takes the sign nearer to it
    (it lifts the path of attitudes).

    The memory is (h (n,), q (n, 4), the target's rate in its own axes (n, 3)): the `state` that
    `predict` takes and returns. At the start of an episode h chooses the shorter way.

    Gains: frequency n [rad/s], damping z, delta in (0, 1).

    Source: Mayhew, Sanfelice & Teel (2011), Quaternion-based hybrid control for robust global
    attitude tracking, IEEE Trans. Automatic Control 56(11), hysteretic feedback, with gains
    proportional to J; for the lifting, by the same (2013), On path-lifting mechanisms and
    unwinding in quaternion-based attitude control, 58(5).
    """

    delta: float = 0.1
    slews = "hysteretic feedback"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < number(self.delta) < 1:
            raise ValueError(f"delta must be in (0, 1), got {self.delta!r}")

    def feedback(self, seen: Seen, state: Any, episode_start: Any) -> tuple[Array, Any]:
        q, omega, wanted = seen
        begins = fresh(len(q), state, episode_start)
        h, last, rate = (np.ones(len(q)), q, None) if state is None else state
        a, rate = target_turning(seen[0], seen[2], rate if self.moving else None, begins, self.dt)
        lifted = np.where(np.sum(q * last, axis=1, keepdims=True) < 0, -q, q)
        q = np.where(begins[:, None], q, lifted)
        h = np.where(begins, np.where(q[:, 0] < 0, -1.0, 1.0), h)
        h = np.where(h * q[:, 0] < -self.delta, -h, h)
        u = self.turning(h[:, None] * q[:, 1:], omega, wanted, a) + self.gyroscopic_torque(omega)
        return self.limited(u), (h, q, rate)


@dataclass(eq=False, kw_only=True)
class AttitudePID(AttitudePD):
    """`AttitudePD` minus an estimate J e of an unknown torque, in place of an integral.

        u = J (-2 n^2 v - 2 z n g + omega_t x omega + a - e) + omega x J omega,
        e' = (omega' - J^-1 (u - omega x J omega) - e) / T,

    with u after its limits, so that a large slew does not wind up e. Within the limits this is a
    PID law with the integral gain n^2 / T, a stiffness larger by 2 z n / T and a damping larger by
    1 / T: a small error has the roots of s^2 + 2 z n s + n^2, and -1 / T. Under a steady torque d
    `AttitudePD` keeps an error of |J^-1 d| / n^2; here e converges to J^-1 d. The estimate includes
    any torque that the actuator fails to give, so J e is limited to an eighth of the limits.

    The memory is (e (n, 3), rates (n, 3) and angular acceleration (n, 3) of the last period, the
    target's rate in its own axes (n, 3)); at the start of an episode e is zero. Gains: frequency n
    [rad/s], damping z, integral_time T [s], by default 2 / n; with coils, which seldom give the
    full torque, 100 / w on an orbit of rate w.

    Source: Ohnishi, Shibata & Murakami (1996), Motion control for advanced mechatronics,
    IEEE/ASME Trans. Mechatronics 1(1), for the observer of a disturbance.
    """

    integral_time: float | None = None
    slews = "PID control"

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        usual = super().usual_gains(plant)
        if plant.coils is not None:
            usual["integral_time"] = 100.0 / plant.coils.around.rate
        return usual

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.integral_time is None:
            self.integral_time = 2.0 / float(self.frequency or 1.0)
        self.refuse_gains("integral_time", "dt")
        self.summing = 1.0 / max(self.integral_time, self.dt)  # a shorter one would overshoot
        self.inverse = np.linalg.inv(self.inertia)

    def feedback(self, seen: Seen, state: Any, episode_start: Any) -> tuple[Array, Any]:
        q, omega, wanted = seen
        begins = fresh(len(q), state, episode_start)
        e, last, had, rate = (0.0 * omega, omega, omega, None) if state is None else state
        e = e + self.summing * (omega - last - self.dt * (had + e))
        e = 0.125 * self.limited(8.0 * e @ self.inertia) @ self.inverse
        e = np.where(begins[:, None], 0.0, e)
        a, rate = target_turning(seen[0], seen[2], rate if self.moving else None, begins, self.dt)
        gyroscopic = self.gyroscopic_torque(omega)
        u = self.limited(self.turning(nearer(q), omega, wanted, a - e) + gyroscopic)
        return u, (e, omega, (u - gyroscopic) @ self.inverse, rate)


class GeometricTracking(AttitudePD):
    """Follows a target, with errors of rotation matrices.

    With R and R_d the attitudes of body and target, each to world, and w = R^T R_d Omega_d the
    target's angular velocity in body axes, which is observed,

        e_R = 1/2 (R_d^T R - R^T R_d)^vee,    e_Omega = Omega - w,
        u = -J (k_R e_R + k_Omega e_Omega + Omega x w - R^T R_d dOmega_d/dt) + Omega x J Omega.

    e_R is sin(angle) times the axis, 2 q_0 v of the error quaternion (q_0, v): the same for q and
    -q, and nearly zero near a half turn, from which the law starts slowly. Memory and gains are
    those of `AttitudePD`: k_R = n^2 and k_Omega = 2 z n. In the paper the gains are torques, equal
    about all axes, so a slender body is stiffest about its smallest moment; here they are
    multiplied by J, so e_Omega' = -k_R e_R - k_Omega e_Omega for every body. The frequency n is 2.8
    sqrt(a) by default.

    Source: Lee, Leok & McClamroch (2010), Geometric tracking control of a quadrotor UAV on SE(3),
    49th IEEE Conference on Decision and Control, eqs. (10), (11) and (16); gains with J are ours.
    """

    swift = 2.8
    slews = "geometric tracking"

    def torque(self, q: Array, omega: Array, wanted: Array, a: Array | float = 0.0) -> Array:
        turn = self.turning(q[:, :1] * q[:, 1:], omega, wanted, a)  # half the sine of the angle
        return self.limited(turn + self.gyroscopic_torque(omega))


@dataclass(eq=False, kw_only=True)
class Detour(AttitudePD):
    """Turns straight to the target, or around keep-out cones on the path.

    A cone blocks the path if the boresight would come within `margin` [rad] of it on the straight
    turn. The boresight then follows the tangent to the cone, on the side on which the turn passes
    its centre; on the right, seen along the boresight, if it passes within `margin` of the centre,
    so that no rounding error chooses the side. With gamma the angle from the boresight to the
    centre and beta the half angle plus the margin, or less if the target lies within it, it turns
    by gamma, at least 0.3 rad, in a direction that differs from that of the centre by
    arcsin(sin beta / sin gamma), within beta by more than a right angle. Each control period
    computes both again, so the path curves around the cone until the straight turn is free; it may
    enter another cone. Law and gains are those of `AttitudePD`.

    cones: of each the boresight, body axes, and the half angle [rad]. column: first column of the
    cones' centres in an observation, body axes.

    Source: ours; a tangent around an obstacle, as Kamon, Rimon & Rivlin (1998), TangentBug,
    Int. J. Robotics Research 17(9).
    """

    cones: list[tuple[tuple[float, ...], float]]
    column: int
    margin: float = 0.1
    slews = "turns past cones"
    still = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("margin")
        if not isinstance(self.cones, list | tuple) or not all(
            isinstance(one, list | tuple) and len(one) == 2 for one in self.cones
        ):
            raise ValueError(f"cones must be pairs of an axis and an angle, got {self.cones!r}")
        for n, (axis, half) in enumerate(self.cones):
            unit(f"cones[{n}][0]", axis, 3)
            in_range(f"cones[{n}][1]", half, 0.0, np.pi)
        self.least = count("column", self.column) + 3 * len(self.cones)

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if not plant.given["cones"]:
            raise ValueError("env must have constraints with 'keep_out' for this controller")
        return super().arguments(plant)

    def answer(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        q, omega = rows[:, :4], rows[:, 4:7] * self.rate_limit
        wanted, soonest = q.copy(), np.full(len(rows), np.inf)
        for n, (axis, half) in enumerate(self.cones):
            middle = rows[:, self.column + 3 * n :][:, :3]
            reached, turn = self.past(q, middle, np.array(axis), half)
            first = reached < soonest
            soonest = np.where(first, reached, soonest)
            wanted = np.where(first[:, None], turn, wanted)
        return self.torque(wanted, omega, np.zeros_like(omega)), None

    def past(self, q: Array, middle: Array, a: Array, half: float) -> tuple[Array, Array]:
        """The fraction (n,) of the straight turn at which the boresight a comes too near to the
        centre (n, 3) of a cone, inf if it never does; and the attitude (n, 4) relative to the
        detour's target. q (n, 4): relative to the target; half: half angle [rad]."""
        v = nearer(q)
        size = np.linalg.norm(v, axis=-1, keepdims=True)
        angle = 2.0 * np.arctan2(size, np.abs(q[:, :1]))
        # The boresight along the path, in the present body axes.
        rotation = -v / np.maximum(size, 1e-12) * angle
        way = rotate(from_rotation_vector(PLACES[:, None, None] * rotation), a)
        near = np.sum(way * middle, axis=-1)  # (places, n)
        at_target = np.arccos(np.clip(near[-1], -1.0, 1.0))  # angle to the centre
        beta = np.minimum(half + self.margin, 0.5 * (half + at_target))
        inside, closest = near > np.cos(beta), way[np.argmax(near, axis=0), np.arange(len(q))]
        cosine = np.clip(middle @ a, -1.0, 1.0)
        # A turn that only moves away from the cone is not blocked.
        blocked = inside.any(axis=0) & (near.max(axis=0) > cosine)
        gamma = np.arccos(cosine)
        towards = middle - cosine[:, None] * a
        towards /= np.maximum(np.linalg.norm(towards, axis=-1, keepdims=True), 1e-9)
        across = np.cross(a, towards)
        side = np.where(np.sum(closest * across, axis=-1) < -self.margin, -1.0, 1.0)
        off = np.arcsin(np.minimum(np.sin(beta) / np.maximum(np.sin(gamma), 1e-9), 1.0))
        off = np.where(gamma < beta, np.pi / 2 + (beta - gamma), off)
        bearing = np.cos(off)[:, None] * towards + (side * np.sin(off))[:, None] * across
        turn = from_rotation_vector(-np.maximum(gamma, 0.3)[:, None] * np.cross(a, bearing))
        return np.where(blocked, PLACES[np.argmax(inside, axis=0)], np.inf), turn
