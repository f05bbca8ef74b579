"""Linear-quadratic control: which, and of a heavy top about its steady precession."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.law import Law
from rbgym.agents.controllers.lqr_rest import AttitudeLQR, UprightLQR, solvable
from rbgym.arguments import positives
from rbgym.body import RigidBody
from rbgym.envs.parts.goals import Axis, Target
from rbgym.potentials import HeavyTop
from rbgym.quaternion import from_rotation_vector, multiply, rotate_inverse
from rbgym.simulate import checked_body

Array = NDArray[np.float64]


def for_env(env: Any, **gains: Any) -> Law:
    """The law that fits the goal of an env, single or vector; gains: tolerances."""
    goal = env.unwrapped.goal
    if isinstance(goal, Target):
        return AttitudeLQR.for_env(env, **gains)
    if goal == Axis():
        return UprightLQR.for_env(env, **gains)
    return PrecessionLQR.for_env(env, **gains)


class PrecessionLQR(Law):
    """Keeps a symmetric top at its nutation, precession and spin.

    In the frame of the axis e, the line of nodes n = o x e / |o x e| (o the upward vertical) and
    m = e x n, the nutation a, the precession p and the rate w_3 along the axis obey

        J_1 a'' = (J_1 p^2 cos a - J_3 w_3 p + mgl) sin a + N_1
        J_1 (p' sin a + 2 p a' cos a) = J_3 w_3 a' + N_2
        J_3 w_3' = N_3

    which do not depend on time. Linearised about the steady motion, with x the errors of
    (a, a', p, w_3), the torque N = -K x minimises the integral of (x / tolerances)^2 +
    (N / limits)^2. As the torque is held while the body turns under it, the attitude is taken half
    a period ahead.

    Source: the equations are Euler's in nutating axes, e.g. Goldstein, Classical Mechanics, 5.7;
    the gain is the solution of the Riccati equation.
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        goal: Axis,
        *,
        rate_limit: float,
        dt: float,
        tolerances: tuple[float, float, float, float] = (0.1, 1.0, 1.0, 5.0),
    ) -> None:
        from scipy.linalg import solve_continuous_are

        super().__init__(torque_limit, rate_limit=rate_limit, dt=dt)
        weights = positives("tolerances", tolerances, (4,))
        if not isinstance(goal, Axis):
            raise ValueError(f"goal must be an rbgym.envs.parts.goals.Axis, got {goal!r}")
        across, also, along = (float(moment) for moment in checked_body(body).moments)
        if not np.isclose(across, also) or goal.sin_nutation == 0.0:
            raise ValueError(f"goal must be a nutation of a symmetric top, got {goal!r}")
        self.refuse_idle_axes()
        self.goal = goal
        sin, cos, p = goal.sin_nutation, goal.cos_nutation, goal.precession
        self.along = goal.spin + p * cos  # w_3 of the motion wanted
        # Of the first equation over sin a, whose bracket vanishes at the steady motion.
        pull = -(p**2) * sin * sin
        A = np.zeros((4, 4))
        A[0, 1] = 1.0
        spin = along * self.along / across
        A[1] = [pull, 0.0, (2 * p * cos - spin) * sin, -along * p * sin / across]
        A[2, 1] = (spin - 2 * p * cos) / sin
        B = np.zeros((4, 3))
        B[1, 0], B[2, 1], B[3, 2] = 1 / across, 1 / (across * sin), 1 / along
        B *= self.torque_limit  # of commands
        with solvable(weights, dt, self.torque_limit):
            P = solve_continuous_are(A, B, np.diag(1.0 / weights**2), np.eye(3))
        self.gain = self.torque_limit[:, None] * (B.T @ P)

    @classmethod
    def for_env(cls, env: Any, **gains: Any) -> Self:
        """The law for an env of precession, single or vector; gains: tolerances."""
        top = env.unwrapped
        limits = {"rate_limit": top.rate_limit, "dt": top.dt}
        if not isinstance(top.goal, Axis) or not isinstance(top.potential, HeavyTop):
            raise ValueError(f"env must be a heavy top that precesses, its goal is {top.goal!r}")
        return cls(top.body, top.torque_limit, top.goal, **limits, **gains)

    def torque(self, quaternion: Array, angular_velocity: Array, wanted: Array) -> Array:
        omega, e = angular_velocity, np.array([0.0, 0.0, 1.0])
        then = multiply(quaternion, from_rotation_vector(0.5 * self.dt * omega))
        up = rotate_inverse(then, e)
        # The rates across the axis turn with the body backwards, as the vertical does.
        turned = rotate_inverse(from_rotation_vector(0.5 * self.dt * omega[:, 2:] * e), omega)
        n = np.cross(up, e)
        sin = np.maximum(np.linalg.norm(n, axis=-1, keepdims=True), 1e-6)
        n /= sin
        m = np.cross(e, n)
        nutation = np.arctan2(sin[:, 0], up[:, 2])
        x = np.stack(
            [
                nutation - np.arctan2(self.goal.sin_nutation, self.goal.cos_nutation),
                np.sum(turned * n, axis=-1),
                np.sum(turned * m, axis=-1) / sin[:, 0] - self.goal.precession,
                omega[:, 2] - self.along,
            ],
            axis=-1,
        )
        N = -x @ self.gain.T
        u = N[:, :1] * n + N[:, 1:2] * m
        limited = self.limited(u)
        limited[:, 2] = np.clip(N[:, 2], -self.torque_limit[2], self.torque_limit[2])
        return limited
