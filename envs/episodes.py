"""Episodes of a batch of bodies: what the single and the vectorised environment share."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import real
from rbgym.compiled.jit import Entry
from rbgym.engine.advance import Advance, by_lane, lay_out
from rbgym.engine.batch import Batch
from rbgym.engine.rows import FAILED, LANES, J
from rbgym.envs import kernels
from rbgym.envs import rows as at
from rbgym.envs.actuators import Assembly
from rbgym.envs.info import Entries
from rbgym.envs.kernels import Judging, Outputs
from rbgym.envs.orbit import places_of
from rbgym.envs.rows import Parts, TaskRows
from rbgym.quaternion import Array
from rbgym.threads import over_ranges

_CHUNK = 256  # blocks
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


class Episodes:
    """A batch of bodies with their clocks, seeds and outcomes.

    resets_itself: where an episode has ended, the next step begins the seed's next one.
    commands: (size, channels), of the last step. started: whether there are episodes.
    ready: whether a step may follow; not while one is under way, so that one which was interrupted,
    or whose hook has raised, is followed by a reset, and that by another. entries: of `info`.
    """

    def __init__(self, batch: Batch, setup: Setup, *, resets_itself: bool = False) -> None:
        self.batch, self.setup, self.size = batch, setup, batch.size
        self.rows = TaskRows(batch.observed, setup.parts)
        self._first_row, self.scratch = self.rows.first_row(), self.rows.scratch()
        self.commands = np.zeros((batch.size, batch.channels))
        self.started = self.ready = False
        self._shown = "observation" not in setup.hooks  # by the kernels, and not by a hook
        self.entries = Entries(self.rows, setup, batch.size)
        self._advance, self._judge = Advance(), Entry(kernels.judge)
        self.stepping = batch.stepping(float(setup.dt / setup.substeps), setup.substeps)
        copies = self.entries.copied, self.entries.settled
        self._judging = Judging(setup.limit, resets_itself, *copies)
        self._judging_once = Judging(setup.limit, False, *copies)

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
        batch, n = self.batch, len(lanes)
        self._put(at.BEGINNING, at.DRAWN if drawn else at.PLACED, lanes)
        buffer, blocks = batch.buffer, batch.blocks
        if n < self.size:  # the others stay as they are
            buffer = lay_out(batch.block_view()[lanes // LANES, :, lanes % LANES])
            blocks = -(-n // LANES)
        outputs = self.room(n)
        self._judge.call(self.rows, buffer, self._judging, outputs, 0, blocks)
        if n < self.size:
            batch.put_rows(0, by_lane(buffer, batch.block_rows)[:n], lanes)
        seen = outputs.observations if self._shown else self.observations()[lanes]
        out[lanes] = seen
        self.started = self.ready = True

    def try_out(self, buffer: Array, commands: Array, outputs: Outputs) -> None:
        """A control period of other bodies than those of the batch, in a buffer of the same layout:
        see `period`. No episode begins."""
        blocks = len(buffer) // (self.batch.block_rows * LANES)
        self.period(buffer, commands, outputs, self._judging_once, 0, blocks)

    # --- all that goes on -------------------------------------------------------------------

    def whole_state(self) -> Array:
        """Every row of every body, its clocks and seeds among them, (size, r)."""
        rows = self.batch.rows(0, self.batch.block_rows)
        return self.without_scratch(rows)

    def without_scratch(self, rows: Array) -> Array:
        """The rows, with zeros for what bodies that have failed have left of their step: no numbers
        some of it."""
        rows[rows[:, FAILED] > 0, self.scratch] = 0.0
        return rows

    def follow(self, rows: Array) -> None:
        """Get ready to step bodies of these rows, as `whole_state` gives them."""
        if self.batch.follow(rows[:, J : J + 3]):
            self._advance = Advance()

    def put_whole_state(self, rows: Array) -> None:
        """Go on from what `whole_state` gave."""
        self.ready = False
        self.follow(rows)
        self.batch.put_rows(0, rows)
        self.started = True

    def is_over(self, rows: Array) -> Flags:
        """Which episodes have ended, of rows as `whole_state` gives them, (size,)."""
        first = self._first_row
        return rows[:, first + at.TERMINATED] + rows[:, first + at.TRUNCATED] > 0

    def room(self, bodies: int) -> Outputs:
        """New arrays for what is written of so many bodies."""
        return self.entries.room(bodies if self._shown else 0, self.setup.width, bodies)

    # --- a step -----------------------------------------------------------------------------

    def period(
        self,
        buffer: Array,
        commands: Array,
        outputs: Outputs,
        judging: Judging,
        first: int,
        last: int,
    ) -> None:
        """Advance the bodies of the blocks from `first` to before `last` by a control period, and
        judge them.

        buffer: the bodies of the batch, or others of the same layout. commands: (bodies, channels),
        finite. A few blocks at a time, which stay in the cache of a core.
        """
        batch = self.batch
        for begin in range(first, last, _CHUNK):
            end = min(begin + _CHUNK, last)
            self._advance(
                batch.physics, buffer, batch.block_rows, commands, self.stepping, begin, end
            )
            self._judge.call(self.rows, buffer, judging, outputs, begin, end)

    def observations(self) -> NDArray[np.float32]:
        """What every body shows now, (size, width)."""
        if not self._shown:
            return self._hooked("observation", (self.setup.width,)).astype(np.float32)
        batch, physics, actuator = self.batch, self.rows.physics, self.rows.physics.actuator
        own = batch.rows(self.rows.observation_row(), self.setup.parts.observation.width())
        more = batch.rows(actuator.shown_row(physics), actuator.shown_rows())
        return np.concatenate([own, more], axis=1).astype(np.float32)

    def step(self, commands: Array) -> Outputs:
        """Advance all by one control period under these commands (size, channels).

        Raises ValueError, nothing done, if a command is not finite. The caller sets `ready` again,
        once all is done.
        """
        # The sum of squares alone is quicker, and warns of no overflow.
        if not math.isfinite(np.vdot(commands, commands)) and not np.isfinite(commands).all():
            bad = int(np.argmin(np.isfinite(commands).all(axis=1)))
            where = f" in lane {bad}" if self.size > 1 else ""
            raise ValueError(f"action must be finite, got {commands[bad].tolist()}{where}")
        batch, hooks, self.commands = self.batch, self.setup.hooks, commands
        if "disturbance" in hooks:
            row = batch.physics.actuator.disturbance_row(batch.physics)
            batch.put_rows(row, self._hooked("disturbance", (3,)))
        self.ready = False
        outputs = self.room(self.size)
        args = batch.buffer, commands, outputs, self._judging
        over_ranges(batch.blocks, partial(self.period, *args))
        return self._apply_hooks(outputs) if hooks else outputs

    def _apply_hooks(self, outputs: Outputs) -> Outputs:
        """The outcome of a step as the user's functions make it."""
        hooks = self.setup.hooks
        if "termination" in hooks:
            ends = self._hooked("termination", ()).astype(bool) & ~self.at_start()
            outputs.terminated[...] |= ends
            self._put(at.TERMINATED, outputs.terminated)
        if "reward" in hooks:
            rewards = self._hooked("reward", (), np.clip(self.commands, -1.0, 1.0))
            outputs.rewards[...] = np.where(self.at_start(), 0.0, rewards)
        if "observation" in hooks:
            return outputs._replace(observations=self.observations())
        return outputs

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
