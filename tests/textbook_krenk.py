"""Krenk & Nielsen (2013): convected base vectors with implicit constraints, slow and as printed.

q = (q_1, q_2, q_3), p = (p_1, p_2, p_3) in R^9, q_j the columns of R. Rotors are our extension:
G p = -(J omega + h_w), T = 1/2 (G p + h_w) . J^-1 (G p + h_w).
"""

import numpy as np

from textbook import newton, tensor, vector
from textbook_betsch import forces_of_moment
from textbook_potentials import direction, divided_difference
from textbook_quaternion import (
    Array,
    homogeneous_rotation,
    quaternion_of_rotation,
    quaternion_of_rotation_vector,
    rotation,
)


def C(q: Array) -> Array:
    """6 x 9 matrix of (5): e' = C(q) q'."""
    q1, q2, q3 = q.reshape(3, 3)
    rows = np.zeros((6, 3, 3), dtype=q.dtype)
    rows[0, 0], rows[1, 1], rows[2, 2] = q1, q2, q3
    rows[3, 1], rows[3, 2] = q3, q2
    rows[4, 0], rows[4, 2] = q3, q1
    rows[5, 0], rows[5, 1] = q2, q1
    return rows.reshape(6, 9)


def G(q: Array) -> Array:
    """3 x 9 matrix of (8): omega = -1/2 G(q) q' (7)."""
    q1, q2, q3 = q.reshape(3, 3)
    rows = np.zeros((3, 3, 3), dtype=q.dtype)
    rows[0, 1], rows[0, 2] = -q3, q2
    rows[1, 0], rows[1, 2] = q3, -q1
    rows[2, 0], rows[2, 1] = -q2, q1
    return rows.reshape(3, 9)


def convected_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """(22) and (25) with lambda_0 of (26), in the eighteen unknowns q_{n+1}, p_{n+1}.

    C(q) p = 0 (17) and G(q) p = -(J omega + h_w) fix p, which is -1/2 G^T (J omega + h_w) (12).
    (24) keeps (17), so that nothing is lost against keeping p. The multipliers have no moment
    about q and only keep (17): attitude and rate are the same without projection and lambda_0.
    The held torque's force f, of moment sum qbar_j x f_j = (R_0 + R_1)/2 u, stands with -dV*/dq in
    the bracket of (23), V* with dV*/dq_j = g_j k, and is projected with it (25).
    """
    J, u, h_w, k = tensor(J), vector(torque), vector(rotor_momentum), direction(potential)
    q_0 = rotation(q).T.ravel()
    p_0 = -0.5 * G(q_0).T @ (J @ omega + h_w)
    old = G(q_0) @ p_0, G(p_0) @ q_0

    def load(q1: Array) -> Array:  # dV*/dq - f
        base, base1, mean = (x.reshape(3, 3) for x in (q_0, q1, (q_0 + q1) / 2))
        slope = np.outer(divided_difference(potential, base @ k, base1 @ k), k)
        return (slope - forces_of_moment(mean.T @ u, mean)).ravel()

    def residual(x: Array) -> Array:
        q1, p1 = x[:9], x[9:]
        qm, pm = (q_0 + q1) / 2, (p_0 + p1) / 2
        rate_q = np.linalg.solve(J, (old[0] + G(q1) @ p1) / 2 + h_w)
        rate_p = np.linalg.solve(J, (old[1] + G(p1) @ q1) / 2 - h_w)

        V, Cm, Gq, Gp = load(q1), C(qm), G(qm), G(pm)
        coupling = (Cm @ Gp.T + C(pm) @ Gq.T) @ rate_p
        lambda_0 = np.linalg.solve(Cm @ Cm.T, coupling)  # (26)
        projected = V - Cm.T @ np.linalg.solve(Cm @ Cm.T, Cm @ V)
        first = q1 - q_0 - h * Gq.T @ rate_q  # (22)
        second = p1 - p_0 + h * (Gp.T @ rate_p + projected - Cm.T @ lambda_0)  # (25)
        return np.concatenate([first, second])

    turn = homogeneous_rotation(quaternion_of_rotation_vector(h * omega))
    q1 = (turn.T @ q_0.reshape(3, 3)).ravel()  # R_1 = R_0 turn, base vectors in rows
    x = newton(residual, np.concatenate([q1, 0.5 * G(q1).T @ old[0]]))
    omega1 = -np.linalg.solve(J, G(x[:9]) @ x[9:] + h_w)
    return quaternion_of_rotation(x[:9].reshape(3, 3).T, near=q), omega1
