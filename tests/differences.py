"""Differences of the eighth order, to compare derivatives with."""

import numpy as np

from rbgym.quaternion import from_rotation_vector, multiply

_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)  # Fornberg (1988)


def slope(function, step=5e-3):
    """The derivative at zero of a function of one number."""
    pairs = ((w, k * step) for k, w in enumerate(_WEIGHTS, start=1))
    return sum(w * (function(e) - function(-e)) for w, e in pairs) / step


def turned_by(q, rotation_vector):
    """Attitudes (n, 4) turned further, by a rotation vector (3,) in body axes."""
    return multiply(q, from_rotation_vector(np.broadcast_to(rotation_vector, (len(q), 3))))


def errors_off(there, found):
    """What (attitude, more) is off: the rotation vector in body axes, and the rest."""
    p = multiply(there[0] * [1.0, -1.0, -1.0, -1.0], found[0])
    p *= np.sign(p[:, :1])
    sine = np.linalg.norm(p[:, 1:], axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, p[:, :1])
    return np.concatenate([p[:, 1:] * angle / np.maximum(sine, 1e-300), found[1]], axis=1)
