"""The direction of the Sun from what coarse cells measure."""

import numpy as np
from numpy.typing import ArrayLike

from rbgym.quaternion import Array

_LIT, _DARK = 0.1, 0.5  # parts of a cell's largest current
_SLIGHT = 1e-6  # of the normals' squares, so that they need not span all directions
_PASSES = 3


def sun_direction(currents: Array, normals: ArrayLike) -> Array:
    """Unit vectors to the Sun in body axes, (n, 3), zero in the dark.

    currents: (n, k), of each cell the cosine of its angle to the Sun, as a part of the largest.
    normals: (k, 3), unit vectors. s is the least-squares solution of N s = c over the cells that
    see the Sun: at first those with a current, then those that face the direction just found, as
    one at grazing light has hardly any.
    """
    normals = np.asarray(normals, dtype=float)
    lit = currents > _LIT
    for _ in range(_PASSES):
        square = np.einsum("nk,ki,kj->nij", lit, normals, normals) + _SLIGHT * np.eye(3)
        s = np.linalg.solve(square, ((lit * currents) @ normals)[:, :, None])[:, :, 0]
        lit = s @ normals.T >= 0.0
    size = np.linalg.norm(s, axis=1, keepdims=True)
    return np.where(size > _DARK, s / np.maximum(size, _DARK), 0.0)
