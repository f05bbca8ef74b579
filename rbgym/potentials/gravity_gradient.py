"""Gravity gradient about an inertially fixed direction, and on a circular orbit.

V = (1/2) c . S c with c = R^T d and S = 3 k J; its divided difference is S (c_0 + c_1)/2.
"""

import math
from typing import Self

import numpy as np

from rbgym.body import RigidBody
from rbgym.engine.rows import LANES, J, vector
from rbgym.potentials.interface import Potential, number, unit_vector
from rbgym.quaternion import Vector, add, cos_sin, cross, dot, scale, sub, times, to_body, to_world

_RIGHT = 1e-9  # largest cosine of what counts as a right angle


class GravityGradient(Potential):
    """Gravity gradient about an inertially fixed direction: V = 1.5 k c . J c, c = R^T direction.

    k: gravitational parameter over the cube of the distance [1/s^2].
    direction: unit vector towards the centre of attraction, world axes.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, section 8.1.
    """

    k: float
    direction: Vector = (0.0, 0.0, 1.0)

    def row_count(self):
        return 6

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        return Attraction(vector(buffer, i, row), vector(buffer, i, row + 3), (0.0, 0.0, 0.0))

    def checked(self) -> Self:
        return type(self)(number("k", self.k), unit_vector("direction", self.direction))

    def rows_for(self, body: RigidBody) -> list[float]:
        with np.errstate(over="ignore"):
            slopes = 3.0 * self.k * body.moments
        if not np.isfinite(slopes).all():
            raise ValueError(f"k must be so small that 3 k J is finite, got {self.k!r}")
        return [*slopes, *self.direction]


class CircularOrbit(Potential):
    """Gravity gradient on a circular orbit: V = 1.5 rate^2 c . J c, c = R^T d, d turning.

    V depends on time, and the total energy H is not conserved. What is reported in its place is
    Jacobi's integral, H - rate (normal . L), which the exact motion conserves; a scheme of order p
    conserves it to its order. As d stands still during a step, at its place half-way, no scheme is
    of higher order than two here, except by composition.

    rate: orbital angular velocity [rad/s].
    direction: unit vector from the body to the centre of attraction at the start, world axes.
    normal: unit vector about which the orbit turns, world axes, across `direction`.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, sections 8.1 and 9.1.
    """

    rate: float
    direction: Vector = (1.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)

    def moves(self):
        return True

    def row_count(self):
        return 7  # d at the start, its angular velocity, its phase in turns from -1/2 to 1/2

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        start, rate = vector(buffer, i, row), vector(buffer, i, row + 3)
        square = dot(rate, rate)
        speed = math.sqrt(square)
        phase = buffer[i + (row + 6) * LANES] + speed * ahead / math.tau
        cos, sin = cos_sin(math.tau * (phase - math.floor(phase + 0.5)))
        # An orbit that does not turn has no direction to turn about.
        quarter = scale(1.0 / (speed + 1e-300), cross(rate, start))
        direction = add(scale(cos, start), scale(sin, quarter))
        return Attraction(scale(3.0 * square, vector(buffer, i, J)), direction, rate)

    def start_phase(self, physics, buffer, i):
        buffer[i + (physics.potential_row() + 6) * LANES] = 0.0

    def advance_phase(self, physics, buffer, i, h, good):
        k = i + (physics.potential_row() + 6) * LANES
        rate = vector(buffer, i, physics.potential_row() + 3)
        phase = buffer[k] + math.sqrt(dot(rate, rate)) * h / math.tau
        phase -= math.floor(phase + 0.5)
        buffer[k] = phase if good else buffer[k]

    def checked(self) -> Self:
        d, n = unit_vector("direction", self.direction), unit_vector("normal", self.normal)
        if not abs(np.dot(n, d)) < _RIGHT:
            raise ValueError(f"potential.normal must be at right angles to {d}, got {n}")
        return type(self)(number("rate", self.rate), d, n)

    def rows_for(self, body: RigidBody) -> list[float]:
        return [*self.direction, *(self.rate * np.asarray(self.normal)), 0.0]


class Attraction(Potential):
    """Either of them for one lane: diagonal of S [J], d, and its angular velocity [rad/s]."""

    stiffness: Vector
    direction: Vector
    rate: Vector

    def seen(self, q):
        return to_body(q, self.direction)

    def world_torque(self, q, g):
        return cross(self.direction, to_world(q, g))

    def across(self, v):
        return sub(v, scale(dot(self.direction, v), self.direction))

    def carried(self, L):
        return -dot(self.rate, L)

    def energy(self, o):
        return 0.5 * dot(o, times(self.stiffness, o))

    def gradient(self, o):
        return times(self.stiffness, o)

    def hessian(self, o):
        s = self.stiffness
        return ((s[0], 0.0, 0.0), (0.0, s[1], 0.0), (0.0, 0.0, s[2]))

    def discrete_gradient(self, o_0, o_1):
        return scale(0.5, times(self.stiffness, add(o_0, o_1)))

    def discrete_hessian(self, o_0, o_1):
        s = scale(0.5, self.stiffness)
        return ((s[0], 0.0, 0.0), (0.0, s[1], 0.0), (0.0, 0.0, s[2]))
