"""Gravity gradient about an inertially fixed direction, on a circular orbit and on an ellipse.

V = (1/2) c . S c with c = R^T d and S = 3 k J; its divided difference is S (c_0 + c_1)/2.
"""

import math
from typing import Self

import numpy as np

from rbgym.arguments import finite, positive
from rbgym.body import RigidBody
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant
from rbgym.potentials.interface import Potential, number, unit_vector
from rbgym.quaternion import Vector, add, cos_sin, cross, dot, scale, sub, times, to_body, to_world
from rbgym.rows import LANES, J, vector

_RIGHT = 1e-9  # an angle whose cosine is at most this counts as a right angle
_FASTEST = 1e100  # rad/s; its square is still finite
_SLIMMEST = 0.95  # three steps of Halley's method solve Kepler's equation up to this eccentricity


class GravityGradient(Potential):
    """Gravity gradient about an inertially fixed direction: V = 1.5 k c . J c, c = R^T direction.

    k: gravitational parameter over the cube of the distance [1/s^2].
    direction: unit vector towards the centre of attraction, world axes.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, section 8.1.
    """

    k: float
    direction: Vector = (0.0, 0.0, 1.0)
    row_count = constant(4)  # 3 k, d

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        slopes = scale(buffer[i + row * LANES], vector(buffer, i, J))
        return Attraction(slopes, vector(buffer, i, row + 1), (0.0, 0.0, 0.0))

    def checked(self) -> Self:
        return type(self)(number("k", self.k), unit_vector("direction", self.direction))

    def rows_for(self, body: RigidBody) -> list[float]:
        with np.errstate(over="ignore"):
            slopes = 3.0 * self.k * body.moments
        if not np.isfinite(slopes).all():
            raise ValueError(f"k must be so small that 3 k J is finite, got {self.k!r}")
        return [3.0 * self.k, *self.direction]


class OrbitPotential(Potential):
    """A direction that turns once in each orbit: row 6 is its phase, -1/2 to 1/2 [turns]."""

    moves = constant(True)

    def mean_motion(self, physics, buffer, i):
        """Mean rate of the phase [rad/s]."""
        return 0.0

    def phase(self, physics, buffer, i, ahead):
        speed = self.mean_motion(physics, buffer, i)
        return buffer[i + (physics.potential_row() + 6) * LANES] + speed * ahead / math.tau

    def start_phase(self, physics, buffer, i):
        buffer[i + (physics.potential_row() + 6) * LANES] = 0.0

    def advance_phase(self, physics, buffer, i, h, good):
        k, phase = i + (physics.potential_row() + 6) * LANES, self.phase(physics, buffer, i, h)
        phase -= math.floor(phase + 0.5)
        buffer[k] = phase if good else buffer[k]


class CircularOrbit(OrbitPotential):
    """Gravity gradient on a circular orbit: V = 1.5 rate^2 c . J c, c = R^T d; d turns.

    V depends on time, so the total energy H is not conserved. The reported energy is Jacobi's
    integral, H - rate (normal . L), instead: the exact motion conserves it, and a scheme of order p
    conserves it to order p. During a step d is held at its midpoint, so no scheme exceeds order two
    here, except by composition.

    rate: orbital angular velocity [rad/s].
    direction: unit vector from the body to the centre of attraction at the start, world axes.
    normal: unit normal of the orbit, about which it turns, world axes; orthogonal to `direction`.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, sections 8.1 and 9.1.
    """

    rate: float
    direction: Vector = (1.0, 0.0, 0.0)
    normal: Vector = (0.0, 0.0, 1.0)
    row_count = constant(7)  # d at the start, its angular velocity, the phase

    def mean_motion(self, physics, buffer, i):
        rate = vector(buffer, i, physics.potential_row() + 3)
        return math.sqrt(dot(rate, rate))

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        start, rate = vector(buffer, i, row), vector(buffer, i, row + 3)
        square = dot(rate, rate)
        phase = self.phase(physics, buffer, i, ahead)
        cos, sin = cos_sin(math.tau * (phase - math.floor(phase + 0.5)))
        # At rate 0 the orbit has no axis: avoid 0/0.
        quarter = scale(1.0 / (math.sqrt(square) + 1e-300), cross(rate, start))
        direction = add(scale(cos, start), scale(sin, quarter))
        return Attraction(scale(3.0 * square, vector(buffer, i, J)), direction, rate)

    def checked(self) -> Self:
        d, n = unit_vector("direction", self.direction), unit_vector("normal", self.normal)
        if not abs(np.dot(n, d)) < _RIGHT:
            raise ValueError(f"potential.normal must be at right angles to {d}, got {n}")
        rate = number("rate", self.rate)
        if abs(rate) > _FASTEST:
            raise ValueError(f"potential.rate must be at most {_FASTEST:g} in size, got {rate!r}")
        return type(self)(rate, d, n)

    def rows_for(self, body: RigidBody) -> list[float]:
        return [*self.direction, *(self.rate * np.asarray(self.normal)), 0.0]


class KeplerOrbit(OrbitPotential):
    """Gravity gradient on an elliptic orbit: V = 1.5 (mu/r^3) c . J c, c = R^T d; d, r vary.

    V depends on time, and unlike on a circular orbit no integral replaces the energy: the reported
    energy is kinetic plus V, and is not conserved. During a step d and r are held, so no scheme
    exceeds order two here, except by composition.

    mu: gravitational parameter [m^3/s^2].
    position, velocity: of the body at the start, relative to the centre of attraction, world axes
    [m], [m/s]. The eccentricity may be at most 0.95.

    Source: Hughes (1986), Spacecraft Attitude Dynamics, section 8.1.
    """

    mu: float
    position: Vector
    velocity: Vector
    # Unit vectors opposite to the perigee and to the velocity there, the phase, the mean motion
    # [rad/s], the eccentricity, and the mean anomaly at the start [turns].
    row_count = constant(10)

    def mean_motion(self, physics, buffer, i):
        return buffer[i + (physics.potential_row() + 7) * LANES]

    def of_lane(self, physics, buffer, i, ahead):
        row = physics.potential_row()
        n, e, start = vector(buffer, i, row + 7)
        phase = start + self.phase(physics, buffer, i, ahead)
        E = eccentric_anomaly(math.tau * (phase - math.floor(phase + 0.5)), e)
        cos, sin = cos_sin(E)
        s = 1.0 / (1.0 - e * cos)  # semi-major axis over distance
        x, y = s * (cos - e), s * math.sqrt(1.0 - e * e) * sin
        d = add(scale(x, vector(buffer, i, row)), scale(y, vector(buffer, i, row + 3)))
        k = n * n * s * s * s
        return Attraction(scale(3.0 * k, vector(buffer, i, J)), d, (0.0, 0.0, 0.0))

    def checked(self) -> Self:
        mu = positive("potential.mu", self.mu)
        r, v = (finite(f"potential.{name}", getattr(self, name), (3,)) for name in self._fields[1:])
        _, _, n, e, _ = _elements(mu, r, v)
        if not (e <= _SLIMMEST + 1e-12 and 0.0 < n < math.inf):  # e has an error of round-off
            raise ValueError(
                f"potential.velocity must give an orbit of eccentricity up to {_SLIMMEST} at "
                f"position {r} with mu {mu}, got {v}, eccentricity {e}"
            )
        return type(self)(mu, tuple(r.tolist()), tuple(v.tolist()))

    def rows_for(self, body: RigidBody) -> list[float]:
        perigee, along, n, e, start = _elements(self.mu, *map(np.array, self[1:]))
        return [*-perigee, *-along, 0.0, n, e, start]


@np.errstate(all="ignore")
def _elements(mu, r, v):
    """Unit vectors to the perigee and along the velocity there, mean motion, eccentricity and mean
    anomaly [turns]; not finite if the orbit is not an ellipse."""
    h, size = np.cross(r, v), np.sqrt(r @ r)
    up, out = h / np.sqrt(h @ h), r / size
    across, p = np.cross(up, out), h @ h / mu
    e_cos, e_sin = p / size - 1.0, np.sqrt(p / mu) * (r @ v) / size  # of the true anomaly
    e, anomaly = math.hypot(e_cos, e_sin), math.atan2(e_sin, e_cos)
    cos, sin = math.cos(anomaly), math.sin(anomaly)
    round_ = np.sqrt(1.0 - e * e)
    E = math.atan2(round_ * sin, e + cos)
    n = np.sqrt(mu / p) / p * round_**3
    mean = (E - e * math.sin(E)) / math.tau
    return cos * out - sin * across, sin * out + cos * across, float(n), e, mean


@inlined
def eccentric_anomaly(M, e):
    """Solution E of E - e sin E = M, M from -pi to pi; exact to round-off in M up to e = 0.95."""
    cos, sin = cos_sin(M)
    E = M + e * sin / math.sqrt(1.0 - 2.0 * e * cos + e * e)
    # Unrolled: in a loop the compiler would not vectorise it over lanes.
    return _halley_step(_halley_step(_halley_step(E, M, e), M, e), M, e)


@inlined
def _halley_step(E, M, e):
    """E after one step of Halley's method."""
    cos, sin = cos_sin(E)
    residual, slope = E - e * sin - M, 1.0 - e * cos
    return E - residual * slope / (slope * slope - 0.5 * residual * e * sin)


class Attraction(Potential):
    """A gravity gradient of one lane: diagonal of S [J], d, and its angular velocity [rad/s]."""

    stiffness: Vector
    direction: Vector
    rate: Vector

    def seen(self, q):
        return to_body(q, self.direction)

    def world_torque(self, q, g):
        return cross(self.direction, to_world(q, g))

    def across(self, v):
        return sub(v, scale(dot(self.direction, v), self.direction))

    def jacobi_term(self, L):
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
