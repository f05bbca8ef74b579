"""One step of one lane, in short passes of straight-line code.

Predict, correct (one Newton iteration, repeated until every lane is solved) and finish; for schemes
without unknowns prepare, move and settle. A solved lane is frozen, so its result does not depend on
the bodies that happen to share its block. A lane that does not satisfy its equation at the end
stays unchanged, and a robust scalar solver redoes its step.
"""

import math

from rbgym.compiled.dual import with_duals, without_derivative
from rbgym.compiled.jit import inlined, lane_body, outlined
from rbgym.integrators.interface import Body, Kicks, Step
from rbgym.matrix import solve
from rbgym.quaternion import add, cross, dot, polished, qmul, scale, sub, times, to_body
from rbgym.rows import (
    CORRECTION,
    FAILED,
    FRESH,
    J_INV,
    LANES,
    O_0,
    PI_0,
    REDONE,
    ROTOR,
    SOLVED,
    TORQUE,
    X_SIZE,
    E,
    J,
    L,
    Q,
    X,
    parameters,
    put_quaternion,
    put_vector,
    quaternion,
    quaternion_if,
    vector,
    vector_if,
)

# Squared, relative to the size of the equation's terms. One more Newton correction squares an error
# of 1e-8; `finish` then tests the equation itself, on the stored state.
_LAST_CORRECTION = 1e-16
_TOLERANCE = 1e-28
# A root far beyond the predictor is another motion.
_FAR, _NEAR = 4.0, 0.01
# Largest squared angle [rad^2] of the energy projection.
_LARGEST_TURN = 1e-24
# `move` writes the new state over the rows of the start, which nothing reads after it.
_Q_1, _L_1, _WORK = PI_0, PI_0 + 4, PI_0 + 7
_PREPARED = PI_0  # 10: what an explicit scheme prepares
_NOT_KICKED = Kicks(0.0, 0.0, 0.0)


@inlined
def body_of(physics, buffer, i):
    J_of, J_inv = parameters(buffer, i, J), parameters(buffer, i, J_INV)
    return Body(J_of, J_inv, physics.rotors.rotor_momentum(buffer, i))


@inlined
def rotor_rate(physics, buffer, i):
    return vector(buffer, i, physics.actuator.rotor_rate_row(physics))


@inlined
def _body_at_middle(physics, buffer, i, h):
    """The body with its rotors as in the middle of the step. Half of a step's change of rotor
    momentum comes before the motion and half after it, with attitude and total momentum fixed: a
    symmetric splitting, of order two with every scheme. With quat_em it discretises the gyrostat,
    e = (h/8) J^-1 (Pi_0 + Pi_1 - h_w0 - h_w1)."""
    body = body_of(physics, buffer, i)
    if not physics.actuator.turns_rotors():
        return body
    rotor = add(body.rotor, scale(0.5 * h, rotor_rate(physics, buffer, i)))
    return Body(body.J, body.J_inv, rotor)


@inlined
def _potential_of(physics, buffer, i, h):
    """The potential of one lane in a step: at its middle, or for kicked schemes at its start."""
    ahead = 0.0 if physics.scheme.is_kicked() else 0.5 * h
    return physics.potential.of_lane(physics, buffer, i, ahead)


@inlined
def _step_of(physics, potential, buffer, i, h, kicks, later):
    q, momentum = quaternion(buffer, i, Q), vector(buffer, i, L)
    Pi_0, o_0 = vector(buffer, i, PI_0), vector(buffer, i, O_0)
    if not physics.scheme.has_unknowns():
        Pi_0, o_0 = to_body(q, momentum), potential.seen(q)
    memory = ()
    if physics.scheme.memory_size() > 0:
        memory = physics.scheme.load_memory(buffer, i, i + physics.memory_row() * LANES)
    torque, fresh = vector(buffer, i, TORQUE), buffer[i + FRESH * LANES] > 0.0
    return Step(q, momentum, Pi_0, o_0, torque, h, memory, fresh, kicks, later)


@inlined
def total_energy(potential, body, Pi, o):
    """Kinetic energy of the body, without that of its rotors, plus the potential."""
    relative = sub(Pi, body.rotor)
    return 0.5 * dot(relative, times(body.J_inv, relative)) + potential.energy(o)


@inlined
def _omega_at_middle(potential, body, o, omega, u, h, omega_m):
    """Angular velocity half a step after omega, with the torques at the direction o and omega_m."""
    rate = add(cross(add(times(body.J, omega_m), body.rotor), omega_m), u)
    if not potential.is_free():
        rate = add(rate, cross(o, potential.gradient(o)))
    return add(omega, times(body.J_inv, scale(0.5 * h, rate)))


@lane_body
def predict(physics, scheme, buffer, i, h, kicks):
    """Write the start of the step, and unknowns from a guess of the angular velocity at its middle;
    or what an explicit scheme prepares. scheme, kicks: see `finish`."""
    if not scheme.has_unknowns():
        if scheme.prepares():
            potential = _potential_of(physics, buffer, i, h)
            step = _step_of(physics, potential, buffer, i, h, kicks, potential)
            x = scheme.prepare(potential, _body_at_middle(physics, buffer, i, h), step)
            put_quaternion(buffer, i, _PREPARED, x[0])
            put_vector(buffer, i, _PREPARED + 4, x[1])
            put_vector(buffer, i, _PREPARED + 7, x[2])
        return
    potential = _potential_of(physics, buffer, i, h)
    body, u = _body_at_middle(physics, buffer, i, h), vector(buffer, i, TORQUE)
    q = quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    o = potential.seen(q)
    put_vector(buffer, i, PI_0, Pi)
    put_vector(buffer, i, O_0, o)
    omega = times(body.J_inv, sub(Pi, body.rotor))
    # Twice, because a better guess is cheaper than another Newton iteration.
    omega_m = _omega_at_middle(potential, body, o, omega, u, h, omega)
    o_m = add(o, scale(0.5 * h, cross(o, omega_m)))
    omega_m = _omega_at_middle(potential, body, o_m, omega, u, h, omega_m)
    x = scale(physics.scheme.fraction() * h, omega_m)
    put_vector(buffer, i, X, x)
    buffer[i + X_SIZE * LANES] = dot(x, x)
    buffer[i + SOLVED * LANES] = 0.0


@inlined
def relax(potential, physics, buffer, i, h):
    """One fixed-point step, which gets close to the right root but not to round-off: if the torque
    varies steeply, there are several roots, and Newton's method may find another."""
    if potential.is_uniform():
        return
    lane_potential = potential.of_lane(physics, buffer, i, 0.5 * h)
    body, x = _body_at_middle(physics, buffer, i, h), vector(buffer, i, X)
    step = _step_of(physics, lane_potential, buffer, i, h, _NOT_KICKED, lane_potential)
    F, _, _ = physics.scheme.equation(lane_potential, body, step, x)
    x = sub(x, scale(physics.scheme.fraction() * h, times(body.J_inv, F)))
    put_vector(buffer, i, X, x)


@lane_body
def correct(physics, buffer, i, h):
    """One Newton iteration; returns 1 while the lane still needs another."""
    potential = _potential_of(physics, buffer, i, h)
    body, x = _body_at_middle(physics, buffer, i, h), vector(buffer, i, X)
    step = _step_of(physics, potential, buffer, i, h, _NOT_KICKED, potential)
    F, dF, terms = physics.scheme.equation(potential, body, step, x)
    pull = h * potential.size(step.o_0)
    frozen = buffer[i + SOLVED * LANES] > 0.0
    put_vector(buffer, i, X, vector_if(frozen, x, sub(x, solve(dF, F))))
    solved = frozen | (dot(F, F) <= _LAST_CORRECTION * (terms + pull * pull))
    buffer[i + SOLVED * LANES] = 1.0 if solved else 0.0
    return 0 if solved else 1


@without_derivative  # the energy's error is round-off in every state
def _projection(potential, body, Pi, o, level):
    """Body rotation, of round-off size, that moves the total energy back to its level. Regularised:
    where the energy is stationary (a spin about a principal axis, a relative equilibrium, a sphere)
    its gradient is mere noise and would turn the body by radians."""
    omega = times(body.J_inv, sub(Pi, body.rotor))
    g = cross(omega, Pi)
    s2 = dot(omega, omega) * dot(Pi, Pi)
    if not potential.is_free():
        g, size = sub(g, cross(o, potential.gradient(o))), potential.size(o)
        s2 += size * size
    error = level - total_energy(potential, body, Pi, o)
    # The last term only avoids 0/0 for a body at rest.
    return scale(error / (dot(g, g) + 1e-4 * s2 + 1e-300), g)


@inlined
def _solution(scheme, buffer, i):
    """The unknowns; for an explicit scheme, what `prepare` returned."""
    if scheme.has_unknowns():
        return vector(buffer, i, X)
    first = quaternion(buffer, i, _PREPARED)
    return first, vector(buffer, i, _PREPARED + 4), vector(buffer, i, _PREPARED + 7)


def _is_solved(x, predicted, reach, residual, terms):
    """Whether the squared residual is round-off, and x near the prediction."""
    near = dot(x, x) <= _FAR * predicted + _NEAR
    near = near & (dot(x, x) <= reach) & (predicted <= reach)
    return near & (residual <= _TOLERANCE * terms)


# Duals take only steps that numbers solved before.
with_duals(_is_solved, lambda x, predicted, reach, residual, terms: True)


@inlined
def _new_state(physics, scheme, buffer, i, h, kicks):
    """Attitude and world momentum at the end of the step, NaN if its equation is not solved; the
    work of the held torque; the memory."""
    potential = _potential_of(physics, buffer, i, h)
    body, x = _body_at_middle(physics, buffer, i, h), _solution(scheme, buffer, i)
    later = potential
    if physics.scheme.is_kicked():
        later = physics.potential.of_lane(physics, buffer, i, h)
    step = _step_of(physics, potential, buffer, i, h, kicks, later)
    q_1, L_1, work, memory = scheme.finish(potential, body, step, x)
    q_1 = polished(q_1)
    if scheme.has_unknowns():
        Pi_1, o_1 = to_body(q_1, L_1), potential.seen(q_1)
        residual, terms = scheme.defect(potential, body, step, x, Pi_1, o_1)
        pull = potential.size(step.o_0) + potential.size(o_1)
        pull = h * (pull + potential.round_off(step.o_0, o_1))
        predicted = buffer[i + X_SIZE * LANES]
        solved = _is_solved(x, predicted, scheme.reach(), residual, terms + pull * pull)
        L_1 = scale(1.0 if solved else math.nan, L_1)
    return q_1, L_1, work, memory


@inlined
def _write_state(physics, scheme, buffer, i, h, projection, q_1, L_1, work):
    """Write the new state, its energy projected, if it is finite; returns whether it is."""
    potential, body = _potential_of(physics, buffer, i, h), _body_at_middle(physics, buffer, i, h)
    q, L_0 = quaternion(buffer, i, Q), vector(buffer, i, L)
    Pi_1, o_1 = to_body(q_1, L_1), potential.seen(q_1)
    level, turn2 = buffer[i + E * LANES] + work, 0.0
    if physics.actuator.turns_rotors():
        rotor_0, change = vector(buffer, i, ROTOR), scale(h, rotor_rate(physics, buffer, i))
        rotor_1 = add(rotor_0, change)
        # The work of the motors; exact, because the energy is quadratic in the rotor momentum.
        omegas = times(body.J_inv, sub(add(to_body(q, L_0), Pi_1), add(rotor_0, rotor_1)))
        level -= 0.5 * dot(change, omegas)
        body = Body(body.J, body.J_inv, rotor_1)
    energy = total_energy(potential, body, Pi_1, o_1)
    if scheme.level_follows():
        u = vector(buffer, i, TORQUE)
        level = energy if dot(u, u) > 0.0 else level
    # The product is NaN unless the energy is finite, and that needs finite momentum and rates.
    failed = buffer[i + FAILED * LANES] > 0.0
    good = (0.0 * (energy + level) == 0.0) & (not failed)
    if physics.actuator.turns_rotors():
        put_vector(buffer, i, ROTOR, vector_if(good, body.rotor, vector(buffer, i, ROTOR)))
    if scheme.conserves_energy(physics.potential) and not physics.potential.moves():
        n = _projection(potential, body, Pi_1, o_1, level)
        # A turn above round-off means that the level has the round-off of a larger, earlier energy,
        # as after braking to rest: then the present energy becomes the level.
        is_round_off = dot(n, n) <= _LARGEST_TURN
        level = level if is_round_off else energy
        n = scale(0.5 * projection if is_round_off else 0.0, n)
        q_1, turn2 = qmul(q_1, (1.0, n[0], n[1], n[2])), 4.0 * dot(n, n)
    put_vector(buffer, i, L, vector_if(good, L_1, L_0))
    put_quaternion(buffer, i, Q, quaternion_if(good, q_1, q))
    physics.potential.advance_phase(physics, buffer, i, h, good)
    buffer[i + E * LANES] = level if good else buffer[i + E * LANES]
    largest = buffer[i + CORRECTION * LANES]
    buffer[i + CORRECTION * LANES] = turn2 if good & (turn2 > largest) else largest
    if scheme.memory_size() > 0:
        buffer[i + FRESH * LANES] = 0.0 if good else buffer[i + FRESH * LANES]
    buffer[i + SOLVED * LANES] = 1.0 if good | failed else -1.0
    return good


@lane_body
def finish(physics, scheme, buffer, i, h, kicks, projection):
    """Write the new state if the lane is solved; otherwise leave the state, and return 1. scheme:
    that of `physics`, or the thorough one, which has the same memory. kicks: for kicked schemes."""
    q_1, L_1, work, memory = _new_state(physics, scheme, buffer, i, h, kicks)
    good = _write_state(physics, scheme, buffer, i, h, projection, q_1, L_1, work)
    if scheme.memory_size() > 0:
        scheme.store_memory(buffer, i, i + physics.memory_row() * LANES, memory, not good)
    return 0 if buffer[i + SOLVED * LANES] > 0.0 else 1


# `finish` in two passes, for schemes without unknowns and memory: the processor overlaps the work
# on several bodies only as far as it looks ahead, which is about one of these passes.


@lane_body
def move(physics, buffer, i, h, kicks):
    """Write the new state to the rows of the solver."""
    q_1, L_1, work, _ = _new_state(physics, physics.scheme, buffer, i, h, kicks)
    put_quaternion(buffer, i, _Q_1, q_1)
    put_vector(buffer, i, _L_1, L_1)
    buffer[i + _WORK * LANES] = work


@lane_body
def settle(physics, buffer, i, h, projection):
    """As `finish`, after `move`."""
    q_1, L_1, work = quaternion(buffer, i, _Q_1), vector(buffer, i, _L_1), buffer[i + _WORK * LANES]
    _write_state(physics, physics.scheme, buffer, i, h, projection, q_1, L_1, work)
    return 0 if buffer[i + SOLVED * LANES] > 0.0 else 1


# The same passes for rare use: called, not inlined, so that each is compiled once.
_predict, _correct, _finish = (outlined(lane) for lane in (predict, correct, finish))


@outlined
def _solve_in_stages(scheme, physics, buffer, i, h, kicks, projection):
    """Robust scalar solver: follows the root from a step of length zero to the whole step."""
    buffer[i + REDONE * LANES] += 1.0
    buffer[i + FAILED * LANES] = 1.0
    _predict(physics, scheme, buffer, i, h, kicks)
    size = buffer[i + X_SIZE * LANES]  # the root must have a size like this, whatever the path
    if not size <= scheme.reach():
        return
    buffer[i + FAILED * LANES] = 0.0
    o_0 = vector(buffer, i, O_0)  # a moving direction, as for the whole step
    for stages in (1, 8, 64):
        _predict(physics, scheme, buffer, i, h / stages, kicks)
        put_vector(buffer, i, O_0, o_0)
        x = vector(buffer, i, X)
        for stage in range(1, stages + 1):
            part = h * stage / stages
            guess = scale(stage / max(stage - 1.0, 1.0), x)
            put_vector(buffer, i, X, guess)
            more = 40
            while more > 0:
                buffer[i + SOLVED * LANES] = 0.0
                # For a slender body one correction more is not enough.
                more = min(more - 1, 3) if _correct(physics, buffer, i, part) == 0 else more - 1
            x = vector(buffer, i, X)
        buffer[i + X_SIZE * LANES] = size
        if _finish(physics, scheme, buffer, i, h, kicks, projection) == 0:
            return
    buffer[i + FAILED * LANES] = 1.0


@outlined
def redo_explicit(scheme, physics, buffer, i, h, kicks, projection):
    """As `redo`, with the unknowns already found, so that only a hasty scheme has another way."""
    if scheme.is_hasty():
        _predict(physics, scheme.thorough(), buffer, i, h, kicks)
        if _finish(physics, scheme.thorough(), buffer, i, h, kicks, projection) == 0:
            return
    buffer[i + FAILED * LANES] = 1.0


@outlined
def redo(scheme, physics, buffer, i, h, kicks, projection):
    """Take the step of a lane that the quick passes could not solve."""
    if scheme.has_unknowns():
        _solve_in_stages(scheme, physics, buffer, i, h, kicks, projection)
    else:
        redo_explicit(scheme, physics, buffer, i, h, kicks, projection)
