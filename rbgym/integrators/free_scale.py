"""The scalable body of Moller & Glocker (2012) without the constraint on its size, for the engine.

The step is that of `rbgym.scalable_step`: seven degrees of freedom, of which the engine's rows hold
attitude and momentum, and these here scale, scaling momentum and scaling force. The rows of the
inertia are those of the present size, s^2 Theta, so that angular velocity and energy of rotation
are what they are for every other body. It is no scheme of the catalogue, but what "scalable_em"
becomes for a body whose size is free.
"""

import math
from typing import NamedTuple

from rbgym.integrators.interface import finish, load_memory, store_memory
from rbgym.jit import for_type
from rbgym.layout import BEYOND, J_INV, LANES, MEMORY, POTENTIAL, J
from rbgym.quaternion import scale
from rbgym.rows import put_vector, vector
from rbgym.scalable_step import Inertia, Load, Motion, step

SCALE, SCALING, FORCE = BEYOND, BEYOND + 1, BEYOND + 2  # s, sigma [kg m^2/s], S [N m]
REFERENCE = POTENTIAL  # 3: moments Theta at s = 1; such a body has no potential

_NOWHERE = (0.0, 0.0, 0.0)


class FreeScale(NamedTuple):
    """Names the scheme to the engine."""


@for_type(load_memory, FreeScale)
def _(scheme, buffer, m):
    i = m - MEMORY * LANES
    s, sigma = buffer[i + SCALE * LANES], buffer[i + SCALING * LANES]
    return s, sigma, buffer[i + FORCE * LANES], vector(buffer, i, REFERENCE)


@for_type(store_memory, FreeScale)
def _(scheme, buffer, m, memory, keep):
    i = m - MEMORY * LANES
    s, sigma, _, moments = memory
    if not keep:
        buffer[i + SCALE * LANES] = s
        buffer[i + SCALING * LANES] = sigma
        put_vector(buffer, i, J, scale(s * s, moments))
        inverse = (1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2])
        put_vector(buffer, i, J_INV, scale(1.0 / (s * s), inverse))


@for_type(finish, FreeScale)
def _(scheme, potential, body, held, x):
    s, sigma, force, moments = held.memory
    half_trace = 0.5 * (moments[0] + moments[1] + moments[2])
    # A torque u acts as the moment u/s; the impulse of M is h |A_m|^2 R_m M, |A_m|^2 nearly s.
    load = Load(_NOWHERE, force, scale(1.0 / s, held.u))
    now = Motion(_NOWHERE, _NOWHERE, held.q, s, sigma, held.L)
    good, _, end = step(Inertia(1.0, half_trace, moments), load, held.h, False, now)
    w = end.q[0] if good else math.nan  # which the engine refuses
    q = (w, end.q[1], end.q[2], end.q[3])
    return q, end.L, 0.0, (end.s, end.sigma, force, moments)
