"""Quaternion Runge-Kutta-Nystroem scheme of order four, Mandre (2008), section 6.

    q'' = q' q* q' + (1/2) q o J^-1 (tau - 4 (q* q') x (J q* q'))

The equation stays as it is where q is multiplied from the left by a unit quaternion. So a step is
taken in the axes of its start, where q is a real number, its length; and the rotation from there
gives the change of L, which is added: the round-off of L is a random walk. The rates that q and q'
give anew at each step, omega = 2 q* q', would have that of |q|^2, which has a trend.

The scheme does not keep the quaternion at unit length: its length is its memory, and is brought
back every `renormalise_every` steps. Mandre advises a low frequency, but as printed
omega_1 = 2 q_1* q_1' multiplies omega by |q_1|^2 at every step, which costs an order: measured,
the slope is 3 without normalisation and 4 with one at each step, which is the default here.

Torques that are known at samples only are held, or continued by Lagrange's polynomial, section 7.3.
Through the last three samples a, b, c, taken P apart, the torque at the time s P after the last is

    a s (s + 1)/2 - b s (s + 2) + c (s + 1)(s + 2)/2,

through two of them c + (c - b) s. (The paper's x = (t_s - t)/h has the sign the other way round.) A
sample that is far from what the former ones foretold is a jump, and makes the history start anew.
"""

import math
from dataclasses import replace
from typing import NamedTuple

from rbgym.arguments import flag, positive
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant
from rbgym.integrators.interface import MOMENTUM, Explicit, Integrator, conserved
from rbgym.quaternion import (
    Vector,
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
from rbgym.rows import LANES, put_vector, vector, vector_if


class Held(Record):
    """The torque of a sample stays until the next."""

    sample_rows = constant(0, "Number of rows for the samples.")

    def load_samples(self, buffer, m):
        """The samples of the lane whose first row for them is at m."""
        return ()

    def store_samples(self, buffer, m, samples, unchanged):
        """Write them; `unchanged`: leave them as they are."""

    def forget_samples(self, buffer, m):
        """No samples yet."""

    def with_sample(self, samples, u, is_new):
        """The samples with the torque u among them, if it is a new one."""
        return samples

    def after_step(self, samples, h):
        """The samples after a step of length h."""
        return samples

    def torque_at(self, samples, u, time):
        """The torque `time` after the start of the step, u the last sample."""
        return u


class Samples(NamedTuple):
    """a, b, c: the last three, oldest first [N m]; known: how many of them there are, from 0 on.

    age: time since the last [s]; period: time between the last two [s].
    """

    a: Vector
    b: Vector
    c: Vector
    known: float
    age: float
    period: float


class Lagrange(Record):
    """Torques are continued through the last three samples.

    jump: the largest miss of a torque without a jump, in units of the largest of the samples.
    """

    jump: float = 0.5
    sample_rows = constant(12)

    def load_samples(self, buffer, m):
        return Samples(
            vector(buffer, m, 0),
            vector(buffer, m, 3),
            vector(buffer, m, 6),
            buffer[m + 9 * LANES],
            buffer[m + 10 * LANES],
            buffer[m + 11 * LANES],
        )

    def store_samples(self, buffer, m, samples, unchanged):
        put_vector(buffer, m, 0, vector_if(unchanged, vector(buffer, m, 0), samples.a))
        put_vector(buffer, m, 3, vector_if(unchanged, vector(buffer, m, 3), samples.b))
        put_vector(buffer, m, 6, vector_if(unchanged, vector(buffer, m, 6), samples.c))
        buffer[m + 9 * LANES] = buffer[m + 9 * LANES] if unchanged else samples.known
        buffer[m + 10 * LANES] = buffer[m + 10 * LANES] if unchanged else samples.age
        buffer[m + 11 * LANES] = buffer[m + 11 * LANES] if unchanged else samples.period

    def forget_samples(self, buffer, m):
        for row in range(12):
            buffer[m + row * LANES] = 0.0

    def with_sample(self, samples, u, is_new):
        a, b, c = samples.a, samples.b, samples.c
        miss = sub(u, _extrapolated(samples, samples.age))
        largest = max(max(dot(a, a), dot(b, b)), max(dot(c, c), dot(u, u)))
        smooth = dot(miss, miss) <= self.jump * self.jump * largest
        smooth = smooth & (samples.known > 0.5)
        known = min(samples.known + 1.0, 3.0) if smooth else 1.0
        return Samples(
            vector_if(is_new, vector_if(smooth, b, u), a),
            vector_if(is_new, vector_if(smooth, c, u), b),
            vector_if(is_new, u, c),
            known if is_new else samples.known,
            0.0 if is_new else samples.age,
            samples.age if is_new & smooth else samples.period,
        )

    def after_step(self, samples, h):
        age = samples.age + h
        return Samples(samples.a, samples.b, samples.c, samples.known, age, samples.period)

    def torque_at(self, samples, u, time):
        return _extrapolated(samples, samples.age + time)


@inlined
def _extrapolated(samples, time):
    """The torque `time` after the last sample."""
    a, b, c, known = samples.a, samples.b, samples.c, samples.known
    s = time / samples.period if known > 1.5 else 0.0
    line = add(c, scale(s, sub(c, b)))
    parabola = add(scale(0.5 * s * (s + 1.0), a), scale(-s * (s + 2.0), b))
    parabola = add(parabola, scale(0.5 * (s + 1.0) * (s + 2.0), c))
    return vector_if(known > 2.5, parabola, line)


class RKN4(Explicit):
    """Its memory: the quaternion's length, the steps since its normalisation, and the samples.

    renormalise_every: steps between two normalisations of the quaternion; 0 for never.
    momentum_normalisation: keep the world momentum of a body without any torque, section 7.2.
    sampling: how torques go on between samples, Held() or Lagrange(jump), section 7.3.
    gyroscopic: False leaves out omega x J omega, section 7.6. That is wrong on purpose: it is what
    some game engines do, and shows what the term is worth.
    """

    renormalise_every: int = 1
    momentum_normalisation: bool = False
    gyroscopic: bool = True
    sampling: Held | Lagrange = Held()

    def finish(self, potential, body, step, x):
        r, count, samples = step.memory
        h, samples = step.h, self.sampling.with_sample(samples, step.u, step.is_new)
        u = self.sampling.torque_at(samples, step.u, 0.0)
        u_m = self.sampling.torque_at(samples, step.u, 0.5 * h)
        u_e = self.sampling.torque_at(samples, step.u, h)
        omega, o_0 = times(body.J_inv, sub(step.Pi_0, body.rotor)), step.o_0
        half = scale(0.5, omega)
        q, dq = (r, 0.0, 0.0, 0.0), (0.0, r * half[0], r * half[1], r * half[2])
        rate = scale(0.5 * r, _rate(self, potential, body, u, o_0, scale(r * r, omega)))
        k1 = (-r * r * r * dot(half, half), rate[0], rate[1], rate[2])
        q_m = _qadd(q, _qadd(qscale(0.5 * h, dq), qscale(0.125 * h * h, k1)))
        k2 = _acceleration(self, potential, body, u_m, o_0, q_m, _qadd(dq, qscale(0.5 * h, k1)))
        k3 = _acceleration(self, potential, body, u_m, o_0, q_m, _qadd(dq, qscale(0.5 * h, k2)))
        q_e = _qadd(q, _qadd(qscale(h, dq), qscale(0.5 * h * h, k3)))
        k4 = _acceleration(self, potential, body, u_e, o_0, q_e, _qadd(dq, qscale(h, k3)))
        mid = _qadd(k2, k3)
        turn = _qadd(qscale(h, dq), qscale(h * h / 6.0, _qadd(k1, mid)))
        ddq = qscale(h / 6.0, _qadd(_qadd(k1, k4), qscale(2.0, mid)))
        # omega_1 = 2 q_1* q_1' and L_1 = R(q_1) J omega_1, as what they add to omega and L.
        q_1, dq_1, v = _qadd(q, turn), _vector(_qadd(dq, ddq)), _vector(turn)
        more = add(scale(r - 1.0, half), scale(r - 1.0 + turn[0], dq_1))
        more = sub(add(more, _vector(ddq)), add(scale(ddq[0], v), cross(v, dq_1)))
        dPi = scale(2.0, times(body.J, more))
        n = qdot(q_1, q_1)
        t = scale(2.0 / n, cross(v, add(step.Pi_0, dPi)))
        L_1 = add(step.L, to_world(step.q, add(dPi, add(scale(q_1[0], t), cross(v, t)))))
        length = math.sqrt(n)
        unit = qscale(1.0 / length, qmul(step.q, q_1))
        if potential.is_free():
            force = dot(u, u) + dot(u_m, u_m) + dot(u_e, u_e)
            L_1 = vector_if(self.momentum_normalisation & (force == 0.0), step.L, L_1)
        due = count + 1.0 == self.renormalise_every
        length, count = 1.0 if due else length, 0.0 if due else count + 1.0
        return unit, L_1, 0.0, (length, count, self.sampling.after_step(samples, h))

    def memory_size(self):
        return 2 + self.sampling.sample_rows()

    def load_memory(self, buffer, i, m):
        return buffer[m], buffer[m + LANES], self.sampling.load_samples(buffer, m + 2 * LANES)

    def store_memory(self, buffer, i, m, memory, unchanged):
        length, count, samples = memory
        buffer[m] = buffer[m] if unchanged else length
        buffer[m + LANES] = buffer[m + LANES] if unchanged else count
        self.sampling.store_samples(buffer, m + 2 * LANES, samples, unchanged)

    def reset_memory(self, buffer, i, m, q, omega):
        buffer[m], buffer[m + LANES] = 1.0, 0.0
        self.sampling.forget_samples(buffer, m + 2 * LANES)


@inlined
def _qadd(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3])


@inlined
def _vector(q):
    return (q[1], q[2], q[3])


@inlined
def _acceleration(scheme, potential, body, u, o_0, q, dq):
    """q'' at (q, q'); the torque of the potential is taken at the attitude q/|q|."""
    spin, v = qmul(qconj(q), dq), _vector(q)
    t = scale(2.0 / qdot(q, q), cross(o_0, v))
    o = add(o_0, add(scale(q[0], t), cross(t, v)))
    rate = _rate(scheme, potential, body, u, o, scale(2.0, _vector(spin)))
    bend = qmul(q, (0.0, 0.5 * rate[0], 0.5 * rate[1], 0.5 * rate[2]))
    return _qadd(qmul(dq, spin), bend)


@inlined
def _rate(scheme, potential, body, u, o, omega):
    """Angular acceleration of the body that turns with omega and sees the direction o."""
    tau = potential.torque(u, o)
    momentum = add(times(body.J, omega), body.rotor)
    gyroscopic = scale(1.0 if scheme.gyroscopic else 0.0, cross(omega, momentum))
    return times(body.J_inv, sub(tau, gyroscopic))


def _checked(record: Integrator) -> Integrator:
    every, keeps_momentum, gyroscopic, sampling = record.scheme
    if not isinstance(every, int) or isinstance(every, bool) or every < 0:
        raise ValueError(f"renormalise_every must be an integer from 0 on, got {every!r}")
    flag("momentum_normalisation", keeps_momentum)
    flag("gyroscopic", gyroscopic)
    if isinstance(sampling, Lagrange):
        sampling = Lagrange(positive("jump", sampling.jump))
    elif not isinstance(sampling, Held):
        raise ValueError(f"sampling must be Held() or Lagrange(jump), got {sampling!r}")
    return replace(
        record,
        scheme=RKN4(every, keeps_momentum, gyroscopic, sampling),
        order=4 if every == 1 else 3,
        conserves=conserved(free=(MOMENTUM,) if keeps_momentum else ()),
    )


INTEGRATORS = (
    Integrator(
        "rkn4",
        RKN4(),
        "quaternion Runge-Kutta-Nystroem",
        "Mandre (2008), section 6",
        order=4,
        of_rates=True,
        checked=_checked,
    ),
)
