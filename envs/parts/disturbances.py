"""Torques that nobody commands: steady ones, noise, and what pushes a satellite on an orbit.

A torque is held for a control period; of what is around, the one of the state in which it begins:

    residual dipole    m x B
    drag               r x F,  F = -rho C_D A (n . v)+ v / 2
    light of the Sun   r x F,  F = -P A (n . s)+ ((1 - c_s) s + 2 (c_s (n . s) + c_d / 3) n)

on each surface of area A, normal n and centre of pressure r from the centre of mass. v: velocity
through air of the density rho that turns with the Earth; s: to the Sun; P: the pressure of light at
the Earth's mean distance, none in the shadow. A surface without a normal is a sphere of this
cross-section, with (1 + 4 c_d / 9) s in the last bracket. Surfaces do not shade each other.
Density: exponential between heights of the table, which is that of the U.S. Standard Atmosphere
1976 and CIRA-72 in Vallado (2013), Fundamentals of Astrodynamics and Applications, table 8-4.
Forces: Wertz (1978), Spacecraft Attitude Determination and Control, section 17.2.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rbgym.arguments import is_number, unit
from rbgym.compiled.jit import compiled, inlined
from rbgym.compiled.record import Record, constant
from rbgym.engine.batch import Batch
from rbgym.envs.arguments import in_range, keys, triple
from rbgym.envs.orbit import EARTH_RADIUS, EARTH_RATE, OnOrbit, Orbit
from rbgym.envs.parts.uncertainty import Disturbance
from rbgym.envs.random import LARGEST_NORMAL, normals
from rbgym.potentials import CircularOrbit
from rbgym.quaternion import Array, Vector, add, cross, dot, scale, times, to_body
from rbgym.rows import LANES, index, put_vector, vector, view

_BY_DISTURBANCES = 6  # first use of the noise's numbers
SUNLIGHT = 1361.0 / 299792458.0  # Pa, at the mean distance of the Earth
# Height [km], density [kg/m^3] there and the scale height [km] above it.
_AIR = np.array([
    (0, 1.225, 7.249), (25, 3.899e-2, 6.349), (30, 1.774e-2, 6.682), (40, 3.972e-3, 7.554),
    (50, 1.057e-3, 8.382), (60, 3.206e-4, 7.714), (70, 8.770e-5, 6.549), (80, 1.905e-5, 5.799),
    (90, 3.396e-6, 5.382), (100, 5.297e-7, 5.877), (110, 9.661e-8, 7.263), (120, 2.438e-8, 9.473),
    (130, 8.484e-9, 12.636), (140, 3.845e-9, 16.149), (150, 2.070e-9, 22.523),
    (180, 5.464e-10, 29.740), (200, 2.789e-10, 37.105), (250, 7.248e-11, 45.546),
    (300, 2.418e-11, 53.628), (350, 9.518e-12, 53.298), (400, 3.725e-12, 58.515),
    (450, 1.585e-12, 60.828), (500, 6.967e-13, 63.822), (600, 1.454e-13, 71.835),
    (700, 3.614e-14, 88.667), (800, 1.170e-14, 124.64), (900, 5.245e-15, 181.05),
    (1000, 3.019e-15, 268.00),
])  # fmt: skip
_SURROUNDINGS = "residual_dipole", "drag", "solar_pressure"


class Steady(Disturbance):
    """A steady torque; body axes [N m]."""

    steady: Vector

    def push(self, rows, buffer, i):
        row = rows.physics.actuator.disturbance_row(rows.physics)
        put_vector(buffer, i, row, self.steady)

    def largest_torque(self) -> Array:
        return np.abs(self.steady)


class Pushed(Disturbance):
    """A steady torque, and white noise held for each control period; body axes [N m].

    noise: its standard deviation; no number of it is beyond 6.67 times that.
    """

    steady: Vector
    noise: Vector
    is_noisy = constant(True)

    def push(self, rows, buffer, i):
        n = normals(rows.noise_key(buffer, i), rows.elapsed(buffer, i), _BY_DISTURBANCES)
        row = rows.physics.actuator.disturbance_row(rows.physics)
        put_vector(buffer, i, row, add(self.steady, times(self.noise, n)))

    def largest_torque(self) -> Array:
        return np.abs(self.steady) + LARGEST_NORMAL * np.array(self.noise)


@inlined
def density(height):
    """Of the air [kg/m^3]; height [m]."""
    km, k = 1e-3 * height, len(_AIR) - 1
    while k > 0 and km < _AIR[k, 0]:
        k -= 1
    return _AIR[k, 1] * math.exp((_AIR[k, 0] - km) / _AIR[k, 2])


class Flat(Record):
    """One side of a plate: area [m^2], unit normal and centre of pressure [m], body axes."""

    area: float
    normal: Vector
    pressed_at: Vector

    def dragged(self, towards):
        """Force, in units of the dynamic pressure; towards: unit vector, body axes."""
        return scale(-self.area * max(dot(self.normal, towards), 0.0), towards)

    def lit(self, towards, specular, diffuse):
        """Force, in units of the pressure of light."""
        cos = max(dot(self.normal, towards), 0.0)
        along = scale(1.0 - specular, towards)
        across = scale(2.0 * (specular * cos + diffuse / 3.0), self.normal)
        return scale(-self.area * cos, add(along, across))


class Round(Record):
    """A sphere of this cross-section [m^2]."""

    area: float
    pressed_at: Vector

    def dragged(self, towards):
        return scale(-self.area, towards)

    def lit(self, towards, specular, diffuse):
        return scale(-self.area * (1.0 + 4.0 / 9.0 * diffuse), towards)


class Unmoved(Record):
    """No force."""

    shines = constant(False)

    def turned(self, physics, buffer, i, q):
        """Torque [N m], body axes."""
        return 0.0, 0.0, 0.0


class Dragged(Unmoved):
    """dragging: C_D; surfaces: `Flat` or `Round`, all of a kind."""

    dragging: float
    surfaces: tuple[Any, ...]

    def turned(self, physics, buffer, i, q):
        potential = physics.potential
        height, v = potential.course(potential.place(physics, buffer, i, 0.0))
        speed = math.sqrt(dot(v, v))
        towards = to_body(q, scale(1.0 / max(speed, 1e-9), v))
        torque = (0.0, 0.0, 0.0)
        for one in self.surfaces:
            torque = add(torque, cross(one.pressed_at, one.dragged(towards)))
        return scale(0.5 * density(height) * self.dragging * speed * speed, torque)


class Shone(Unmoved):
    """specular, diffuse: parts of the light that are reflected; surfaces: as in `Dragged`."""

    specular: float
    diffuse: float
    surfaces: tuple[Any, ...]
    shines = constant(True)

    def turned(self, physics, buffer, i, q):
        potential, torque = physics.potential, (0.0, 0.0, 0.0)
        towards = to_body(q, potential.sunwards(physics, buffer, i))
        for one in self.surfaces:
            force = one.lit(towards, self.specular, self.diffuse)
            torque = add(torque, cross(one.pressed_at, force))
        return scale(SUNLIGHT if potential.is_lit(physics, buffer, i) else 0.0, torque)


class Surrounded(Disturbance):
    """What acts on a satellite on an orbit, and another disturbance.

    beside: that other one, with rows of its own. residual: dipole [A m^2], body axes. air, light:
    `Dragged`, `Shone` or `Unmoved`. most: the largest torque of all, about any axis [N m].
    """

    beside: Any
    residual: Vector
    air: Any
    light: Any
    most: float
    sees_orbit = constant(True)

    def sees_light(self):
        return self.light.shines()

    def is_noisy(self):
        return self.beside.is_noisy()

    def push(self, rows, buffer, i):
        physics, (q, _) = rows.physics, view(rows.physics, buffer, i)
        self.beside.push(rows, buffer, i)
        B = to_body(q, physics.potential.field_ahead(physics, buffer, i, 0.0))
        torque = add(cross(self.residual, B), self.air.turned(physics, buffer, i, q))
        torque = add(torque, self.light.turned(physics, buffer, i, q))
        row = physics.actuator.disturbance_row(physics)
        put_vector(buffer, i, row, add(vector(buffer, i, row), torque))

    def along(self, orbit: Orbit) -> Disturbance:
        """Its largest torque is that at the perigee, with every surface at right angles."""
        most = 2.0 * orbit.field * math.hypot(*self.residual)
        if isinstance(self.air, Dragged):
            wind = orbit.radius * (EARTH_RATE + orbit.rate / (1.0 - orbit.eccentricity) ** 2)
            pressure = 0.5 * density(orbit.radius - EARTH_RADIUS) * self.air.dragging * wind**2
            most += pressure * _reach(self.air.surfaces)
        if isinstance(self.light, Shone):
            most += SUNLIGHT * (2.0 + self.light.diffuse) * _reach(self.light.surfaces)
        return self._replace(most=most)

    def largest_torque(self) -> Array:
        return np.asarray(self.beside.largest_torque() + self.most)


def _reach(surfaces: tuple[Any, ...]) -> float:
    """Sum of area times distance [m^3]."""
    return math.fsum(one.area * math.hypot(*one.pressed_at) for one in surfaces)


def _surfaces(name: str, value: Any) -> tuple[Any, ...]:
    listed = [value] if isinstance(value, Mapping) else value
    if not isinstance(listed, list | tuple) or not listed:
        raise ValueError(f"{name} must be a dict of a surface, or a list of them, got {value!r}")
    found = list[Any]()
    for k, one in enumerate(listed):
        label = f"{name}[{k}]"
        given = keys(label, one, ("area", "normal", "centre"))
        area = in_range(f"{label}['area']", given.get("area"), 0.0, 1e6)
        centre = triple(f"{label}['centre']", given.get("centre", (0, 0, 0)))
        if (normal := given.get("normal")) is None:
            found.append(Round(area, centre))
        else:
            across = unit(f"{label}['normal']", normal, 3, 1e-6)
            found.append(Flat(area, triple(label, across), centre))
    if len({type(one) for one in found}) > 1:
        raise ValueError(f"{name} must have a normal in all surfaces or in none, got {value!r}")
    return tuple(found)


def _surrounded(given: Mapping[str, Any], beside: Disturbance) -> Surrounded:
    residual = triple("disturbance['residual_dipole']", given.get("residual_dipole", (0, 0, 0)))
    air: Unmoved = Unmoved()
    light: Unmoved = Unmoved()
    if "drag" in given:
        name = "disturbance['drag']"
        own = keys(name, given["drag"], ("coefficient", "surfaces"))
        coefficient = in_range(f"{name}['coefficient']", own.get("coefficient", 2.2), 0.0, 10.0)
        air = Dragged(coefficient, _surfaces(f"{name}['surfaces']", own.get("surfaces")))
    if "solar_pressure" in given:
        name = "disturbance['solar_pressure']"
        own = keys(name, given["solar_pressure"], ("specular", "diffuse", "surfaces"))
        specular = in_range(f"{name}['specular']", own.get("specular", 0.0), 0.0, 1.0)
        diffuse = in_range(f"{name}['diffuse']", own.get("diffuse", 0.0), 0.0, 1.0 - specular)
        light = Shone(specular, diffuse, _surfaces(f"{name}['surfaces']", own.get("surfaces")))
    # A beginning without a steady torque writes no row, and this one adds to the row.
    first = beside if isinstance(beside, Steady | Pushed) else Steady((0.0, 0.0, 0.0))
    return Surrounded(first, residual, air, light, math.inf)


def chosen_disturbance(value: Any) -> tuple[Disturbance, CircularOrbit | bool | None]:
    """What the argument stands for; True is the gravity gradient of the env's own orbit."""
    if value is None:
        return Disturbance(), None
    kinds = ("constant", "white_noise", "gravity_gradient", "torque", *_SURROUNDINGS)
    given = keys("disturbance", value, kinds)
    if not callable(given.get("torque", callable)):
        raise ValueError(f"disturbance['torque'] must be a callable, got {given['torque']!r}")
    pull: CircularOrbit | bool | None = given.get("gravity_gradient")
    if "gravity_gradient" in given and pull is not True:
        pull = CircularOrbit(in_range("disturbance['gravity_gradient']", pull, 0.0, 1.0))
    constant = triple("disturbance['constant']", given.get("constant", (0, 0, 0)))
    noise = given.get("white_noise", 0.0)
    noise = triple("disturbance['white_noise']", [noise] * 3 if is_number(noise) else noise)
    if min(noise) < 0:
        raise ValueError(f"disturbance['white_noise'] must not be negative, got {[*noise]}")
    found: Disturbance = Steady(constant) if any(constant) else Disturbance()
    found = Pushed(constant, noise) if any(noise) else found
    return _surrounded(given, found) if given.keys() & {*_SURROUNDINGS} else found, pull


def surroundings(batch: Batch) -> dict[str, Any]:
    """What is around each body, with the names and units of `env.unwrapped.surroundings`."""
    orbit: Any = batch.physics.potential
    if not isinstance(orbit, OnOrbit):
        raise ValueError(f"env must have an orbit for its surroundings, its potential is {orbit!r}")
    out = np.empty((batch.blocks * LANES, 14))
    _look_around(batch.physics, batch.buffer, batch.block_rows, out)
    found: dict[str, Any] = {
        "position": out[: batch.size, :3],
        "air_velocity": out[: batch.size, 3:6],
        "air_density": out[: batch.size, 6],
        "magnetic_field": out[: batch.size, 7:10],
    }
    if orbit.row_count() > 2:
        found["sun_direction"] = out[: batch.size, 10:13]
        found["is_lit"] = out[: batch.size, 13] > 0.0
    return {name: value.copy() for name, value in found.items()}


@compiled
def _look_around(physics, buffer, rows, out):
    potential, size = physics.potential, index(rows) * LANES
    for k in range(len(out)):
        i = index(k // LANES) * size + index(k % LANES)
        up, _ = potential.upwards(potential.place(physics, buffer, i, 0.0))
        height, wind = potential.course(potential.place(physics, buffer, i, 0.0))
        B = potential.field_ahead(physics, buffer, i, 0.0)
        for n in range(3):
            out[k, n], out[k, 3 + n] = (EARTH_RADIUS + height) * up[n], wind[n]
            out[k, 7 + n] = B[n]
        out[k, 6] = density(height)
        if potential.row_count() > 2:
            sun = potential.sunwards(physics, buffer, i)
            out[k, 10], out[k, 11], out[k, 12] = sun
            out[k, 13] = 1.0 if potential.is_lit(physics, buffer, i) else 0.0
