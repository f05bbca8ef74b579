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

from rbgym.compiled.jit import for_type, inlined
from rbgym.integrators.interface import (
    finish,
    load_memory,
    memory_size,
    reset_memory,
    store_memory,
)
from rbgym.integrators.record import MOMENTUM, Integrator, kept
from rbgym.integrators.samples import (
    Held,
    Lagrange,
    forget,
    later,
    load,
    size,
    store,
    taken,
    torque_at,
)
from rbgym.layout import LANES
from rbgym.potentials.interface import is_free, seen, torque
from rbgym.quaternion import (
    add,
    cross,
    dot,
    qconj,
    qdot,
    qmul,
    qscale,
    scale,
    sub,
    times,
    to_world,
)
from rbgym.rows import put_quaternion, quaternion, quaternion_if, vector_if


class RKN4(NamedTuple):
    """renormalise_every: steps between two normalisations of the quaternion; 0 for never.

    momentum_normalisation: keep the world momentum of a body without any torque, section 7.2.
    sampling: how torques go on between samples, Held() or Lagrange(jump), section 7.3.
    gyroscopic: False leaves out omega x J omega, section 7.6. That is wrong on purpose: it is what
    some game engines do, and shows what the term is worth.
    """

    renormalise_every: int = 1
    momentum_normalisation: bool = False
    gyroscopic: bool = True
    sampling: Held | Lagrange = Held()


@inlined
def _qadd(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


@inlined
def _vector(q):
    return (q[1], q[2], q[3])


@inlined
def _acceleration(scheme, potential, body, u, q, dq):
    """q'' at (q, q'); the torque of the potential is taken at the attitude q/|q|."""
    half = _vector(qmul(qconj(q), dq))
    o = seen(potential, qscale(1.0 / math.sqrt(qdot(q, q)), q))
    tau = torque(potential, u, o)
    omega = scale(2.0, half)
    momentum = add(times(body.J, omega), body.rotor)
    gyroscopic = scale(1.0 if scheme.gyroscopic else 0.0, cross(omega, momentum))
    rate = times(body.J_inv, sub(tau, gyroscopic))
    turn = qmul(q, (0.0, 0.5 * rate[0], 0.5 * rate[1], 0.5 * rate[2]))
    return _qadd(qmul(qmul(dq, qconj(q)), dq), turn)


@for_type(finish, RKN4)
def _(scheme, potential, body, step, x):
    raw, count, samples = step.memory
    h, samples = step.h, taken(scheme.sampling, samples, step.u, step.is_new)
    u = torque_at(scheme.sampling, samples, step.u, 0.0)
    u_m = torque_at(scheme.sampling, samples, step.u, 0.5 * h)
    u_e = torque_at(scheme.sampling, samples, step.u, h)
    omega = times(body.J_inv, sub(step.Pi_0, body.rotor))
    dq = qmul(raw, (0.0, 0.5 * omega[0], 0.5 * omega[1], 0.5 * omega[2]))
    k1 = _acceleration(scheme, potential, body, u, raw, dq)
    q_m = _qadd(raw, _qadd(qscale(0.5 * h, dq), qscale(0.125 * h * h, k1)))
    k2 = _acceleration(scheme, potential, body, u_m, q_m, _qadd(dq, qscale(0.5 * h, k1)))
    k3 = _acceleration(scheme, potential, body, u_m, q_m, _qadd(dq, qscale(0.5 * h, k2)))
    q_e = _qadd(raw, _qadd(qscale(h, dq), qscale(0.5 * h * h, k3)))
    k4 = _acceleration(scheme, potential, body, u_e, q_e, _qadd(dq, qscale(h, k3)))
    mid = _qadd(k2, k3)
    q_1 = _qadd(raw, _qadd(qscale(h, dq), qscale(h * h / 6.0, _qadd(k1, mid))))
    dq_1 = _qadd(dq, qscale(h / 6.0, _qadd(_qadd(k1, k4), qscale(2.0, mid))))
    omega_1 = scale(2.0, _vector(qmul(qconj(q_1), dq_1)))
    unit = qscale(1.0 / math.sqrt(qdot(q_1, q_1)), q_1)
    L_1 = to_world(unit, add(times(body.J, omega_1), body.rotor))
    if is_free(potential):
        force = dot(u, u) + dot(u_m, u_m) + dot(u_e, u_e)
        L_1 = vector_if(scheme.momentum_normalisation & (force == 0.0), step.L, L_1)
    due = count + 1.0 == scheme.renormalise_every
    kept_q = quaternion_if(due, unit, q_1)
    return unit, L_1, 0.0, (kept_q, 0.0 if due else count + 1.0, later(scheme.sampling, samples, h))


@for_type(memory_size, RKN4)
def _(scheme):
    return 5 + size(scheme.sampling)


@for_type(load_memory, RKN4)
def _(scheme, buffer, m):
    return (
        quaternion(buffer, m, 0),
        buffer[m + 4 * LANES],
        load(scheme.sampling, buffer, m + 5 * LANES),
    )


@for_type(store_memory, RKN4)
def _(scheme, buffer, m, memory, keep):
    raw, count, samples = memory
    put_quaternion(buffer, m, 0, quaternion_if(keep, quaternion(buffer, m, 0), raw))
    buffer[m + 4 * LANES] = buffer[m + 4 * LANES] if keep else count
    store(scheme.sampling, buffer, m + 5 * LANES, samples, keep)


@for_type(reset_memory, RKN4)
def _(scheme, buffer, m, q, omega):
    put_quaternion(buffer, m, 0, q)
    buffer[m + 4 * LANES] = 0.0
    forget(scheme.sampling, buffer, m + 5 * LANES)


def _checked(record: Integrator) -> Integrator:
    every = record.scheme.renormalise_every
    if not isinstance(every, int) or isinstance(every, bool) or every < 0:
        raise ValueError(f"renormalise_every must be an integer from 0 on, got {every!r}")
    for name in ("momentum_normalisation", "gyroscopic"):
        if not isinstance(getattr(record.scheme, name), bool):
            raise ValueError(f"{name} must be True or False, got {getattr(record.scheme, name)!r}")
    sampling = record.scheme.sampling
    if isinstance(sampling, Lagrange):
        if not (isinstance(sampling.jump, float | int) and 0 < sampling.jump < math.inf):
            raise ValueError(f"jump must be a positive finite number, got {sampling.jump!r}")
        sampling = Lagrange(float(sampling.jump))
    elif not isinstance(sampling, Held):
        raise ValueError(f"sampling must be Held() or Lagrange(jump), got {sampling!r}")
    keeps = record.scheme.momentum_normalisation
    return replace(
        record,
        scheme=record.scheme._replace(sampling=sampling),
        order=4 if every == 1 else 3,
        conserves=kept(free=(MOMENTUM,) if keeps else ()),
    )


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
