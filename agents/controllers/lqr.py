"""Linear-quadratic control about an attitude, a spin or a top's steady motion; and a swing-up."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import BodyLaw, Law, Plant, plant_of
from rbgym.agents.controllers.pd import AxisPD
from rbgym.agents.extras import naming_extra
from rbgym.arguments import positives
from rbgym.envs.parts.goals import Axis
from rbgym.identification import rotation_vector
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array, from_rotation_vector, rotate_inverse


def for_env(env: Any, **gains: Any) -> Law:
    """The law that fits the goal of an env, single or vector; gains: tolerances."""
    plant = plant_of(env)
    if plant.target:
        return AttitudeLQR.for_env(plant, **gains)
    if plant.axis is None:
        raise ValueError(
            "env must have a target attitude, or an axis that is to stand or turn steadily, for "
            f"linear-quadratic control; its goal is {plant.goal!r}"
        )
    if plant.potential.is_free():
        return SpinLQR.for_env(plant, **gains)
    return (UprightLQR if plant.goal == Axis() else PrecessionLQR).for_env(plant, **gains)


@contextmanager
def solvable(tolerances: Array, dt: float, limits: Array) -> Iterator[None]:
    """ValueError if the Riccati equation of these numbers has no finite solution."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(
            "tolerances, dt and torque_limit must make a Riccati equation that has a solution, "
            f"got {tolerances.tolist()}, {dt} and {limits.tolist()}: {error}"
        ) from None


@naming_extra()
def held_gain(A: Array, B: Array, dt: float, tolerances: Array, limits: Array) -> Array:
    """The gain K (m, n) of u = -K x that minimises the sum of (x / tolerances)^2 + (u / limits)^2
    over samples dt [s] apart, for x' = A x + B u with u held between them.

    The motion between samples is exact, by the matrix exponential of A and B together (Van Loan
    1978, Computing integrals involving the matrix exponential); the gain follows from the discrete
    Riccati equation. tolerances (n,) and limits (m,) are positive.
    """
    from scipy.linalg import expm, solve_discrete_are

    n, m = B.shape
    both = np.block([[A, B * limits], [np.zeros((m, n + m))]])  # B of commands
    with solvable(tolerances, dt, limits):
        F, G = np.split(expm(dt * both)[:n], [n], axis=1)
        P = solve_discrete_are(F, G, np.diag(1.0 / tolerances**2), np.eye(m))
    K = np.linalg.solve(np.eye(m) + G.T @ P @ G, G.T @ P @ F)
    return np.asarray(limits[:, None] * K)


def error_of(q: Array, omega: Array) -> Array:
    """x (..., 6): the rotation vector from target to body [rad] and the rates, body axes."""
    return np.concatenate([rotation_vector(q), omega], axis=-1)


@dataclass(eq=False)
class AttitudeLQR(BodyLaw):
    """Brings the whole attitude to a target at rest.

    With x = (p, omega), p the rotation vector from target to body, |p| <= pi, a small motion obeys
    p' = omega, J omega' = u. For a torque held over each control period (zero-order hold, exact),
    u = -K x minimises the sum of (p / angle)^2 + (omega / rate)^2 + (u / limits)^2 over the
    periods. The law stays linear at large angles, where it is not optimal. It ignores the
    gyroscopic torque, and its gain is not proportional to J, so a slew leaves its eigenaxis.

    tolerances: angle [rad] and rate [rad/s], by default 0.2 and 0.45 sqrt(a), a the smallest of the
    largest angular accelerations about the body axes.

    Source: Kwakernaak & Sivan (1972), Linear Optimal Control Systems, 6.4, for the regulator in
    discrete time.
    """

    torque_limit: ArrayLike
    _: KW_ONLY
    tolerances: tuple[float, float] | None = None
    slews = "linear-quadratic control"
    still = True
    every_axis = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tolerances is None:
            self.tolerances = (0.2, 0.45 * self.agility())
        weights = positives("tolerances", self.tolerances, (2,))
        A, B = np.zeros((6, 6)), np.zeros((6, 3))
        A[:3, 3:], B[3:] = np.eye(3), np.linalg.inv(self.inertia)
        T = self.dt * (1.0 + self.swing)  # or the gain would be too high for the inertia of the hub
        self.gain = held_gain(A, B, T, np.repeat(weights, 3), self.limits)

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        return self.limited(-error_of(q, omega) @ self.gain.T)


@dataclass(eq=False)
class UprightLaw(BodyLaw):
    """A law that brings a heavy top upright."""

    potential: HeavyTop
    torque_limit: ArrayLike

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.potential, HeavyTop) or tuple(self.potential.axis) != (0, 0, 1):
            raise ValueError(
                f"potential must be a rbgym.HeavyTop about (0, 0, 1), got {self.potential!r}"
            )

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if not (isinstance(plant.potential, HeavyTop) and plant.goal == Axis()):
            raise ValueError(f"env must be a top with an upright goal, its goal is {plant.goal!r}")
        return super().arguments(plant)


@dataclass(eq=False, kw_only=True)
class UprightLQR(UprightLaw):
    """Holds a heavy top upright and at rest, spin included.

    With e the axis, o the upward vertical in body axes and p = (angle / sin angle) o x e the tilt,
    a small motion obeys p' = omega - (omega . e) e, J omega' = mgl p + u. u = -K (p, omega) with K
    as for `AttitudeLQR`. Torque beyond the limits keeps its direction across the axis, and is cut
    along it.

    tolerances: angle [rad], rates across and along the axis [rad/s].

    Source: as for `AttitudeLQR`.
    """

    tolerances: tuple[float, float, float] = (0.03, 1.0, 1.0)
    every_axis = True

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = positives("tolerances", self.tolerances, (3,))[[0, 0, 1, 1, 2]]
        inverse = np.linalg.inv(self.inertia)
        A, B = np.zeros((5, 5)), np.zeros((5, 3))
        A[:2, 2:4], A[2:, :2], B[2:] = np.eye(2), self.potential.mgl * inverse[:, :2], inverse
        self.gain = held_gain(A, B, self.dt, weights, self.limits)

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        return _upright(self, q, omega)


def _upright(law: Any, q: Array, rates: Array) -> Array:
    """-K (tilt, rates) (n, 3) [N m], within the limits."""
    up = rotate_inverse(q, np.array([0.0, 0.0, 1.0]))
    p = np.stack([up[:, 1], -up[:, 0]], axis=-1)  # as long as the sine of the tilt
    sine = np.linalg.norm(p, axis=-1, keepdims=True)
    angle = np.arctan2(sine, up[:, 2:])
    p = p * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 1.0)
    return _limited_across(law, -np.concatenate([p, rates], axis=-1) @ law.gain.T)


def _limited_across(law: Any, u: Array) -> Array:
    """u (n, 3) within the limits: scaled down across the z axis, cut along it."""
    limited: Array = law.limited(u * [1.0, 1.0, 0.0])
    limited[:, 2] = np.clip(u[:, 2], -law.limits[2], law.limits[2])
    return limited


@dataclass(eq=False)
class SpinLQR(BodyLaw):
    """Holds the spin of a free body about its z axis, a principal one, and the axis upright.

    With s the desired spin, e the axis, o the upward vertical in body axes,
    p = (angle / sin angle) o x e the tilt and w = omega - s e, a small motion obeys

        p' = w - (w . e) e + s p x e,   J w' = s (J e x w - e x J w) + u,

    where without torque the rates across the axis rotate: the nutation. u = -K (p, w) with K as for
    `AttitudeLQR` and limits as for `UprightLQR`.

    tolerances: angle [rad], rates across and along the axis [rad/s].

    Source: as for `AttitudeLQR`.
    """

    torque_limit: ArrayLike
    goal: Axis
    _: KW_ONLY
    tolerances: tuple[float, float, float] = (0.3, 0.3, 0.3)
    every_axis = True

    def __post_init__(self) -> None:
        super().__post_init__()
        weights, goal = positives("tolerances", self.tolerances, (3,)), self.goal
        if not isinstance(goal, Axis) or goal.sin_nutation != 0.0:
            raise ValueError(f"goal must be an upright rbgym.envs.parts.goals.Axis, got {goal!r}")
        self.wanted = np.array([0.0, 0.0, goal.precession + goal.spin])
        held = np.abs(np.cross(self.wanted, self.inertia @ self.wanted))
        if (held > 0.01 * self.limits).any():
            raise ValueError(f"body must spin about z without torque, got {held} N m at the goal")
        inverse = np.linalg.inv(self.inertia)
        # As matrices: turn @ v is wanted x v, push @ v is (J wanted) x v.
        turn, push = (np.cross(np.eye(3), v) for v in (self.wanted, self.inertia @ self.wanted))
        A, B = np.zeros((5, 5)), np.zeros((5, 3))
        A[:2, :2], A[:2, 2:4], B[2:] = -turn[:2, :2], np.eye(2), inverse
        A[2:, 2:] = inverse @ (push - turn @ self.inertia)
        self.gain = held_gain(A, B, self.dt, weights[[0, 0, 1, 1, 2]], self.limits)

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        return _upright(self, q, omega - self.wanted)


@dataclass(eq=False)
class PrecessionLQR(BodyLaw):
    """Keeps a symmetric top at its nutation, precession and spin.

    In the frame of the axis e, the line of nodes n = o x e / |o x e| (o the upward vertical) and
    m = e x n, the nutation a, the precession p and the rate w_3 along the axis obey

        J_1 a'' = (J_1 p^2 cos a - J_3 w_3 p + mgl) sin a + N_1
        J_1 (p' sin a + 2 p a' cos a) = J_3 w_3 a' + N_2
        J_3 w_3' = N_3

    which do not depend on time. Linearised about the steady motion, with x the errors of (a, a', p,
    w_3), the held torque N = -K x minimises the sum of (x / tolerances)^2 + (N / limits)^2 over the
    control periods. The body rotates meanwhile, so the law turns the line of nodes half a period
    ahead.

    Source: the equations are Euler's in nutating axes, e.g. Goldstein, Classical Mechanics, 5.7;
    the gain follows from the Riccati equation.
    """

    torque_limit: ArrayLike
    goal: Axis
    _: KW_ONLY
    tolerances: tuple[float, float, float, float] = (0.1, 1.0, 1.0, 5.0)
    every_axis = True

    def __post_init__(self) -> None:
        super().__post_init__()
        weights, goal = positives("tolerances", self.tolerances, (4,)), self.goal
        if not isinstance(goal, Axis):
            raise ValueError(f"goal must be an rbgym.envs.parts.goals.Axis, got {goal!r}")
        across, also, along = (float(moment) for moment in self.body.moments)
        if not np.isclose(across, also) or goal.sin_nutation == 0.0:
            raise ValueError(f"goal must be a nutation of a symmetric top, got {goal!r}")
        sin, cos, p = goal.sin_nutation, goal.cos_nutation, goal.precession
        self.along = goal.spin + p * cos  # w_3 of the steady motion
        spin = along * self.along / across
        A, B = np.zeros((4, 4)), np.zeros((4, 3))
        A[0, 1], A[2, 1] = 1.0, (spin - 2 * p * cos) / sin
        # The first equation by a, whose bracket vanishes at the steady motion, and by p and w_3.
        A[1] = [-(p**2) * sin * sin, 0.0, (2 * p * cos - spin) * sin, -along * p * sin / across]
        B[1, 0], B[2, 1], B[3, 2] = 1 / across, 1 / (across * sin), 1 / along
        self.gain = held_gain(A, B, self.dt, weights, self.limits)

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        if plant.axis is None or not isinstance(plant.potential, HeavyTop):
            raise ValueError(f"env must be a heavy top that precesses, its goal is {plant.goal!r}")
        return super().arguments(plant)

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        e, goal = np.array([0.0, 0.0, 1.0]), self.goal
        # The spin turns vertical and rates across the axis backwards, for half a period.
        spin = omega[:, 2:] - goal.precession * goal.cos_nutation
        turn = from_rotation_vector(0.5 * self.dt * spin * e)
        up, turned = (rotate_inverse(turn, one) for one in (rotate_inverse(q, e), omega))
        n = np.cross(up, e)
        sin = np.maximum(np.linalg.norm(n, axis=-1, keepdims=True), 1e-6)
        n /= sin
        m = np.cross(e, n)
        a = np.arctan2(sin[:, 0], up[:, 2]) - np.arctan2(goal.sin_nutation, goal.cos_nutation)
        tilting, turning = (np.sum(turned * one, axis=-1) for one in (n, m))
        p = turning / sin[:, 0] - goal.precession
        x = np.stack([a, tilting, p, omega[:, 2] - self.along], axis=-1)
        N = -x @ self.gain.T
        return _limited_across(self, N[:, :1] * n + N[:, 1:2] * m + N[:, 2:] * e)


@dataclass(eq=False, kw_only=True)
class SwingUp(UprightLaw):
    """Pumps the energy of a hanging top up to that of rest upright, and catches it there.

    The torque across the axis is along the swing, u = k (E_up - E) omega_s, with E_up = mgl the
    energy upright and omega_s the rate about the horizontal across the axis: it does positive work
    while the energy is too low. The other rates, precession and spin, are damped, so the top passes
    through the vertical. Within `capture` [rad] of it another law takes over: `UprightLQR`, or
    `AxisPD` with catch="pd" or if an axis has no torque. On the test set of TopSwingUp-v0 both
    catch every top, and half of the tops are at rest after 0.86 s, or 0.92 s.

    Gains: gain k, as a fraction of the largest torque over mgl [s]; capture [rad]; damping_time [s]
    of precession and spin; tolerances, see `UprightLQR`.

    Source: Astrom & Furuta (2000), Swinging up a pendulum by energy control, Automatica 36(2), for
    the plane; the damping of precession and spin is ours.
    """

    gain: float = 20.0
    capture: float = 0.3
    damping_time: float = 0.1
    catch: str = "lqr"
    tolerances: tuple[float, float, float] = (0.03, 1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("gain", "capture", "damping_time")
        if not isinstance(self.catch, str) or self.catch not in ("lqr", "pd"):
            raise ValueError(f"catch must be 'lqr' or 'pd', got {self.catch!r}")
        top = (self.body, self.potential, self.limits)
        given: dict[str, Any] = {"rate_limit": self.rate_limit, "dt": self.dt}
        self.catcher: Law = AxisPD(*top, **given)
        if self.catch == "lqr" and self.limits.all():
            self.catcher = UprightLQR(*top, **given, tolerances=self.tolerances)

    def torque(self, q: Array, omega: Array, wanted: Array) -> Array:
        axis = np.array([0.0, 0.0, 1.0])
        up = rotate_inverse(q, axis)
        hinge = np.cross(up, axis)  # horizontal, across the axis
        across = np.linalg.norm(hinge, axis=-1, keepdims=True)
        hinge = np.where(across > 1e-6, hinge / np.maximum(across, 1e-9), [1.0, 0.0, 0.0])
        swing = np.sum(omega * hinge, axis=-1, keepdims=True) * hinge
        rest = omega - swing
        J, mgl = float(self.inertia[0, 0]), self.potential.mgl
        energy = 0.5 * np.sum(omega * (omega @ self.inertia), axis=-1) + mgl * up[:, 2]
        lack = (mgl - energy)[:, None]
        still = np.linalg.norm(swing, axis=-1, keepdims=True) < 0.05
        push = self.gain * lack / mgl * np.where(still, hinge, swing)
        pump = np.clip(push, -1.0, 1.0) * self.limits[:2].max() - J * rest / self.damping_time
        pump[:, 2] = -self.inertia[2, 2] * omega[:, 2] / self.damping_time
        pump = np.clip(pump, -self.limits, self.limits)
        near = up[:, 2:] > np.cos(self.capture)
        return np.where(near, self.catcher.torque(q, omega, wanted), pump)
