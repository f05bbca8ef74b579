"""The kernel of an environment: begin episodes, and judge the step that was taken."""

import math
from typing import Any, NamedTuple

import numpy as np

from rbgym.compiled.calls import COUNTS, caller
from rbgym.compiled.jit import address_of, compiled, inlined, kernel_part
from rbgym.compiled.wide import (
    EVERY,
    copy_lanes,
    flag_lanes,
    how_many,
    lanes_above,
    list_lanes,
    put_lanes,
    room,
    singles_at,
    spread_lanes,
    take_lanes,
)
from rbgym.engine.kernels import Ranges, Stepping, advance_at, start_lane
from rbgym.engine.rows import (
    CORE,
    FAILED,
    LANES,
    ROTOR,
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
from rbgym.envs import rows as at
from rbgym.envs.parts.goals import angle_of
from rbgym.envs.parts.rewards import Outcome
from rbgym.envs.random import numbers
from rbgym.quaternion import add, polished, times, to_world

_NO_TORQUE = (0.0, 0.0, 0.0)
_1, _2 = np.uint64(1), np.uint64(2)
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


@kernel_part
def _judge_lanes(rows, buffer, start, limit, lanes):
    """All lanes of a block. lanes: how many; an argument, so that Numba leaves the loop alone."""
    for lane in range(lanes):
        judge_lane(rows, buffer, start + index(lane), limit)


@inlined
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
    # Taken out once: nobody is to count references to them block by block.
    flags, copied, first_lane = outputs.flags, judging.copied, outputs.first
    seen, saved, settled = outputs.observations, outputs.saved, judging.settled
    ended, failed = 0, 0
    only, begins = judging.only_beginnings, judging.only_beginnings or judging.restarts
    # A block for eight lanes from anywhere, and behind it the places of those that wait for it.
    spare = room(block_size + 2 * LANES) if begins else buffer
    # All that begin first: the judge reads eight lanes at once, and would wait for what was written
    # of one just before.
    if begins:
        _begin_all(rows, buffer, spare, judging, bodies, LANES)
    judged = spare if only else buffer
    # Block by block from judgement to report, so that each is read from memory once.
    for block in range(blocks):
        start, k = index(block * block_size), index(block * LANES)
        # Lanes beyond the last body are at rest, and never begin.
        lanes = LANES if bodies - k > LANES else bodies - k
        first = start + rows.first_row() * LANES
        some, since = EVERY >> (LANES - lanes), start
        if only:  # apart from the others; by the same code, for another would round otherwise
            some, since = lanes_above(buffer, first + at.BEGINNING * LANES), 0
            if some == 0:
                continue
            list_lanes(spare, block_size, start, some)
            take_lanes(spare, buffer, block_size, how_many(some), 0, block_size // LANES)
        _judge_lanes(rows, judged, index(since), judging.limit, LANES)
        if only:
            put_lanes(buffer, spare, block_size, how_many(some), 0, block_size // LANES)
        if shows:
            _show(rows, buffer, start, seen, k, some)
        if only:
            continue
        failed += _report(rows, buffer, start, first, k, some, outputs)
        if lanes < LANES:
            _calm(rows.physics, buffer, start, lanes)
        ended += how_many(_ended(buffer, first) & some)
        if len(saved) > 0 and ((block + 1) % _SAVED == 0 or block + 1 == blocks):
            group = block // _SAVED * _SAVED
            _save(rows, buffer, group, block + 1, copied, settled, saved, flags, first_lane)
    return float(ended), float(failed)


_judge_at = caller(COUNTS)


@compiled
def step(
    addresses, physics, buffer, rows, commands, stepping, task, judging, outputs, given, first,
    last, part,
):  # fmt: skip
    """Advance and judge the blocks from `first` to before `last`, a few at a time.

    addresses: of `advance` and `judge`. commands: finite; written here, if `given`, (1,), is not 0
    but where the same are in float32: by the thread that reads them. Returns what `advance` does;
    how many episodes ended, and how many bodies failed; the block where that advance began which
    told where it is to go on.
    """
    size, bodies, since = index(rows) * LANES, len(outputs.rewards), stepping.since
    ended, failed = 0.0, 0.0
    for block in range(first, last, _CHUNK):
        end = min(block + _CHUNK, last)
        a, b = block * LANES, min(end * LANES, bodies)
        chunk = buffer[block * size : end * size]
        if given[0] != 0:
            _widen(commands, singles_at(given[0], commands.size), a, b)
        now = Stepping(
            stepping.substeps,
            stepping.h,
            stepping.composition,
            stepping.projection,
            since,
            stepping.fetches,
        )
        told = advance_at(addresses[0], (physics, chunk, rows, commands[a:b], now))
        if told != -1:
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
        task, judging, outputs, _ = judged
        return own, address_of(judge, task, buffer, judging, outputs)


@kernel_part
def _widen(commands, given, first, last):
    numbers, channels = commands.reshape(commands.size), commands.shape[1]
    for k in range(first * channels, last * channels):
        numbers[index(k)] = given[index(k)]


@inlined
def _ended(buffer, first):
    """Bits of the lanes of a block whose episodes have ended."""
    terminated = lanes_above(buffer, first + at.TERMINATED * LANES)
    return terminated | lanes_above(buffer, first + at.TRUNCATED * LANES)


@kernel_part
def _save(rows, buffer, since, until, copied, settled, saved, flags, first_lane):
    """Copy what is told of the lanes of some blocks, row by row."""
    size, first = (rows.first_row() + rows.row_count()) * LANES, rows.first_row()
    number = len(flags) // 2
    for block in range(since, until):
        start, k = index(block * size), index(first_lane + block * LANES)
        flag_lanes(flags, k, buffer, start + FAILED * LANES, 1.0, EVERY)
        streak = start + (first + at.STREAK) * LANES
        flag_lanes(flags, number + k, buffer, streak, settled, EVERY)
    for entry in range(len(copied)):
        row, to = copied[index(entry)] * LANES, entry * number + first_lane
        for block in range(since, until):
            copy_lanes(saved, index(to + block * LANES), buffer, index(block * size + row), EVERY)


@inlined
def _report(rows, buffer, start, first, k, some, outputs):
    """Outcome of some lanes of the block, the first of which is number k; how many failed."""
    reward = start + (rows.told_row() + at.REWARD) * LANES
    over, late = first + at.TERMINATED * LANES, first + at.TRUNCATED * LANES
    copy_lanes(outputs.rewards, k, buffer, reward, some)
    flag_lanes(outputs.terminated, k, buffer, over, 1.0, some)
    flag_lanes(outputs.truncated, k, buffer, late, 1.0, some)
    return how_many(lanes_above(buffer, start + FAILED * LANES) & some)


@kernel_part
def _calm(physics, buffer, start, lanes):
    """Take the disturbance off the lanes beyond the last body."""
    if physics.actuator.is_disturbed():
        for lane in range(lanes, LANES):
            i = start + index(lane)
            put_vector(buffer, i, physics.actuator.disturbance_row(physics), _NO_TORQUE)


@inlined
def _show(rows, buffer, start, observations, k, some):
    """What some lanes of the block show, the first of which is number k."""
    columns, actuator = rows.parts.observation.width(), rows.physics.actuator
    more = actuator.shown_rows()
    width, since = columns + more, start + rows.observation_row() * LANES
    _spread(observations, index(k * width), width, buffer, since, columns, some)
    since = start + actuator.shown_row(rows.physics) * LANES
    _spread(observations, index(k * width + columns), width, buffer, since, more, some)


@kernel_part
def _spread(target, j, stride, source, k, rows, some):
    """As `spread_lanes`, of any number of rows."""
    for row in range(0, rows, LANES):
        at_row = k + index(row) * LANES
        spread_lanes(target, j + index(row), stride, source, at_row, rows - row, some)


@kernel_part
def _begin_all(rows, buffer, spare, judging, bodies, lanes):
    """Begin the episodes that are due, eight at a time, side by side in the spare block. lanes: of
    a block, see `_judge_lanes`."""
    size, waiting = (rows.first_row() + rows.row_count()) * LANES, 0
    blocks, used_from = len(buffer) // size, rows.physics.rotors.used_from()
    for k in range(SCRATCH * LANES, CORE * LANES):  # in a state all is to be a number
        spare[k] = 0.0
    for k in range(ROTOR * LANES, used_from * LANES):  # if somebody looks at them
        spare[k] = 0.0
    for block in range(blocks + 1):
        if block < blocks:
            start = index(block * size)
            first = start + rows.first_row() * LANES
            if judging.only_beginnings:
                bits = lanes_above(buffer, first + at.BEGINNING * LANES)
            else:
                bits = _ended(buffer, first)
            if block + 1 == blocks:
                bits &= (1 << (bodies - block * LANES)) - 1
            list_lanes(spare, index(size + waiting), start, bits)
            waiting += how_many(bits)
            if waiting < LANES:
                continue
        elif waiting == 0:
            break
        if not judging.restarts:  # those that restart are all drawn
            take_lanes(spare, buffer, size, waiting, 0, ROTOR)
        take_lanes(spare, buffer, size, waiting, used_from, SCRATCH)
        take_lanes(spare, buffer, size, waiting, CORE, size // LANES)
        for lane in range(lanes):
            _prepare_lane(rows, spare, index(lane), judging.restarts)
        turn = _1
        for attempt in range(1, _ATTEMPTS + 1):
            for lane in range(lanes):
                _draw_lane(rows, spare, index(lane), turn)
            if lanes_above(spare, _UNDRAWN * LANES) == 0:
                break
            turn = np.uint64(16 + 4 * attempt)
        for lane in range(lanes):
            _begin_lane(rows, spare, index(lane))
        put_lanes(buffer, spare, size, waiting, 0, ROTOR)
        put_lanes(buffer, spare, size, waiting, used_from, size // LANES)
        copy_lanes(spare, size, spare, size + LANES, EVERY)
        waiting -= LANES


# Rows of the solver, while an episode begins.
_RATES = SCRATCH  # 3: angular velocity of the start, body frame
_MASS = SCRATCH + 3  # factor of the mass
_UNDRAWN = SCRATCH + 4  # 1.0 while the start is to be drawn, for the first time or again


@inlined
def _key(rows, buffer, i):
    """The lane's seed and the number of its episode."""
    k = i + rows.first_row() * LANES
    low, high = np.uint64(buffer[k + at.SEED * LANES]), np.uint64(buffer[k + (at.SEED + 1) * LANES])
    return low | (high << np.uint64(32)), np.uint64(buffer[k + at.EPISODE * LANES])


@inlined
def _prepare_lane(rows, buffer, i, drawn):
    """The body of the next episode; of one that was put somewhere, where that is."""
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
    drawn = drawn | (buffer[k + at.BEGINNING * LANES] == at.DRAWN)
    buffer[k + at.BEGINNING * LANES] = at.DRAWN if drawn else at.PLACED
    buffer[i + _UNDRAWN * LANES] = 1.0 if drawn else 0.0
    own = numbers(seed, episode, np.uint64(9))
    if drawn:
        physics.potential.draw_phase(physics, buffer, i, own)


@inlined
def _draw_lane(rows, buffer, i, block):
    """Draw the start, from three blocks of random numbers; again, if the episode would be over."""
    seed, episode = _key(rows, buffer, i)
    a = numbers(seed, episode, block)
    b, c = numbers(seed, episode, block + _1), numbers(seed, episode, block + _2)
    if buffer[i + _UNDRAWN * LANES] > 0.0:
        q, omega = rows.parts.start.draw(rows, buffer, i, a, b, c)
        put_quaternion(buffer, i, Q, q)
        put_vector(buffer, i, _RATES, omega)
        over = rows.parts.ends.is_over(rows, buffer, i, q, omega)
        over = over | rows.parts.constraints.obstructs(rows, buffer, i, q)
        buffer[i + _UNDRAWN * LANES] = 1.0 if over else 0.0


@inlined
def _begin_lane(rows, buffer, i):
    """All that follows from the start, and what seed and number of the episode give it beside."""
    physics, parts, actuator = rows.physics, rows.parts, rows.physics.actuator
    seed, episode = _key(rows, buffer, i)
    q, omega = quaternion(buffer, i, Q), vector(buffer, i, _RATES)
    parts.constraints.obstructs(rows, buffer, i, q)
    q, omega = physics.frame.in_principal_axes(physics, buffer, i, q, omega)
    q = polished(q)
    put_quaternion(buffer, i, Q, q)
    a, b = numbers(seed, episode, np.uint64(9)), numbers(seed, episode, np.uint64(10))
    more = numbers(seed, episode, np.uint64(11)), numbers(seed, episode, np.uint64(12))
    placed = buffer[i + (rows.first_row() + at.BEGINNING) * LANES] == at.PLACED
    mass = buffer[i + _MASS * LANES]
    actuator.begin(physics, buffer, i, placed, mass, a, b + more[0], more[1])
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
