"""An orbit about the Earth, and what there is on it: gravity gradient, magnetic field, Sun.

World axes are inertial, the third that of the Earth; the orbit has its ascending node on the first.
The field is that of a dipole at the Earth's centre, tilted against the axis of rotation:

    B = (B_e / r^3) (3 (d . u) u - d),

u the unit vector from the centre to the satellite, r its distance in Earth radii, d the direction
of the dipole's magnetic moment, which turns with the Earth, B_e the field at the magnetic equator
on the ground; or that of IGRF-14. The Sun is at an infinite distance, and the shadow of the Earth a
cylinder. Nothing changes the orbit.

Sources: Wertz (1978), Spacecraft Attitude Determination and Control, appendix H, for the dipole;
Hughes (1986), Spacecraft Attitude Dynamics, section 8.1, for the gravity gradient.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rbgym.body import RigidBody
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant
from rbgym.envs.arguments import in_range, named
from rbgym.envs.parts.geomagnetism import (
    DIPOLE_TILT,
    EQUATOR_FIELD,
    FIRST,
    LAST,
    STRONGEST,
    Dipole,
    Harmonics,
)
from rbgym.envs.rows import Key
from rbgym.potentials import NoPotential, Potential
from rbgym.potentials.gravity_gradient import Attraction, eccentric_anomaly
from rbgym.quaternion import add, cos_sin, dot, qmul, scale, sub
from rbgym.rows import LANES, J, vector

EARTH_RADIUS = 6371.2e3  # m, of the reference sphere of the field
EARTH_GRAVITY = 3.986004418e14  # m^3/s^2
EARTH_RATE = 7.2921159e-5  # rad/s, sidereal
_DIPOLE, _IGRF = "dipole", "igrf"
_OBLIQUITY = math.radians(23.44)  # of the ecliptic
_SLIMMEST = 0.95  # eccentricity up to which Kepler's equation is solved

# Rows, in turns: the mean place on the orbit from its node, the dipole's moment around the axis of
# the Earth, the Sun around the ecliptic from the March equinox, and the orbit's node from there.
_ORBIT, _EARTH, _SEASON, _NODE = range(4)


@dataclass(frozen=True)
class Orbit:
    """An orbit about the Earth.

    altitude: of the perigee [m], above 6371.2 km. inclination [rad]. eccentricity, up to 0.95, and
    perigee: its angle from the ascending node [rad]. equator_field [T], tilt [rad]: of the Earth's
    dipole at its equator on the ground and against the axis, by default that of IGRF-14 in 2025.
    model: of the field, "dipole", or "igrf" for all of IGRF-14 in a `year` from 2025.0 to 2030.0.

    Raises ValueError for numbers out of range: of an orbit inside the Earth, or an open one.
    """

    altitude: float
    inclination: float = math.radians(97.4)
    eccentricity: float = 0.0
    perigee: float = 0.0
    equator_field: float = EQUATOR_FIELD
    tilt: float = DIPOLE_TILT
    model: str = _DIPOLE
    year: float = FIRST

    def __post_init__(self) -> None:
        named("Orbit.model", self.model, (_DIPOLE, _IGRF))
        for name, low, high in (
            ("altitude", 1.0, 1e9),
            ("inclination", 0.0, math.pi),
            ("eccentricity", 0.0, _SLIMMEST),
            ("perigee", -math.tau, math.tau),
            ("equator_field", 1e-9, 1.0),
            ("tilt", 0.0, math.pi),
            ("year", FIRST, LAST),
        ):
            in_range(f"Orbit.{name}", getattr(self, name), low, high)
        other = EQUATOR_FIELD, DIPOLE_TILT
        if self.model == _IGRF and (self.equator_field, self.tilt) != other:
            given = f"{self.equator_field!r} and {self.tilt!r}"
            raise ValueError(
                f"Orbit.equator_field and tilt must be left out with igrf, got {given}"
            )
        if self.model == _DIPOLE and self.year != FIRST:
            raise ValueError(f"Orbit.year must be left out with a dipole, got {self.year!r}")

    @property
    def radius(self) -> float:
        """Distance of the perigee from the centre of the Earth [m]."""
        return EARTH_RADIUS + self.altitude

    @property
    def rate(self) -> float:
        """Mean motion [rad/s]."""
        return math.sqrt(EARTH_GRAVITY / (self.radius / (1.0 - self.eccentricity)) ** 3)

    @property
    def field(self) -> float:
        """Half of what no field [T] of the orbit exceeds: with a dipole, the field above its
        equator at the height of the perigee, of which that above its poles is twice."""
        more = STRONGEST if self.model == _IGRF else 1.0
        return more * self.equator_field * (EARTH_RADIUS / self.radius) ** 3

    def record(self, pulls: bool = False, sun: bool = False) -> "OnOrbit":
        """The potential that moves along it; pulls: whether there is a gravity gradient; sun:
        whether there is a Sun."""
        e, ground = self.eccentricity, EARTH_RADIUS / self.radius
        dipole = Dipole(self.field, math.cos(self.tilt), math.sin(self.tilt))
        return (Pulled if pulls else Coasting)(
            Ellipse(e, self.perigee / math.tau) if e else Circle(),
            (0.0,) * (4 if sun else 2),
            self.rate / math.tau,
            EARTH_RATE / math.tau,
            math.cos(self.inclination),
            math.sin(self.inclination),
            self.field,
            Harmonics(ground, self.year - FIRST) if self.model == _IGRF else dipole,
            ground,
        )


# The shape of an orbit; a place, in turns from the node, is the mean argument of latitude.
class Circle(Record):
    """An orbit at one distance."""

    is_round = constant(True)

    def polar(self, place):
        """Cosine and sine of the angle from the node, and distance of the perigee / distance."""
        cos, sin = cos_sin(math.tau * place)
        return cos, sin, 1.0

    def half(self, place):
        """Cosine and sine of half that angle, and the same ratio."""
        cos, sin = cos_sin(math.pi * place)
        return cos, sin, 1.0

    def quickness(self, nearness):
        """(Semi-major axis / distance)^3 and angular velocity / mean motion; nearness: the
        ratio."""
        return 1.0, 1.0

    def climb(self, cos, sin):
        """Velocity away from the Earth / mean motion / distance of the perigee; cos, sin: of the
        angle from the node."""
        return 0.0


class Ellipse(Record):
    """eccentricity; perigee: its angle from the node, in turns."""

    eccentricity: float
    perigee: float
    is_round = constant(False)

    def polar(self, place):
        cos, sin, nearness = self.half(place)
        return cos * cos - sin * sin, 2.0 * sin * cos, nearness

    def half(self, place):
        e = self.eccentricity
        E = eccentric_anomaly(math.tau * wrapped(place - self.perigee), e)
        cos, sin = cos_sin(0.5 * E)
        # Distance over the semi-major axis, 1 - e cos E.
        size = (1.0 - e) * cos * cos + (1.0 + e) * sin * sin
        cos = math.sqrt((1.0 - e) / size) * cos
        sin = math.sqrt((1.0 + e) / size) * sin
        cos_p, sin_p = cos_sin(math.pi * wrapped(self.perigee))
        return cos_p * cos - sin_p * sin, sin_p * cos + cos_p * sin, (1.0 - e) / size

    def quickness(self, nearness):
        e = self.eccentricity
        s = nearness / (1.0 - e)
        return s * s * s, s * s * math.sqrt(1.0 - e * e)

    def climb(self, cos, sin):
        e, (cos_p, sin_p) = self.eccentricity, cos_sin(math.tau * wrapped(self.perigee))
        return e * (sin * cos_p - cos * sin_p) / ((1.0 - e) * math.sqrt(1.0 - e * e))


class OnOrbit(Potential):
    """Where a satellite is on an orbit, at which hour of the Earth, and what there is.

    path: `Circle` or `Ellipse`; places: as many numbers as there are rows, four with a Sun;
    turning: mean motion; earth: of the Earth's rotation [turns/s]. cos_inclination,
    sin_inclination: of the orbit. field: that of `Orbit` [T]; magnetism: `Dipole` or `Harmonics`.
    ground: radius of the Earth over the distance of the perigee.
    """

    path: Any
    places: tuple[float, ...]
    turning: float
    earth: float
    cos_inclination: float
    sin_inclination: float
    field: float
    magnetism: Any
    ground: float

    def row_count(self):
        return len(self.places)

    def start_phase(self, physics, buffer, i):
        """It stays where it was put or drawn."""

    def draw_phase(self, physics, buffer, i, u):
        k = i + physics.potential_row() * LANES
        for row in range(self.row_count()):
            # Of what begins with the leading digits where there are wheels, the digits behind.
            fine = 1024.0 * u[row]
            drawn = fine - math.floor(fine) if physics.actuator.turns_rotors() else u[row]
            buffer[k + row * LANES] = drawn - 0.5

    def advance_phase(self, physics, buffer, i, h, good):
        k = i + physics.potential_row() * LANES
        place = wrapped(buffer[k + _ORBIT * LANES] + self.turning * h)
        earth = wrapped(buffer[k + _EARTH * LANES] + self.earth * h)
        buffer[k + _ORBIT * LANES] = place if good else buffer[k + _ORBIT * LANES]
        buffer[k + _EARTH * LANES] = earth if good else buffer[k + _EARTH * LANES]

    def checked(self):
        return self

    def rows_for(self, body: RigidBody) -> list[float]:
        return [*self.places]

    # What there is, `ahead` seconds after the lane's state, world axes.
    def place(self, physics, buffer, i, ahead):
        """The place on the orbit, in turns."""
        k = i + physics.potential_row() * LANES
        return wrapped(buffer[k + _ORBIT * LANES] + self.turning * ahead)

    def upwards(self, place):
        """Unit vector from the centre of the Earth, and distance of the perigee / distance."""
        cos, sin, nearness = self.path.polar(place)
        return (cos, self.cos_inclination * sin, self.sin_inclination * sin), nearness

    def field_at(self, place, earth):
        """B [T]; place, earth: on the orbit and of the Earth, in turns."""
        up, nearness = self.upwards(place)
        return self.magnetism.flux(up, nearness, earth)

    def field_ahead(self, physics, buffer, i, ahead):
        """B [T]."""
        k = i + physics.potential_row() * LANES
        earth = wrapped(buffer[k + _EARTH * LANES] + self.earth * ahead)
        return self.field_at(self.place(physics, buffer, i, ahead), earth)

    def nadir_frame(self, physics, buffer, i, ahead):
        """Attitude of the frame whose z axis points to the Earth and whose x axis lies along the
        motion around it, and its angular velocity in its own axes [rad/s]."""
        cos, sin, nearness = self.path.half(self.place(physics, buffer, i, ahead))
        # cos and sin of half the inclination, which is at most half a turn
        c = math.sqrt(0.5 * (1.0 + self.cos_inclination))
        s = math.sqrt(max(0.5 * (1.0 - self.cos_inclination), 0.0))
        q = qmul((c, s, 0.0, 0.0), qmul((cos, 0.0, 0.0, sin), (0.5, -0.5, -0.5, 0.5)))
        _, speed = self.path.quickness(nearness)
        return q, (0.0, -math.tau * self.turning * speed, 0.0)

    def course(self, place):
        """Height above the ground [m], and velocity through air that turns with the Earth [m/s]."""
        cos, sin, nearness = self.path.polar(place)
        _, quickness = self.path.quickness(nearness)
        lowest, rate = EARTH_RADIUS / self.ground, math.tau * self.turning
        distance = lowest / nearness
        up = (cos, self.cos_inclination * sin, self.sin_inclination * sin)
        along = (-sin, self.cos_inclination * cos, self.sin_inclination * cos)
        climb = scale(rate * lowest * self.path.climb(cos, sin), up)
        through = add(climb, scale(rate * distance * quickness, along))
        wind = scale(math.tau * self.earth * distance, (-up[1], up[0], 0.0))
        return distance - EARTH_RADIUS, sub(through, wind)

    def sunwards(self, physics, buffer, i):
        """Unit vector to the Sun."""
        k = i + physics.potential_row() * LANES
        return self.sun_at(buffer[k + _SEASON * LANES], buffer[k + _NODE * LANES])

    def sun_at(self, season, node):
        """The same; season, node: of the Sun and of the orbit, in turns."""
        cos, sin = cos_sin(math.tau * wrapped(season))
        cos_n, sin_n = cos_sin(math.tau * wrapped(node))
        y = math.cos(_OBLIQUITY) * sin
        return (cos_n * cos + sin_n * y, cos_n * y - sin_n * cos, math.sin(_OBLIQUITY) * sin)

    def is_lit(self, physics, buffer, i):
        """Whether the satellite is outside the cylinder of the Earth's shadow."""
        up, nearness = self.upwards(self.place(physics, buffer, i, 0.0))
        along, ground = dot(up, self.sunwards(physics, buffer, i)), self.ground * nearness
        return (along >= 0.0) | (1.0 - along * along >= ground * ground)


class Coasting(OnOrbit, NoPotential):
    """One that nothing turns by."""


class Pulled(OnOrbit):
    """One with a gravity gradient: V = 1.5 (mu/r^3) c . J c, c = R^T u.

    On a circle Jacobi's integral is reported in the place of the energy, on an ellipse kinetic
    energy plus V, which nothing conserves; see `rbgym.CircularOrbit` and `rbgym.KeplerOrbit`.
    """

    moves = constant(True)

    def of_lane(self, physics, buffer, i, ahead):
        up, nearness = self.upwards(self.place(physics, buffer, i, ahead))
        n = math.tau * self.turning
        cube, _ = self.path.quickness(nearness)
        stiffness = scale(3.0 * n * n * cube, vector(buffer, i, J))
        n = n if self.path.is_round() else 0.0
        rate = (0.0, -self.sin_inclination * n, self.cos_inclination * n)
        return Attraction(stiffness, up, rate)


@inlined
def wrapped(turns):
    """The same place, within half a turn of zero."""
    return turns - math.floor(turns + 0.5)


def places_of(potential: Potential) -> Mapping[str, Key]:
    """Names and rows, counted from the potential's, of the place on an orbit, if there is one."""
    names = ("orbit_phase", "earth_phase", "season", "node")
    count = potential.row_count() if isinstance(potential, OnOrbit) else 0
    return {name: Key(row, 1, 0.0, -1.0, 1.0) for row, name in enumerate(names[:count])}
