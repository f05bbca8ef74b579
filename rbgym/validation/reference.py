"""Reference motions by a formulation that has nothing in common with the integrators.

It knows no quaternions and no momentum: Euler's equations for the body rates together with the
rotation matrix, R' = R skew(omega), by the classical Runge-Kutta method.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rbgym.potentials import GravityGradient, HeavyTop, SoftWall
from rbgym.quaternion import Array, Vector, to_matrix
from rbgym.validation.cases import Case

REFERENCE_STEPS = 4000


@cache
def reference(case: Case, torque: Vector, steps: int = REFERENCE_STEPS) -> tuple[Array, Array]:
    """Rotation matrix (3, 3) and body rates (3,) at the case's horizon."""
    h, J = case.horizon / steps, case.body.inertia
    inverse, u = np.linalg.inv(J), np.array(torque)
    pull = _body_torque(case.potential, J)

    def rate(y: Array) -> Array:
        # y: R over omega.
        R, omega = y[:3], y[3]
        S = _skew(omega)
        return np.vstack([R @ S, inverse @ (u + pull(R) - S @ (J @ omega))])

    y = np.vstack([to_matrix(np.array(case.quaternion)), np.array(case.omega)])
    for _ in range(steps):
        k_1 = rate(y)
        k_2 = rate(y + h / 2 * k_1)
        k_3 = rate(y + h / 2 * k_2)
        k_4 = rate(y + h * k_3)
        y = y + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
    return y[:3], y[3]


def _body_torque(potential: Any, J: Array) -> Callable[[Array], Array]:
    """The potential's torque in body axes as a function of R; R[2] is the vertical seen from it."""
    match potential:
        case HeavyTop(mgl, axis):
            arm = -mgl * _skew(np.array(axis))  # the weight acts at the axis, along -R^T e_3
            return lambda R: arm @ R[2]
        case SoftWall(sign, axis):
            sigma = 1.0 if sign == "printed" else -1.0
            e = np.array(axis)

            def bounce(R: Array) -> Array:
                gap = 1.1 + R[2] @ e
                slope = sigma * (-(gap**-2) + 0.01 * gap**-11)
                return np.asarray(-slope * np.cross(e, R[2]))

            return bounce
        case GravityGradient(k, direction):
            d = np.array(direction)
            return lambda R: 3.0 * k * np.cross(R.T @ d, J @ (R.T @ d))
    return lambda R: np.zeros(3)


def _skew(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
