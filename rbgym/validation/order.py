"""Order of convergence under a held body torque, measured against a different formulation.

The reference knows no quaternions and no momentum: it integrates Euler's equations for the body
rates together with the rotation matrix, R' = R skew(omega), by the classical Runge-Kutta method.
"""

import math
from functools import cache

import numpy as np

from rbgym.engine import IntegrationError
from rbgym.integrators import Integrator
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array, Vector, to_matrix
from rbgym.validation.cases import Case
from rbgym.validation.claims import Claim

TOLERANCE = 0.1
STEPS = 320, 640  # of the two runs that are compared: rkn4 needs steps this small
REFERENCE_STEPS = 4000


def order(record: Integrator, case: Case) -> Claim:
    """Claim on the slope of the error between two runs, the second with half the step."""
    torque = case.torque if "torque" in record.supports else (0.0, 0.0, 0.0)
    R, omega = reference(case, torque)
    try:
        coarse, fine = (_error(record.name, case, torque, n, R, omega) for n in STEPS)
        slope = math.log2(coarse / fine)
    except (IntegrationError, ValueError, ZeroDivisionError):
        slope = math.nan
    passed = abs(slope - record.order) <= TOLERANCE
    return Claim(record.name, case.kind, "order", str(record.order), slope, TOLERANCE, passed)


def _error(name: str, case: Case, torque: Vector, steps: int, R: Array, omega: Array) -> float:
    end = case.run(name, case.horizon / steps, steps, torque)
    attitude = np.linalg.norm(to_matrix(end.quaternion[-1]) - R)
    rates = np.linalg.norm(end.angular_velocity[-1] - omega) / np.linalg.norm(omega)
    return float(np.hypot(attitude, rates))


@cache
def reference(case: Case, torque: Vector, steps: int = REFERENCE_STEPS) -> tuple[Array, Array]:
    """Rotation matrix (3, 3) and body rates (3,) at the case's horizon."""
    h, J = case.horizon / steps, case.body.inertia
    inverse, u = np.linalg.inv(J), np.array(torque)
    top = case.potential if isinstance(case.potential, HeavyTop) else None
    pull = -top.mgl * _skew(np.array(top.axis)) if top else np.zeros((3, 3))

    def rate(y: Array) -> Array:
        # y: R over omega. Gravity acts at mgl axis, along -R^T e_3.
        R, omega = y[:3], y[3]
        S = _skew(omega)
        return np.vstack([R @ S, inverse @ (u + pull @ R[2] - S @ (J @ omega))])

    y = np.vstack([to_matrix(np.array(case.quaternion)), np.array(case.omega)])
    for _ in range(steps):
        k_1 = rate(y)
        k_2 = rate(y + h / 2 * k_1)
        k_3 = rate(y + h / 2 * k_2)
        k_4 = rate(y + h * k_3)
        y = y + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
    return y[:3], y[3]


def _skew(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
