"""Disturbance torques: steady, white noise, and those that act on a satellite in orbit.

A torque is held for a control period. On an orbit it is evaluated at the start of the period:

    residual dipole    m x B
    drag               r x F,  F = -rho C_D A (n . v)+ v / 2
    light of the Sun   r x F,  F = -P A (n . s)+ ((1 - c_s) s + 2 (c_s (n . s) + c_d / 3) n)

on each surface of area A, normal n and centre of pressure r from the centre of mass. v: velocity
relative to the air, which has the density rho and turns with the Earth; s: unit vector to the Sun;
P: pressure of light at the Earth's mean distance, zero in shadow. A surface without a normal is a
sphere of cross-section A, with (1 + 4 c_d / 9) s in the last bracket. Surfaces do not shade each
other. Density: exponential between the heights of the table, from the U.S. Standard Atmosphere 1976
and CIRA-72 in Vallado (2013), Fundamentals of Astrodynamics and Applications, table 8-4.
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

_BY_DISTURBANCES = 6  # `use` of its first noise number, see `rbgym.envs.random.normal`
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


class NoisyTorque(Disturbance):
    """A steady torque plus white noise, held for each control period; body axes [N m]. noise: its
    standard deviation; it never exceeds 6.67 times that."""

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
    """Density of the air [kg/m^3] at a height [m]."""
    km, k = 1e-3 * height, len(_AIR) - 1
    while k > 0 and km < _AIR[k, 0]:
        k -= 1
    return _AIR[k, 1] * math.exp((_AIR[k, 0] - km) / _AIR[k, 2])


class Plate(Record):
    """One side of a plate: area [m^2], unit normal and centre of pressure [m], body axes."""

    area: float
    normal: Vector
    pressed_at: Vector

    def drag_force(self, towards):
        """Drag over the dynamic pressure [m^2]; towards: unit vector, body axes."""
        return scale(-self.area * max(dot(self.normal, towards), 0.0), towards)

    def light_force(self, towards, specular, diffuse):
        """Force of light over its pressure [m^2]."""
        cos = max(dot(self.normal, towards), 0.0)
        along = scale(1.0 - specular, towards)
        across = scale(2.0 * (specular * cos + diffuse / 3.0), self.normal)
        return scale(-self.area * cos, add(along, across))


class Sphere(Record):
    """A sphere. area: its cross-section [m^2]; pressed_at: its centre of pressure [m]."""

    area: float
    pressed_at: Vector

    def drag_force(self, towards):
        return scale(-self.area, towards)

    def light_force(self, towards, specular, diffuse):
        return scale(-self.area * (1.0 + 4.0 / 9.0 * diffuse), towards)


class NoPressure(Record):
    """Base of air drag and solar pressure; by itself it exerts no torque."""

    faces_sun = constant(False)

    def pressure_torque(self, physics, buffer, i, q):
        """Torque [N m], body axes."""
        return 0.0, 0.0, 0.0


class Drag(NoPressure):
    """Air drag. coefficient: C_D; surfaces: all of class `Plate`, or all `Sphere`."""

    coefficient: float
    surfaces: tuple[Any, ...]

    def pressure_torque(self, physics, buffer, i, q):
        potential = physics.potential
        height, v = potential.course(potential.place(physics, buffer, i, 0.0))
        speed = math.sqrt(dot(v, v))
        towards = to_body(q, scale(1.0 / max(speed, 1e-9), v))
        torque = (0.0, 0.0, 0.0)
        for one in self.surfaces:
            torque = add(torque, cross(one.pressed_at, one.drag_force(towards)))
        return scale(0.5 * density(height) * self.coefficient * speed * speed, torque)


class SolarPressure(NoPressure):
    """Pressure of sunlight. specular, diffuse: reflected fractions; surfaces: as in `Drag`."""

    specular: float
    diffuse: float
    surfaces: tuple[Any, ...]
    faces_sun = constant(True)

    def pressure_torque(self, physics, buffer, i, q):
        potential, torque = physics.potential, (0.0, 0.0, 0.0)
        towards = to_body(q, potential.sunwards(physics, buffer, i))
        for one in self.surfaces:
            force = one.light_force(towards, self.specular, self.diffuse)
            torque = add(torque, cross(one.pressed_at, force))
        return scale(SUNLIGHT if potential.is_lit(physics, buffer, i) else 0.0, torque)


class SpaceEnvironment(Disturbance):
    """Residual dipole, air drag and solar pressure on an orbit, added to another disturbance.

    first: that other disturbance. residual: dipole [A m^2], body axes. air, light: `Drag`,
    `SolarPressure` or `NoPressure`. most: largest torque of these three, about any axis [N m].
    """

    first: Any
    residual: Vector
    air: Any
    light: Any
    most: float
    is_on_orbit = constant(True)

    def faces_sun(self):
        return self.light.faces_sun()

    def is_noisy(self):
        return self.first.is_noisy()

    def push(self, rows, buffer, i):
        physics, (q, _) = rows.physics, view(rows.physics, buffer, i)
        self.first.push(rows, buffer, i)
        B = to_body(q, physics.potential.field_ahead(physics, buffer, i, 0.0))
        torque = add(cross(self.residual, B), self.air.pressure_torque(physics, buffer, i, q))
        torque = add(torque, self.light.pressure_torque(physics, buffer, i, q))
        row = physics.actuator.disturbance_row(physics)
        put_vector(buffer, i, row, add(vector(buffer, i, row), torque))

    def along(self, orbit: Orbit) -> Disturbance:
        """Sets `most`, the torque at the perigee with every surface at right angles to the flow."""
        most = 2.0 * orbit.field * math.hypot(*self.residual)
        if isinstance(self.air, Drag):
            turning = sum(map(abs, orbit.rates))
            wind = orbit.radius * (EARTH_RATE + turning / (1.0 - orbit.eccentricity) ** 2)
            pressure = 0.5 * density(orbit.radius - EARTH_RADIUS) * self.air.coefficient * wind**2
            most += pressure * _reach(self.air.surfaces)
        if isinstance(self.light, SolarPressure):
            most += SUNLIGHT * (2.0 + self.light.diffuse) * _reach(self.light.surfaces)
        return self._replace(most=most)

    def largest_torque(self) -> Array:
        return np.asarray(self.first.largest_torque() + self.most)


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
            found.append(Sphere(area, centre))
        else:
            across = unit(f"{label}['normal']", normal, 3)
            found.append(Plate(area, triple(label, across), centre))
    if len({type(one) for one in found}) > 1:
        raise ValueError(f"{name} must have a normal in all surfaces or in none, got {value!r}")
    return tuple(found)


def _space_environment(given: Mapping[str, Any], first: Disturbance) -> SpaceEnvironment:
    residual = triple("disturbance['residual_dipole']", given.get("residual_dipole", (0, 0, 0)))
    air = light = NoPressure()
    if "drag" in given:
        name = "disturbance['drag']"
        own = keys(name, given["drag"], ("coefficient", "surfaces"))
        coefficient = in_range(f"{name}['coefficient']", own.get("coefficient", 2.2), 0.0, 10.0)
        air = Drag(coefficient, _surfaces(f"{name}['surfaces']", own.get("surfaces")))
    if "solar_pressure" in given:
        name = "disturbance['solar_pressure']"
        own = keys(name, given["solar_pressure"], ("specular", "diffuse", "surfaces"))
        specular = in_range(f"{name}['specular']", own.get("specular", 0.0), 0.0, 1.0)
        diffuse = in_range(f"{name}['diffuse']", own.get("diffuse", 0.0), 0.0, 1.0 - specular)
        surfaces = _surfaces(f"{name}['surfaces']", own.get("surfaces"))
        light = SolarPressure(specular, diffuse, surfaces)
    # `push` adds to the row of the torque, which `first` therefore has to write.
    first = first if isinstance(first, Steady | NoisyTorque) else Steady((0.0, 0.0, 0.0))
    return SpaceEnvironment(first, residual, air, light, math.inf)


def resolve_disturbance(value: Any) -> tuple[Disturbance, CircularOrbit | bool | None]:
    """The argument `disturbance` as a torque and a gravity gradient; True: that on the orbit."""
    if value is None:
        return Disturbance(), None
    kinds = ("constant", "white_noise", "gravity_gradient", "torque", *_SURROUNDINGS)
    given = keys("disturbance", value, kinds)
    if not callable(given.get("torque", callable)):
        raise ValueError(f"disturbance['torque'] must be a callable, got {given['torque']!r}")
    pull = given.get("gravity_gradient")
    if isinstance(pull, bool | np.bool_):
        pull = bool(pull) or None
    elif pull is not None:
        pull = CircularOrbit(in_range("disturbance['gravity_gradient']", pull, 0.0, 1.0))
    constant = triple("disturbance['constant']", given.get("constant", (0, 0, 0)))
    noise = given.get("white_noise", 0.0)
    noise = triple("disturbance['white_noise']", [noise] * 3 if is_number(noise) else noise)
    if min(noise) < 0:
        raise ValueError(f"disturbance['white_noise'] must not be negative, got {[*noise]}")
    found: Disturbance = Steady(constant) if any(constant) else Disturbance()
    found = NoisyTorque(constant, noise) if any(noise) else found
    return _space_environment(given, found) if given.keys() & {*_SURROUNDINGS} else found, pull


def surroundings(batch: Batch) -> dict[str, Any]:
    """Position, air, magnetic field and sunlight at each body, see `env.unwrapped.surroundings`."""
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
