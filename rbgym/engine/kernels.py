"""The lane loops: every body of a batch stepped, measured or started, eight bodies at a time.

The loops over the lanes of a block compile to vector instructions. A `keeper` is the scheme, or its
stand-in `NoMemory`.
"""

import math

from rbgym.actuation import (
    block_rows,
    channels,
    drive,
    first_row,
    hold,
    is_steady,
    more_energy,
    settle,
)
from rbgym.compiled.jit import compiled, index, inlined, lane_body, outlined
from rbgym.frames import view
from rbgym.integrators import interface as scheme_of
from rbgym.integrators.composition import LENGTHS, STAGES
from rbgym.layout import (
    COMMAND,
    CORRECTION,
    FAILED,
    FRESH,
    LANES,
    MEMORY,
    PHASE,
    REDONE,
    SOLVED,
    E,
    L,
    Q,
)
from rbgym.potentials.interface import carried, of_lane, seen
from rbgym.quaternion import sub, times, to_body
from rbgym.rows import put_vector, quaternion, vector
from rbgym.steps import body_of, correct, finish, predict, redo, relax, total_energy

_GROUP = 4  # blocks that are stepped side by side
_RELAXATIONS = 4
_PASSES = 12


@outlined
def _first_bad(commands):
    """Index of the first row that is not finite, or -1."""
    for k in range(len(commands)):
        for column in range(commands.shape[1]):
            if not math.isfinite(commands[k, column]):
                return k
    return -1


@inlined
def _clip(x, bound):
    return min(max(x, -bound), bound)


@lane_body
def _hold(actuator, scheme, frame, buffer, i, bound):
    """Give the lane's commands, clipped, to its actuator."""
    # A loop would keep the compiler from vector instructions, here where every lane passes.
    c = vector(buffer, i, COMMAND)
    c = (_clip(c[0], bound), _clip(c[1], bound), _clip(c[2], bound))
    put_vector(buffer, i, COMMAND, c)
    if channels(actuator) > 3:
        c = vector(buffer, i, COMMAND + 3)
        c = (_clip(c[0], bound), _clip(c[1], bound), _clip(c[2], bound))
        put_vector(buffer, i, COMMAND + 3, c)
    hold(actuator, frame, buffer, i, first_row(scheme))


@lane_body
def _drive(actuator, scheme, frame, buffer, i, start, h, dt):
    a = first_row(scheme)
    drive(actuator, frame, buffer, i, a, start, h, dt)


@lane_body
def _settle(actuator, scheme, frame, buffer, i, h, dt):
    a = first_row(scheme)
    settle(actuator, frame, buffer, i, a, h, dt)


@compiled
def advance(
    scheme,
    potential,
    frame,
    actuator,
    buffer,
    commands,
    bound,
    substeps,
    length,
    composition,
    projection,
):
    """Advance whole blocks by `substeps` steps, a control period, under commands; returns -1.

    buffer: flat float64, a whole number of blocks. commands: (bodies, channels), clipped to
    +-bound, for the actuator; none of them, and the torque stays as it is. If one is not finite,
    nothing is done and the index of its body is returned. composition: row of the table of
    stages that make a step. projection: 1.0 or 0.0.
    """
    # The size of a block is a constant and the loops start at zero: only then can the compiler
    # prove that no index is negative, and use vector loads. Of the loops that some actuators do not
    # have it must be told with `index`.
    block_size = block_rows(scheme, actuator) * LANES
    nothing = 0.0  # NaN, if a command is not finite
    for k in range(len(commands)):
        for n in range(channels(actuator)):
            nothing += 0.0 * commands[k, n]
    if nothing != 0.0:
        return _first_bad(commands)
    for k in range(len(commands)):
        i = index((k // LANES) * block_size + k % LANES)
        for n in range(channels(actuator)):
            buffer[i + (COMMAND + n) * LANES] = commands[k, n]
    blocks, stages = len(buffer) // block_size, STAGES[index(composition)]
    # A few blocks at a time, so that the processor can work on several at once.
    for group in range((blocks + _GROUP - 1) // _GROUP):
        count = min(_GROUP, blocks - group * _GROUP)
        if len(commands) > 0:
            for k in range(count):
                for lane in range(LANES):
                    i = (group * _GROUP + k) * block_size + lane
                    _hold(actuator, scheme, frame, buffer, i, bound)
        for stage in range(substeps * stages):
            h = length * LENGTHS[index(composition), index(stage % stages)]
            if (not is_steady(actuator)) and stage % stages == 0 and len(commands) > 0:
                for k in range(count):
                    for lane in range(LANES):
                        i = index((group * _GROUP + k) * block_size) + lane
                        begin, dt = length * (stage // stages), length * substeps
                        _drive(actuator, scheme, frame, buffer, i, begin, length, dt)
            for k in range(count):
                for lane in range(LANES):
                    i = (group * _GROUP + k) * block_size + lane
                    predict(scheme, potential, actuator, buffer, i, h)
            if scheme_of.fraction(scheme) > 0.0:
                for _ in range(_RELAXATIONS):
                    for k in range(count):
                        for lane in range(LANES):
                            i = (group * _GROUP + k) * block_size + lane
                            relax(potential, scheme, actuator, buffer, i, h)
                for _ in range(_PASSES):
                    unsolved = 0
                    for k in range(count):
                        for lane in range(LANES):
                            i = (group * _GROUP + k) * block_size + lane
                            unsolved += correct(scheme, potential, actuator, buffer, i, h)
                    if unsolved == 0:
                        break
            bad = 0
            for k in range(count):
                for lane in range(LANES):
                    i = (group * _GROUP + k) * block_size + lane
                    bad += finish(scheme, potential, actuator, buffer, i, h, projection)
            if bad > 0:
                # What the vector pass left where it was.
                for k in range(count):
                    for lane in range(LANES):
                        i = (group * _GROUP + k) * block_size + lane
                        if buffer[i + SOLVED * LANES] < 0.0:
                            redo(scheme, potential, actuator, buffer, i, h, projection)
            last = stage % stages == stages - 1
            if (not is_steady(actuator)) and last and len(commands) > 0:
                for k in range(count):
                    for lane in range(LANES):
                        i = index((group * _GROUP + k) * block_size) + lane
                        _settle(actuator, scheme, frame, buffer, i, length, length * substeps)
    return -1


@lane_body
def _measure_lane(keeper, potential, frame, actuator, buffer, i, out, k):
    lane_potential, body = of_lane(potential, buffer, i, 0.0), body_of(buffer, i)
    q, momentum = quaternion(buffer, i, Q), vector(buffer, i, L)
    Pi, o = to_body(q, momentum), seen(lane_potential, q)
    attitude, omega = view(frame, buffer, i)
    out[0, k], out[1, k], out[2, k], out[3, k] = attitude
    out[4, k], out[5, k], out[6, k] = omega
    out[7, k], out[8, k], out[9, k] = momentum
    energy = total_energy(lane_potential, body, Pi, o)
    energy += carried(lane_potential, momentum)
    out[10, k] = energy + more_energy(actuator, buffer, i, first_row(keeper))


@compiled
def measure(keeper, potential, frame, actuator, buffer, out):
    """Rows of `out` (11, lanes): attitude, angular velocity (both of the user's body frame),
    world angular momentum and total energy (of a potential that moves, the integral that takes its
    place), all recomputed from (q, L)."""
    block_size = block_rows(keeper, actuator) * LANES
    for block in range(len(buffer) // block_size):
        for lane in range(LANES):
            i, k = block * block_size + lane, block * LANES + lane
            _measure_lane(keeper, potential, frame, actuator, buffer, i, out, k)


@compiled
def start(keeper, potential, actuator, buffer, bodies):
    """Set level, memory and counters of these bodies from their attitude and momentum."""
    block_size = block_rows(keeper, actuator) * LANES
    for k in bodies:
        start_lane(keeper, potential, buffer, (k // LANES) * block_size + k % LANES)


@inlined
def start_lane(keeper, potential, buffer, i):
    buffer[i + PHASE * LANES] = 0.0
    lane_potential, body = of_lane(potential, buffer, i, 0.0), body_of(buffer, i)
    q = quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    o = seen(lane_potential, q)
    buffer[i + E * LANES] = total_energy(lane_potential, body, Pi, o)
    buffer[i + CORRECTION * LANES] = 0.0
    buffer[i + REDONE * LANES] = 0.0
    buffer[i + FAILED * LANES] = 0.0
    buffer[i + FRESH * LANES] = 1.0
    omega = times(body.J_inv, sub(Pi, body.rotor))
    scheme_of.reset_memory(keeper, buffer, i + MEMORY * LANES, q, omega)
