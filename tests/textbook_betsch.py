"""Betsch & Siebert (2009): QUAT_VI (appendix E) and DIR_EM (section 3), slow and as printed.

QUAT_VI has the usual step. DIR_EM keeps nine director velocities from step to step: see DirEM and
run_with_memory. Neither has rotors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from textbook import newton, tensor, vector
from textbook_potentials import direction, divided_difference
from textbook_quaternion import (
    Array,
    G,
    homogeneous_rotation,
    quaternion_of_rotation,
    quaternion_of_rotation_vector,
    quaternion_product,
    rotation,
    skew,
)


def reduced_mass_matrix(J: Array, q: Array) -> Array:
    """The singular M~_4(q) = 4 G^T J G of Remark 4.1."""
    return 4 * G(q).T @ J @ G(q)


def quat_vi_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """QUAT_VI in position-momentum form, in the five unknowns q_{n+1}, lambda_n.

    p_n = -D1 L_d(q_n, q_{n+1}) + (h/2) q_n lambda_n, g(q_{n+1}) = 0, then
    p_{n+1} = D2 L_d(q_n, q_{n+1}) - (h/2) q_{n+1} lambda_{n+1}. The last term has no part in the
    angular momentum 1/2 E(q) p (45), in body axes 1/2 G(q) p, and is left out. The held torque u
    adds half of its impulse at each end: (h/2) u in body axes, h G(q)^T u in p.
    """
    J, u = tensor(J), vector(torque)
    p = 2 * G(q).T @ (J @ omega + h / 2 * u)

    def slope_of_V(q1: Array) -> Array:  # at the mean of the two, which is not normalised
        mean = (q + q1) / 2
        return np.zeros(4) if potential is None else potential.quaternion_gradient(mean)

    def D1_L_d(q1: Array) -> Array:
        return reduced_mass_matrix(J, q1) @ q / h - h / 2 * slope_of_V(q1)

    def residual(x: Array) -> Array:
        q1, multiplier = x[:4], x[4]
        first = p + D1_L_d(q1) - h / 2 * q * multiplier
        return np.concatenate([first, [(q1 @ q1 - 1) / 2]])

    q1 = quaternion_product(q, quaternion_of_rotation_vector(h * omega))
    x = newton(residual, np.concatenate([q1, [2 / h * (q @ D1_L_d(q1))]]))
    q1 = x[:4] / np.linalg.norm(x[:4])  # round-off only
    p1 = reduced_mass_matrix(J, q) @ q1 / h - h / 2 * slope_of_V(q1)  # D2 L_d
    return q1, np.linalg.solve(J, 0.5 * G(q1) @ p1 + h / 2 * u)


class Directors(NamedTuple):
    """The memory of DIR_EM: row I is d_I, row I of v its velocity, in world axes."""

    d: Array
    v: Array


def principal_axes(J: ArrayLike) -> tuple[Array, Array]:
    """Moments (3,) and the matrix whose columns b_I are their axes; those given if J is (3,)."""
    J = np.asarray(J, dtype=float)
    return (J, np.eye(3)) if J.ndim == 1 else np.linalg.eigh(J)


def euler_values(moments: Array) -> Array:
    """E_I of (20): J = tr(E) - E, so that E = tr(J)/2 - J."""
    return moments.sum() / 2 - moments


def constraints(d: Array) -> Array:
    """Phi (17)."""
    lengths = [(d[i] @ d[i] - 1) / 2 for i in range(3)]
    return np.array([*lengths, d[0] @ d[1], d[0] @ d[2], d[1] @ d[2]])


def constraint_force(multipliers: Array, d: Array) -> Array:
    """sum_i lambda_i grad Phi_i(q), one row a director."""
    l1, l2, l3, l12, l13, l23 = multipliers
    return np.array([[l1, l12, l13], [l12, l2, l23], [l13, l23, l3]]) @ d


def half_way_rotation(R_0: Array, R_1: Array) -> Array:
    """The rotation half-way from R_0 to R_1, from the plain mean of their quaternions; analytic."""
    C = R_0.T @ R_1
    off = np.array([C[2, 1] - C[1, 2], C[0, 2] - C[2, 0], C[1, 0] - C[0, 1]])
    increment = np.concatenate([[1 + np.trace(C)], off])  # 4 c (c, s): below half a turn
    increment = increment / np.sqrt(increment @ increment)
    mean = (increment + np.eye(4)[0]) / 2
    return R_0 @ homogeneous_rotation(mean / np.sqrt(mean @ mean))


def forces_of_moment(moment: Array, d: Array) -> Array:
    """Forces f_I = a x d_I with sum d_I x f_I = moment.

    Any other f of this moment differs from it by some sum lambda_i grad Phi_i(d), and by nothing
    once the multipliers are solved for.
    """
    inertia = np.sum(d * d) * np.eye(3) - d.T @ d  # sum of |d_I|^2 - d_I d_I^T
    return np.cross(np.linalg.solve(inertia, moment), d)


class DirEM:
    """DIR_EM: the energy-momentum discretisation of (22), Betsch & Steinmann (2001), reference 7.

    M9 (v_1 - v_0) = h (f - gradbar V - sum lambda_i grad Phi_i(q_mid)), q_1 - q_0 = h v_mid,
    Phi(q_1) = 0. The held torque u is the f with sum dbar_I x f_I = R_m u, R_m half-way.
    Fifteen unknowns: nine directors and six multipliers, v_1 = 2 (q_1 - q_0)/h - v_0.
    """

    @staticmethod
    def start(J, q, omega) -> Directors:
        """d_I = R b_I and v_I = (R omega) x d_I."""
        d = (rotation(q) @ principal_axes(J)[1]).T
        return Directors(d, np.array([np.cross(rotation(q) @ omega, x) for x in d]))

    @staticmethod
    def step(J, memory, h, potential=None, torque=None) -> Directors:
        moments, B = principal_axes(J)
        M, (d0, v0) = euler_values(moments)[:, None], memory
        u, k = vector(torque), direction(potential)

        def force(d1: Array) -> Array:  # f - gradbar V; V knows o_I = d_I . k
            g = divided_difference(potential, B @ d0 @ k, B @ d1 @ k)
            turning = half_way_rotation(d0.T @ B.T, d1.T @ B.T) @ u
            return forces_of_moment(turning, (d0 + d1) / 2) - np.outer(B.T @ g, k)

        def residual(x: Array) -> Array:
            d1, multipliers = x[:9].reshape(3, 3), x[9:]
            dv = 2 * (d1 - d0) / h - 2 * v0
            second = M * dv - h * force(d1) + h * constraint_force(multipliers, (d0 + d1) / 2)
            return np.concatenate([second.ravel(), constraints(d1)])

        omega = rotation_rate(d0, v0)
        turn = homogeneous_rotation(quaternion_of_rotation_vector(h * omega))
        x = newton(residual, np.concatenate([(d0 @ turn.T).ravel(), np.zeros(6)]))
        d1 = x[:9].reshape(3, 3)
        return Directors(d1, 2 * (d1 - d0) / h - v0)

    @staticmethod
    def shown(J, memory, near=None) -> tuple[Array, Array]:
        """(q, omega) with omega = J^-1 R^T L, L = sum E_I d_I x v_I (23)."""
        d, _ = memory
        R = d.T @ principal_axes(J)[1].T
        omega = np.linalg.solve(tensor(J), R.T @ director_momentum(J, memory))
        return quaternion_of_rotation(R, near=near), omega


def rotation_rate(d: Array, v: Array) -> Array:
    """World rate of the rotation nearest to the velocities: 1/2 sum d_I x v_I."""
    return 0.5 * sum(skew(a) @ b for a, b in zip(d, v, strict=True))


def director_momentum(J, memory: Directors) -> Array:
    """World angular momentum (23)."""
    values = euler_values(principal_axes(J)[0])
    return sum(e * np.cross(a, b) for e, a, b in zip(values, *memory, strict=True))


def run_with_memory(scheme, J, q, omega, h, steps, potential=None, torque=None):
    """textbook.run for a class with start, step and shown: ((q, omega) at the end, qs, omegas)."""
    memory = scheme.start(J, np.asarray(q, dtype=float), omega)
    trajectory = [(np.asarray(q, dtype=float), np.asarray(omega, dtype=float))]
    for u in np.broadcast_to(vector(torque), (steps, 3)):
        memory = scheme.step(J, memory, h, potential, u)
        trajectory.append(scheme.shown(J, memory, trajectory[-1][0]))
    qs, omegas = zip(*trajectory, strict=True)
    return trajectory[-1], np.array(qs), np.array(omegas)
