"""A body and states to try laws of attitude on."""

import numpy as np

from rbgym import RigidBody

BODY = RigidBody([[3.0, 0.2, -0.1], [0.2, 2.0, 0.3], [-0.1, 0.3, 1.5]])
J = np.asarray(BODY.inertia)
FREE = (1e9, 1e9, 1e9)  # torque without limits


def drawn(count, seed=0):
    """Attitudes (count, 4) with either sign, and rates (count, 3)."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True), rng.normal(size=(count, 3))


def law_of(cls, limit=FREE, **gains):
    """A law for the body."""
    return cls(BODY, limit, rate_limit=2.0, dt=0.1, **gains)


def vee(matrix):
    """The vector of an antisymmetric matrix."""
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0]])
