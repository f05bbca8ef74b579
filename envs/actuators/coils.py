"""Magnetorquers: the torque m x B of coils in the Earth's field, along an orbit; rbgym.envs.orbit
gives both. Each step uses the field at its middle, in the body axes predicted for that time."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from rbgym.arguments import positive
from rbgym.compiled.record import constant
from rbgym.envs.actuators.driven import Torquing
from rbgym.envs.actuators.effector import Effector, Setting
from rbgym.envs.arguments import in_range, keys
from rbgym.envs.orbit import Orbit, resolve_orbit
from rbgym.envs.parts.columns import BODY, Column
from rbgym.envs.parts.observations import put_within
from rbgym.quaternion import Array, cross, dot, qmul, scale, to_body
from rbgym.rows import LANES, view

# The default orbit, in the Earth's dipole of about 2016: the shipped policies were trained in it.
_OWN: dict[str, Any] = {"altitude": 500e3, "equator_field": 3.0e-5, "tilt": math.radians(9.6)}


@dataclass(frozen=True)
class MagneticCoils(Effector):
    """Magnetorquers about the body axes: the torque m x B in the Earth's field, never along B.

    dipole: moment of a full command about each axis [A m^2]. The env's argument `orbit` gives the
    orbit; without it, the orbit is a circle: altitude [m], by default 500 km, and inclination
    [rad], by default 97.4 degrees, in the dipole field of about 2016: 30 microtesla, tilted by 9.6
    degrees. The observation shows B in body axes over the largest field on the orbit. An episode
    begins anywhere on the orbit, at any hour of the day.
    """

    dipole: float = 1.0
    altitude: float | None = None
    inclination: float | None = None
    orbit: Orbit | None = None
    positive: ClassVar = ("dipole",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.orbit, Mapping):
            object.__setattr__(self, "orbit", resolve_orbit(self.orbit))
        if not isinstance(self.orbit, Orbit | None):
            raise ValueError(f"MagneticCoils.orbit must be an Orbit or a dict, got {self.orbit!r}")
        if self.altitude is not None:
            positive("MagneticCoils.altitude", self.altitude)
        if self.inclination is not None:
            in_range("MagneticCoils.inclination", self.inclination, 0.0, math.pi)
        _ = self.around  # raises ValueError if altitude or inclination contradict an orbit

    @property
    def around(self) -> Orbit:
        """The orbit: the one given, or the circle of altitude and inclination."""
        own = {"altitude": self.altitude, "inclination": self.inclination}
        given = {name: value for name, value in own.items() if value is not None}
        if self.orbit is None:
            return Orbit(**{**_OWN, **given})
        if given:
            raise ValueError(f"MagneticCoils must have no {list(given)} with an orbit")
        return self.orbit

    def on(self, orbit: Orbit | Mapping[str, float]) -> "MagneticCoils":
        if self.orbit is None or not isinstance(orbit, Mapping) or "tle" in orbit:
            return replace(self, orbit=resolve_orbit(orbit))
        numbers = keys("orbit", orbit, [one.name for one in fields(Orbit)])
        if numbers.get("model", self.orbit.model) != self.orbit.model:  # reset the old model's
            numbers = {n: getattr(Orbit, n) for n in ("equator_field", "tilt", "year")} | numbers
        return replace(self, orbit=replace(self.orbit, **numbers))

    @property
    def field(self) -> float:
        """Field above the dipole's equator at perigee [T]; twice as strong above its poles."""
        return self.around.field

    def record(self, setting: Setting, line: Any) -> "Coils":
        return Coils(line, setting.scale * self.dipole)

    def field_at(self, state: Mapping[str, Any]) -> Array:
        """B in world axes [T], (3,), in the state of one body."""
        record = self.around.record()
        return np.array(record.field_at(record.place_in(state), float(state["earth_phase"])))

    def columns(self) -> tuple[Column, ...]:
        return (Column("magnetic_field", 3, unit="T", frame=BODY, scale=2.0 * self.field),)

    def commands(self, limits: Array, strength: float) -> tuple[Column, ...]:
        full = strength * self.dipole
        return (Column("magnetic_moment", 3, unit="A m^2", frame=BODY, scale=full),)

    def fitted(self, satellite: Any) -> Any:
        return satellite.coils

    def largest(self, setting: Setting) -> Array:
        return 2.0 * math.sqrt(2.0) * self.limits(setting)

    def limits(self, setting: Setting) -> Array:
        return np.full(3, setting.scale * self.dipole * self.field)

    def sketch(self, instant: Any) -> Iterable[Any]:
        B = 1e6 * self.field_at(instant.state)
        yield instant.arrow("magnetic field", B, "µT", 2e6 * self.field)


class Coils(Torquing):
    """dipole: moment of a full command about each body axis [A m^2]."""

    line: Any
    dipole: float
    effector_shows = constant(3)

    def field_row(self, physics):
        return self.shown_row(physics)

    def torque_of(self, physics, buffer, i, c, h):
        q, omega = view(physics, buffer, i)
        half = scale(0.25 * h, omega)
        size = 1.0 / math.sqrt(1.0 + dot(half, half))
        then = qmul(q, (size, size * half[0], size * half[1], size * half[2]))
        B = to_body(then, physics.potential.field_ahead(physics, buffer, i, 0.5 * h))
        return cross(self.mounted(physics, buffer, i, scale(self.dipole, c)), B)

    def show_in(self, physics, buffer, i, shown):
        q, _ = view(physics, buffer, i)
        B = to_body(q, physics.potential.field_ahead(physics, buffer, i, 0.0))
        put_within(buffer, i + shown * LANES, scale(0.5 / physics.potential.field, B), 1.0)

    def present(self, physics, buffer, i):
        self.show_in(physics, buffer, i, self.shown_row(physics))
