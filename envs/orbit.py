"""An orbit about the Earth, and its surroundings: gravity gradient, magnetic field, Sun.

World axes are inertial, the third along the Earth's axis. The first points to the ascending node of
the orbit or, if J2 moves the node, to the March equinox.
The field is that of a dipole at the Earth's centre, tilted against the axis of rotation:

    B = (B_e / r^3) (3 (d . u) u - d),

u the unit vector from the centre to the satellite, r its distance in Earth radii, d the direction
of the dipole's magnetic moment, which turns with the Earth, B_e the field at the magnetic equator
on the ground; or the field is that of IGRF-14. The Sun is infinitely far, and the Earth's shadow is
a cylinder. The orbit is constant; with `j2` the Earth's oblateness changes node, perigee and mean
anomaly at their secular rates of first order. With s = 1.5 J2 n (R / p)^2 these are

    of the node            -s cos i
    of the perigee         s (2 - 2.5 sin^2 i)
    of the mean anomaly    n + s (1 - 1.5 sin^2 i) sqrt(1 - e^2).

Sources: Wertz (1978), Spacecraft Attitude Determination and Control, appendix H, for the dipole;
Hughes (1986), Spacecraft Attitude Dynamics, section 8.1, for the gravity gradient; Vallado (2013),
Fundamentals of Astrodynamics and Applications, section 9.6, for the secular rates; The Astronomical
Almanac, section C, for the Sun.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import partial
from typing import Any

from rbgym.arguments import flag
from rbgym.body import RigidBody
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant
from rbgym.envs.arguments import in_range, made, made_or_given, named
from rbgym.envs.parts.elements import SUN_RATE, TwoLines, bearings, moment, year_of
from rbgym.envs.parts.geomagnetism import DIPOLE_TILT, EQUATOR_FIELD, FIRST, LAST, Dipole, Harmonics
from rbgym.envs.rows import Key
from rbgym.potentials import NoPotential, Potential
from rbgym.potentials.gravity_gradient import Attraction, eccentric_anomaly
from rbgym.quaternion import add, cos_sin, dot, qmul, scale, sub, to_body
from rbgym.rows import LANES, J, vector

EARTH_RADIUS = 6371.2e3  # m, of the reference sphere of the field
EARTH_GRAVITY = 3.986004418e14  # m^3/s^2
EARTH_RATE = 7.2921159e-5  # rad/s, sidereal
_J2, _EQUATOR = 1.08262668e-3, 6378.137e3  # oblateness, and radius of the equator [m]
_DIPOLE, _IGRF = "dipole", "igrf"
_STRONGEST = 1.15  # bound: IGRF's strongest field over the dipole's polar field, at one height
_OBLIQUITY = math.radians(23.44)  # of the ecliptic
# The Sun: longitude of perigee in 2000 (now half a degree more, which moves the Sun by up to 0.015
# degrees), in turns, and the equation of the centre [rad].
_SUN_PERIGEE = 282.93 / 360.0
_CENTRE, _CENTRE_2 = math.radians(1.915), math.radians(0.020)
_TRUSTED = 31 * 86400.0  # s from their epoch for which mean elements are good
_SLIMMEST = 0.95  # eccentricity up to which Kepler's equation is solved

# Rows, in turns: mean argument of latitude; right ascension of the dipole's moment; the Sun's
# longitude from the March equinox; the orbit's node from there; and, if J2 moves it, the argument
# of the perigee.
_ORBIT, _EARTH, _SEASON, _NODE, _PERIGEE = range(5)


@dataclass(frozen=True, repr=False)
class Orbit:
    """An orbit about the Earth.

    altitude: of the perigee [m], above 6371.2 km. inclination [rad]. eccentricity: up to 0.95.
    perigee: angle from the ascending node [rad]. equator_field [T]: of the Earth's dipole, at its
    equator on the ground; tilt [rad]: of the dipole against the Earth's axis; defaults of IGRF-14
    in 2025. model: of the field, "dipole", or "igrf" for all of IGRF-14 in a `year` from 2025.0 to
    2030.0.

    j2: whether the oblateness of the Earth moves node and perigee; the Sun moves then too, and
    world axes are those of the mean equator and equinox of date. Episodes begin at node (right
    ascension [rad]), anomaly (mean [rad]) and date (ISO 8601 with its offset from UTC, in place of
    `year`); those not given are drawn, or 0 with `options["state"]`.

    Raises ValueError for numbers out of range, such as an orbit inside the Earth or an open one.
    """

    altitude: float
    inclination: float = math.radians(97.4)
    eccentricity: float = 0.0
    perigee: float = 0.0
    equator_field: float = EQUATOR_FIELD
    tilt: float = DIPOLE_TILT
    model: str = _DIPOLE
    year: float = FIRST
    j2: bool = False
    node: float | None = None
    anomaly: float | None = None
    date: str | datetime | None = None

    def __post_init__(self) -> None:
        named("Orbit.model", self.model, (_DIPOLE, _IGRF))
        for name, low, high in (
            ("altitude", 80e3, 1e9),
            ("inclination", 0.0, math.pi),
            ("eccentricity", 0.0, _SLIMMEST),
            ("perigee", -math.tau, math.tau),
            ("equator_field", 1e-9, 1.0),
            ("tilt", 0.0, math.pi),
            ("year", FIRST, LAST),
        ):
            found = in_range(f"Orbit.{name}", getattr(self, name), low, high)
            object.__setattr__(self, name, found)
        object.__setattr__(self, "j2", flag("Orbit.j2", self.j2))
        for name in ("node", "anomaly", "date"):
            value = getattr(self, name)
            if value is not None and not self.j2:
                raise ValueError(f"Orbit.{name} must be left out without j2, got {value!r}")
            if value is not None and name != "date":
                found = in_range(f"Orbit.{name}", value, -math.tau, math.tau)
                object.__setattr__(self, name, found)
        if self.date is not None:
            date = moment("Orbit.date", self.date)
            object.__setattr__(self, "date", date.isoformat())
            if self.model == _IGRF:
                year = in_range("Orbit.date, in years,", year_of(date), FIRST, LAST)
                if self.year not in (FIRST, year):
                    raise ValueError(f"Orbit.year must be left out with a date, got {self.year!r}")
        own = self.equator_field, self.tilt
        if self.model == _IGRF and own != (EQUATOR_FIELD, DIPOLE_TILT):
            both = f"{own[0]!r} and {own[1]!r}"
            raise ValueError(f"Orbit.equator_field and tilt must be left out with igrf, got {both}")
        if self.model == _DIPOLE and self.year != FIRST:
            raise ValueError(f"Orbit.year must be left out with a dipole, got {self.year!r}")

    @classmethod
    def from_tle(
        cls, line1: str, line2: str, date: str | datetime | None = None, model: str = _DIPOLE
    ) -> "Orbit":
        """The orbit of a two-line element set, with `j2`, at its epoch or propagated by its secular
        rates to another date; drag is ignored. Warns of a date over a month from the epoch.

        ValueError, which names the line and the error, for lines in another format.
        """
        found = TwoLines.read(line1, line2)
        e, i = found.eccentricity, found.inclination
        axis = math.cbrt(EARTH_GRAVITY / found.rate**2)
        for _ in range(8):  # the rate of the mean anomaly is Kozai's mean motion
            axis *= (_secular_rates(axis, e, i)[2] / found.rate) ** (2.0 / 3.0)
        then = found.date if date is None else moment("date", date)
        seconds = (then - found.date).total_seconds()
        if abs(seconds) > _TRUSTED:
            days, epoch = abs(seconds) / 86400.0, f"{found.date:%Y-%m-%d}"
            text = f"date is {days:.0f} days from the epoch of the lines, {epoch}: mean elements"
            warnings.warn(f"{text} are good for about a month", stacklevel=2)
        starts, rates = (found.node, found.perigee, found.anomaly), _secular_rates(axis, e, i)
        node, perigee, anomaly = (
            math.remainder(start + rate * seconds, math.tau)
            for start, rate in zip(starts, rates, strict=True)
        )
        return cls(axis * (1.0 - e) - EARTH_RADIUS, i, e, perigee, model=model, j2=True, node=node,
                   anomaly=anomaly, date=then.isoformat())  # fmt: skip

    def __repr__(self) -> str:
        """The arguments that are not the defaults."""
        given = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        shown = [f"{name}={value!r}" for name, value, default in given if value != default]
        return f"Orbit({', '.join(shown)})"

    @property
    def radius(self) -> float:
        """Distance of the perigee from the centre of the Earth [m]."""
        return EARTH_RADIUS + self.altitude

    @property
    def rate(self) -> float:
        """Mean motion [rad/s]."""
        return math.sqrt(EARTH_GRAVITY / (self.radius / (1.0 - self.eccentricity)) ** 3)

    @property
    def rates(self) -> tuple[float, float, float]:
        """Of the node, the perigee and the mean anomaly [rad/s]."""
        if not self.j2:
            return 0.0, 0.0, self.rate
        axis = self.radius / (1.0 - self.eccentricity)
        return _secular_rates(axis, self.eccentricity, self.inclination)

    @property
    def field(self) -> float:
        """Half of an upper bound of the field [T] on the orbit: with a dipole, the field above its
        equator at the height of the perigee; above its poles it is twice that."""
        more = _STRONGEST if self.model == _IGRF else 1.0
        return more * self.equator_field * (EARTH_RADIUS / self.radius) ** 3

    def record(self, pulls: bool = False, sun: bool = False) -> "OnOrbit":
        """The potential of a body on the orbit; pulls, sun: with a gravity gradient, with a Sun."""
        e, ground = self.eccentricity, EARTH_RADIUS / self.radius
        dipole = Dipole(self.field, math.cos(self.tilt), math.sin(self.tilt))
        year = self.year if self.date is None else year_of(moment("Orbit.date", self.date))
        node, perigee, motion = (rate / math.tau for rate in self.rates)
        kinds, places = (Coasting, Pulled), (math.inf,) * (4 if sun else 2)
        turns: tuple[float, ...] = motion, EARTH_RATE / math.tau
        if self.j2:
            kinds, places = (CoastingAround, PulledAround), self._beginning()
            turns = motion + perigee, EARTH_RATE / math.tau, SUN_RATE, node, perigee
        return kinds[pulls](
            Ellipse(e, self.perigee / math.tau) if e or self.j2 else Circle(),
            places,
            turns,
            motion,
            perigee / motion,
            (self.rate / self.rates[2]) ** 2,
            math.cos(self.inclination),
            math.sin(self.inclination),
            self.field,
            Harmonics(ground, year - FIRST) if self.model == _IGRF else dipole,
            ground,
        )

    def _beginning(self) -> tuple[float, ...]:
        """The rows at the start of an episode, in turns; infinite for those to be drawn."""
        earth = season = math.inf
        if self.date is not None:
            earth, season = bearings(moment("Orbit.date", self.date))
        node, anomaly = (math.inf if x is None else x / math.tau for x in (self.node, self.anomaly))
        perigee = self.perigee / math.tau
        rows = anomaly + perigee, earth, season, node, perigee
        return tuple(one if math.isinf(one) else math.remainder(one, 1.0) for one in rows)


def _secular_rates(axis: float, e: float, i: float) -> tuple[float, float, float]:
    """Rates of node, perigee and mean anomaly [rad/s] by J2; axis: semi-major [m]."""
    n, square = math.sqrt(EARTH_GRAVITY / axis**3), math.sin(i) ** 2
    s = 1.5 * _J2 * n * (_EQUATOR / (axis * (1.0 - e * e))) ** 2
    anomaly = n + s * (1.0 - 1.5 * square) * math.sqrt(1.0 - e * e)
    return -s * math.cos(i), s * (2.0 - 2.5 * square), anomaly


def resolve_orbit(value: Any) -> Orbit:
    """The orbit of an argument: an `Orbit`, a dict for one, or one with a "tle" for `from_tle`."""
    if isinstance(value, Mapping) and "tle" in value:
        lines = value["tle"]
        if not isinstance(lines, list | tuple) or len(lines) != 2:
            raise ValueError(f"orbit['tle'] must be a list of two lines, got {lines!r}")
        rest = {name: one for name, one in value.items() if name != "tle"}
        return made("orbit", partial(Orbit.from_tle, *lines), rest)
    return made_or_given("orbit", Orbit, value)


# Shapes of an orbit; a place is the mean argument of latitude, in turns from the node.
class Circle(Record):
    """A circular orbit."""

    is_round = constant(True)

    def polar(self, place):
        """Cosine and sine of the argument of latitude, and distance of the perigee / distance."""
        cos, sin = cos_sin(math.tau * place)
        return cos, sin, 1.0

    def half(self, place):
        """Cosine and sine of half the argument of latitude, and the same ratio."""
        cos, sin = cos_sin(math.pi * place)
        return cos, sin, 1.0

    def quickness(self, nearness):
        """(Semi-major axis / distance)^3, angular velocity / mean motion; nearness: of `polar`."""
        return 1.0, 1.0

    def climb(self, place, cos, sin):
        """Radial velocity / mean motion / distance of the perigee; cos, sin: from `polar`."""
        return 0.0


class Ellipse(Record):
    """An elliptic orbit. perigee: angle from the node, in turns."""

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

    def climb(self, place, cos, sin):
        e, (cos_p, sin_p) = self.eccentricity, cos_sin(math.tau * wrapped(self.perigee))
        return e * (sin * cos_p - cos * sin_p) / ((1.0 - e) * math.sqrt(1.0 - e * e))


class OnOrbit(Potential):
    """A satellite's place on an orbit, the Earth's rotation, and the surroundings there.

    path: `Circle` or `Ellipse`; places: initial rows, four or more with a Sun, in turns, infinite
    if drawn; turns: their rates, for those that move; turning: rate of the mean anomaly [turns/s].
    advance: rate of the perigee / rate of the mean anomaly; weight: (Kepler's mean motion / rate of
    the mean anomaly)^2. cos_inclination, sin_inclination: of the orbit. field: `Orbit.field` [T];
    magnetism: `Dipole` or `Harmonics`. ground: radius of the Earth / distance of the perigee.
    """

    path: Any
    places: tuple[float, ...]
    turns: tuple[float, ...]
    turning: float
    advance: float
    weight: float
    cos_inclination: float
    sin_inclination: float
    field: float
    magnetism: Any
    ground: float

    def row_count(self):
        return len(self.places)

    def draw_phase(self, physics, buffer, i, u):
        k = i + physics.potential_row() * LANES
        for row in range(self.row_count()):
            begin = self.places[row]  # a perigee is always given: no random number is left
            drawn = self.drawn_place(physics, u[min(row, _NODE)])
            buffer[k + row * LANES] = begin if begin < math.inf else drawn

    def drawn_place(self, physics, uniform):
        """A place in turns from a uniform number in [0, 1)."""
        # With wheels, the leading digits are used for these, so take the digits behind them.
        fine = 1024.0 * uniform
        return (fine - math.floor(fine) if physics.actuator.turns_rotors() else uniform) - 0.5

    def advance_phase(self, physics, buffer, i, h, good):
        k = i + physics.potential_row() * LANES
        for row in range(len(self.turns)):
            now = buffer[k + row * LANES]
            buffer[k + row * LANES] = wrapped(now + self.turns[row] * h) if good else now

    def checked(self):
        return self

    def rows_for(self, body: RigidBody) -> list[float]:
        return list(self.given_places())

    def given_places(self) -> tuple[float, ...]:
        """The initial rows, with 0 for those that are drawn."""
        return tuple(0.0 if math.isinf(one) else one for one in self.places)

    # The surroundings `ahead` seconds after the lane's state, world axes.
    def place(self, physics, buffer, i, ahead):
        """The place on the orbit, in turns."""
        k = i + physics.potential_row() * LANES
        return wrapped(buffer[k + _ORBIT * LANES] + self.turning * ahead)

    def place_in(self, state):
        """The same, from the named state of one body."""
        return float(state["orbit_phase"])

    def path_at(self, place):
        """The path, and the mean argument of latitude, in turns."""
        return self.path, place

    def quickness(self, nearness):
        """As of `Circle`, with the motion of the perigee."""
        return self.path.quickness(nearness)

    def in_world(self, place, x, y):
        """A vector in the orbit plane; x: along the node, y: a quarter turn further."""
        return x, self.cos_inclination * y, self.sin_inclination * y

    def carried_frame(self, place, q, rate):
        """A frame q relative to the node, in the world, and its angular velocity in its own axes;
        rate: about its second axis."""
        return q, (0.0, rate, 0.0)

    def earth_past_node(self):
        """Rate of the Earth's rotation relative to the node [turns/s]."""
        return self.turns[_EARTH]

    def upwards(self, place):
        """Unit vector from the Earth's centre, and distance of the perigee / distance."""
        path, latitude = self.path_at(place)
        cos, sin, nearness = path.polar(latitude)
        return self.in_world(place, cos, sin), nearness

    def field_at(self, place, earth):
        """B (3,) [T]; place: on the orbit, earth: angle of the Earth, in turns."""
        up, nearness = self.upwards(place)
        return self.magnetism.flux(up, nearness, earth)

    def field_ahead(self, physics, buffer, i, ahead):
        """B (3,) [T] `ahead` seconds from now."""
        k = i + physics.potential_row() * LANES
        earth = wrapped(buffer[k + _EARTH * LANES] + self.turns[_EARTH] * ahead)
        return self.field_at(self.place(physics, buffer, i, ahead), earth)

    def nadir_frame(self, physics, buffer, i, ahead):
        """Attitude of the frame with z towards the Earth and x along the orbital motion, and its
        angular velocity in its own axes [rad/s]."""
        place = self.place(physics, buffer, i, ahead)
        path, latitude = self.path_at(place)
        cos, sin, nearness = path.half(latitude)
        # Cosine and sine of half the inclination, which is at most half a turn.
        c = math.sqrt(0.5 * (1.0 + self.cos_inclination))
        s = math.sqrt(max(0.5 * (1.0 - self.cos_inclination), 0.0))
        q = qmul((c, s, 0.0, 0.0), qmul((cos, 0.0, 0.0, sin), (0.5, -0.5, -0.5, 0.5)))
        _, speed = self.quickness(nearness)
        return self.carried_frame(place, q, -math.tau * self.turning * speed)

    def course(self, place):
        """Altitude [m], and velocity (3,) [m/s] relative to air that turns with the Earth."""
        path, latitude = self.path_at(place)
        cos, sin, nearness = path.polar(latitude)
        _, quickness = self.quickness(nearness)
        lowest, rate = EARTH_RADIUS / self.ground, math.tau * self.turning
        distance = lowest / nearness
        up, along = self.in_world(place, cos, sin), self.in_world(place, -sin, cos)
        climb = scale(rate * lowest * path.climb(latitude, cos, sin), up)
        through = add(climb, scale(rate * distance * quickness, along))
        wind = scale(math.tau * self.earth_past_node() * distance, (-up[1], up[0], 0.0))
        return distance - EARTH_RADIUS, sub(through, wind)

    def sunwards(self, physics, buffer, i):
        """Unit vector to the Sun, world axes."""
        k = i + physics.potential_row() * LANES
        return self.sun_at(buffer[k + _SEASON * LANES], buffer[k + _NODE * LANES])

    def sun_at(self, season, node):
        """The same; season: longitude of the Sun, node: of the orbit, in turns."""
        cos, sin = cos_sin(math.tau * wrapped(season))
        cos_n, sin_n = cos_sin(math.tau * wrapped(node))
        y = math.cos(_OBLIQUITY) * sin
        return (cos_n * cos + sin_n * y, cos_n * y - sin_n * cos, math.sin(_OBLIQUITY) * sin)

    def is_lit(self, physics, buffer, i):
        """Whether the satellite is outside the Earth's cylindrical shadow."""
        up, nearness = self.upwards(self.place(physics, buffer, i, 0.0))
        along, ground = dot(up, self.sunwards(physics, buffer, i)), self.ground * nearness
        return (along >= 0.0) | (1.0 - along * along >= ground * ground)


class Around(OnOrbit):
    """A satellite on an orbit whose node and perigee move. World axes are those of the equator and
    the equinox. A place is the mean argument of latitude, the node and the argument of the perigee,
    in turns."""

    def path_at(self, place):
        return Ellipse(self.path.eccentricity, place[2]), place[0]

    def quickness(self, nearness):
        cube, speed = self.path.quickness(nearness)
        return self.weight * cube, speed + self.advance

    def place(self, physics, buffer, i, ahead):
        k, turns = i + physics.potential_row() * LANES, self.turns
        return (
            wrapped(buffer[k + _ORBIT * LANES] + turns[_ORBIT] * ahead),
            buffer[k + _NODE * LANES] + turns[_NODE] * ahead,
            buffer[k + _PERIGEE * LANES] + turns[_PERIGEE] * ahead,
        )

    def place_in(self, state):
        return tuple(float(state[name]) for name in ("orbit_phase", "node", "perigee"))

    def in_world(self, place, x, y):
        cos, sin = cos_sin(math.tau * wrapped(place[1]))
        across = self.cos_inclination * y
        return cos * x - sin * across, sin * x + cos * across, self.sin_inclination * y

    def carried_frame(self, place, q, rate):
        cos, sin = cos_sin(math.pi * wrapped(place[1]))
        q = qmul((cos, 0.0, 0.0, sin), q)
        drift = to_body(q, (0.0, 0.0, math.tau * self.turns[_NODE]))
        return q, add(drift, (0.0, rate, 0.0))

    def earth_past_node(self):
        return self.turns[_EARTH] - self.turns[_NODE]

    def sun_at(self, season, node):
        """The same, from the Sun's mean longitude, in world axes."""
        g = math.tau * wrapped(season - _SUN_PERIGEE)
        (cos, sin), (_, twice) = cos_sin(g), cos_sin(2.0 * g)
        cos, sin = cos_sin(math.tau * wrapped(season) + _CENTRE * sin + _CENTRE_2 * twice)
        return cos, math.cos(_OBLIQUITY) * sin, math.sin(_OBLIQUITY) * sin


class Coasting(OnOrbit, NoPotential):
    """A satellite on an orbit without gravity gradient."""


class Pulled(OnOrbit):
    """A satellite with a gravity gradient: V = 1.5 (mu/r^3) c . J c, c = R^T u.

    The reported energy is Jacobi's integral on a circle; on an ellipse it is kinetic energy plus V,
    which is not conserved; see `rbgym.CircularOrbit` and `rbgym.KeplerOrbit`.
    """

    moves = constant(True)

    def of_lane(self, physics, buffer, i, ahead):
        up, nearness = self.upwards(self.place(physics, buffer, i, ahead))
        n = math.tau * self.turning
        cube, _ = self.quickness(nearness)
        stiffness = scale(3.0 * n * n * cube, vector(buffer, i, J))
        n = n if self.path.is_round() else 0.0
        rate = (0.0, -self.sin_inclination * n, self.cos_inclination * n)
        return Attraction(stiffness, up, rate)


class CoastingAround(Around, Coasting):
    """A satellite without gravity gradient, on an orbit that J2 moves."""


class PulledAround(Around, Pulled):
    """A satellite with a gravity gradient, on an orbit that J2 moves."""


@inlined
def wrapped(turns):
    """The same angle in turns, within half a turn of zero."""
    return turns - math.floor(turns + 0.5)


def places_of(potential: Potential) -> Mapping[str, Key]:
    """Names and rows, from the potential's first, of the place on an orbit; empty without one."""
    names = ("orbit_phase", "earth_phase", "season", "node", "perigee")
    places = potential.given_places() if isinstance(potential, OnOrbit) else ()
    starts = zip(names, places)  # noqa: B905
    return {name: Key(row, 1, rest, -1.0, 1.0) for row, (name, rest) in enumerate(starts)}
