"""Quaternion algebra in the matrix form of Betsch & Siebert (2009), sections 2.3 to 2.5."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # real, or complex inside a complex-step derivative


def skew(a: Array) -> Array:
    """The matrix of a x."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def E(q: Array) -> Array:
    """3 x 4 matrix E(q) = [-q, q0 I + skew q], below (10)."""
    return np.column_stack([-q[1:], q[0] * np.eye(3) + skew(q[1:])])


def G(q: Array) -> Array:
    """3 x 4 matrix G(q) = [-q, q0 I - skew q], below (10)."""
    return np.column_stack([-q[1:], q[0] * np.eye(3) - skew(q[1:])])


def Q_left(q: Array) -> Array:
    """Matrix of b -> q o b: [q, G(q)^T] (10)."""
    return np.column_stack([q, G(q).T])


def minus(a: Array) -> Array:
    """4 x 4 matrix of q -> q o (0, a) (11)."""
    top = np.concatenate([[0.0], -a])
    return np.vstack([top, np.column_stack([a, -skew(a)])])


def quaternion_product(a: Array, b: Array) -> Array:
    """The Hamilton product a o b (1)."""
    scalar = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[scalar], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def conjugate(q: Array) -> Array:
    """The quaternion with the opposite vector part."""
    return np.concatenate([q[:1], -q[1:]])


def pure(a: Array) -> Array:
    """The quaternion (0, a)."""
    return np.concatenate([[0.0], a])


def quaternion_of_rotation_vector(theta: Array) -> Array:
    """exp_S3((0, theta/2)) (6), analytic in theta so that complex steps pass through."""
    half = np.sqrt(theta @ theta + 0j) / 2
    q = np.concatenate([[np.cos(half)], np.sinc(half / np.pi) * theta / 2])
    return q if np.iscomplexobj(theta) else q.real


def homogeneous_rotation(q: Array) -> Array:
    """E(q) G(q)^T (12), quadratic in q: |q|^2 times a rotation."""
    return E(q) @ G(q).T


def rotation(q: Array) -> Array:
    """The rotation matrix of q/|q|."""
    return homogeneous_rotation(q / np.linalg.norm(q))


def quaternion_of_rotation(R: Array, near: Array | None = None) -> Array:
    """The unit quaternion of R, with the sign nearer to `near`."""
    off = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    outer = np.zeros((4, 4))  # 4 q q^T, every entry linear in R
    outer[0, 0], outer[0, 1:], outer[1:, 0] = 1 + np.trace(R), off, off
    outer[1:, 1:] = R + R.T + (1 - np.trace(R)) * np.eye(3)
    q = outer[:, np.argmax(np.diag(outer))]
    q = q / np.linalg.norm(q)
    return -q if near is not None and q @ near < 0 else q
