"""Invariants of the motion and how far a trajectory drifts from them."""

import numpy as np

from rbgym.quaternion import Array


def relative_energy_error(energy: Array, scale: float | None = None) -> Array:
    """|E - E_0| / scale along the first axis; scale defaults to |E_0|, or 1 J at E_0 = 0."""
    start = float(energy[0])
    return np.asarray(np.abs(energy - start) / (scale or abs(start) or 1.0))


def momentum_error(angular_momentum: Array) -> Array:
    """|L - L_0| / |L_0| of world vectors (n, 3), absolute if the body starts at rest."""
    lack = np.linalg.norm(angular_momentum - angular_momentum[0], axis=1)
    return np.asarray(lack / (np.linalg.norm(angular_momentum[0]) or 1.0))


def vertical_momentum_error(angular_momentum: Array) -> Array:
    """|L_3 - L_3(0)| relative to the size of L at the start, or absolute at rest."""
    lack = np.abs(angular_momentum[:, 2] - angular_momentum[0, 2])
    return np.asarray(lack / (np.linalg.norm(angular_momentum[0]) or 1.0))


def norm_error(quaternion: Array) -> Array:
    """| |q| - 1 | of quaternions (n, 4)."""
    return np.asarray(np.abs(np.linalg.norm(quaternion, axis=1) - 1.0))
