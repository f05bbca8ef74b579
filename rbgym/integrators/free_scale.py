"""The scalable body of Moller & Glocker (2012) without the constraint on its size, for the engine.

The step is that of `rbgym.scalable_step`: seven degrees of freedom, of which the engine's rows hold
attitude and momentum, and these here scale, scaling momentum and scaling force. The rows of the
inertia are those of the present size, s^2 Theta, so that angular velocity and energy of rotation
are what they are for every other body. It is no scheme of the catalogue, but what "scalable_em"
becomes for a body whose size is free.
"""

import math
from typing import NamedTuple

from rbgym.compiled.jit import for_type, inlined
from rbgym.integrators.interface import finish, load_memory, store_memory, thorough
from rbgym.layout import BEYOND, J_INV, LANES, MEMORY, POTENTIAL, J
from rbgym.quaternion import scale
from rbgym.rows import put_vector, vector, vector_if
from rbgym.scalable_step import Inertia, Load, Motion, begun, ended, solved, soon_solved

SCALE, SCALING, FORCE = BEYOND, BEYOND + 1, BEYOND + 2  # s, sigma [kg m^2/s], S [N m]
REFERENCE = POTENTIAL  # 3: moments Theta at s = 1; such a body has no potential

_NOWHERE = (0.0, 0.0, 0.0)


class FreeScale(NamedTuple):
    """Names the scheme to the engine."""


class FreeScaleFar(NamedTuple):
    """The same for any step that can be solved, one body after the other."""


@for_type(load_memory, FreeScale, FreeScaleFar)
def _(scheme, buffer, m):
    i = m - MEMORY * LANES
    s, sigma = buffer[i + SCALE * LANES], buffer[i + SCALING * LANES]
    return s, sigma, buffer[i + FORCE * LANES], vector(buffer, i, REFERENCE)


@for_type(store_memory, FreeScale, FreeScaleFar)
def _(scheme, buffer, m, memory, keep):
    i = m - MEMORY * LANES
    s, sigma, _, moments = memory
    buffer[i + SCALE * LANES] = buffer[i + SCALE * LANES] if keep else s
    buffer[i + SCALING * LANES] = buffer[i + SCALING * LANES] if keep else sigma
    inverse = (1.0 / moments[0], 1.0 / moments[1], 1.0 / moments[2])
    J_0, J_inv_0 = vector(buffer, i, J), vector(buffer, i, J_INV)
    put_vector(buffer, i, J, vector_if(keep, J_0, scale(s * s, moments)))
    put_vector(buffer, i, J_INV, vector_if(keep, J_inv_0, scale(1.0 / (s * s), inverse)))


@inlined
def _given(held):
    """The body at s = 1, the loads, and the motion and momenta at the start."""
    s, sigma, force, moments = held.memory
    half_trace = 0.5 * (moments[0] + moments[1] + moments[2])
    # A torque u acts as the moment u/s; the impulse of M is h |A_m|^2 R_m M, |A_m|^2 nearly s.
    load = Load(_NOWHERE, force, scale(1.0 / s, held.u))
    now = Motion(_NOWHERE, _NOWHERE, held.q, s, sigma, held.L)
    return Inertia(1.0, half_trace, moments), load, now, begun(now)


@inlined
def _taken(body, load, held, now, start, good, x):
    _, end = ended(body, load, held.h, False, now, start, x)
    w = end.q[0] if good else math.nan  # which the engine refuses
    q = (w, end.q[1], end.q[2], end.q[3])
    _, _, force, moments = held.memory
    return q, end.L, 0.0, (end.s, end.sigma, force, moments)


@for_type(finish, FreeScale)
def _(scheme, potential, body, held, x):
    reference, load, now, start = _given(held)
    good, root = soon_solved(reference, start, load, held.h)
    return _taken(reference, load, held, now, start, good, root)


@for_type(thorough, FreeScale)
def _(scheme):
    return FreeScaleFar()


@for_type(finish, FreeScaleFar)
def _(scheme, potential, body, held, x):
    reference, load, now, start = _given(held)
    good, root = solved(reference, start, load, held.h, False)
    return _taken(reference, load, held, now, start, good, root)
