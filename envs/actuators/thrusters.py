"""Forces and torques about all body axes: six degrees of freedom.

The centre of mass obeys p'' = R F / m (Mandre 2008, section 5), F the force in body axes. As a held
torque does, F acts in the axes half-way through a step, R_m those of the mean attitude:

    v_1 = v_0 + h R_m F / m,   p_1 = p_0 + h (v_0 + v_1)/2,

so that the impulse of a step is h R_m F to the last bit, and the kinetic energy changes by the work
R_m F . (p_1 - p_0) exactly.
"""

import math
from typing import NamedTuple

from rbgym.actuation import act
from rbgym.compiled.jit import for_type
from rbgym.envs.actuators.effector import (
    ACTING,
    PRIVATE,
    book,
    commands_of,
    energy_of,
    exert,
    private_rows,
    ready,
)
from rbgym.envs.actuators.mounting import turned
from rbgym.envs.layout import POSITION, VELOCITY
from rbgym.frames import view
from rbgym.layout import FAILED, LANES, SCALE
from rbgym.quaternion import add, dot, scale, times, to_world
from rbgym.rows import put_quaternion, put_vector, quaternion, vector

_BEFORE = PRIVATE  # 4: attitude at the start of the step
_MASS = PRIVATE + 4


class BodyForces(NamedTuple):
    """force: of a full command along each body axis [N]; mass [kg]."""

    force: float
    mass: float


@for_type(commands_of, BodyForces)
def _(effector):
    return 6


@for_type(private_rows, BodyForces)
def _(effector):
    return 5


@for_type(exert, BodyForces)
def _(effector, spread, frame, buffer, i, a, c, h):
    q, _ = view(frame, buffer, i)
    put_quaternion(buffer, i, a + _BEFORE, q)
    torque = times(vector(buffer, i, SCALE), (c[3], c[4], c[5]))
    torque = turned(spread, buffer, i, a, torque)
    force = turned(spread, buffer, i, a, scale(effector.force, (c[0], c[1], c[2])))
    put_vector(buffer, i, a + ACTING, torque)
    put_vector(buffer, i, a + ACTING + 3, force)
    act(frame, buffer, i, torque)


@for_type(book, BodyForces)
def _(effector, spread, frame, buffer, i, a, h):
    q_0, (q_1, _) = quaternion(buffer, i, a + _BEFORE), view(frame, buffer, i)
    w, x, y, z = q_0[0] + q_1[0], q_0[1] + q_1[1], q_0[2] + q_1[2], q_0[3] + q_1[3]
    size = 1.0 / math.sqrt(w * w + x * x + y * y + z * z)
    half_way = (size * w, size * x, size * y, size * z)
    failed = buffer[i + FAILED * LANES] > 0.0
    taken = 0.0 if failed else h
    force = to_world(half_way, vector(buffer, i, a + ACTING + 3))
    v_0 = vector(buffer, i, VELOCITY)
    v_1 = add(v_0, scale(taken / buffer[i + (a + _MASS) * LANES], force))
    p = add(vector(buffer, i, POSITION), scale(0.5 * taken, add(v_0, v_1)))
    put_vector(buffer, i, VELOCITY, v_1)
    put_vector(buffer, i, POSITION, p)


@for_type(energy_of, BodyForces)
def _(effector, buffer, i, a):
    v = vector(buffer, i, VELOCITY)
    return 0.5 * buffer[i + (a + _MASS) * LANES] * dot(v, v)


@for_type(ready, BodyForces)
def _(effector, spread, frame, buffer, i, a, placed, mass, u):
    buffer[i + (a + _MASS) * LANES] = mass * effector.mass
