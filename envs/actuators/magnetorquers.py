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
from typing import NamedTuple

from rbgym.actuation import act
from rbgym.compiled.jit import for_type, inlined
from rbgym.envs.actuators.effector import (
    ACTING,
    book,
    commands_of,
    effector_shows,
    exert,
    ready,
    show,
)
from rbgym.envs.actuators.mounting import turned
from rbgym.frames import view
from rbgym.layout import BEYOND, LANES
from rbgym.quaternion import cos_sin, cross, dot, qmul, scale, sub, to_body
from rbgym.rows import put_vector

_PLACE, _EARTH = BEYOND, BEYOND + 1  # on the orbit from its node, and of the Earth, in turns


class Magnetorquers(NamedTuple):
    """dipole: moment of a full command about each body axis [A m^2]. field: B_e / r^3 [T].

    rate: of the orbit; earth: of the Earth's rotation [turns/s]. cos_inclination,
    sin_inclination: of the orbit. cos_tilt, sin_tilt: of the dipole, from the south pole.
    """

    dipole: float
    field: float
    rate: float
    earth: float
    cos_inclination: float
    sin_inclination: float
    cos_tilt: float
    sin_tilt: float


@inlined
def _wrapped(turns):
    return turns - math.floor(turns + 0.5)


@inlined
def field_at(effector, buffer, i, ahead):
    """B [T] in world axes, `ahead` seconds from now."""
    place = _wrapped(buffer[i + _PLACE * LANES] + effector.rate * ahead)
    earth = _wrapped(buffer[i + _EARTH * LANES] + effector.earth * ahead)
    cos, sin = cos_sin(math.tau * place)
    up = (cos, effector.cos_inclination * sin, effector.sin_inclination * sin)
    cos, sin = cos_sin(math.tau * earth)
    d = (effector.sin_tilt * cos, effector.sin_tilt * sin, -effector.cos_tilt)
    return scale(effector.field, sub(scale(3.0 * dot(d, up), up), d))


@for_type(commands_of, Magnetorquers)
def _(effector):
    return 3


@for_type(effector_shows, Magnetorquers)
def _(effector):
    return 3


@for_type(exert, Magnetorquers)
def _(effector, spread, frame, buffer, i, a, c, h):
    q, omega = view(frame, buffer, i)
    half = scale(0.25 * h, omega)
    size = 1.0 / math.sqrt(1.0 + dot(half, half))
    then = qmul(q, (size, size * half[0], size * half[1], size * half[2]))
    B = to_body(then, field_at(effector, buffer, i, 0.5 * h))
    m = turned(spread, buffer, i, a, scale(effector.dipole, (c[0], c[1], c[2])))
    torque = cross(m, B)
    put_vector(buffer, i, a + ACTING, torque)
    act(frame, buffer, i, torque)


@for_type(book, Magnetorquers)
def _(effector, spread, frame, buffer, i, a, h):
    place = buffer[i + _PLACE * LANES] + effector.rate * h
    buffer[i + _PLACE * LANES] = _wrapped(place)
    buffer[i + _EARTH * LANES] = _wrapped(buffer[i + _EARTH * LANES] + effector.earth * h)


@for_type(ready, Magnetorquers)
def _(effector, spread, frame, buffer, i, a, placed, mass, u):
    for n in range(2):
        k = i + (BEYOND + n) * LANES
        buffer[k] = buffer[k] if placed else u[n] - 0.5


@for_type(show, Magnetorquers)
def _(effector, frame, buffer, i, k):
    q, _ = view(frame, buffer, i)
    B = scale(0.5 / effector.field, to_body(q, field_at(effector, buffer, i, 0.0)))
    for n in range(3):
        buffer[k + n * LANES] = min(max(B[n], -1.0), 1.0)
