"""Invariants of the motion and how far a trajectory drifts from them."""

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import is_number, quietly, real
from rbgym.quaternion import Array


@quietly
def relative_energy_error(energy: ArrayLike, scale: float | None = None) -> Array:
    """|E - E_0| / scale along the first axis; a scale of None or 0 is |E_0|, or 1 J at E_0 = 0.

    Raises ValueError for an empty array and for a negative scale. As in the other measures, values
    that are not finite give results that are not finite.
    """
    E = _history("energy", energy)
    if scale is not None and not (is_number(scale) and scale >= 0):
        raise ValueError(f"scale must be a number that is not negative, or None, got {scale!r}")
    return np.asarray(np.abs(E - E[0]) / (scale or np.where(E[0] == 0.0, 1.0, np.abs(E[0]))))


@quietly
def momentum_error(angular_momentum: ArrayLike) -> Array:
    """|L - L_0| / |L_0| of world vectors (n, 3), absolute if the body starts at rest."""
    L = _history("angular_momentum", angular_momentum, 3)
    return _size(L - L[0]) / (_size(L[:1]) or 1.0)


@quietly
def vertical_momentum_error(angular_momentum: ArrayLike) -> Array:
    """|L_3 - L_3(0)| / |L_0| of world vectors (n, 3), absolute if the body starts at rest."""
    L = _history("angular_momentum", angular_momentum, 3)
    return np.asarray(np.abs(L[:, 2] - L[0, 2]) / (_size(L[:1]) or 1.0))


def norm_error(quaternion: ArrayLike) -> Array:
    """| |q| - 1 | of quaternions (n, 4)."""
    return np.abs(_size(_history("quaternion", quaternion, 4)) - 1.0)


def _size(rows: Array) -> Array:
    """The sizes (n,) of vectors (n, k). A scale by a power of two, which changes no digit, keeps
    squares from over- and underflow."""
    power = np.frexp(np.abs(rows).max(axis=1))[1]
    return np.asarray(np.ldexp(np.linalg.norm(np.ldexp(rows, -power[:, None]), axis=1), power))


def _history(name: str, value: ArrayLike, *row: int) -> Array:
    """An array of rows, one for each instant, at least one; raises ValueError otherwise."""
    array = real(name, value)
    if array.ndim == 0 or not len(array) or (row and array.shape[1:] != row):
        shape = ("n", *row) if row else ("n", "...")
        raise ValueError(f"{name} must have shape ({', '.join(map(str, shape))}), n > 0, "
                         f"got shape {array.shape}")  # fmt: skip
    return array
