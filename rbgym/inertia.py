"""Inertia tensors: what a valid one is, and its principal frame (Mandre 2008, sections 3, 7.1)."""

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import Array, finite, quietly

_SLACK = 1e-12  # how far, relative to the largest entry, round-off may carry a valid tensor
_EQUAL = 1e-14  # moments closer than this, relatively, are one moment known with round-off


def point_inertia(r: Array) -> Array:
    """Inertia (r.r) 1 - r r^T of a unit mass at r [m^2]."""
    return np.asarray(r @ r * np.eye(3) - np.outer(r, r))


def principal_axes(tensor: Array) -> tuple[Array, Array]:
    """Principal moments (3,) and the rotation B (3, 3) nearest to 1 that diagonalises."""
    if not np.any(tensor - np.diag(np.diag(tensor))):
        return np.diag(tensor).copy(), np.eye(3)
    values, vectors = np.linalg.eigh(tensor)
    tolerance = _EQUAL * np.max(np.abs(values))
    low, high = np.diff(values) <= tolerance
    if low and high:
        return np.diag(tensor).copy(), np.eye(3)
    if low or high:
        single = 2 if low else 0
        return _axisymmetric(values, single, vectors[:, single])
    orders = (list(order) for order in permutations(range(3)))
    order = max(orders, key=lambda order: float(np.abs(np.diag(vectors[:, order])).sum()))
    axes = vectors[:, order]
    # Positive diagonals give the largest trace. It belongs to a rotation: no reflection has a
    # trace above 1, while one of the 24 right-handed choices is within 63 degrees of 1 (1.9).
    return values[order], axes * np.where(np.diag(axes) < 0, -1.0, 1.0)


def _axisymmetric(values: Array, single: int, axis: Array) -> tuple[Array, Array]:
    """As `principal_axes` with two equal moments, whose own axes eigh may turn at will."""
    k = int(np.argmax(np.abs(axis)))
    axis = axis * np.sign(axis[k])
    e = np.eye(3)[k]
    # The smallest rotation that takes e to the axis; axis[k] >= 1/sqrt(3) keeps it regular.
    swing = np.outer(axis, e) - np.outer(e, axis)
    moments = np.full(3, np.delete(values, single).mean())
    moments[k] = values[single]
    return moments, np.eye(3) + swing + swing @ swing / (1 + axis[k])


def full_tensor(inertia: ArrayLike) -> Array:
    """Full tensor (3, 3) of what the user gave."""
    array = finite("inertia", inertia, (3,), (3, 3))
    if array.ndim == 1:
        return np.diag(array)
    if np.max(np.abs(array - array.T)) > _SLACK * np.max(np.abs(array)):
        raise ValueError(f"inertia must be a symmetric tensor, got {array.tolist()}")
    return (array + array.T) / 2


def check_moments(moments: Array) -> None:
    """Refuse moments that no distribution of mass in three dimensions has."""
    low, middle, high = np.sort(moments)
    if low <= 0:
        raise ValueError(f"inertia must have positive principal moments, got {moments.tolist()}")
    if high - middle - low > _SLACK * high:
        raise ValueError(
            "inertia must satisfy the triangle inequality, each principal moment at most the sum "
            f"of the other two, got principal moments {moments.tolist()}"
        )


@quietly
def check_center(tensor: Array, mass: float, center: Array) -> None:
    """Refuse a lever arm that alone, with this mass, has more inertia than the body."""
    # The second moment of mass, integral r r^T dm, about the centre of mass is never negative.
    spread = np.trace(tensor) / 2 * np.eye(3) - tensor - mass * np.outer(center, center)
    if not np.any(center):
        return
    far = not np.isfinite(spread).all()
    if far or np.linalg.eigvalsh(spread)[0] < -_SLACK * np.max(np.abs(tensor)):
        raise ValueError(
            f"center_of_mass must be within reach of inertia {tensor.tolist()} about the origin "
            f"and mass {mass}, got {center.tolist()}: no mass distribution has all three"
        )
