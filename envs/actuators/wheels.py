"""Reaction wheels: rotors with motors, friction and limits, that move with the body.

Wheel n turns about the body axis a_n. h_n is its angular momentum about that axis, the body's own
turning included: with the speed s_n relative to the body and the inertia I about the axis,
h_n = I (s_n + a_n . omega). J, the inertia of the body, is that of everything but these I. Then

    h_n' = u_n + f_n,   L = R (J omega + sum a_n h_n),   f_n = -(c + v |s_n|) sign(s_n),

u_n the torque of the motor on the wheel, v and c the viscous and the Coulomb friction. The world
momentum L does not change. The energy, omega.J omega/2 + sum h_n^2/(2 I), changes by the work of
motors and friction, (u_n + f_n) s_n dt.

In a step of length h the change of h_n is constant. Friction is that of the mean speed, the body's
turning held; it never turns a wheel round, and holds one still against less than its own torque.
The step's energy balance is exact: with the means of h_n and omega over its ends, it gains
sum_n (change of h_n)(mean h_n / I - a_n . mean omega).
"""

from typing import NamedTuple

from rbgym.actuation import act
from rbgym.compiled.jit import for_type, inlined
from rbgym.envs.actuators.effector import (
    ACTING,
    PRIVATE,
    book,
    commands_of,
    effector_shows,
    energy_of,
    exert,
    has_rotors,
    private_rows,
    ready,
    show,
)
from rbgym.envs.actuators.mounting import turned
from rbgym.frames import to_principal, view
from rbgym.layout import BEYOND, FAILED, LANES, ROTOR, ROTOR_RATE
from rbgym.quaternion import Vector, add, dot, scale
from rbgym.rows import put_vector

_NO_TORQUE = (0.0, 0.0, 0.0)
_CHANGE = PRIVATE  # 4: torque on each wheel


class Wheels(NamedTuple):
    """Four wheels, or fewer and places left empty; `places` has as many numbers as there are
    wheels.

    axes: unit vectors, body axes, zero for an empty place. inertia: I [kg m^2]. torque: of the
    motors, at most [N m]. momentum: |h_n| at most [kg m^2/s]. viscous [N m s], coulomb [N m]:
    friction. start: an episode begins with each h_n uniform in +-start times `momentum`.
    """

    places: tuple[float, ...]
    axes: tuple[Vector, Vector, Vector, Vector]
    inertia: float
    torque: float
    momentum: float
    viscous: float
    coulomb: float
    start: float


@for_type(commands_of, Wheels)
def _(effector):
    return len(effector.places)


@for_type(private_rows, Wheels)
def _(effector):
    return 4


@for_type(effector_shows, Wheels)
def _(effector):
    return len(effector.places)


@for_type(has_rotors, Wheels)
def _(effector):
    return True


@inlined
def _change(effector, axis, c, momentum, omega, h):
    """Torque on a wheel, motor and friction, in a step of h seconds."""
    motor, inertia = -effector.torque * c, effector.inertia
    before = momentum / inertia - dot(axis, omega)
    after = before + h * motor / inertia
    rub = effector.coulomb + 0.5 * effector.viscous * abs(before + after)
    rub = min(rub, inertia * abs(after) / h)
    friction = -rub if after > 0.0 else rub
    most = effector.momentum
    return (min(max(momentum + h * (motor + friction), -most), most) - momentum) / h


@inlined
def _sum(axes, values):
    one = add(scale(values[0], axes[0]), scale(values[1], axes[1]))
    return add(one, add(scale(values[2], axes[2]), scale(values[3], axes[3])))


@inlined
def _four(buffer, k):
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES], buffer[k + 3 * LANES])


@inlined
def _mounted(effector, spread, buffer, i, a):
    x = effector.axes
    return (
        turned(spread, buffer, i, a, x[0]),
        turned(spread, buffer, i, a, x[1]),
        turned(spread, buffer, i, a, x[2]),
        turned(spread, buffer, i, a, x[3]),
    )


@for_type(exert, Wheels)
def _(effector, spread, frame, buffer, i, a, c, h):
    _, omega = view(frame, buffer, i)
    axes = _mounted(effector, spread, buffer, i, a)
    p = _four(buffer, i + BEYOND * LANES)
    # An empty place has no axis and no command, and is at rest.
    changes = (
        _change(effector, axes[0], c[0], p[0], omega, h),
        _change(effector, axes[1], c[1], p[1], omega, h),
        _change(effector, axes[2], c[2], p[2], omega, h),
        _change(effector, axes[3], c[3], p[3], omega, h),
    )
    k = i + (a + _CHANGE) * LANES
    buffer[k], buffer[k + LANES] = changes[0], changes[1]
    buffer[k + 2 * LANES], buffer[k + 3 * LANES] = changes[2], changes[3]
    rate = _sum(axes, changes)
    put_vector(buffer, i, a + ACTING, scale(-1.0, rate))
    put_vector(buffer, i, ROTOR_RATE, to_principal(frame, buffer, i, rate))
    # Once more from the wheels, so that the two do not drift apart.
    put_vector(buffer, i, ROTOR, to_principal(frame, buffer, i, _sum(axes, p)))
    act(frame, buffer, i, _NO_TORQUE)


@for_type(book, Wheels)
def _(effector, spread, frame, buffer, i, a, h):
    k, j = i + BEYOND * LANES, i + (a + _CHANGE) * LANES
    taken = 0.0 if buffer[i + FAILED * LANES] > 0.0 else h
    for n in range(4):
        buffer[k + n * LANES] += taken * buffer[j + n * LANES]


@for_type(energy_of, Wheels)
def _(effector, buffer, i, a):
    p = _four(buffer, i + BEYOND * LANES)
    return (p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3]) / (2.0 * effector.inertia)


@for_type(ready, Wheels)
def _(effector, spread, frame, buffer, i, a, placed, mass, u):
    k = i + BEYOND * LANES
    most = effector.start * effector.momentum
    for n in range(4):
        drawn = most * (2.0 * u[n] - 1.0) if n < len(effector.places) else 0.0
        buffer[k + n * LANES] = buffer[k + n * LANES] if placed else drawn
    axes = _mounted(effector, spread, buffer, i, a)
    rotor = _sum(axes, _four(buffer, k))
    put_vector(buffer, i, ROTOR, to_principal(frame, buffer, i, rotor))


@for_type(show, Wheels)
def _(effector, frame, buffer, i, k):
    for n in range(len(effector.places)):
        buffer[k + n * LANES] = buffer[i + (BEYOND + n) * LANES] / effector.momentum
