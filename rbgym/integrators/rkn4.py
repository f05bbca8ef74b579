"""Quaternion Runge-Kutta-Nystroem scheme of order four, Mandre (2008), section 6.

    q'' = q' q* q' + (1/2) q o J^-1 (tau - 4 (q* q') x (J q* q'))

Multiplying q from the left by a unit quaternion does not change the equation. So each step works in
the body axes at its start, where q is a real number, its length. The rotation from there gives the
change of L, which is added to L: the round-off of L is a random walk. Recomputing the rates from q
and q' at each step, omega = 2 q* q', would give them the round-off of |q|^2, which has a trend.

The scheme does not conserve the length of the quaternion. The length is its memory, and every
`renormalise_every` steps the scheme sets it to 1. Mandre advises to do so rarely, but the printed
omega_1 = 2 q_1* q_1' multiplies omega by |q_1|^2 at every step, which costs an order: the measured
slope is 3 without normalisation and 4 with one at each step, which is the default here.

The scheme holds torques that are known only as samples, or extrapolates them by Lagrange's
polynomial, section 7.3: from the last three, a, b, c, P apart, the torque s P after the last is

    a s (s + 1)/2 - b s (s + 2) + c (s + 1)(s + 2)/2,

from two samples c + (c - b) s. (The paper's x = (t_s - t)/h has the opposite sign.) A sample far
from the extrapolation of the earlier ones is a jump; it restarts the history.
"""

import math
from dataclasses import replace
from typing import NamedTuple

from rbgym.arguments import count, flag, positive
from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant
from rbgym.integrators.interface import MOMENTUM, Explicit, Integrator, conserved
from rbgym.quaternion import add, cross, dot, qconj, qdot, qmul, qscale, scale, sub, times, to_world
from rbgym.rows import LANES, put_vector, vector, vector_if


class Held(Record):
    """The torque of a sample stays until the next."""

    sample_rows = constant(0, "Number of rows for the samples.")

    def load_samples(self, buffer, m):
        """The samples of a lane; m: index of their first row."""
        return ()

    def store_samples(self, buffer, m, samples, unchanged):
        """Write the samples, unless `unchanged`."""

    def forget_samples(self, buffer, m):
        """Clear the samples."""

    def with_sample(self, samples, u, is_new):
        """The samples, with the torque u as the latest if it is new."""
        return samples

    def after_step(self, samples, h):
        """The samples after a step of length h."""
        return samples

    def torque_at(self, samples, u, time):
        """The torque at `time` [s] after the start of the step; u: the last sample."""
        return u


class Samples(NamedTuple):
    """a, b, c: the last three samples (3,), oldest first [N m]; known: how many of them are valid.
    age: time since the last [s]; period: time between the last two [s]."""

    a: tuple[float, ...]
    b: tuple[float, ...]
    c: tuple[float, ...]
    known: float
    age: float
    period: float


class Lagrange(Record):
    """Extrapolates the torque from the last three samples.

    jump: largest error of the extrapolation, relative to the largest sample, that is no jump.
    """

    jump: float = 0.5
    sample_rows = constant(12)

    def load_samples(self, buffer, m):
        a, b, c = vector(buffer, m, 0), vector(buffer, m, 3), vector(buffer, m, 6)
        return Samples(a, b, c, *vector(buffer, m, 9))

    def store_samples(self, buffer, m, samples, unchanged):
        put_vector(buffer, m, 0, vector_if(unchanged, vector(buffer, m, 0), samples.a))
        put_vector(buffer, m, 3, vector_if(unchanged, vector(buffer, m, 3), samples.b))
        put_vector(buffer, m, 6, vector_if(unchanged, vector(buffer, m, 6), samples.c))
        put_vector(buffer, m, 9, vector_if(unchanged, vector(buffer, m, 9), samples[3:]))

    def forget_samples(self, buffer, m):
        for row in range(12):
            buffer[m + row * LANES] = 0.0

    def with_sample(self, samples, u, is_new):
        a, b, c = samples.a, samples.b, samples.c
        miss = sub(u, _extrapolate(samples, samples.age))
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
        return _extrapolate(samples, samples.age + time)


@inlined
def _extrapolate(samples, time):
    """The torque at `time` [s] after the last sample."""
    a, b, c, known = samples.a, samples.b, samples.c, samples.known
    s = time / samples.period if known > 1.5 else 0.0
    line = add(c, scale(s, sub(c, b)))
    parabola = add(scale(0.5 * s * (s + 1.0), a), scale(-s * (s + 2.0), b))
    parabola = add(parabola, scale(0.5 * (s + 1.0) * (s + 2.0), c))
    return vector_if(known > 2.5, parabola, line)


class RKN4(Explicit):
    """Memory: the quaternion's length, the number of steps since its normalisation, the samples.

    renormalise_every: steps between two normalisations of the quaternion; 0: never.
    momentum_normalisation: conserve the world momentum of a body without torque, section 7.2.
    sampling: the torque between samples, Held() or Lagrange(jump), section 7.3.
    gyroscopic: False leaves out omega x J omega, section 7.6. This is wrong on purpose, as in some
    game engines, to show what the term does.
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
        # omega_1 = 2 q_1* q_1' and L_1 = R(q_1) J omega_1, as increments of omega and L.
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

    keeps_state = constant(True)

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
    """q'' at (q, q'); the torque of the potential is evaluated at the attitude q/|q|."""
    spin, v = qmul(qconj(q), dq), _vector(q)
    t = scale(2.0 / qdot(q, q), cross(o_0, v))
    o = add(o_0, add(scale(q[0], t), cross(t, v)))
    rate = _rate(scheme, potential, body, u, o, scale(2.0, _vector(spin)))
    bend = qmul(q, (0.0, 0.5 * rate[0], 0.5 * rate[1], 0.5 * rate[2]))
    return _qadd(qmul(dq, spin), bend)


@inlined
def _rate(scheme, potential, body, u, o, omega):
    """Angular acceleration of the body at the rates omega and the direction o."""
    tau = potential.torque(u, o)
    momentum = add(times(body.J, omega), body.rotor)
    gyroscopic = scale(1.0 if scheme.gyroscopic else 0.0, cross(omega, momentum))
    return times(body.J_inv, sub(tau, gyroscopic))


def _checked(record: Integrator) -> Integrator:
    every, keeps_momentum, gyroscopic, sampling = record.scheme
    every = count("renormalise_every", every, 0)
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
