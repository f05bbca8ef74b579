"""The lane loops: one step of every body of a batch, eight bodies at a time.

A step is three short passes over the lanes of a block, each straight-line code that compiles to
vector instructions: predict, correct (one Newton iteration, repeated until every lane of the
block is solved) and finish. A lane that is solved is frozen, so that its result does not depend
on the bodies that happen to share its block. A lane whose equation is not satisfied at the end
is left untouched and redone by a robust scalar solve.
"""

import math

from numba import njit

from rbgym.integrators import interface as scheme_of
from rbgym.integrators.interface import Body, Step
from rbgym.jit import compiled, index, inlined, spliced
from rbgym.layout import (
    COMMAND,
    CORRECTION,
    FAILED,
    FRAME,
    J_INV,
    LANES,
    MEMORY,
    O_0,
    PI_0,
    REDONE,
    ROTOR,
    SCALE,
    SOLVED,
    TORQUE,
    X_SIZE,
    E,
    J,
    L,
    Q,
    X,
)
from rbgym.potentials import energy, gradient, is_free, of_lane, seen, size
from rbgym.quaternion import (
    add,
    cross,
    dot,
    polished,
    qconj,
    qmul,
    scale,
    sub,
    times,
    to_body,
    to_world,
)

# Squared, relative to the size of the equation's terms. One Newton correction squares an error
# of 1e-8 away; the equation is then tested itself, on the state as stored.
_LAST_CORRECTION = 1e-16
_TOLERANCE = 1e-28
_PASSES = 12
_GROUP = 4  # blocks that are stepped side by side
# A root far beyond the predictor is another motion.
_FAR, _NEAR = 4.0, 0.01
# Largest squared angle [rad^2] of the energy projection.
_LARGEST_TURN = 1e-24


@inlined
def vector(buffer, i, row):
    k = i + row * LANES
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES])


@inlined
def quaternion(buffer, i, row):
    k = i + row * LANES
    return (buffer[k], buffer[k + LANES], buffer[k + 2 * LANES], buffer[k + 3 * LANES])


@inlined
def put_vector(buffer, i, row, v):
    k = i + row * LANES
    buffer[k] = v[0]
    buffer[k + LANES] = v[1]
    buffer[k + 2 * LANES] = v[2]


@inlined
def put_quaternion(buffer, i, row, q):
    k = i + row * LANES
    buffer[k] = q[0]
    buffer[k + LANES] = q[1]
    buffer[k + 2 * LANES] = q[2]
    buffer[k + 3 * LANES] = q[3]


@inlined
def _vector_if(test, a, b):
    return (a[0] if test else b[0], a[1] if test else b[1], a[2] if test else b[2])


@inlined
def body_of(buffer, i):
    return Body(vector(buffer, i, J), vector(buffer, i, J_INV), vector(buffer, i, ROTOR))


@inlined
def _step_of(buffer, i, h):
    return Step(
        quaternion(buffer, i, Q),
        vector(buffer, i, L),
        vector(buffer, i, PI_0),
        vector(buffer, i, O_0),
        vector(buffer, i, TORQUE),
        h,
    )


@inlined
def total_energy(potential, body, Pi, o):
    """Kinetic energy of the body, rotors held, plus the potential."""
    relative = sub(Pi, body.rotor)
    return 0.5 * dot(relative, times(body.J_inv, relative)) + energy(potential, o)


@inlined
def _half_way(potential, body, o, omega, u, h, omega_m):
    """Angular velocity half a step on, for the torques at o of a body that turns with omega_m."""
    rate = add(cross(add(times(body.J, omega_m), body.rotor), omega_m), u)
    if not is_free(potential):
        rate = add(rate, cross(o, gradient(potential, o)))
    return add(omega, times(body.J_inv, scale(0.5 * h, rate)))


@spliced
def _predict(scheme, potential, buffer, i, h):
    """Start of the step, and unknowns for the angular velocity expected half-way."""
    lane_potential = of_lane(potential, buffer, i)
    body, u = body_of(buffer, i), vector(buffer, i, TORQUE)
    q = quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    o = seen(lane_potential, q)
    put_vector(buffer, i, PI_0, Pi)
    put_vector(buffer, i, O_0, o)
    omega = times(body.J_inv, sub(Pi, body.rotor))
    # Twice: a better guess is cheaper than another Newton iteration.
    omega_m = _half_way(lane_potential, body, o, omega, u, h, omega)
    o_m = add(o, scale(0.5 * h, cross(o, omega_m)))
    omega_m = _half_way(lane_potential, body, o_m, omega, u, h, omega_m)
    x = scale(scheme_of.fraction(scheme) * h, omega_m)
    put_vector(buffer, i, X, x)
    buffer[i + X_SIZE * LANES] = dot(x, x)
    buffer[i + SOLVED * LANES] = 0.0


@spliced
def _correct(scheme, potential, buffer, i, h):
    """One Newton iteration; returns 1.0 while the lane still needs another."""
    lane_potential = of_lane(potential, buffer, i)
    body, step, x = body_of(buffer, i), _step_of(buffer, i, h), vector(buffer, i, X)
    dx, defect, terms = scheme_of.correct(scheme, lane_potential, body, step, x)
    pull = h * size(lane_potential)
    frozen = buffer[i + SOLVED * LANES] > 0.0
    put_vector(buffer, i, X, _vector_if(frozen, x, sub(x, dx)))
    solved = frozen | (defect <= _LAST_CORRECTION * (terms + pull * pull))
    buffer[i + SOLVED * LANES] = 1.0 if solved else 0.0
    return 0.0 if solved else 1.0


@inlined
def _projection(potential, body, q, Pi, o, level):
    """Body rotation, of round-off size, that brings the total energy back to its level.

    Regularised: where the energy is stationary (a spin about a principal axis, a relative
    equilibrium, a sphere) the bare direction is all noise and would turn the body by radians.
    """
    omega = times(body.J_inv, sub(Pi, body.rotor))
    g = cross(omega, Pi)
    if not is_free(potential):
        g = sub(g, cross(o, gradient(potential, o)))
    s = math.sqrt(dot(omega, omega) * dot(Pi, Pi)) + size(potential)
    lack = level - total_energy(potential, body, Pi, o)
    # The last term only keeps a body at rest from dividing zero by zero.
    return scale(lack / (dot(g, g) + 1e-4 * s * s + 1e-300), g)


@spliced
def _finish(scheme, potential, buffer, i, h, projection):
    """Write the new state if the lane is solved; returns 1.0, state untouched, if it is not."""
    lane_potential = of_lane(potential, buffer, i)
    body, step, x = body_of(buffer, i), _step_of(buffer, i, h), vector(buffer, i, X)
    memory = scheme_of.load_memory(scheme, buffer, i + MEMORY * LANES)
    q_1, L_1, work, memory = scheme_of.finish(scheme, lane_potential, body, step, x, memory)
    q_1 = polished(q_1)
    Pi_1, o_1 = to_body(q_1, L_1), seen(lane_potential, q_1)
    lack, terms = scheme_of.defect(scheme, lane_potential, body, step, x, Pi_1, o_1)
    pull = h * size(lane_potential)
    near = dot(x, x) <= _FAR * buffer[i + X_SIZE * LANES] + _NEAR
    reach = scheme_of.reach(scheme)
    near = near & (dot(x, x) <= reach) & (buffer[i + X_SIZE * LANES] <= reach)
    failed = buffer[i + FAILED * LANES] > 0.0
    good = near & (lack <= _TOLERANCE * (terms + pull * pull)) & (not failed)
    level, turn2 = buffer[i + E * LANES] + work, 0.0
    if scheme_of.conserves_energy(scheme, potential):
        n = _projection(lane_potential, body, q_1, Pi_1, o_1, level)
        # A turn beyond round-off means that the level carries the round-off of an energy the body
        # no longer has, as after braking to rest: then the level starts anew from here.
        is_round_off = dot(n, n) <= _LARGEST_TURN
        level = level if is_round_off else total_energy(lane_potential, body, Pi_1, o_1)
        n = scale(0.5 * projection if is_round_off else 0.0, n)
        q_1, turn2 = qmul(q_1, (1.0, n[0], n[1], n[2])), 4.0 * dot(n, n)
    q, L_0 = step.q, step.L
    put_vector(buffer, i, L, _vector_if(good, L_1, L_0))
    buffer[i + Q * LANES] = q_1[0] if good else q[0]
    put_vector(buffer, i, Q + 1, _vector_if(good, (q_1[1], q_1[2], q_1[3]), (q[1], q[2], q[3])))
    buffer[i + E * LANES] = level if good else buffer[i + E * LANES]
    largest = buffer[i + CORRECTION * LANES]
    buffer[i + CORRECTION * LANES] = turn2 if good & (turn2 > largest) else largest
    scheme_of.store_memory(scheme, buffer, i + MEMORY * LANES, memory, not good)
    buffer[i + SOLVED * LANES] = 1.0 if good | failed else -1.0
    return 0.0 if good | failed else 1.0


@njit(error_model="numpy", nogil=True)
def _redo(scheme, potential, buffer, i, h, projection):
    """Robust scalar solve: follow the root from a step of no length to the whole step."""
    buffer[i + REDONE * LANES] += 1.0
    buffer[i + FAILED * LANES] = 1.0
    _predict(scheme, potential, buffer, i, h)
    if not buffer[i + X_SIZE * LANES] <= scheme_of.reach(scheme):
        return
    buffer[i + FAILED * LANES] = 0.0
    for stages in (1, 8, 64):
        _predict(scheme, potential, buffer, i, h / stages)
        x = vector(buffer, i, X)
        for stage in range(1, stages + 1):
            part = h * stage / stages
            guess = scale(stage / max(stage - 1.0, 1.0), x)
            put_vector(buffer, i, X, guess)
            buffer[i + X_SIZE * LANES] = dot(guess, guess)
            buffer[i + SOLVED * LANES] = 0.0
            for _ in range(40):
                if _correct(scheme, potential, buffer, i, part) == 0.0:
                    break
            x = vector(buffer, i, X)
        if _finish(scheme, potential, buffer, i, h, projection) == 0.0:
            return
    buffer[i + FAILED * LANES] = 1.0


@njit(error_model="numpy", nogil=True)
def _redo_block(scheme, potential, buffer, base, h, projection):
    """Redo the lanes that the vector pass left where they were."""
    for lane in range(LANES):
        i = base + lane
        if buffer[i + SOLVED * LANES] < 0.0:
            _redo(scheme, potential, buffer, i, h, projection)


@njit(error_model="numpy", nogil=True)
def _first_bad(commands):
    """Index of the first row that is not finite, or -1."""
    for k in range(len(commands)):
        for column in range(3):
            if not math.isfinite(commands[k, column]):
                return k
    return -1


@inlined
def _clip(x, bound):
    return min(max(x, -bound), bound)


@spliced
def _hold(buffer, i, bound):
    """The torque that the lane's command stands for."""
    c = vector(buffer, i, COMMAND)
    c = (_clip(c[0], bound), _clip(c[1], bound), _clip(c[2], bound))
    put_vector(buffer, i, COMMAND, c)
    torque = times(vector(buffer, i, SCALE), c)
    put_vector(buffer, i, TORQUE, to_body(quaternion(buffer, i, FRAME), torque))


@compiled
def advance(scheme, potential, buffer, commands, bound, substeps, h, projection):
    """Advance whole blocks by `substeps` steps of length h under a held torque; returns -1.

    buffer: flat float64, a whole number of blocks. commands: (bodies, 3), body axes, clipped to
    +-bound and multiplied by the SCALE rows; none of them, and the torque stays as it is. If one
    is not finite, nothing is done and the index of its body returned. projection: 1.0 or 0.0.
    """
    # The size of a block is a constant and the loops start at zero: only then can the compiler
    # prove that no index is negative, and use vector loads.
    block_size = (MEMORY + scheme_of.memory_size(scheme)) * LANES
    nothing = 0.0  # NaN, if a command is not finite
    for k in range(len(commands)):
        c = (commands[k, 0], commands[k, 1], commands[k, 2])
        put_vector(buffer, index((k // LANES) * block_size + k % LANES), COMMAND, c)
        nothing += 0.0 * (c[0] + c[1] + c[2])
    if nothing != 0.0:
        bad = _first_bad(commands)
        if bad >= 0:
            return bad
    blocks = len(buffer) // block_size
    # A few blocks at a time, so that the processor can work on several at once.
    for group in range((blocks + _GROUP - 1) // _GROUP):
        count = min(_GROUP, blocks - group * _GROUP)
        if len(commands) > 0:
            for k in range(count):
                for lane in range(LANES):
                    _hold(buffer, (group * _GROUP + k) * block_size + lane, bound)
        for _ in range(substeps):
            for k in range(count):
                for lane in range(LANES):
                    i = (group * _GROUP + k) * block_size + lane
                    _predict(scheme, potential, buffer, i, h)
            if scheme_of.fraction(scheme) > 0.0:
                for _ in range(_PASSES):
                    unsolved = 0.0
                    for k in range(count):
                        for lane in range(LANES):
                            i = (group * _GROUP + k) * block_size + lane
                            unsolved += _correct(scheme, potential, buffer, i, h)
                    if unsolved == 0.0:
                        break
            bad = 0.0
            for k in range(count):
                for lane in range(LANES):
                    i = (group * _GROUP + k) * block_size + lane
                    bad += _finish(scheme, potential, buffer, i, h, projection)
            if bad > 0.0:
                for k in range(count):
                    base = (group * _GROUP + k) * block_size
                    _redo_block(scheme, potential, buffer, base, h, projection)
    return -1


@inlined
def view(buffer, i):
    """Attitude and angular velocity of one lane in the user's body frame."""
    frame = quaternion(buffer, i, FRAME)
    q = quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    omega = times(vector(buffer, i, J_INV), sub(Pi, vector(buffer, i, ROTOR)))
    return qmul(q, qconj(frame)), to_world(frame, omega)


@spliced
def _measure_lane(scheme, potential, buffer, i, out, k):
    lane_potential, body = of_lane(potential, buffer, i), body_of(buffer, i)
    q, momentum = quaternion(buffer, i, Q), vector(buffer, i, L)
    Pi, o = to_body(q, momentum), seen(lane_potential, q)
    attitude, omega = view(buffer, i)
    out[0, k], out[1, k], out[2, k], out[3, k] = attitude
    out[4, k], out[5, k], out[6, k] = omega
    out[7, k], out[8, k], out[9, k] = momentum
    out[10, k] = total_energy(lane_potential, body, Pi, o)


@compiled
def measure(scheme, potential, buffer, out):
    """Rows of `out` (11, lanes): attitude, angular velocity (both of the user's body frame),
    world angular momentum and total energy, all recomputed from (q, L)."""
    block_size = (MEMORY + scheme_of.memory_size(scheme)) * LANES
    for block in range(len(buffer) // block_size):
        for lane in range(LANES):
            i, k = block * block_size + lane, block * LANES + lane
            _measure_lane(scheme, potential, buffer, i, out, k)


@compiled
def start(scheme, potential, buffer, bodies):
    """Set level, memory and counters of these bodies from their attitude and momentum."""
    block_size = (MEMORY + scheme_of.memory_size(scheme)) * LANES
    for k in bodies:
        start_lane(scheme, potential, buffer, (k // LANES) * block_size + k % LANES)


@inlined
def start_lane(scheme, potential, buffer, i):
    lane_potential, q = of_lane(potential, buffer, i), quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    o = seen(lane_potential, q)
    buffer[i + E * LANES] = total_energy(lane_potential, body_of(buffer, i), Pi, o)
    buffer[i + CORRECTION * LANES] = 0.0
    buffer[i + REDONE * LANES] = 0.0
    buffer[i + FAILED * LANES] = 0.0
    scheme_of.reset_memory(scheme, buffer, i + MEMORY * LANES, q)
