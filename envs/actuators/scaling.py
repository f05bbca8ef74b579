"""A scaling force: Moller & Glocker's body changes its size as a skater does.

The scale s and its momentum are advanced by the body's own scheme, rbgym.integrators.free_scale. S
is the scaling force of (75), held over the period; it does the work S (s_1 - s_0) in a step.
"""

from typing import NamedTuple

from rbgym.actuation import act
from rbgym.compiled.jit import for_type, inlined
from rbgym.envs.actuators.effector import (
    commands_of,
    effector_shows,
    energy_of,
    exert,
    ready,
    rebuild,
    show,
)
from rbgym.integrators.free_scale import FORCE, REFERENCE, SCALE, SCALING
from rbgym.layout import J_INV, LANES, J
from rbgym.quaternion import scale as scaled
from rbgym.rows import put_vector, vector

_NO_TORQUE = (0.0, 0.0, 0.0)


class ScalingForce(NamedTuple):
    """force: S of a full command [N m]; smallest, largest: bounds of the scale as it is shown;
    rate: scale rate that is shown as 1 [1/s]."""

    force: float
    smallest: float
    largest: float
    rate: float


@for_type(commands_of, ScalingForce)
def _(effector):
    return 1


@for_type(effector_shows, ScalingForce)
def _(effector):
    return 2


@inlined
def half_trace(buffer, i):
    """T, half the trace of the reference inertia [kg m^2]."""
    x, y, z = vector(buffer, i, REFERENCE)
    return 0.5 * (x + y + z)


@for_type(exert, ScalingForce)
def _(effector, spread, frame, buffer, i, a, c, h):
    buffer[i + FORCE * LANES] = effector.force * c[0]
    act(frame, buffer, i, _NO_TORQUE)


@for_type(energy_of, ScalingForce)
def _(effector, buffer, i, a):
    s, sigma = buffer[i + SCALE * LANES], buffer[i + SCALING * LANES]
    return 0.5 * sigma * sigma / (s * s * half_trace(buffer, i))


@for_type(rebuild, ScalingForce)
def _(effector, buffer, i):
    x, y, z = vector(buffer, i, REFERENCE)
    put_vector(buffer, i, J, (x, y, z))
    put_vector(buffer, i, J_INV, (1.0 / x, 1.0 / y, 1.0 / z))


@for_type(ready, ScalingForce)
def _(effector, spread, frame, buffer, i, a, placed, mass, u):
    # The J rows are those of the reference configuration here, and of the present one later.
    put_vector(buffer, i, REFERENCE, vector(buffer, i, J))
    s = buffer[i + SCALE * LANES] if placed else 1.0
    rate = buffer[i + SCALING * LANES] if placed else 0.0
    buffer[i + SCALE * LANES] = s
    buffer[i + SCALING * LANES] = s * half_trace(buffer, i) * rate
    buffer[i + FORCE * LANES] = 0.0
    put_vector(buffer, i, J, scaled(s * s, vector(buffer, i, J)))
    put_vector(buffer, i, J_INV, scaled(1.0 / (s * s), vector(buffer, i, J_INV)))


@for_type(show, ScalingForce)
def _(effector, frame, buffer, i, k):
    s, sigma = buffer[i + SCALE * LANES], buffer[i + SCALING * LANES]
    nu = sigma / (s * half_trace(buffer, i))
    buffer[k] = min(max(s, effector.smallest), effector.largest)
    buffer[k + LANES] = min(max(nu / effector.rate, -1.0), 1.0)
