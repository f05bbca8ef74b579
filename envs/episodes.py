"""Episodes of a batch of bodies: what the single and the vectorised environment share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from sys import getrefcount
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym import threads
from rbgym.arguments import real
from rbgym.compiled.beside import compile_both
from rbgym.compiled.calls import Repeated
from rbgym.compiled.jit import Entry
from rbgym.compiled.posts import Task
from rbgym.engine import kernels as engine
from rbgym.engine.batch import Batch
from rbgym.engine.rows import FAILED, LANES, J
from rbgym.envs import kernels
from rbgym.envs import rows as at
from rbgym.envs.actuators import Assembly
from rbgym.envs.info import Entries
from rbgym.envs.kernels import NOTHING_SAVED, JudgedRanges, Judging, Outputs
from rbgym.envs.orbit import places_of
from rbgym.envs.rows import Parts, TaskRows
from rbgym.quaternion import Array

_KEPT = 3  # outcomes: of this step, of the one before, and one that a learner looks back on
Flags = NDArray[np.bool_]
Lanes = NDArray[np.intp]
State = dict[str, Array]


@dataclass(frozen=True)
class Setup:
    """Everything that defines the episodes.

    terms: names of the reward's terms, in the kernel's order. strength: factor of all torques.
    limit: steps after which an episode is truncated. settled_steps: steps in a row inside the
    success region that make a success. width: columns of an observation. hooks: callables by the
    argument that they were given as; observation and reward replace the named parts, termination
    and disturbance add to them. turn_time: least time [s] of the largest turn from rest to rest
    that may be asked for, 0 where there is none.
    """

    parts: Parts
    terms: tuple[str, ...]
    dt: float
    substeps: int
    strength: float
    actuator: Assembly
    limit: float
    settled_steps: int
    width: int
    hooks: Mapping[str, Callable[..., ArrayLike]] = field(default_factory=dict)
    turn_time: float = 0.0


class Outcome:
    """What a step writes, to be written again once nobody holds any of it: memory that was just in
    use is near, and compiled code keeps its address.

    What a step calls, once this was written before: again, of a small batch without hooks; task, of
    a large one.
    """

    __slots__ = ("_alone", "_arrays", "again", "outputs", "task", "was_written")

    def __init__(self, shown: tuple[int, int], saved: int, bodies: int, lanes: int) -> None:
        self.outputs = Outputs(
            np.empty(shown, np.float32), np.empty(bodies), np.empty(bodies, bool),
            np.empty(bodies, bool), np.empty((saved, lanes)), np.empty(2 * lanes, bool), 0,
        )  # fmt: skip
        self.again: Repeated | None = None
        self.task: Task | None = None
        self.was_written = False
        self._arrays = self.outputs[:-1]
        self._alone = sum(map(getrefcount, self._arrays))

    def is_free(self) -> bool:
        """Whether nobody else holds one of the arrays, or a view of one, which holds its base."""
        return sum(map(getrefcount, self._arrays)) == self._alone


class Episodes:
    """A batch of bodies with their clocks, seeds and outcomes.

    resets_itself: where an episode has ended, the next step begins the seed's next one. reuses:
    what a step returns is written over by the next one, held or not.
    is_many: whether they may be stepped by several threads, and `take` is to be given the commands.
    commands: (size, channels), of the last step. started: whether there are episodes.
    ready: whether a step may follow; not while one is under way, so that one which was interrupted,
    or whose hook has raised, is followed by a reset, and that by another. ended, failed: how many
    episodes ended, and bodies failed, in the last step. entries: of `info`.
    """

    def __init__(
        self, batch: Batch, setup: Setup, *, resets_itself: bool = False, reuses: bool = False
    ) -> None:
        self.batch, self.setup, self.size = batch, setup, batch.size
        self.rows = TaskRows(batch.observed, setup.parts)
        self._first_row, self.scratch = self.rows.first_row(), self.rows.scratch()
        self.commands = np.zeros((batch.size, batch.channels))
        self.started = self.ready = False
        self.ended = self.failed = 0.0
        # The kernels write observations unless a Python hook does.
        self._shown = 0 if "observation" in setup.hooks else batch.size
        self.entries = Entries(self.rows, setup, batch.size)
        shown, lanes = (self._shown, setup.width), batch.blocks * LANES
        self._sizes = shown, len(self.entries.copied), batch.size, lanes
        self._advance, self._judge = engine.Advance(), Entry(kernels.judge)
        self._ranges, self._first_not_finite = JudgedRanges(), Entry(engine.first_not_finite)
        self._first_of_singles = Entry(engine.first_not_finite)
        self._singles: NDArray[np.float32] | None = None
        self._given = np.zeros(1, np.int64)
        self.is_many = batch.blocks >= 2 * threads.FEWEST_BLOCKS
        self.stepping = batch.stepping(float(setup.dt / setup.substeps), setup.substeps)
        copies = self.entries.copied, self.entries.settled
        self._judging = Judging(setup.limit, resets_itself, False, *copies)
        self._beginning = Judging(setup.limit, False, True, *copies)
        self._reuses = reuses
        self._only: Outcome | None = None  # of all steps, where they write to the same arrays
        self._outcomes: list[Outcome] = []

    # --- rows -------------------------------------------------------------------------------

    def row(self, row: int) -> Array:
        """Copy of one of the rows that every task has, (size,)."""
        return self.batch.rows(self._first_row + row, 1)[:, 0]

    def _put(self, row: int, value: ArrayLike, lanes: Lanes | None = None) -> None:
        self.batch.put_row(self._first_row + row, value, lanes)

    @property
    def done(self) -> Flags:
        """Which episodes have ended, (size,)."""
        return self.row(at.TERMINATED) + self.row(at.TRUNCATED) > 0

    def lack(self, call: str = "step") -> str:
        """Why a step, or another call, may not follow."""
        why = "the last step was interrupted, or a hook raised in it: " if self.started else ""
        return f"{why}call reset() before {call}()"

    def at_start(self) -> Flags:
        """Which episodes have not had a step yet, (size,)."""
        return np.asarray(self.row(at.ELAPSED) == 0)

    # --- life of an episode -----------------------------------------------------------------

    def leave(self) -> None:
        """Give up the episodes, before any row of the next ones is written: `restart` ends this."""
        self.started = self.ready = False

    def seed(self, seeds: NDArray[np.uint64], lanes: Lanes) -> None:
        """Give lanes their seeds; their next episode will be the first."""
        low, high = seeds & np.uint64(0xFFFFFFFF), seeds >> np.uint64(32)
        self._put(at.SEED, low, lanes)
        self._put(at.SEED + 1, high, lanes)
        self._put(at.EPISODE, -1.0, lanes)

    def restart(self, lanes: Lanes, out: NDArray[np.float32], *, drawn: bool = True) -> None:
        """Begin the next episode of these lanes; writes their rows of `out`.

        drawn: from the seed, else from the state as it stands.
        """
        batch = self.batch
        self._put(at.BEGINNING, at.DRAWN if drawn else at.PLACED, lanes)
        n, shown = self.size, out[: self._shown]
        ends = np.empty(n), np.empty(n, bool), np.empty(n, bool)
        outputs = Outputs(shown, *ends, *NOTHING_SAVED)
        judged = self.rows, batch.buffer, self._beginning, outputs
        if not self._judge.was_called:
            args = batch.physics, batch.buffer, batch.block_rows, self.commands, self.stepping
            compile_both((kernels.judge, judged), (engine.advance, args))
        self._judge.call(*judged)
        self.ended = self.failed = 0.0
        if len(lanes) < self.size:
            self.ended, self.failed = int(self.done.sum()), int(batch.failed.sum())
        if self._shown == 0:
            out[lanes] = self._hooked("observation", (self.setup.width,))[lanes]
        self.started = self.ready = True

    def _outcome(self) -> Outcome:
        """What the next step may write."""
        for outcome in self._outcomes:
            if outcome.is_free():
                return outcome
        outcome = Outcome(*self._sizes)
        if self._reuses:
            self._only = outcome
        else:  # the oldest goes, which may be held for good
            self._outcomes = [*self._outcomes[1 - _KEPT :], outcome]
        return outcome

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # What came with a pickle may be for reading only.
        self.commands, self._given = self.commands.copy(), self._given.copy()

    def __getstate__(self) -> dict[str, Any]:
        # Machine code stays with the process.
        return self.__dict__ | {"_only": None, "_outcomes": [], "_singles": None}

    # --- all that goes on -------------------------------------------------------------------

    def whole_state(self) -> Array:
        """Every row of every body, its clocks and seeds among them, (size, r)."""
        rows = self.batch.rows(0, self.batch.block_rows)
        return self.without_scratch(rows) if self.failed else rows

    def without_scratch(self, rows: Array) -> Array:
        """The rows, with zeros for what bodies that have failed have left of their step: no numbers
        some of it."""
        rows[rows[:, FAILED] > 0, self.scratch] = 0.0
        return rows

    def follow(self, rows: Array) -> None:
        """Get ready to step bodies of these rows, as `whole_state` gives them."""
        if self.batch.follow(rows[:, J : J + 3]):
            self._advance, self._ranges = engine.Advance(), JudgedRanges()
            self._only, self._outcomes = None, []

    def put_whole_state(self, rows: Array) -> None:
        """Go on from what `whole_state` gave."""
        self.ready = False
        self.follow(rows)
        self.batch.put_rows(0, rows)
        first = self._first_row
        over = rows[:, first + at.TERMINATED] + rows[:, first + at.TRUNCATED]
        self.ended, self.failed = map(float, map(np.count_nonzero, (over, rows[:, FAILED])))
        self.started = True

    def is_over(self, rows: Array) -> Flags:
        """Which episodes have ended, of rows as `whole_state` gives them, (size,)."""
        first = self._first_row
        return rows[:, first + at.TERMINATED] + rows[:, first + at.TRUNCATED] > 0

    # --- a step -----------------------------------------------------------------------------

    def advance(self, buffer: Array, commands: Array) -> int:
        """Advance the bodies of the buffer, all or a part, by a control period; -1, or nothing done
        and the first whose command is not finite."""
        batch = self.batch
        return self._advance.all_of(
            batch.physics, buffer, batch.block_rows, commands, self.stepping
        )

    def judge(
        self, buffer: Array, outputs: Outputs, judging: Judging | None = None
    ) -> tuple[float, float]:
        """Judge the bodies of the buffer; how many episodes ended, and how many bodies failed."""
        return self._judge.call(  # type: ignore[no-any-return]
            self.rows, buffer, judging or self._judging, outputs
        )

    def _step_ranges(self, outcome: Outcome, singles: NDArray[np.float32] | None) -> int:
        """A control period of all, range by range; -1, or nothing done and the first body whose
        command is not finite. singles: the commands, where they are not in `commands` yet."""
        batch = self.batch
        if singles is None:
            bad: int = self._first_not_finite.call(self.commands)
        else:
            bad = self._first_of_singles.call(singles)
        if bad >= 0:
            return bad
        self._given[0] = 0 if singles is None else singles.__array_interface__["data"][0]
        args = (
            batch.physics, batch.buffer, batch.block_rows, self.commands, self.stepping,
            self.rows, self._judging, outcome.outputs, self._given,
        )  # fmt: skip
        if outcome.was_written and outcome.task is None:
            outcome.task = self._ranges.task(*args)
        self.ended, self.failed = self._ranges.all_of(*args, task=outcome.task)
        outcome.was_written = True
        return -1

    def observations(self) -> NDArray[np.float32]:
        """What every body shows now, (size, width)."""
        if self._shown == 0:
            return self._hooked("observation", (self.setup.width,)).astype(np.float32)
        batch, physics, actuator = self.batch, self.rows.physics, self.rows.physics.actuator
        own = batch.rows(self.rows.observation_row(), self.setup.parts.observation.width())
        more = batch.rows(actuator.shown_row(physics), actuator.shown_rows())
        return np.concatenate([own, more], axis=1).astype(np.float32)

    def take(self, commands: NDArray[Any]) -> None:
        """Hold these commands (size, channels) in the next step, to whose end they stay as they
        are."""
        large = self.batch.blocks > threads.at_once and not self.setup.hooks
        if large and commands.dtype == np.float32 and commands.flags.carray:
            self._singles = commands  # each thread copies those of its own lanes
        else:
            self.commands[...], self._singles = commands, None

    def step(self) -> Outputs:
        """Advance all by one control period, under the commands that were taken.

        Who keeps one of the arrays, or a view of it, keeps it as it is; the tuple of them does not
        count. Raises ValueError, nothing done, if a command is not finite. The caller sets `ready`
        again, once all is done.
        """
        bad, outcome = 0, self._only or self._outcome()
        outputs, again, large = outcome.outputs, outcome.again, self.batch.blocks > threads.at_once
        singles = self._singles
        if singles is not None:
            self._singles = None
            if not large:  # by another number of threads since
                self.commands[...], singles = singles, None
        if again is not None and not large:
            self.ready = False
            told, ended, failed = again.call()
            if told == -1:
                self.ended, self.failed = ended, failed
                return outputs
            bad = int(told)
        batch, hooks = self.batch, self.setup.hooks
        if "disturbance" in hooks:
            row = batch.physics.actuator.disturbance_row(batch.physics)
            batch.put_rows(row, self._hooked("disturbance", (3,)))
        self.ready = False
        if large:
            bad = self._step_ranges(outcome, singles)
        elif bad < 0 or again is None:
            bad = self._step_at_once(outcome, bad)
        if bad >= 0:
            self.ready = True
            where = f" in lane {bad}" if self.size > 1 else ""
            given = self.commands if singles is None else singles
            raise ValueError(f"action must be finite, got {given[bad].tolist()}{where}")
        return self._apply_hooks(outputs) if hooks else outputs

    def _step_at_once(self, outcome: Outcome, told: int = 0) -> int:
        """A control period of all, in this thread; -1, or nothing done and the first body whose
        command is not finite. told: see `Advance.all_of`."""
        batch, outputs = self.batch, outcome.outputs
        args = batch.physics, batch.buffer, batch.block_rows, self.commands, self.stepping
        bad = self._advance.all_of(*args, told)
        if bad < 0:
            self.ended, self.failed = self.judge(batch.buffer, outputs)
            # After the first step: nobody is to wait for that longer.
            if outcome.was_written and not (outcome.again or self.setup.hooks):
                judged = self.rows, batch.buffer, self._judging, outputs
                outcome.again = Repeated((engine.advance, args), (kernels.judge, judged))
            outcome.was_written = True
        return bad

    def _apply_hooks(self, outputs: Outputs) -> Outputs:
        """The outcome of a step as the user's functions make it."""
        hooks = self.setup.hooks
        observations, rewards, terminated, truncated, *saved = outputs
        if "termination" in hooks:
            terminated |= self._hooked("termination", ()).astype(bool) & ~self.at_start()
            self._put(at.TERMINATED, terminated)
            self.ended = int((terminated | truncated).sum())
        if "observation" in hooks:
            observations = self.observations()
        if "reward" in hooks:
            rewards = self._hooked("reward", (), np.clip(self.commands, -1.0, 1.0))
            rewards[self.at_start()] = 0.0
        return Outputs(observations, rewards, terminated, truncated, *saved)

    def state(self) -> State:
        """quaternion, angular_velocity, angular_momentum, energy, time, target_quaternion and
        target_angular_velocity (target frame), and what the actuator has; first axis the lane."""
        return state_of(self.batch, self.rows, self.setup.actuator, self.setup.dt)

    def _hooked(self, name: str, shape: tuple[int, ...], *args: Array) -> Array:
        """What a hook returns for every lane, or ValueError if its shape is another."""
        return checked_hook(name, self.setup.hooks[name], (self.size, *shape), self.state(), *args)

    def saved(self) -> tuple[Array, Flags]:
        """What `info` is made of as it is now, see `Entries`."""
        return self.entries.copy_of(self.batch.block_view())


def state_of(batch: Batch, rows: TaskRows, actuator: Assembly, dt: float) -> State:
    """See `Episodes.state`."""
    n, physics, parts = batch.size, rows.physics, rows.parts
    state = {**batch.measure(), **actuator.effector.state(physics, batch.rows)}
    for name, key in places_of(physics.potential).items():
        state[name] = batch.rows(physics.potential_row() + key.first, key.width)[:, 0]
    for name, key in parts.goal.state_keys().items():
        state[name] = batch.rows(rows.goal_row() + key.first, key.width)[:, 0]
    state["time"] = dt * batch.rows(rows.first_row() + at.ELAPSED, 1)[:, 0]
    target = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], (n, 1))
    if parts.goal.has_target():
        target = batch.rows(rows.goal_row(), 7)
    return {**state, "target_quaternion": target[:, :4], "target_angular_velocity": target[:, 4:]}


def checked_hook(
    name: str, hook: Callable[..., ArrayLike], shape: tuple[int, ...], *args: Any
) -> Array:
    """What a hook returns, or ValueError if its shape is another or a value is not finite."""
    allowed = "a function that returns real numbers or flags"
    values = np.array(real(name, hook(*args), allowed, "iufb"))
    if values.shape != shape:
        raise ValueError(f"{name} must return shape {shape}, got {values.shape}")
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        lane = int(np.argmin(finite))
        raise ValueError(f"{name} must return finite values, got {values[lane]} in lane {lane}")
    return values
