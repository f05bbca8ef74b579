"""Quaternion Runge-Kutta-Nystroem scheme of order four, Mandre (2008), section 6.

    q'' = q' q* q' + (1/2) q o J^-1 (tau - 4 (q* q') x (J q* q'))

The scheme does not keep the quaternion at unit length: the unnormalised one is its memory, and
is brought back every `renormalise_every` steps. Mandre advises a low frequency, but as printed
omega_1 = 2 q_1* q_1' multiplies omega by |q_1|^2 at every step, which costs an order: measured,
the slope is 3 without normalisation and 4 with one at each step, which is the default here.
"""

import math
from dataclasses import replace
from typing import NamedTuple

from rbgym.integrators.interface import (
    finish,
    load_memory,
    memory_size,
    reset_memory,
    store_memory,
)
from rbgym.integrators.record import Integrator, kept
from rbgym.jit import for_type, inlined
from rbgym.layout import LANES
from rbgym.potentials.interface import seen, torque
from rbgym.quaternion import (
    add,
    cross,
    qconj,
    qdot,
    qmul,
    qscale,
    scale,
    sub,
    times,
    to_world,
)
from rbgym.rows import put_quaternion, quaternion, quaternion_if


class RKN4(NamedTuple):
    """renormalise_every: steps between two normalisations of the quaternion; 0 for never."""

    renormalise_every: int = 1


@inlined
def _qadd(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


@inlined
def _vector(q):
    return (q[1], q[2], q[3])


@inlined
def _acceleration(potential, body, u, q, dq):
    """q'' at (q, q'); the torque of the potential is taken at the attitude q/|q|."""
    half = _vector(qmul(qconj(q), dq))
    o = seen(potential, qscale(1.0 / math.sqrt(qdot(q, q)), q))
    tau = torque(potential, u, o)
    omega = scale(2.0, half)
    momentum = add(times(body.J, omega), body.rotor)
    rate = times(body.J_inv, sub(tau, cross(omega, momentum)))
    turn = qmul(q, (0.0, 0.5 * rate[0], 0.5 * rate[1], 0.5 * rate[2]))
    return _qadd(qmul(qmul(dq, qconj(q)), dq), turn)


@for_type(finish, RKN4)
def _(scheme, potential, body, step, x):
    raw, count = step.memory
    h, u = step.h, step.u
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    dq = qmul(raw, (0.0, 0.5 * omega[0], 0.5 * omega[1], 0.5 * omega[2]))
    k1 = _acceleration(potential, body, u, raw, dq)
    q_m = _qadd(raw, _qadd(qscale(0.5 * h, dq), qscale(0.125 * h * h, k1)))
    k2 = _acceleration(potential, body, u, q_m, _qadd(dq, qscale(0.5 * h, k1)))
    k3 = _acceleration(potential, body, u, q_m, _qadd(dq, qscale(0.5 * h, k2)))
    q_e = _qadd(raw, _qadd(qscale(h, dq), qscale(0.5 * h * h, k3)))
    k4 = _acceleration(potential, body, u, q_e, _qadd(dq, qscale(h, k3)))
    mid = _qadd(k2, k3)
    q_1 = _qadd(raw, _qadd(qscale(h, dq), qscale(h * h / 6.0, _qadd(k1, mid))))
    dq_1 = _qadd(dq, qscale(h / 6.0, _qadd(_qadd(k1, k4), qscale(2.0, mid))))
    omega_1 = scale(2.0, _vector(qmul(qconj(q_1), dq_1)))
    unit = qscale(1.0 / math.sqrt(qdot(q_1, q_1)), q_1)
    L_1 = to_world(unit, add(times(body.J, omega_1), body.rotor))
    due = count + 1.0 == scheme.renormalise_every
    kept = quaternion_if(due, unit, q_1)
    return unit, L_1, 0.0, (kept, 0.0 if due else count + 1.0)


@for_type(memory_size, RKN4)
def _(scheme):
    return 5


@for_type(load_memory, RKN4)
def _(scheme, buffer, m):
    return quaternion(buffer, m, 0), buffer[m + 4 * LANES]


@for_type(store_memory, RKN4)
def _(scheme, buffer, m, memory, keep):
    raw, count = memory
    put_quaternion(buffer, m, 0, quaternion_if(keep, quaternion(buffer, m, 0), raw))
    buffer[m + 4 * LANES] = buffer[m + 4 * LANES] if keep else count


@for_type(reset_memory, RKN4)
def _(scheme, buffer, m, q, omega):
    put_quaternion(buffer, m, 0, q)
    buffer[m + 4 * LANES] = 0.0


def _checked(record: Integrator) -> Integrator:
    every = record.scheme.renormalise_every
    if not isinstance(every, int) or isinstance(every, bool) or every < 0:
        raise ValueError(f"renormalise_every must be an integer from 0 on, got {every!r}")
    return replace(record, order=4 if every == 1 else 3)


INTEGRATORS = (
    Integrator(
        name="rkn4",
        title="quaternion Runge-Kutta-Nystroem",
        order=4,
        symmetric=False,
        explicit=True,
        conserves=kept(),
        source="Mandre (2008), section 6",
        scheme=RKN4(),
        checked=_checked,
    ),
)
