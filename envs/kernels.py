"""The kernel of an environment: begin episodes, and judge the step that was taken."""

import math
from typing import Any, NamedTuple

import numpy as np

from rbgym.compiled.calls import COUNTS, caller
from rbgym.compiled.jit import address_of, compiled, inlined, lane_body
from rbgym.compiled.wide import (
    copy_lanes,
    flag_lanes,
    how_many,
    lanes_above,
    lowest,
    spread_lanes,
)
from rbgym.engine.kernels import Ranges, Stepping, advance_at, start_lane
from rbgym.engine.rows import (
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
    vector,
    view,
)
from rbgym.envs import rows as at
from rbgym.envs.parts.goals import angle_of
from rbgym.envs.parts.rewards import Outcome
from rbgym.envs.random import numbers
from rbgym.quaternion import add, polished, times, to_world

_NO_TORQUE, _WORLD = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
_ATTEMPTS = 64  # at a start that is not over at once
_SAVED = 8  # blocks whose numbers are copied together, while they are in the nearest cache
_CHUNK = 64  # blocks, whole groups of `advance`: what a step touches of them fits in the cache


class Judging(NamedTuple):
    """What is judged, and how.

    limit: steps after which an episode is truncated, or inf. restarts: where an episode had already
    ended, begin the next one instead of judging a step. only_beginnings: begin those episodes whose
    rows say so, and look at no other lanes. copied: rows that `info` is made of. settled: steps in
    a row inside the success region that make a success.
    """

    limit: float
    restarts: bool
    only_beginnings: bool
    copied: Any
    settled: float


class Outputs(NamedTuple):
    """What is written for each body.

    observations: (bodies, width), or (0, width) to leave them to a hook; rewards and flags of the
    end: (bodies,). Of all lanes of the batch, or empty for nothing: saved, (rows, lanes), what is
    copied as `Judging` says; flags, (2 lanes,), whether they failed, and behind those whether they
    have succeeded. first: the lane that the bodies begin with.
    """

    observations: Any
    rewards: Any
    terminated: Any
    truncated: Any
    saved: Any
    flags: Any
    first: int


# The last ones, where there is to be no `info`.
NOTHING_SAVED = np.empty((0, 0)), np.empty(0, bool), 0


@lane_body
def judge_lane(rows, buffer, i, limit):
    """Observation, reward and flags of one lane, and its clocks; all zero at a beginning."""
    physics, parts, k = rows.physics, rows.parts, i + rows.first_row() * LANES
    begins = buffer[k + at.BEGINNING * LANES] > 0.0
    elapsed = 0.0 if begins else buffer[k + at.ELAPSED * LANES] + 1.0
    buffer[k + at.BEGINNING * LANES] = 0.0
    buffer[k + at.ELAPSED * LANES] = elapsed
    parts.reference.follow(rows, buffer, i)
    q, omega = view(physics, buffer, i)
    gap = parts.goal.compare(rows, buffer, i, q, omega)
    inside = parts.success.is_inside(rows, buffer, i, gap) & (not begins)
    over = parts.ends.is_over(rows, buffer, i, q, omega)
    over = (over | parts.constraints.charge(rows, buffer, i, q, omega, begins)) & (not begins)
    late = ((elapsed >= limit) | (buffer[i + FAILED * LANES] > 0.0)) & (not begins)
    parts.sensor.sense(rows, buffer, i, q, omega)
    parts.observation.observe(
        rows,
        buffer,
        i,
        parts.sensor.measured_attitude(rows, buffer, i, q),
        parts.sensor.measured_attitude(rows, buffer, i, gap.shown),
        parts.sensor.measured_rate(rows, buffer, i, omega),
        gap.wanted,
    )
    physics.actuator.present(physics, buffer, i)
    parts.sensor.sense_field(rows, buffer, i)
    value = parts.reward.value(rows, buffer, i, Outcome(gap, inside, over, begins))
    parts.disturbance.push(rows, buffer, i)
    parts.tally.watch(rows, buffer, i, q, begins)
    told = i + rows.told_row() * LANES
    buffer[told + at.ERROR * LANES] = angle_of(gap.square)
    buffer[told + at.RATE_ERROR * LANES] = math.sqrt(gap.rate_square)
    buffer[told + at.REWARD * LANES] = value
    buffer[k + at.STREAK * LANES] = buffer[k + at.STREAK * LANES] + 1.0 if inside else 0.0
    buffer[k + at.TERMINATED * LANES] = 1.0 if over else 0.0
    buffer[k + at.TRUNCATED * LANES] = 1.0 if late else 0.0


@compiled
def judge(rows, buffer, judging, outputs):
    """Judge every body; returns how many episodes ended, and how many bodies failed.

    rows: `rbgym.envs.rows.TaskRows`. buffer: a whole number of blocks.
    """
    block_size = (rows.first_row() + rows.row_count()) * LANES
    bodies, blocks = len(outputs.rewards), len(buffer) // block_size
    shows = len(outputs.observations) > 0
    seen = outputs.observations.reshape(outputs.observations.size)
    saved = outputs.saved.reshape(outputs.saved.size)
    # Taken out once: nobody is to count references to them block by block.
    flags, copied, first_lane = outputs.flags, judging.copied, outputs.first
    ended, failed = 0, 0
    # All that begin first: the judge reads eight lanes at once, and would wait for what was written
    # of one just before.
    if judging.only_beginnings or judging.restarts:
        for block in range(blocks):
            start = index(block * block_size)
            first = start + rows.first_row() * LANES
            if judging.only_beginnings:
                bits = lanes_above(buffer, first + at.BEGINNING * LANES)
            else:
                bits = _ended(buffer, first)
            bits &= (1 << min(LANES, bodies - block * LANES)) - 1
            # The one place where episodes begin: two would be compiled to other round-off.
            while bits != 0:
                lane = index(lowest(bits))
                bits &= bits - 1
                if judging.restarts:
                    buffer[first + lane + at.BEGINNING * LANES] = at.DRAWN
                _begin_lane(rows, buffer, start + lane)
    # Block by block from judgement to report, so that each is read from memory once.
    for block in range(blocks):
        start, k = index(block * block_size), index(block * LANES)
        # Lanes beyond the last body are at rest, and never begin.
        lanes = min(LANES, bodies - k)
        first = start + rows.first_row() * LANES
        if judging.only_beginnings:
            for lane in range(lanes):
                i = start + index(lane)
                if buffer[first + index(lane) + at.BEGINNING * LANES] > 0.0:
                    judge_lane(rows, buffer, i, judging.limit)
                    if shows:
                        _show(rows, buffer, i, outputs.observations, k + index(lane))
            continue
        for lane in range(LANES):
            judge_lane(rows, buffer, block * block_size + lane, judging.limit)
        if shows:
            if lanes == LANES:
                _show_all(rows, buffer, start, seen, k)
            else:
                for lane in range(lanes):
                    i, j = start + index(lane), k + index(lane)
                    _show(rows, buffer, i, outputs.observations, j)
        failed += _report(rows, buffer, start, first, lanes, k, outputs)
        if lanes < LANES:
            _calm(rows.physics, buffer, start, lanes)
        ended += how_many(_ended(buffer, first) & ((1 << lanes) - 1))
        if len(saved) > 0 and ((block + 1) % _SAVED == 0 or block + 1 == blocks):
            since = block // _SAVED * _SAVED
            _save(rows, buffer, since, block + 1, copied, judging.settled, saved, flags, first_lane)
    return float(ended), float(failed)


_judge_at = caller(COUNTS)


@compiled
def step(
    addresses, physics, buffer, rows, commands, stepping, task, judging, outputs, first, last, part
):
    """Advance and judge the blocks from `first` to before `last`, a few at a time.

    addresses: of `advance` and `judge`. commands: finite. Returns what `advance` does; how many
    episodes ended, and how many bodies failed; the block where that advance began which told where
    it is to go on.
    """
    size, bodies, since = index(rows) * LANES, len(outputs.rewards), stepping.since
    ended, failed = 0.0, 0.0
    for block in range(first, last, _CHUNK):
        end = min(block + _CHUNK, last)
        a, b = block * LANES, min(end * LANES, bodies)
        chunk = buffer[block * size : end * size]
        now = Stepping(
            stepping.substeps,
            stepping.h,
            stepping.composition,
            stepping.projection,
            since,
            stepping.fetches,
        )
        told = advance_at(addresses[0], (physics, chunk, rows, commands[a:b], now))
        if told < -1:
            return float(told), ended, failed, float(block)
        seen = outputs.observations
        chosen = Outputs(
            seen[a:b] if len(seen) > 0 else seen,
            outputs.rewards[a:b],
            outputs.terminated[a:b],
            outputs.truncated[a:b],
            outputs.saved,
            outputs.flags,
            outputs.first + a,
        )
        more = _judge_at(addresses[1], (task, chunk, judging, chosen))
        ended, failed, since = ended + more[0], failed + more[1], 0
    return -1.0, ended, failed, 0.0


class JudgedRanges(Ranges):
    """Advances and judges all blocks, range by range."""

    __slots__ = ()

    def kernel(self) -> Any:
        return step

    def addresses_for(self, *args: Any) -> Any:
        physics, buffer, rows, commands, stepping, *judged = args
        own = super().addresses_for(physics, buffer, rows, commands, stepping)
        task, judging, outputs = judged
        return own, address_of(judge, task, buffer, judging, outputs)


@inlined
def _ended(buffer, first):
    """Bits of the lanes of a block whose episodes have ended."""
    terminated = lanes_above(buffer, first + at.TERMINATED * LANES)
    return terminated | lanes_above(buffer, first + at.TRUNCATED * LANES)


@inlined
def _save(rows, buffer, since, until, copied, settled, saved, flags, first_lane):
    """Copy what is told of the lanes of some blocks, row by row."""
    size, first = (rows.first_row() + rows.row_count()) * LANES, rows.first_row()
    number = len(flags) // 2
    for block in range(since, until):
        start, k = index(block * size), index(first_lane + block * LANES)
        flag_lanes(flags, k, buffer, start + FAILED * LANES, 1.0)
        streak = start + (first + at.STREAK) * LANES
        flag_lanes(flags, number + k, buffer, streak, settled)
    for entry in range(len(copied)):
        row, to = copied[index(entry)] * LANES, entry * number + first_lane
        for block in range(since, until):
            copy_lanes(saved, index(to + block * LANES), buffer, index(block * size + row))


@inlined
def _report(rows, buffer, start, first, lanes, k, outputs):
    """Outcome of the first lanes of the block; returns how many failed."""
    reward = start + (rows.told_row() + at.REWARD) * LANES
    over, late = first + at.TERMINATED * LANES, first + at.TRUNCATED * LANES
    if lanes == LANES:
        copy_lanes(outputs.rewards, k, buffer, reward)
        flag_lanes(outputs.terminated, k, buffer, over, 1.0)
        flag_lanes(outputs.truncated, k, buffer, late, 1.0)
        return how_many(lanes_above(buffer, start + FAILED * LANES))
    failed = 0
    for lane in range(lanes):
        outputs.rewards[k + lane] = buffer[reward + lane]
        outputs.terminated[k + lane] = buffer[over + lane] > 0.0
        outputs.truncated[k + lane] = buffer[late + lane] > 0.0
        failed += int(buffer[start + lane + FAILED * LANES])
    return failed


@inlined
def _calm(physics, buffer, start, lanes):
    """Take the disturbance off the lanes beyond the last body."""
    if physics.actuator.is_disturbed():
        for lane in range(lanes, LANES):
            i = start + index(lane)
            put_vector(buffer, i, physics.actuator.disturbance_row(physics), _NO_TORQUE)


@inlined
def _show_all(rows, buffer, start, observations, k):
    """As `_show`, of a whole block, whose first lane is number k; observations: flat."""
    columns, actuator = rows.parts.observation.width(), rows.physics.actuator
    more = actuator.shown_rows()
    width, since = columns + more, start + rows.observation_row() * LANES
    _spread_all(observations, index(k * width), width, buffer, since, columns)
    since = start + actuator.shown_row(rows.physics) * LANES
    _spread_all(observations, index(k * width + columns), width, buffer, since, more)


@inlined
def _spread_all(target, j, stride, source, k, rows):
    """As `spread_lanes`, of any number of rows."""
    for row in range(0, rows, LANES):
        at_row = k + index(row) * LANES
        spread_lanes(target, j + index(row), stride, source, at_row, min(LANES, rows - row))


@inlined
def _show(rows, buffer, i, observations, k):
    columns, actuator = rows.parts.observation.width(), rows.physics.actuator
    for column in range(columns):
        observations[k, column] = buffer[i + (rows.observation_row() + column) * LANES]
    j = i + actuator.shown_row(rows.physics) * LANES
    for n in range(actuator.shown_rows()):
        observations[k, columns + n] = buffer[j + n * LANES]


@inlined
def _begin_lane(rows, buffer, i):
    """What the lane's seed and the number of its next episode give it."""
    i, physics, parts = index(i), rows.physics, rows.parts
    k, actuator = i + rows.first_row() * LANES, rows.physics.actuator
    buffer[k + at.EPISODE * LANES] += 1.0
    for row in range(SCRATCH, CORE):  # of a step that has failed some are not numbers
        buffer[i + row * LANES] = 0.0
    low, high = np.uint64(buffer[k + at.SEED * LANES]), np.uint64(buffer[k + (at.SEED + 1) * LANES])
    seed, episode = low | (high << np.uint64(32)), np.uint64(buffer[k + at.EPISODE * LANES])
    a, b = numbers(seed, episode, np.uint64(1)), numbers(seed, episode, np.uint64(2))
    c, key = numbers(seed, episode, np.uint64(3)), numbers(seed, episode, np.uint64(4))
    if rows.is_noisy():
        buffer[i + rows.noise_row() * LANES] = math.floor(key[0] * 9007199254740992.0)
    drawn, q, omega = buffer[k + at.BEGINNING * LANES] == at.DRAWN, _WORLD, _NO_TORQUE
    if not drawn:
        q, omega = view(physics, buffer, i)  # where it was put, before its inertia changes
    varied = numbers(seed, episode, np.uint64(5)), numbers(seed, episode, np.uint64(6))
    actuator.rebuild(physics, buffer, i)
    mass = parts.randomization.vary(rows, buffer, i, varied[0], varied[1])
    own = numbers(seed, episode, np.uint64(9)), numbers(seed, episode, np.uint64(10))
    if drawn:
        physics.potential.draw_phase(physics, buffer, i, own[0])
        q, omega = parts.start.draw(rows, buffer, i, a, b, c)
        for attempt in range(1, _ATTEMPTS):
            over = parts.ends.is_over(rows, buffer, i, q, omega)
            if not (over | parts.constraints.obstructs(rows, buffer, i, q)):
                break
            block = np.uint64(16 + 4 * attempt)
            a, b = numbers(seed, episode, block), numbers(seed, episode, block + np.uint64(1))
            c = numbers(seed, episode, block + np.uint64(2))
            q, omega = parts.start.draw(rows, buffer, i, a, b, c)
    parts.constraints.obstructs(rows, buffer, i, q)
    q, omega = physics.frame.in_principal_axes(physics, buffer, i, q, omega)
    q = polished(q)
    put_quaternion(buffer, i, Q, q)
    more = numbers(seed, episode, np.uint64(11)), numbers(seed, episode, np.uint64(12))
    placed = buffer[k + at.BEGINNING * LANES] == at.PLACED
    actuator.begin(physics, buffer, i, placed, mass, own[0], own[1] + more[0], more[1])
    actuator.strike(physics, buffer, i, seed, episode)
    Pi = add(times(vector(buffer, i, J), omega), physics.rotors.rotor_momentum(buffer, i))
    put_vector(buffer, i, L, to_world(q, Pi))
    start_lane(physics, buffer, i)
    a, b = numbers(seed, episode, np.uint64(7)), numbers(seed, episode, np.uint64(8))
    parts.reference.set_out(rows, buffer, i, a, b)
    parts.sensor.calibrate(rows, buffer, i)
    for row in range(actuator.channels()):
        buffer[i + (actuator.command_row(physics) + row) * LANES] = 0.0
    parts.reward.forget(rows, buffer, i)
