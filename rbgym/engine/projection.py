"""Projection of the energy, for schemes that keep the other invariants but not the energy.

What lies across the level of the energy is taken from each step's error: a standard projection,
which keeps the order of the scheme (Hairer, Lubich & Wanner 2006, IV.4).
"""

import math

from rbgym.compiled.jit import inlined, lane_body
from rbgym.engine.rows import (
    CORRECTION,
    FAILED,
    LANES,
    TORQUE,
    E,
    L,
    Q,
    put_quaternion,
    put_vector,
    quaternion,
    quaternion_if,
    vector,
    vector_if,
)
from rbgym.engine.steps import body_of, rotor_rate, total_energy
from rbgym.quaternion import add, cross, dot, polished, qmul, scale, sub, times, to_body, to_world

# Largest square of a projection's size: what lacks more has no small error.
_LARGEST = 1e-4
# Keeps the noise of an energy that is stationary, as of a steady precession, from turning the body.
_SOFT = 1e-8


@inlined
def _on_the_level(potential, body, q, L, level):
    """Attitude and world momentum after one projection of the energy, and the square of its size.

    Turn n and change p of the body momentum go along the gradient of the energy in the metric
    |n|^2 + sum (p_k/w_k)^2, less what would change the momentum about the potential's direction
    o. Of a symmetric body the weight of the spin is zero: it is kept as well.
    """
    Pi, o = to_body(q, L), potential.seen(q)
    omega = times(body.J_inv, sub(Pi, body.rotor))
    lack, size = level - total_energy(potential, body, Pi, o), potential.size(o)
    if potential.is_free():  # the whole momentum is kept
        g_n = cross(omega, Pi)
        n, p = g_n, (0.0, 0.0, 0.0)
    else:
        g_n, J = cross(potential.gradient(o), o), body.J
        rate2 = dot(omega, omega) + size * min(min(body.J_inv[0], body.J_inv[1]), body.J_inv[2])
        # Where two moments are equal, the spin about the third axis does not change.
        r = J[1] - J[2], J[2] - J[0], J[0] - J[1]
        w2 = scale(rate2, times(r, r))
        p, c_n, c_p = times(w2, omega), cross(Pi, o), times(w2, o)
        part = (dot(g_n, c_n) + dot(p, o)) / (dot(c_n, c_n) + dot(c_p, o) + 1e-300)
        n, p = sub(g_n, scale(part, c_n)), sub(p, scale(part, c_p))
    s = math.sqrt(dot(omega, omega) * dot(Pi, Pi)) + size
    step = lack / (dot(g_n, n) + dot(omega, p) + _SOFT * s * s + 1e-300)
    n, p = scale(0.5 * step, n), scale(step, p)
    w = 1.0 / math.sqrt(1.0 + dot(n, n))
    u = scale(w, n)
    size2 = 4.0 * dot(n, n) + dot(p, p) / (dot(Pi, Pi) + 1e-300)
    if not potential.is_free():
        # The change alone is turned: nothing is rounded where there is none.
        t = scale(2.0, cross(u, add(Pi, p)))
        change = add(p, add(scale(w, t), cross(u, t)))
        L = add(L, potential.across(to_world(q, change)))
    return polished(qmul(q, (w, u[0], u[1], u[2]))), L, size2


@lane_body
def project(physics, buffer, i, projection):
    """Bring the energy back to its level at the end of a step; where a torque or a motor works, or
    what lacks is no small error, the level starts anew instead."""
    potential = physics.potential.of_lane(physics, buffer, i, 0.0)
    body, u = body_of(buffer, i), vector(buffer, i, TORQUE)
    q_0, L_0 = quaternion(buffer, i, Q), vector(buffer, i, L)
    level, largest = buffer[i + E * LANES], buffer[i + CORRECTION * LANES]
    work = dot(u, u)
    if physics.actuator.turns_rotors():
        rate = rotor_rate(physics, buffer, i)
        work += dot(rate, rate)
    q, L_1, size2 = _on_the_level(potential, body, q_0, L_0, level)
    if physics.scheme.projections(physics.potential) > 1:
        # Each leaves the square of what was lacking. Four, not a loop: this is vector code.
        q, L_1, more2 = _on_the_level(potential, body, q, L_1, level)
        q, L_1, _ = _on_the_level(potential, body, q, L_1, level)
        q, L_1, _ = _on_the_level(potential, body, q, L_1, level)
        size2 += more2
    kept = (work == 0.0) & (size2 <= _LARGEST)
    now = total_energy(potential, body, to_body(q_0, L_0), potential.seen(q_0))
    failed = buffer[i + FAILED * LANES] > 0.0
    moved = kept & (projection > 0.0) & (not failed)
    put_quaternion(buffer, i, Q, quaternion_if(moved, q, q_0))
    put_vector(buffer, i, L, vector_if(moved, L_1, L_0))
    buffer[i + E * LANES] = level if kept | failed else now
    buffer[i + CORRECTION * LANES] = size2 if moved & (size2 > largest) else largest
