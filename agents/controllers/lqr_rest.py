"""Linear-quadratic control about rest: of a whole attitude, and of a heavy top upright."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.attitude import nearer
from rbgym.agents.controllers.fitting import aimed
from rbgym.agents.controllers.law import Law
from rbgym.arguments import positives
from rbgym.body import RigidBody
from rbgym.envs.parts.goals import Axis
from rbgym.potentials import HeavyTop
from rbgym.quaternion import rotate_inverse
from rbgym.simulate import checked_body

Array = NDArray[np.float64]


@contextmanager
def solvable(tolerances: Array, dt: float, limits: Array) -> Iterator[None]:
    """ValueError where a Riccati equation of these numbers has no solution that is finite."""
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            yield
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(
            "tolerances, dt and torque_limit must make a Riccati equation that has a solution, "
            f"got {tolerances.tolist()}, {dt} and {limits.tolist()}: {error}"
        ) from None


def held_gain(A: Array, B: Array, dt: float, tolerances: Array, limits: Array) -> Array:
    """K (m, n) of u = -K x, which minimises the sum of (x / tolerances)^2 + (u / limits)^2 over the
    instants dt [s] apart, for x' = A x + B u with u held between them.

    The motion from instant to instant is exact, by the matrix exponential of A and B together
    (Van Loan 1978, Computing integrals involving the matrix exponential); the gain is the solution
    of the discrete Riccati equation. tolerances (n,) and limits (m,) are positive.
    """
    from scipy.linalg import expm, solve_discrete_are

    n, m = B.shape
    both = np.zeros((n + m, n + m))
    both[:n, :n], both[:n, n:] = A, B * limits  # of commands
    with solvable(tolerances, dt, limits):
        F, G = np.split(expm(dt * both)[:n], [n], axis=1)
        P = solve_discrete_are(F, G, np.diag(1.0 / tolerances**2), np.eye(m))
    K = np.linalg.solve(np.eye(m) + G.T @ P @ G, G.T @ P @ F)
    return np.asarray(limits[:, None] * K)


class AttitudeLQR(Law):
    """Brings the whole attitude to a target at rest.

    With x = (p, omega), p the rotation vector from target to body, |p| <= pi, a small motion obeys
    p' = omega, J omega' = u. With the torque held over a control period, exactly (zero-order
    hold), u = -K x minimises the sum of (p / angle)^2 + (omega / rate)^2 + (u / limits)^2
    over the periods. What exceeds the limits is shortened, not turned.

    tolerances: angle [rad] and rate [rad/s]. The law is linear at large angles too, where nothing
    is optimal; it knows no gyroscopic torque, and its gain does not go as J, so that a slew leaves
    its eigenaxis.

    Source: Kwakernaak & Sivan (1972), Linear Optimal Control Systems, 6.4, for the regulator in
    discrete time.
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        tolerances: tuple[float, float] = (0.2, 0.1),
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        self.refuse_idle_axes()
        weights = positives("tolerances", tolerances, (2,))
        A, B = np.zeros((6, 6)), np.zeros((6, 3))
        A[:3, 3:], B[3:] = np.eye(3), np.linalg.inv(checked_body(body).inertia)
        self.gain = held_gain(A, B, dt, np.repeat(weights, 3), self.torque_limit)

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The law for an env with a target at rest; gains: tolerances."""
        base = aimed(env, "linear-quadratic control", still=True)
        limits = {"rate_limit": base.rate_limit, "dt": base.dt}
        return cls(base.body, base.torque_limit, **limits, **gains)

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        v = nearer(quaternion)
        sine = np.linalg.norm(v, axis=-1, keepdims=True)
        half = np.arctan2(sine, np.abs(quaternion[:, :1]))
        p = 2.0 * v * np.where(sine > 1e-9, half / np.maximum(sine, 1e-9), 1.0)
        x = np.concatenate([p, angular_velocity], axis=-1)
        return self.limited(-x @ self.gain.T)


class UprightLQR(Law):
    """Holds a heavy top upright and at rest, spin included.

    With e the axis, o the upward vertical in body axes and p = (angle / sin angle) o x e the tilt,
    a small motion obeys p' = omega - (omega . e) e, J omega' = mgl p + u. With the torque held over
    a control period, exactly (zero-order hold), u = -K (p, omega) minimises the sum of
    (p / angle)^2 + (omega / rate)^2 + (u / limits)^2 over the periods. What exceeds the limits
    is shortened, not turned, across the axis, and cut along it.

    tolerances: angle [rad], rates across and along the axis [rad/s].

    Source: as for `AttitudeLQR`.
    """

    def __init__(
        self,
        body: RigidBody,
        potential: HeavyTop,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        tolerances: tuple[float, float, float] = (0.03, 1.0, 1.0),
    ) -> None:
        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        self.refuse_idle_axes()
        angle, across, along = positives("tolerances", tolerances, (3,))
        if not isinstance(potential, HeavyTop):
            raise ValueError(f"potential must be a rbgym.HeavyTop, got {potential!r}")
        inverse = np.linalg.inv(checked_body(body).inertia)
        A, B = np.zeros((5, 5)), np.zeros((5, 3))
        A[:2, 2:4], A[2:, :2], B[2:] = np.eye(2), potential.mgl * inverse[:, :2], inverse
        weights = np.array([angle, angle, across, across, along])
        self.gain = held_gain(A, B, dt, weights, self.torque_limit)

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The law for a top to be brought upright, single or vector; gains: tolerances."""
        top = env.unwrapped
        if not isinstance(top.potential, HeavyTop) or top.goal != Axis():
            raise ValueError(f"env must be a top to be brought upright, its goal is {top.goal!r}")
        limits = {"rate_limit": top.rate_limit, "dt": top.dt}
        return cls(top.body, top.potential, top.torque_limit, **limits, **gains)

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        up = rotate_inverse(quaternion, np.array([0.0, 0.0, 1.0]))
        across = np.stack([up[:, 1], -up[:, 0]], axis=-1)
        sine = np.linalg.norm(across, axis=-1, keepdims=True)
        angle = np.arctan2(sine, up[:, 2:])
        p = across * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 1.0)
        u = -np.concatenate([p, angular_velocity], axis=-1) @ self.gain.T
        along = np.clip(u[:, 2:], -self.torque_limit[2], self.torque_limit[2])
        limited = self.limited(np.concatenate([u[:, :2], np.zeros_like(along)], axis=-1))
        limited[:, 2:] = along
        return limited
