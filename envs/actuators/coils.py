"""Magnetorquers: the torque m x B of coils in the Earth's field, along a circular orbit.

The field is that of a dipole at the Earth's centre, tilted against the axis of rotation:

    B = (B_e / r^3) (3 (d . u) u - d),

u the unit vector from the centre to the satellite, r its distance in Earth radii, d the direction
of the dipole's magnetic moment, B_e the field at the magnetic equator on the ground. World axes are
inertial, the third that of the Earth. The orbit has its ascending node on the first axis; the
Earth's longitude at the start is random, so that nothing is lost by that. In a step the field is
taken half-way, in the axes of the body expected there.

Source: Wertz (1978), Spacecraft Attitude Determination and Control, appendix H.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import constant
from rbgym.engine.actuation import act
from rbgym.engine.rows import LANES, put_vector, view
from rbgym.envs.actuators.driven import Driven
from rbgym.envs.actuators.effector import Effector, Key, Setting
from rbgym.envs.arguments import in_range
from rbgym.quaternion import Array, cos_sin, cross, dot, qmul, scale, sub, to_body

EARTH_RADIUS = 6371.2e3  # m, of the reference sphere of the field
EARTH_GRAVITY = 3.986004418e14  # m^3/s^2
EARTH_RATE = 7.2921159e-5  # rad/s, sidereal
EQUATOR_FIELD = 3.0e-5  # T, of the dipole at the magnetic equator
DIPOLE_TILT = math.radians(9.6)

# Rows of the state: the place on the orbit from its node, and that of the Earth, in turns.
_ORBIT, _EARTH = 0, 1


@dataclass(frozen=True)
class MagneticCoils(Effector):
    """Magnetorquers about the body axes: the torque m x B in the Earth's field, never along B.

    dipole: moment of a full command about each axis [A m^2]. altitude [m] and inclination [rad] of
    the circular orbit. Shown: B in body axes as a part of the largest there is on the orbit. An
    episode begins anywhere on the orbit, at any hour of the day.
    """

    dipole: float = 1.0
    altitude: float = 500e3
    inclination: float = math.radians(97.4)
    positive: ClassVar = ("dipole", "altitude")
    keys: ClassVar[Mapping[str, Key]] = {
        "orbit_phase": Key(_ORBIT, 1, 0.0, -1.0, 1.0),
        "earth_phase": Key(_EARTH, 1, 0.0, -1.0, 1.0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        in_range("MagneticCoils.altitude", self.altitude, 0.0, 1e9)
        in_range("MagneticCoils.inclination", self.inclination, 0.0, math.pi)

    @property
    def radius(self) -> float:
        """Of the orbit [m]."""
        return EARTH_RADIUS + self.altitude

    @property
    def orbital_rate(self) -> float:
        """[rad/s]."""
        return math.sqrt(EARTH_GRAVITY / self.radius**3)

    @property
    def field(self) -> float:
        """Field of the dipole at its equator, at this altitude [T]; at its poles it is twice."""
        return EQUATOR_FIELD * (EARTH_RADIUS / self.radius) ** 3

    def record(self, setting: Setting, line: Any) -> "Coils":
        return self._coils(setting.scale * self.dipole, line)

    def _coils(self, dipole: float, line: Any = None) -> "Coils":
        return Coils(
            line,
            dipole,
            self.field,
            self.orbital_rate / math.tau,
            EARTH_RATE / math.tau,
            math.cos(self.inclination),
            math.sin(self.inclination),
            math.cos(DIPOLE_TILT),
            math.sin(DIPOLE_TILT),
        )

    def field_at(self, state: Mapping[str, Any]) -> Array:
        """B in world axes [T], (3,), in the state of one body."""
        phases = float(state["orbit_phase"]), float(state["earth_phase"])
        return np.array(self._coils(self.dipole).field_at(*phases))

    def shown(self, setting: Setting) -> Array:
        return np.array([[-1.0] * 3, [1.0] * 3])

    def largest(self, setting: Setting) -> Array:
        return 2.0 * math.sqrt(2.0) * self.limits(setting)

    def limits(self, setting: Setting) -> Array:
        return np.full(3, setting.scale * self.dipole * self.field)

    def columns(self, first: int) -> str:
        field = f"{2e6 * self.field:.3g} microtesla"
        return f"| {first}-{first + 2} | magnetic field in body axes / ({field}) | +-1 |"

    def sketch(self, instant: Any) -> Iterable[Any]:
        B = 1e6 * self.field_at(instant.state)
        yield instant.arrow("magnetic field", B, "µT", 2e6 * self.field)


class Coils(Driven):
    """dipole: moment of a full command about each body axis [A m^2]. field: B_e / r^3 [T].

    rate: of the orbit; earth: of the Earth's rotation [turns/s]. cos_inclination,
    sin_inclination: of the orbit. cos_tilt, sin_tilt: of the dipole, from the south pole.
    """

    line: Any
    dipole: float
    field: float
    rate: float
    earth: float
    cos_inclination: float
    sin_inclination: float
    cos_tilt: float
    sin_tilt: float
    channels = constant(3)
    effector_rows = constant(2)
    effector_shows = constant(3)

    def field_at(self, place, earth):
        """B [T] in world axes; place, earth: on the orbit and of the Earth, in turns."""
        cos, sin = cos_sin(math.tau * place)
        up = (cos, self.cos_inclination * sin, self.sin_inclination * sin)
        cos, sin = cos_sin(math.tau * earth)
        d = (self.sin_tilt * cos, self.sin_tilt * sin, -self.cos_tilt)
        return scale(self.field, sub(scale(3.0 * dot(d, up), up), d))

    # The rows of the two places begin at `row`, the rows that are shown at `shown`.

    def field_in(self, buffer, i, row, ahead):
        """B [T] in world axes, `ahead` seconds from now."""
        k = i + row * LANES
        place = _wrapped(buffer[k + _ORBIT * LANES] + self.rate * ahead)
        earth = _wrapped(buffer[k + _EARTH * LANES] + self.earth * ahead)
        return self.field_at(place, earth)

    def torque_of(self, physics, buffer, i, row, c, h):
        """Torque [N m] in body axes of three mean commands, in the step of h seconds."""
        q, omega = view(physics, buffer, i)
        half = scale(0.25 * h, omega)
        size = 1.0 / math.sqrt(1.0 + dot(half, half))
        then = qmul(q, (size, size * half[0], size * half[1], size * half[2]))
        B = to_body(then, self.field_in(buffer, i, row, 0.5 * h))
        return cross(self.mounted(physics, buffer, i, scale(self.dipole, c)), B)

    def move_on(self, buffer, i, row, h):
        """Go on along the orbit for h seconds."""
        k = i + row * LANES
        buffer[k + _ORBIT * LANES] = _wrapped(buffer[k + _ORBIT * LANES] + self.rate * h)
        buffer[k + _EARTH * LANES] = _wrapped(buffer[k + _EARTH * LANES] + self.earth * h)

    def begin_at(self, buffer, i, row, orbit, earth):
        """Begin at these places, in turns from 0 to 1."""
        buffer[i + (row + _ORBIT) * LANES] = orbit - 0.5
        buffer[i + (row + _EARTH) * LANES] = earth - 0.5

    def show_in(self, physics, buffer, i, row, shown):
        """Write the field in body axes."""
        q, _ = view(physics, buffer, i)
        B = scale(0.5 / self.field, to_body(q, self.field_in(buffer, i, row, 0.0)))
        bounded = (min(max(B[0], -1.0), 1.0), min(max(B[1], -1.0), 1.0), min(max(B[2], -1.0), 1.0))
        put_vector(buffer, i, shown, bounded)

    def exert(self, physics, buffer, i, c, h):
        row = self.state_row(physics)
        torque = self.torque_of(physics, buffer, i, row, (c[0], c[1], c[2]), h)
        put_vector(buffer, i, self.acting_row(physics), torque)
        act(physics, buffer, i, torque)

    def book(self, physics, buffer, i, h):
        self.move_on(buffer, i, self.state_row(physics), h)

    def ready(self, physics, buffer, i, placed, mass, u):
        if not placed:
            self.begin_at(buffer, i, self.state_row(physics), u[0], u[1])

    def present(self, physics, buffer, i):
        self.show_in(physics, buffer, i, self.state_row(physics), self.shown_row(physics))


@inlined
def _wrapped(turns):
    return turns - math.floor(turns + 0.5)
