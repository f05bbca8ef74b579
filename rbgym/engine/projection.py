"""Projection of the energy, for schemes that conserve the other invariants but not the energy.

It removes the part of each step's error normal to the level set of the energy: a standard
projection, which preserves the order of the scheme (Hairer, Lubich & Wanner 2006, IV.4).
"""

import math

from rbgym.compiled.dual import beyond_round_off, follow
from rbgym.compiled.jit import inlined, lane_body
from rbgym.engine.steps import body_of, rotor_rate, total_energy
from rbgym.quaternion import add, cross, dot, polished, qmul, scale, sub, times, to_body, to_world
from rbgym.rows import (
    CORRECTION,
    FAILED,
    LANES,
    SOLVED,
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

# Largest squared size of a projection: a larger one means that the error is not small.
_LARGEST = 1e-4
# Relative, of the energy.
_ROUND_OFF = 1e-16
# Stops the noise of a stationary energy, as in a steady precession, from turning the body.
_SOFT = 1e-8


@inlined
def _project_state(potential, body, q, L, level):
    """Attitude and world momentum after one projection of the energy, the energy before it, the
    squared size of the projection, and a bound of the error left, relative to the energy's scale.

    The rotation n and the change p of the body momentum follow the gradient of the energy in the
    metric |n|^2 + sum (p_k/w_k)^2, without the part that would change the momentum about the
    potential's direction o. The spin of a symmetric body has weight zero, so it does not change.
    """
    Pi, o = to_body(q, L), potential.seen(q)
    omega = times(body.J_inv, sub(Pi, body.rotor))
    energy, size = total_energy(potential, body, Pi, o), potential.size(o)
    if potential.is_free():  # the momentum does not change
        g_n = cross(omega, Pi)
        n, p = g_n, (0.0, 0.0, 0.0)
    else:
        g_n, J = cross(potential.gradient(o), o), body.J
        rate2 = dot(omega, omega) + size * min(min(body.J_inv[0], body.J_inv[1]), body.J_inv[2])
        # If two moments are equal, the spin about the third axis does not change.
        r = J[1] - J[2], J[2] - J[0], J[0] - J[1]
        w2 = scale(rate2, times(r, r))
        p, c_n, c_p = times(w2, omega), cross(Pi, o), times(w2, o)
        part = (dot(g_n, c_n) + dot(p, o)) / (dot(c_n, c_n) + dot(c_p, o) + 1e-300)
        n, p = sub(g_n, scale(part, c_n)), sub(p, scale(part, c_p))
    s = math.sqrt(dot(omega, omega) * dot(Pi, Pi)) + size
    soft = _SOFT * s * s + 1e-300
    terms = size + math.sqrt(dot(omega, omega)) * (
        math.sqrt(dot(Pi, Pi)) + math.sqrt(dot(body.rotor, body.rotor))
    )
    lack = beyond_round_off(level - energy, terms)
    step = lack / (dot(g_n, n) + dot(omega, p) + soft)
    n, p = scale(0.5 * step, n), scale(step, p)
    w = 1.0 / math.sqrt(1.0 + dot(n, n))
    u = scale(w, n)
    size2 = 4.0 * dot(n, n) + dot(p, p) / (dot(Pi, Pi) + 1e-300)
    q_1 = polished(qmul(q, (w, u[0], u[1], u[2])))
    if not potential.is_free():
        # Rotates the change alone: where it is zero, nothing is rounded.
        t = scale(2.0, cross(u, add(Pi, p)))
        change = add(p, add(scale(w, t), cross(u, t)))
        # Undoes the second-order change of the momentum about o, without a change of spin.
        o_1 = potential.seen(q_1)
        back = times(w2, o_1)
        least = 1e-12 * (w2[0] + w2[1] + w2[2]) + 1e-30 * rate2 * dot(J, J) + 1e-300
        along = dot(back, o_1) + least
        back = to_world(q_1, scale(dot(change, o) / along, back))
        L = add(L, potential.across(sub(to_world(q, change), back)))
    return q_1, L, energy, size2, size2 + abs(step) * soft / (s + 1e-300)


@lane_body
def keep_level(physics, buffer, i):
    """Returns 1 if the energy needs a projection after this step. If a torque or a motor does work,
    the new energy becomes the level instead."""
    potential = physics.potential.of_lane(physics, buffer, i, 0.0)
    q, u = quaternion(buffer, i, Q), vector(buffer, i, TORQUE)
    work = dot(u, u)
    if physics.actuator.turns_rotors():
        rate = rotor_rate(physics, buffer, i)
        work += dot(rate, rate)
    Pi = to_body(q, vector(buffer, i, L))
    energy = total_energy(potential, body_of(physics, buffer, i), Pi, potential.seen(q))
    failed = buffer[i + FAILED * LANES] > 0.0
    buffer[i + E * LANES] = energy if (work > 0.0) & (not failed) else buffer[i + E * LANES]
    done = failed | (work > 0.0)
    buffer[i + SOLVED * LANES] = 1.0 if done else 0.0
    return 0 if done else 1


@inlined
def let_work(physics, d, i):
    """Make the energy level of duals follow the energy along the columns that change the held
    torque or a motor's: any torque, however small, changes the level."""
    potential, torque = physics.potential.of_lane(physics, d, i, 0.0), vector(d, i, TORQUE)
    q = quaternion(d, i, Q)
    Pi = to_body(q, vector(d, i, L))
    energy = total_energy(potential, body_of(physics, d, i), Pi, potential.seen(q))
    level = d[i + E * LANES]
    for n in range(3):
        level = follow(level, energy, torque[n])
    if physics.actuator.turns_rotors():
        rate = rotor_rate(physics, d, i)
        for n in range(3):
            level = follow(level, energy, rate[n])
    d[i + E * LANES] = level


@lane_body
def project(physics, buffer, i):
    """One projection of the energy onto its level; returns 1 while the lane needs another. If the
    error is not small, the energy becomes the new level."""
    potential = physics.potential.of_lane(physics, buffer, i, 0.0)
    q_0, L_0 = quaternion(buffer, i, Q), vector(buffer, i, L)
    level, largest = buffer[i + E * LANES], buffer[i + CORRECTION * LANES]
    body = body_of(physics, buffer, i)
    q, L_1, energy, size2, error = _project_state(potential, body, q_0, L_0, level)
    done, small = buffer[i + SOLVED * LANES] > 0.0, size2 <= _LARGEST
    moved = small & (not done)
    put_quaternion(buffer, i, Q, quaternion_if(moved, q, q_0))
    put_vector(buffer, i, L, vector_if(moved, L_1, L_0))
    buffer[i + E * LANES] = level if small | done else energy
    buffer[i + CORRECTION * LANES] = size2 if (not done) & (size2 > largest) else largest
    done = (not moved) | (error <= _ROUND_OFF)
    buffer[i + SOLVED * LANES] = 1.0 if done else 0.0
    return 0 if done else 1
