"""The lane loops: every body of a batch stepped, measured or started, eight bodies at a time.

The loops over the lanes of a block compile to vector instructions. A `keeper` is the scheme, or its
stand-in `NoMemory`.
"""

import math

from rbgym.frames import to_principal, view
from rbgym.integrators import interface as scheme_of
from rbgym.integrators.composition import LENGTHS, STAGES
from rbgym.jit import compiled, index, inlined, separate, spliced
from rbgym.layout import (
    COMMAND,
    CORRECTION,
    DISTURBANCE,
    FAILED,
    FRESH,
    LANES,
    MEMORY,
    PHASE,
    REDONE,
    SCALE,
    SOLVED,
    TORQUE,
    E,
    L,
    Q,
)
from rbgym.potentials.interface import carried, of_lane, seen
from rbgym.quaternion import add, sub, times, to_body
from rbgym.rows import put_vector, quaternion, vector
from rbgym.steps import body_of, correct, finish, predict, redo, relax, total_energy

_GROUP = 4  # blocks that are stepped side by side
_RELAXATIONS = 4
_PASSES = 12


@separate
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
def _hold(frame, buffer, i, bound):
    """The torque that the lane's command stands for, and the disturbance beside it."""
    c = vector(buffer, i, COMMAND)
    c = (_clip(c[0], bound), _clip(c[1], bound), _clip(c[2], bound))
    put_vector(buffer, i, COMMAND, c)
    torque = add(times(vector(buffer, i, SCALE), c), vector(buffer, i, DISTURBANCE))
    put_vector(buffer, i, TORQUE, to_principal(frame, buffer, i, torque))
    buffer[i + FRESH * LANES] = 1.0


@compiled
def advance(
    scheme, potential, frame, buffer, commands, bound, substeps, length, composition, projection
):
    """Advance whole blocks by `substeps` steps under a held torque; returns -1.

    buffer: flat float64, a whole number of blocks. commands: (bodies, 3), body axes, clipped to
    +-bound, multiplied by the SCALE rows and added to the DISTURBANCE rows; none of them, and the
    torque stays as it is. If one is not finite, motion and torque stay and the index of its body is
    returned. composition: row of the table of stages that make a step. projection: 1.0 or 0.0.
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
    blocks, stages = len(buffer) // block_size, STAGES[index(composition)]
    # A few blocks at a time, so that the processor can work on several at once.
    for group in range((blocks + _GROUP - 1) // _GROUP):
        count = min(_GROUP, blocks - group * _GROUP)
        if len(commands) > 0:
            for k in range(count):
                for lane in range(LANES):
                    _hold(frame, buffer, (group * _GROUP + k) * block_size + lane, bound)
        for stage in range(substeps * stages):
            h = length * LENGTHS[index(composition), index(stage % stages)]
            for k in range(count):
                for lane in range(LANES):
                    i = (group * _GROUP + k) * block_size + lane
                    predict(scheme, potential, buffer, i, h)
            if scheme_of.fraction(scheme) > 0.0:
                for _ in range(_RELAXATIONS):
                    for k in range(count):
                        for lane in range(LANES):
                            i = (group * _GROUP + k) * block_size + lane
                            relax(potential, scheme, buffer, i, h)
                for _ in range(_PASSES):
                    unsolved = 0
                    for k in range(count):
                        for lane in range(LANES):
                            i = (group * _GROUP + k) * block_size + lane
                            unsolved += correct(scheme, potential, buffer, i, h)
                    if unsolved == 0:
                        break
            bad = 0
            for k in range(count):
                for lane in range(LANES):
                    i = (group * _GROUP + k) * block_size + lane
                    bad += finish(scheme, potential, buffer, i, h, projection)
            if bad > 0:
                # What the vector pass left where it was.
                for k in range(count):
                    for lane in range(LANES):
                        i = (group * _GROUP + k) * block_size + lane
                        if buffer[i + SOLVED * LANES] < 0.0:
                            redo(scheme, potential, buffer, i, h, projection)
    return -1


@spliced
def _measure_lane(potential, frame, buffer, i, out, k):
    lane_potential, body = of_lane(potential, buffer, i, 0.0), body_of(buffer, i)
    q, momentum = quaternion(buffer, i, Q), vector(buffer, i, L)
    Pi, o = to_body(q, momentum), seen(lane_potential, q)
    attitude, omega = view(frame, buffer, i)
    out[0, k], out[1, k], out[2, k], out[3, k] = attitude
    out[4, k], out[5, k], out[6, k] = omega
    out[7, k], out[8, k], out[9, k] = momentum
    energy = total_energy(lane_potential, body, Pi, o)
    out[10, k] = energy + carried(lane_potential, momentum)


@compiled
def measure(keeper, potential, frame, buffer, out):
    """Rows of `out` (11, lanes): attitude, angular velocity (both of the user's body frame),
    world angular momentum and total energy (of a potential that moves, the integral that takes its
    place), all recomputed from (q, L)."""
    block_size = (MEMORY + scheme_of.memory_size(keeper)) * LANES
    for block in range(len(buffer) // block_size):
        for lane in range(LANES):
            i, k = block * block_size + lane, block * LANES + lane
            _measure_lane(potential, frame, buffer, i, out, k)


@compiled
def start(keeper, potential, buffer, bodies):
    """Set level, memory and counters of these bodies from their attitude and momentum."""
    block_size = (MEMORY + scheme_of.memory_size(keeper)) * LANES
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
