"""The lane loops: every body of a batch stepped, measured or started, eight bodies at a time.

The loops over the lanes of a block compile to vector instructions: their size is a constant, and
`index` tells the compiler that no index counts from the end of the buffer.
"""

from typing import Any, NamedTuple

from rbgym.compiled.calls import PLACE, caller
from rbgym.compiled.jit import (
    Entry,
    address_of,
    compiled,
    inlined,
    kernel_part,
    lane_body,
    outlined,
)
from rbgym.compiled.posts import Task
from rbgym.compiled.wide import clip_lanes, fetch
from rbgym.engine.projection import keep_level, project
from rbgym.engine.rows import (
    CORRECTION,
    FAILED,
    FRESH,
    LANES,
    REDONE,
    ROTOR,
    SOLVED,
    E,
    L,
    Q,
    index,
    quaternion,
    vector,
    view,
)
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
from rbgym.threads import Spread

_GROUP = 4  # blocks that are stepped side by side
_RELAXATIONS = 4
_PASSES = 12
PROJECTIONS = 4


class Stepping(NamedTuple):
    """How a control period is stepped.

    substeps: steps in it. h: length of one [s]. composition: row of the table of stages that make a
    step, see rbgym.integrators.composition. projection: 1.0, or 0.0 for none of the energy. since:
    0, or the place, as `advance` tells it, from where it is to go on.
    """

    substeps: int
    h: float
    composition: int
    projection: float
    since: int = 0
    fetches: bool = False


class Advance(Entry):
    """`advance` as one object calls it. Lanes that it leaves to be redone are seldom: the code for
    that, as long as all the rest, is compiled when the first is met."""

    __slots__ = ("redo",)

    def __init__(self) -> None:
        super().__init__(advance)
        self.redo = Entry(redo_lanes)

    def all_of(
        self, physics: Any, buffer: Any, rows: int, commands: Any, stepping: Any, told: int = 0
    ) -> int:
        """What `advance` returns, once all is done: -1, or the index of a body. told: below -1, if
        it has been called and has told this."""
        told = told or self.call(physics, buffer, rows, commands, stepping)
        while told < -1:
            stepping = stepping._replace(since=-1 - told)
            self.redo.call(physics, buffer, rows, stepping)
            told = self.call(physics, buffer, rows, commands, stepping)
        return told

    def __reduce__(self) -> tuple[Any, ...]:
        return Advance, ()


class Ranges:
    """Advances all blocks of a large batch, range by range, in as many threads as there are."""

    __slots__ = ("addresses", "redo", "spread")

    def __init__(self) -> None:
        self.spread, self.redo = Spread(self.kernel()), Entry(redo_lanes)
        self.addresses: Any = None

    def kernel(self) -> Any:
        """What steps a range."""
        return advance_range

    def addresses_for(self, *args: Any) -> Any:
        """Addresses of what that kernel calls, given the arguments of `all_of`."""
        return address_of(advance, *args)

    def task(
        self, physics: Any, buffer: Any, rows: int, commands: Any, stepping: Stepping, *more: Any
    ) -> Task:
        """What `all_of` does, as it is kept to be done again and again."""
        if self.addresses is None:
            self.addresses = self.addresses_for(physics, buffer, rows, commands, stepping, *more)
        return self.spread.task(self.addresses, physics, buffer, rows, commands, stepping, *more)

    def all_of(
        self,
        physics: Any,
        buffer: Any,
        rows: int,
        commands: Any,
        stepping: Stepping,
        *more: Any,
        task: Task | None = None,
    ) -> tuple[float, float]:
        """The sums of two numbers that the kernel returns of each range, once all is done. task: of
        these arguments."""
        args, size = (physics, buffer, rows, commands), rows * LANES
        blocks, ended, failed = len(buffer) // size, 0.0, 0.0
        found = self.spread.over(task or self.task(*args, stepping, *more), blocks)
        for part, (told, more_ended, more_failed, first) in enumerate(found):
            ended, failed = ended + more_ended, failed + more_failed
            end = blocks * (part + 1) // len(found)
            while told < -1.0:
                left = stepping._replace(since=-1 - int(told))
                self.redo.call(physics, buffer[int(first) * size : end * size], rows, left)
                again = self.task(*args, left, *more)
                told, more_ended, more_failed, first = self.spread.over_one(again, int(first), end)
                ended, failed = ended + more_ended, failed + more_failed
            if told >= 0.0:  # they were finite before
                raise ValueError("commands must stay as they are while bodies are stepped by them")
        return ended, failed

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


@outlined
def _first_not_finite(numbers):
    """Index of the first number that is not finite, or -1."""
    bad = 0
    for k in range(len(numbers)):
        bad += 0 if numbers[k] - numbers[k] == 0.0 else 1
    if bad > 0:
        for k in range(len(numbers)):
            if numbers[k] - numbers[k] != 0.0:
                return k
    return -1


@compiled
def first_not_finite(commands):
    """Index of the first body whose command is not finite, or -1; of a batch that is advanced range
    by range, before the first is begun."""
    bad = _first_not_finite(commands.reshape(commands.size))
    return bad // commands.shape[1] if bad > 0 else bad


@kernel_part
def _put_commands(physics, buffer, start, commands, block):
    """Clip the commands of the bodies of a block, and write them where the actuator looks;
    commands: of all bodies, one after the other."""
    since = start + physics.actuator.command_row(physics) * LANES
    channels = physics.actuator.channels()
    first = index(block * LANES * channels)
    if first + LANES * channels <= len(commands):
        for n in range(channels):
            clip_lanes(buffer, since + n * LANES, commands, first + n, channels)
    else:
        for k in range(len(commands) - first):
            lane, n = k // channels, k % channels
            command = commands[first + index(k)]
            buffer[since + index(n * LANES + lane)] = min(max(command, -1.0), 1.0)


@kernel_part
def _fetch_block(physics, buffer, start, end):
    """Ask for the rows of a block that are in use."""
    for k in range(start, start + ROTOR * LANES, LANES):
        fetch(buffer, index(k))
    for k in range(start + physics.rotors.used_from() * LANES, end, LANES):
        fetch(buffer, index(k))


@lane_body
def _hold(physics, buffer, i):
    physics.actuator.hold(physics, buffer, i)


@lane_body
def _drive(physics, buffer, i, start, h, dt):
    physics.actuator.drive(physics, buffer, i, start, h, dt)


@lane_body
def _settle(physics, buffer, i, h, dt):
    physics.actuator.settle(physics, buffer, i, h, dt)


@compiled
def advance(physics, buffer, rows, commands, stepping):
    """Advance whole blocks by a control period under commands; returns -1.

    buffer: flat float64, a whole number of blocks of so many `rows`. commands: (bodies, channels),
    clipped to +-1, for the actuator; none of them, and the torque stays as it is. If one is not
    finite, nothing is done and the index of its body is returned. Where lanes are left to be
    redone, it returns -1 less the place for `Stepping.since`, which counts groups and their stages.
    """
    block_size, actuator, since = index(rows) * LANES, physics.actuator, stepping.since
    numbers = commands.reshape(commands.size)
    if since == 0:
        bad = _first_not_finite(numbers)
        if bad >= 0:
            return bad // actuator.channels()
    substeps, h = stepping.substeps, stepping.h
    blocks, stages = len(buffer) // block_size, COUNTS[index(stepping.composition)]
    total = index(substeps * stages)
    begun = max(since - 1, 0) // total
    # A few blocks at a time, so that the processor can work on several at once.
    for group in range(begun, (blocks + _GROUP - 1) // _GROUP):
        first = group * _GROUP
        count = min(_GROUP, blocks - first)
        goes_on = since > 0 and group == begun
        if len(commands) > 0 and not goes_on:
            for k in range(count):
                _put_commands(physics, buffer, index((first + k) * block_size), numbers, first + k)
            if not actuator.is_steady():
                for k in range(count):
                    for lane in range(LANES):
                        _hold(physics, buffer, index((first + k) * block_size) + lane)
        stepped = (since - 1) % total if goes_on else -1
        for stage in range(max(stepped, 0), total):
            part = STAGES[index(stepping.composition), index(stage % stages)]
            length, kicks = h * part[0], Kicks(h * part[1], h * part[2], h * h * part[3])
            if stage != stepped:
                if (not actuator.is_steady()) and stage % stages == 0 and len(commands) > 0:
                    for k in range(count):
                        for lane in range(LANES):
                            i = index((first + k) * block_size) + lane
                            _drive(physics, buffer, i, h * (stage // stages), h, h * substeps)
                held = actuator.is_steady() and stage == 0 and len(commands) > 0
                bad = take_step(
                    physics, buffer, first, count, block_size, length, kicks, stepping,
                    stage == 0, held,
                )  # fmt: skip
                if bad > 0:
                    return -2 - (group * total + stage)
            last = stage % stages == stages - 1
            if (
                physics.scheme.is_projected(physics.potential)
                and last
                and stepping.projection > 0.0
            ):
                lacking = 0
                for k in range(count):
                    for lane in range(LANES):
                        i = index((first + k) * block_size) + lane
                        lacking += keep_level(physics, buffer, i)
                for _ in range(PROJECTIONS):
                    if lacking == 0:
                        break
                    lacking = 0
                    for k in range(count):
                        for lane in range(LANES):
                            lacking += project(
                                physics, buffer, index((first + k) * block_size) + lane
                            )
            if (not actuator.is_steady()) and last and len(commands) > 0:
                for k in range(count):
                    for lane in range(LANES):
                        i = index((first + k) * block_size) + lane
                        _settle(physics, buffer, i, h, h * substeps)
    return -1


advance_at = caller(PLACE)


@compiled
def advance_range(address, physics, buffer, rows, commands, stepping, first, last, part):
    """Advance the blocks from `first` to before `last` by the `advance` at this address, without
    commands. Returns what that does, 0, 0, and `first`: where it is to go on."""
    size = index(rows) * LANES
    told = advance_at(
        address, (physics, buffer[first * size : last * size], rows, commands, stepping)
    )
    return float(told), 0.0, 0.0, float(first)


@lane_body
def take_step(physics, buffer, first, count, block_size, h, kicks, stepping, begins, held):
    """One stage of so many blocks; how many lanes it left where they were, to be redone. begins:
    whether a period does with it; held: and that of a steady actuator with commands."""
    solves, begins_apart = physics.scheme.has_unknowns(), physics.scheme.begins_apart()
    ends_apart = physics.scheme.ends_apart()
    for k in range(count):
        # Between the sums of the blocks before: all at once they would be waited for.
        if begins and stepping.fetches:
            ahead = index((first + k + _GROUP) * block_size)
            if ahead < len(buffer):
                _fetch_block(physics, buffer, ahead, ahead + block_size)
        if begins_apart:
            for lane in range(LANES):
                i = index((first + k) * block_size) + lane
                if held:
                    _hold(physics, buffer, i)
                predict(physics, physics.scheme, buffer, i, h, kicks)
    if solves:
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
    for k in range(count):
        for lane in range(LANES):
            i = index((first + k) * block_size) + lane
            if held and (not begins_apart):
                _hold(physics, buffer, i)
            if ends_apart:
                move(physics, buffer, i, h, kicks)
            else:
                bad += finish(physics, physics.scheme, buffer, i, h, kicks, stepping.projection)
    if ends_apart:
        for k in range(count):
            for lane in range(LANES):
                i = index((first + k) * block_size) + lane
                bad += settle(physics, buffer, i, h, stepping.projection)
    return bad


@compiled
def redo_lanes(physics, buffer, rows, stepping):
    """Redo the lanes that `advance` has left in a step, at the place that it told."""
    block_size, stages = index(rows) * LANES, COUNTS[index(stepping.composition)]
    group, stage = divmod(stepping.since - 1, stepping.substeps * stages)
    part, h = STAGES[index(stepping.composition), index(stage % stages)], stepping.h
    length, kicks = h * part[0], Kicks(h * part[1], h * part[2], h * h * part[3])
    for block in range(group * _GROUP, min((group + 1) * _GROUP, len(buffer) // block_size)):
        for lane in range(LANES):
            i = index(block * block_size) + lane
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
    energy += potential.carried(momentum)
    out[10, k] = energy + physics.actuator.more_energy(physics, buffer, i)


@compiled
def measure(physics, buffer, rows, out):
    """Rows of `out` (11, lanes): attitude, angular velocity (both of the user's body frame),
    world angular momentum and total energy (of a potential that moves, the integral that takes its
    place), all recomputed from (q, L)."""
    block_size = index(rows) * LANES
    for block in range(len(buffer) // block_size):
        for lane in range(LANES):
            i, k = index(block * block_size) + lane, index(block * LANES) + lane
            _measure_lane(physics, buffer, i, out, k)


@compiled
def start(physics, buffer, rows, bodies):
    """Set level, memory and counters of these bodies from their attitude and momentum."""
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
