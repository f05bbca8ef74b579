"""The lane loops: step, measure or start every body of a batch, eight bodies at a time.

The loops over the lanes of a block compile to vector instructions: their size is a constant, and
`index` tells the compiler that no index counts from the end of the buffer.
"""

from typing import NamedTuple

from rbgym.compiled.jit import compiled, inlined, kernel_part, lane_body, outlined
from rbgym.engine.projection import keep_level, project
from rbgym.engine.steps import (
    body_of,
    correct,
    finish,
    move,
    predict,
    redo,
    relax,
    settle,
    total_energy,
)
from rbgym.integrators.composition import COUNTS, STAGES
from rbgym.integrators.interface import Kicks
from rbgym.quaternion import sub, times, to_body
from rbgym.rows import (
    CORRECTION,
    FAILED,
    FRESH,
    LANES,
    REDONE,
    SOLVED,
    WAITING,
    E,
    L,
    Q,
    index,
    quaternion,
    vector,
    view,
)

_GROUP = 4  # blocks that are stepped together
_RELAXATIONS = 4
_PASSES = 12
PROJECTIONS = 4


class Stepping(NamedTuple):
    """How to step a control period. substeps: number of steps. h: length of a step [s].
    composition: row of the table of a step's stages, see rbgym.integrators.composition.
    projection: 1.0, or 0.0 to leave the energy alone."""

    substeps: int
    h: float
    composition: int
    projection: float


@kernel_part
def _take_commands(physics, buffer, start, commands, body, lanes):
    """Clip and hold the commands of the bodies of a block; body: number of its first body. lanes:
    of a block; an argument, so that Numba leaves the loop alone."""
    channels, row = physics.actuator.channels(), physics.actuator.command_row(physics)
    for lane in range(min(lanes, len(commands) - body)):
        for n in range(channels):
            command = commands[index(body + lane), index(n)]
            buffer[start + index((row + n) * LANES + lane)] = min(max(command, -1.0), 1.0)


@kernel_part
def _hold(physics, buffer, start, lanes):
    for lane in range(lanes):
        physics.actuator.hold(physics, buffer, start + index(lane))


@lane_body
def _drive(physics, buffer, first, count, block_size, begins, h, dt):
    for k in range(count):
        for lane in range(LANES):
            i = index((first + k) * block_size) + lane
            physics.actuator.drive(physics, buffer, i, begins, h, dt)


@lane_body
def _settle(physics, buffer, first, count, block_size, h, dt):
    for k in range(count):
        for lane in range(LANES):
            i = index((first + k) * block_size) + lane
            physics.actuator.settle(physics, buffer, i, h, dt)


@lane_body
def _keep_levels(physics, buffer, first, count, block_size):
    """Bring the energy of all lanes back to its level."""
    lacking = 0
    for k in range(count):
        for lane in range(LANES):
            lacking += keep_level(physics, buffer, index((first + k) * block_size) + lane)
    for _ in range(PROJECTIONS):
        if lacking == 0:
            break
        lacking = 0
        for k in range(count):
            for lane in range(LANES):
                lacking += project(physics, buffer, index((first + k) * block_size) + lane)


@outlined
def _set_aside(buffer, aside, first, count, block_size, stage):
    """Copy the lanes with an unsolved step as they were before it; returns how many."""
    lanes = 0
    for start in range(first * block_size, (first + count) * block_size, block_size):
        for i in range(start, start + LANES):
            if buffer[i + SOLVED * LANES] < 0.0:
                for k in range(i, i + block_size, LANES):
                    aside[k] = buffer[k]
                aside[i + SOLVED * LANES] = -1.0 - stage
                buffer[i + FAILED * LANES] = WAITING
                lanes += 1
    return lanes


@lane_body
def take_step(physics, buffer, first, count, block_size, h, kicks, projection):
    """Take one stage in `count` blocks; returns how many lanes could not and did not change."""
    scheme = physics.scheme
    if scheme.has_unknowns() or scheme.prepares():
        for k in range(count):
            for lane in range(LANES):
                i = index((first + k) * block_size) + lane
                predict(physics, scheme, buffer, i, h, kicks)
    if scheme.has_unknowns():
        for _ in range(_RELAXATIONS):
            for k in range(count):
                for lane in range(LANES):
                    i = index((first + k) * block_size) + lane
                    relax(physics.potential, physics, buffer, i, h)
        for _ in range(_PASSES):
            unsolved = 0
            for k in range(count):
                for lane in range(LANES):
                    unsolved += correct(physics, buffer, index((first + k) * block_size) + lane, h)
            if unsolved == 0:
                break
    bad = 0
    # Schemes without unknowns and memory move all bodies first, then settle their energies.
    in_two_passes = not (scheme.has_unknowns() or scheme.memory_size() > 0)
    for k in range(count):
        for lane in range(LANES):
            i = index((first + k) * block_size) + lane
            if in_two_passes:
                move(physics, buffer, i, h, kicks)
            else:
                bad += finish(physics, scheme, buffer, i, h, kicks, projection)
    if in_two_passes:
        for k in range(count):
            for lane in range(LANES):
                i = index((first + k) * block_size) + lane
                bad += settle(physics, buffer, i, h, projection)
    return bad


@lane_body
def advance_blocks(physics, buffer, block_size, commands, stepping, aside, taken, first, last):
    """As `advance`; block_size: how many numbers a block has."""
    actuator, scheme = physics.actuator, physics.scheme
    substeps, h, left = stepping.substeps, stepping.h, 0
    stages = COUNTS[index(stepping.composition)]
    commanded = len(commands) > 0
    # A few blocks at a time, so that the processor can work on several at once.
    for group in range(first, last, _GROUP):
        count = min(_GROUP, last - group)
        if commanded and taken < 0:
            for block in range(group, group + count):
                start = index(block * block_size)
                _take_commands(physics, buffer, start, commands, block * LANES, LANES)
            for block in range(group, group + count):
                _hold(physics, buffer, index(block * block_size), LANES)
        for stage in range(max(taken, 0), substeps * stages):
            part = STAGES[index(stepping.composition), index(stage % stages)]
            length, kicks = h * part[0], Kicks(h * part[1], h * part[2], h * h * part[3])
            if stage != taken:
                if (not actuator.is_steady()) and stage % stages == 0 and commanded:
                    begins = h * (stage // stages)
                    _drive(physics, buffer, group, count, block_size, begins, h, h * substeps)
                bad = take_step(
                    physics, buffer, group, count, block_size, length, kicks, stepping.projection
                )
                if bad > 0:
                    left += _set_aside(buffer, aside, group, count, block_size, stage)
            last_stage = stage % stages == stages - 1
            if scheme.is_projected(physics.potential) and last_stage and stepping.projection > 0.0:
                _keep_levels(physics, buffer, group, count, block_size)
            if (not actuator.is_steady()) and last_stage and commanded:
                _settle(physics, buffer, group, count, block_size, h, h * substeps)
    return left


@compiled
def advance(physics, buffer, rows, commands, stepping, aside, taken, first, last):
    """Advance blocks `first` to `last` - 1 by a control period; returns how many lanes are left.

    buffer: flat float64, in blocks of `rows` rows. commands: (bodies, channels), finite, for the
    actuator, which gets them clipped to +-1; without any the torque stays. aside: an array as long
    as the buffer; a lane that the quick passes cannot solve is copied there as it was before the
    step, with -1 - stage in its row SOLVED. In the buffer that lane waits, and its numbers are
    meaningless. taken: -1, or the number of a stage already taken: the period continues after it.
    """
    return advance_blocks(
        physics, buffer, index(rows) * LANES, commands, stepping, aside, taken, first, last
    )


@compiled
def redo_stage(physics, buffer, rows, stepping, stage):
    """Take the step of a stage by the thorough code, in all lanes that did not solve it."""
    block_size, stages = index(rows) * LANES, COUNTS[index(stepping.composition)]
    part, h = STAGES[index(stepping.composition), index(stage % stages)], stepping.h
    length, kicks = h * part[0], Kicks(h * part[1], h * part[2], h * h * part[3])
    for start in range(0, len(buffer), block_size):
        for lane in range(LANES):
            i = index(start) + lane
            if buffer[i + SOLVED * LANES] < 0.0:
                redo(physics.scheme, physics, buffer, i, length, kicks, stepping.projection)


@lane_body
def _measure_lane(physics, buffer, i, out, k):
    potential = physics.potential.of_lane(physics, buffer, i, 0.0)
    body = body_of(physics, buffer, i)
    q, momentum = quaternion(buffer, i, Q), vector(buffer, i, L)
    Pi, o = to_body(q, momentum), potential.seen(q)
    attitude, omega = view(physics, buffer, i)
    out[0, k], out[1, k], out[2, k], out[3, k] = attitude
    out[4, k], out[5, k], out[6, k] = omega
    out[7, k], out[8, k], out[9, k] = momentum
    energy = total_energy(potential, body, Pi, o)
    energy += potential.jacobi_term(momentum)
    out[10, k] = energy + physics.actuator.more_energy(physics, buffer, i)


@compiled
def measure(physics, buffer, rows, out):
    """Write to `out` (11, lanes), from (q, L), attitude and angular velocity of the user's body
    frame, world angular momentum and total energy (in a moving potential, its integral instead)."""
    block_size = index(rows) * LANES
    for block in range(len(buffer) // block_size):
        for lane in range(LANES):
            i, k = index(block * block_size) + lane, index(block * LANES) + lane
            _measure_lane(physics, buffer, i, out, k)


@compiled
def start(physics, buffer, rows, bodies):
    """Set energy level, memory and counters of these bodies from their attitude and momentum."""
    block_size = index(rows) * LANES
    for k in bodies:
        start_lane(physics, buffer, (k // LANES) * block_size + k % LANES)


@inlined
def start_lane(physics, buffer, i):
    physics.potential.start_phase(physics, buffer, i)
    potential = physics.potential.of_lane(physics, buffer, i, 0.0)
    body, q = body_of(physics, buffer, i), quaternion(buffer, i, Q)
    Pi = to_body(q, vector(buffer, i, L))
    o = potential.seen(q)
    buffer[i + E * LANES] = total_energy(potential, body, Pi, o)
    buffer[i + CORRECTION * LANES] = 0.0
    buffer[i + REDONE * LANES] = 0.0
    buffer[i + FAILED * LANES] = 0.0
    buffer[i + FRESH * LANES] = 1.0
    omega = times(body.J_inv, sub(Pi, body.rotor))
    physics.scheme.reset_memory(buffer, i, i + physics.memory_row() * LANES, q, omega)
