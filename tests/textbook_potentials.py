"""Potentials V(o) of the body vector o = R^T k, k the fixed unit direction in the world.

Each has energy(R), body_torque(R), the gradient in R^4 of its homogeneous extension, and the exact
divided difference g(o_0, o_1): g . (o_1 - o_0) = V(o_1) - V(o_0), equal to the gradient at
o_0 = o_1. Everything is analytic, so that complex steps pass through.
"""

import numpy as np
from numpy.typing import ArrayLike

from textbook import UP, Top, tensor
from textbook_quaternion import Array, E, homogeneous_rotation, minus


class BodyVectorPotential:
    """What follows from value(o), gradient(o) and the direction k."""

    direction = UP

    def value(self, o: Array) -> float:
        raise NotImplementedError

    def gradient(self, o: Array) -> Array:
        raise NotImplementedError

    def divided_difference(self, o_0: Array, o_1: Array) -> Array:
        raise NotImplementedError

    def energy(self, R: Array) -> float:
        return self.value(R.T @ self.direction)

    def body_torque(self, R: Array) -> Array:
        """T = o x grad V: turning the body by delta changes o by -delta x o."""
        o = R.T @ self.direction
        return np.cross(o, self.gradient(o))

    def quaternion_gradient(self, q: Array) -> Array:
        """Gradient in R^4 of V(o(q)), o(q) = (E(q) G(q)^T)^T k quadratic in q, q of any length."""
        o = homogeneous_rotation(q).T @ self.direction
        return quaternion_gradient_of(self.gradient(o), self.direction, q)


SIGNS = {"printed": (1.0, -0.001), "repulsive": (-1.0, 0.001)}


class SoftWall(BodyVectorPotential):
    """V = 1/(1.1 + z) - 0.001/(1.1 + z)^10, z = (R e_b) . e3: Krysl (2007), section 5.4.

    sign "printed" is the potential of the printed torque; "repulsive" is that with both signs
    turned: an attractive Coulombic potential and a repulsive soft wall, as the text describes.
    """

    def __init__(self, axis: ArrayLike = (0.0, 0.0, 1.0), sign: str = "printed") -> None:
        self.axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
        self.coulomb, self.wall = SIGNS[sign]

    def value(self, o: Array) -> float:
        a = 1 / (1.1 + self.axis @ o)
        return self.coulomb * a + self.wall * a**10

    def gradient(self, o: Array) -> Array:
        a = 1 / (1.1 + self.axis @ o)
        return -(self.coulomb * a**2 + 10 * self.wall * a**11) * self.axis

    def divided_difference(self, o_0: Array, o_1: Array) -> Array:
        """With a = 1/(1.1 + z_0), b = 1/(1.1 + z_1): b - a = -a b (z_1 - z_0)."""
        a, b = 1 / (1.1 + self.axis @ o_0), 1 / (1.1 + self.axis @ o_1)
        powers = sum(a**i * b ** (9 - i) for i in range(10))  # (b^10 - a^10)/(b - a)
        return -a * b * (self.coulomb + self.wall * powers) * self.axis


class GravityGradient(BodyVectorPotential):
    """V = 3/2 k c . J c, c = R^T direction, about an inertially fixed direction."""

    def __init__(self, k: float, J: ArrayLike, direction: ArrayLike) -> None:
        self.k, self.J = k, tensor(J)
        self.direction = np.asarray(direction, dtype=float) / np.linalg.norm(direction)

    def value(self, o: Array) -> float:
        return 1.5 * self.k * (o @ self.J @ o)

    def gradient(self, o: Array) -> Array:
        return 3 * self.k * (self.J @ o)

    def divided_difference(self, o_0: Array, o_1: Array) -> Array:
        return 1.5 * self.k * (self.J @ (o_0 + o_1))


Potential = Top | BodyVectorPotential | None


def direction(potential: Potential) -> Array:
    """The fixed world direction k that the potential knows."""
    return getattr(potential, "direction", UP)


def body_vector(potential: Potential, R: Array) -> Array:
    """o = R^T k."""
    return R.T @ direction(potential)


def divided_difference(potential: Potential, o_0: Array, o_1: Array) -> Array:
    """g with g . (o_1 - o_0) = V(o_1) - V(o_0) for any potential of the twins; None is V = 0."""
    if potential is None:
        return np.zeros(3)
    if isinstance(potential, Top):
        return potential.mgl * potential.axis  # V is linear in o
    return potential.divided_difference(o_0, o_1)


def quaternion_gradient_of(g: Array, k: Array, q: Array) -> Array:
    """Gradient in R^4 of g . o(q), o(q) = (E(q) G(q)^T)^T k; cf. Betsch & Siebert, section 5.2."""
    return -2 * minus(g) @ E(q).T @ k


def discrete_quaternion_gradient(potential: Potential, q_0: Array, q_1: Array) -> Array:
    """Gonzalez's discrete derivative: its product with q_1 - q_0 is V(q_1) - V(q_0).

    o(q) is quadratic, so o(q_1) - o(q_0) is its slope at the mean times q_1 - q_0: the divided
    difference in o goes with the gradient of o at (q_0 + q_1)/2. Constant g: (51) of that paper.
    """
    k = direction(potential)
    o_0, o_1 = (homogeneous_rotation(q).T @ k for q in (q_0, q_1))
    return quaternion_gradient_of(divided_difference(potential, o_0, o_1), k, (q_0 + q_1) / 2)
