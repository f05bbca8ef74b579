"""Krenk & Nielsen (2013): convected base vectors with implicit constraints, slow and as printed.

q = (q_1, q_2, q_3), p = (p_1, p_2, p_3) in R^9, q_j the columns of R. Rotors are our extension:
G p = -(J omega + h_w), T = 1/2 (G p + h_w) . J^-1 (G p + h_w).
"""

from typing import NamedTuple

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


def strains(q: Array) -> Array:
    """e of (3): zero for orthonormal base vectors."""
    return C(q) @ q / 2 - np.array([1, 1, 1, 0, 0, 0]) / 2


class Base(NamedTuple):
    """The state of the scheme, each (9,)."""

    q: Array
    p: Array


class Convected:
    """(22) and (25) with lambda_0 of (26), in the eighteen unknowns q_{n+1}, p_{n+1}.

    The multipliers have no moment about q and only keep (17), C(q) p = 0: attitude and rate are
    the same without the projection and without lambda_0.
    """

    @staticmethod
    def start(J, q, omega, rotor_momentum=None) -> Base:
        """p = 1/4 G^T J G q' (12) = -1/2 G^T J omega."""
        base = rotation(q).T.ravel()
        return Base(base, -0.5 * G(base).T @ (tensor(J) @ omega + vector(rotor_momentum)))

    @staticmethod
    def step(J, memory, h, potential=None, torque=None, rotor_momentum=None) -> Base:
        """The held torque's force f, of moment sum qbar_j x f_j = (R_0 + R_1)/2 u, stands with
        -dV*/dq in the bracket of (23), V* with dV*/dq_j = g_j k, and is projected with it (25).
        """
        J, u, h_w = tensor(J), vector(torque), vector(rotor_momentum)
        (q, p), k = memory, direction(potential)
        old = G(q) @ p, G(p) @ q

        def load(q1: Array) -> Array:  # dV*/dq - f
            base, base1, mean = (x.reshape(3, 3) for x in (q, q1, (q + q1) / 2))
            slope = np.outer(divided_difference(potential, base @ k, base1 @ k), k)
            return (slope - forces_of_moment(mean.T @ u, mean)).ravel()

        def residual(x: Array) -> Array:
            q1, p1 = x[:9], x[9:]
            qm, pm = (q + q1) / 2, (p + p1) / 2
            rate_q = np.linalg.solve(J, (old[0] + G(q1) @ p1) / 2 + h_w)
            rate_p = np.linalg.solve(J, (old[1] + G(p1) @ q1) / 2 - h_w)

            V, Cm, Gq, Gp = load(q1), C(qm), G(qm), G(pm)
            coupling = (Cm @ Gp.T + C(pm) @ Gq.T) @ rate_p
            lambda_0 = np.linalg.solve(Cm @ Cm.T, coupling)  # (26)
            projected = V - Cm.T @ np.linalg.solve(Cm @ Cm.T, Cm @ V)
            first = q1 - q - h * Gq.T @ rate_q  # (22)
            second = p1 - p + h * (Gp.T @ rate_p + projected - Cm.T @ lambda_0)  # (25)
            return np.concatenate([first, second])

        omega = -np.linalg.solve(J, G(q) @ p + h_w)
        turn = homogeneous_rotation(quaternion_of_rotation_vector(h * omega))
        q1 = (turn.T @ q.reshape(3, 3)).ravel()  # R_1 = R_0 turn, base vectors in rows
        x = newton(residual, np.concatenate([q1, 0.5 * G(q1).T @ (G(q) @ p)]))
        return Base(x[:9], x[9:])

    @staticmethod
    def shown(J, memory, near=None, rotor_momentum=None) -> tuple[Array, Array]:
        """(q, omega) with G p = -(J omega + h_w)."""
        q, p = memory
        omega = -np.linalg.solve(tensor(J), G(q) @ p + vector(rotor_momentum))
        return quaternion_of_rotation(q.reshape(3, 3).T, near=near), omega


def convected_step(J, q, omega, h, potential=None, torque=None, rotor_momentum=None):
    """One step with p rebuilt from omega: C(q) p = 0 (17) and G(q) p = -(J omega + h_w) fix p, and
    (24) keeps (17), so that nothing is lost against keeping p.
    """
    memory = Convected.start(J, q, omega, rotor_momentum)
    memory = Convected.step(J, memory, h, potential, torque, rotor_momentum)
    return Convected.shown(J, memory, q, rotor_momentum)


def base_energy(J, memory: Base, potential=None, rotor_momentum=None) -> float:
    """T(q, p) (13) + V."""
    q, p = memory
    x = G(q) @ p + vector(rotor_momentum)
    kinetic = 0.5 * x @ np.linalg.solve(tensor(J), x)
    return kinetic + (0.0 if potential is None else potential.energy(q.reshape(3, 3).T))


def base_momentum(memory: Base) -> Array:
    """World angular momentum sum q_j x p_j = -R G(q) p on the constraint manifold."""
    q, p = (x.reshape(3, 3) for x in memory)
    return np.sum(np.cross(q, p), axis=0)
