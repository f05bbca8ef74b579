"""The kernel of an environment: one control period, from commands to observation and reward."""

import math
from typing import Any, NamedTuple

import numpy as np

from rbgym.compiled.jit import compiled, inlined, kernel_part, lane_body
from rbgym.engine.kernels import advance_blocks, start_lane
from rbgym.envs import rows as at
from rbgym.envs.parts.goals import angle_of
from rbgym.envs.parts.rewards import Outcome
from rbgym.envs.random import numbers
from rbgym.quaternion import add, polished, times, to_world
from rbgym.rows import (
    CORE,
    FAILED,
    LANES,
    SCRATCH,
    J,
    L,
    Q,
    index,
    put_quaternion,
    put_vector,
    quaternion,
    vector,
    view,
)

_1, _2 = np.uint64(1), np.uint64(2)
_ATTEMPTS = 64  # draws of a start, until one does not end the episode at once
TOGETHER = 64  # blocks in a group, which is advanced, then judged


class Judging(NamedTuple):
    """How lanes are judged.

    limit: steps after which an episode is truncated, or inf. restarts: whether the next step after
    the end of an episode begins another one instead. copied: rows of a body that are copied to
    `Outputs`. settled: steps in a row inside the success region that make a success.
    """

    limit: float
    restarts: bool
    copied: Any
    settled: float


@inlined
def judge_lane(rows, buffer, i, limit):
    """Write a lane's observation, reward, flags and clocks; the last three are zero at a start."""
    physics, parts, k = rows.physics, rows.parts, i + rows.first_row() * LANES
    begins = buffer[k + at.BEGINNING * LANES] > 0.0
    elapsed = 0.0 if begins else buffer[k + at.ELAPSED * LANES] + 1.0
    buffer[k + at.BEGINNING * LANES] = 0.0
    buffer[k + at.ELAPSED * LANES] = elapsed
    parts.reference.follow(rows, buffer, i)
    q, omega = view(physics, buffer, i)
    gap = parts.goal.compare(rows, buffer, i, q, omega)
    inside = parts.success.is_inside(rows, buffer, i, gap) & (not begins)
    margin = parts.ends.margin(rows, buffer, i, q, omega)
    over = parts.constraints.charge(rows, buffer, i, q, omega, begins) | (margin < 0.0)
    over = over & (not begins)
    late = ((elapsed >= limit) | (buffer[i + FAILED * LANES] > 0.0)) & (not begins)
    measured = parts.sensor.measure(rows, buffer, i, q, gap.shown, omega)
    seen, relative, rates = parts.outage.last_measured(rows, buffer, i, q, gap.shown, measured)
    parts.observation.observe(rows, buffer, i, seen, relative, rates, gap.wanted)
    physics.actuator.present(physics, buffer, i)
    if parts.sensor.sees_field():
        parts.sensor.sense_field(rows, buffer, i)
    value = parts.reward.value(rows, buffer, i, Outcome(gap, inside, over, begins, margin))
    parts.disturbance.push(rows, buffer, i)
    parts.tally.watch(rows, buffer, i, q, begins)
    result = i + rows.result_row() * LANES
    buffer[result + at.ERROR * LANES] = angle_of(gap.square)
    buffer[result + at.RATE_ERROR * LANES] = math.sqrt(gap.rate_square)
    buffer[result + at.REWARD * LANES] = value
    buffer[k + at.STREAK * LANES] = buffer[k + at.STREAK * LANES] + 1.0 if inside else 0.0
    buffer[k + at.TERMINATED * LANES] = 1.0 if over else 0.0
    buffer[k + at.TRUNCATED * LANES] = 1.0 if late else 0.0


@kernel_part
def _judge_lanes(rows, buffer, start, limit, lanes):
    """Judge all lanes of a block. lanes: LANES, an argument so that Numba keeps the loop."""
    for lane in range(lanes):
        judge_lane(rows, buffer, start + index(lane), limit)


@lane_body
def judge_blocks(task, buffer, size, judging, outputs, first, last):
    """Begin the episodes that are due, judge all lanes and write the outputs."""
    observations, numbers, flags = outputs
    bodies, limit = len(observations), judging.limit
    _begin_all(task, buffer, size, first, last, bodies, judging.restarts)
    for block in range(first, last):
        _judge_lanes(task, buffer, index(block * size), limit, LANES)
    # In a loop of its own: rows just written eight lanes at once are slow to read lane by lane.
    for block in range(first, last):
        start, body = index(block * size), index(block * LANES)
        # Lanes beyond the last body stay at rest; they never begin an episode.
        lanes = min(LANES, bodies - body)
        _show(task, buffer, start, observations, body, lanes)
        if lanes < LANES and task.physics.actuator.is_disturbed():
            _calm(task.physics, buffer, start, lanes)
    for entry in range(len(judging.copied)):
        row = judging.copied[index(entry)] * LANES
        for block in range(first, last):
            since = index(block * size + row)
            for lane in range(LANES):
                numbers[index(entry), index(block * LANES + lane)] = buffer[since + index(lane)]
    for block in range(first, last):
        failed = index(block * size) + FAILED * LANES
        clocks = index(block * size) + task.first_row() * LANES
        over, late = clocks + at.TERMINATED * LANES, clocks + at.TRUNCATED * LANES
        streak = clocks + at.STREAK * LANES
        for lane in range(LANES):
            k = index(block * LANES + lane)
            flags[0, k] = buffer[over + index(lane)] > 0.0
            flags[1, k] = buffer[late + index(lane)] > 0.0
            flags[2, k] = buffer[failed + index(lane)] > 0.0
            flags[3, k] = buffer[streak + index(lane)] >= judging.settled


@kernel_part
def _first_not_finite(commands):
    """Index of the first body with a command that is not finite, or -1."""
    numbers, bad = commands.reshape(commands.size), 0
    for k in range(len(numbers)):
        bad += 0 if numbers[index(k)] - numbers[index(k)] == 0.0 else 1
    if bad > 0:
        for k in range(len(numbers)):
            if numbers[index(k)] - numbers[index(k)] != 0.0:
                return k // commands.shape[1]
    return -1


@compiled
def period(task, buffer, commands, stepping, judging, outputs, aside, first, last):
    """A control period of the blocks from `first` to before `last`: commands become torque, the
    scheme takes its steps, ended episodes restart, the others are judged. Returns the number of
    lanes set aside; or -1 - k, and changes nothing, if the command of body k is not finite.

    task: `rbgym.envs.rows.TaskRows`. buffer, commands, stepping, aside: see
    `rbgym.engine.kernels.advance`. outputs: observations (bodies, width) float32; and, for all
    lanes of whole blocks, numbers (copied, lanes), the rows `Judging.copied`, and flags (4, lanes),
    whether they are terminated, truncated, failed and successful. It works on a few blocks at a
    time, which fit in a core's cache.
    If lanes of these were set aside, it does not judge them yet. With no substeps it only judges.
    """
    size, left = (task.first_row() + task.row_count()) * LANES, 0
    bad = _first_not_finite(commands)  # of all bodies: then no other thread starts either
    if bad >= 0:
        return -1 - bad
    for begin in range(first, last, TOGETHER):
        end = min(begin + TOGETHER, last)
        waiting = advance_blocks(
            task.physics, buffer, size, commands, stepping, aside, -1, begin, end
        )
        if waiting == 0:
            judge_blocks(task, buffer, size, judging, outputs, begin, end)
        left += waiting
    return left


@kernel_part
def _show(rows, buffer, start, observations, body, lanes):
    """Copy the observations of the lanes of a block, in the order of the columns."""
    width, since = rows.parts.observation.width(), start + rows.observation_row() * LANES
    for lane in range(lanes):
        for n in range(width):
            observations[index(body + lane), n] = buffer[since + index(n * LANES + lane)]
    actuator = rows.physics.actuator
    since = start + actuator.shown_row(rows.physics) * LANES
    for lane in range(lanes):
        for n in range(actuator.shown_rows()):
            observations[index(body + lane), width + n] = buffer[since + index(n * LANES + lane)]


@kernel_part
def _calm(physics, buffer, start, lanes):
    """Clear the disturbance of the lanes beyond the last body."""
    for lane in range(lanes, LANES):
        i = start + index(lane)
        put_vector(buffer, i, physics.actuator.disturbance_row(physics), (0.0, 0.0, 0.0))


@inlined
def _is_due(rows, buffer, i, restarts):
    """Whether the lane's next episode is due."""
    k = i + rows.first_row() * LANES
    over = buffer[k + at.TERMINATED * LANES] + buffer[k + at.TRUNCATED * LANES]
    return (buffer[k + at.BEGINNING * LANES] > 0.0) | (restarts & (over > 0.0))


@kernel_part
def _begin_all(rows, buffer, size, first, last, bodies, restarts):
    """Begin the episodes that are due, eight at a time, in a spare block."""
    due = 0
    for block in range(first, last):
        for lane in range(LANES):
            due += 1 if _is_due(rows, buffer, index(block * size) + index(lane), restarts) else 0
    if due == 0:
        return
    places, waiting = np.empty(due + LANES, np.int64), 0
    for block in range(first, last):
        for lane in range(min(LANES, bodies - block * LANES)):
            i = index(block * size) + index(lane)
            if _is_due(rows, buffer, i, restarts):
                places[index(waiting)] = i
                waiting += 1
    for lane in range(LANES):  # copies of the last lane fill a block
        places[index(waiting + lane)] = places[index(max(waiting - 1, 0))]
    spare = np.empty(size)
    for since in range(0, waiting, LANES):
        count = min(LANES, waiting - since)
        for k in range(0, size, LANES):
            for lane in range(LANES):
                spare[index(k + lane)] = buffer[index(places[index(since + lane)] + k)]
        _begin_eight(rows, spare, LANES)
        for k in range(0, size, LANES):
            for lane in range(count):
                buffer[index(places[index(since + lane)] + k)] = spare[index(k + lane)]


@kernel_part
def _begin_eight(rows, spare, lanes):
    """Begin the episodes of a block. lanes: LANES, see `_judge_lanes`."""
    for k in range(SCRATCH * LANES, CORE * LANES):  # a saved state must not hold NaN
        spare[k] = 0.0
    for lane in range(lanes):
        _prepare_lane(rows, spare, index(lane))
    turn = _1
    for attempt in range(1, _ATTEMPTS + 1):
        undrawn = 0.0
        for lane in range(lanes):
            _draw_lane(rows, spare, index(lane), turn)
        for lane in range(lanes):
            undrawn += spare[index(_UNDRAWN * LANES + lane)]
        if undrawn == 0.0:
            break
        turn = np.uint64(16 + 4 * attempt)
    for lane in range(lanes):
        _begin_lane(rows, spare, index(lane))


# Scratch rows of the solver, used while an episode begins.
_RATES = SCRATCH  # 3: angular velocity of the start, body frame
_MASS = SCRATCH + 3  # factor of the mass
_UNDRAWN = SCRATCH + 4  # 1.0 while the start is to be drawn, for the first time or again


@inlined
def _key(rows, buffer, i):
    """The key of random numbers: the lane's seed and its episode's number."""
    k = i + rows.first_row() * LANES
    low, high = np.uint64(buffer[k + at.SEED * LANES]), np.uint64(buffer[k + (at.SEED + 1) * LANES])
    return low | (high << np.uint64(32)), np.uint64(buffer[k + at.EPISODE * LANES])


@inlined
def _prepare_lane(rows, buffer, i):
    """Draw the body of the next episode; save the state of a lane that was placed."""
    physics, k = rows.physics, i + rows.first_row() * LANES
    buffer[k + at.EPISODE * LANES] += 1.0
    seed, episode = _key(rows, buffer, i)
    if rows.is_noisy():
        key = numbers(seed, episode, np.uint64(4))
        buffer[i + rows.noise_row() * LANES] = math.floor(key[0] * 9007199254740992.0)
    q, omega = view(physics, buffer, i)  # before its inertia changes
    put_quaternion(buffer, i, Q, q)
    put_vector(buffer, i, _RATES, omega)
    a, b = numbers(seed, episode, np.uint64(5)), numbers(seed, episode, np.uint64(6))
    physics.actuator.rebuild(physics, buffer, i)
    buffer[i + _MASS * LANES] = rows.parts.randomization.vary(rows, buffer, i, a, b)
    drawn = buffer[k + at.BEGINNING * LANES] < at.PLACED
    buffer[k + at.BEGINNING * LANES] = max(buffer[k + at.BEGINNING * LANES], at.DRAWN)
    buffer[i + _UNDRAWN * LANES] = 1.0 if drawn else 0.0
    own = numbers(seed, episode, np.uint64(9))
    if drawn:
        physics.potential.draw_phase(physics, buffer, i, own)


@inlined
def _draw_lane(rows, buffer, i, block):
    """Draw a start from three blocks of random numbers, if the lane has none that is valid yet."""
    seed, episode = _key(rows, buffer, i)
    a = numbers(seed, episode, block)
    b, c = numbers(seed, episode, block + _1), numbers(seed, episode, block + _2)
    if buffer[i + _UNDRAWN * LANES] > 0.0:
        q, omega = rows.parts.start.draw(rows, buffer, i, a, b, c)
        put_quaternion(buffer, i, Q, q)
        put_vector(buffer, i, _RATES, omega)
        over = rows.parts.ends.margin(rows, buffer, i, q, omega) < 0.0
        over = over | rows.parts.constraints.obstructs(rows, buffer, i, q, omega)
        buffer[i + _UNDRAWN * LANES] = 1.0 if over else 0.0


@inlined
def _begin_lane(rows, buffer, i):
    """Complete the start: momenta, actuator, target motion, sensor, and cleared memories."""
    physics, parts, actuator = rows.physics, rows.parts, rows.physics.actuator
    seed, episode = _key(rows, buffer, i)
    q, omega = quaternion(buffer, i, Q), vector(buffer, i, _RATES)
    parts.constraints.obstructs(rows, buffer, i, q, omega)
    q, omega = physics.frame.in_principal_axes(physics, buffer, i, q, omega)
    q = polished(q)
    put_quaternion(buffer, i, Q, q)
    a, b = numbers(seed, episode, np.uint64(9)), numbers(seed, episode, np.uint64(10))
    more = numbers(seed, episode, np.uint64(11)), numbers(seed, episode, np.uint64(12))
    placed = buffer[i + (rows.first_row() + at.BEGINNING) * LANES] >= at.PLACED
    given = rows.is_given(buffer, i)
    mass = buffer[i + _MASS * LANES]
    actuator.begin(physics, buffer, i, placed, given, mass, a, b + more[0], more[1])
    actuator.release(physics, buffer, i, vector(buffer, i, _RATES))
    actuator.strike(physics, buffer, i, seed, episode)
    Pi = add(times(vector(buffer, i, J), omega), physics.rotors.rotor_momentum(buffer, i))
    put_vector(buffer, i, L, to_world(q, Pi))
    start_lane(physics, buffer, i)
    a, b = numbers(seed, episode, np.uint64(7)), numbers(seed, episode, np.uint64(8))
    parts.reference.draw_motion(rows, buffer, i, a, b)
    parts.sensor.calibrate(rows, buffer, i)
    for row in range(actuator.channels()):
        buffer[i + (actuator.command_row(physics) + row) * LANES] = 0.0
    parts.reward.forget(rows, buffer, i)
