"""Episodes of a batch of bodies: what the single and the vectorised environment share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym import layout as physics
from rbgym import threads
from rbgym.arguments import is_number, quietly, real
from rbgym.engine import Batch
from rbgym.envs import kernels, layout
from rbgym.envs.actuators import Actuator, Forces, state_beyond
from rbgym.envs.actuators.driven import shown_from
from rbgym.envs.actuators.effector import APPLIED
from rbgym.envs.info import Snapshot
from rbgym.envs.kernels import Parts
from rbgym.envs.parts.spreads import Nominal
from rbgym.envs.parts.tallies import Contacts
from rbgym.jit import Entry
from rbgym.kernels import advance
from rbgym.quaternion import Array

Flags = NDArray[np.bool_]
Lanes = NDArray[np.intp]
State = dict[str, Array]
Observe = Callable[[State], ArrayLike]
Reward = Callable[[State, Array], ArrayLike]
Terminate = Callable[[State], ArrayLike]
Disturb = Callable[[State], ArrayLike]

_EVERY_SEED = 2**64


@dataclass(frozen=True)
class Setup:
    """Everything that defines the episodes.

    terms: names of the reward's terms, in the kernel's order. strength: factor of all torques.
    settled_steps: steps in a row inside the success region that make a success. observe, reward,
    terminate, disturb: Python hooks, or None; the first two replace the named parts, the others add
    to them.
    """

    parts: Parts
    terms: tuple[str, ...]
    dt: float
    substeps: int
    torque_limit: Array
    strength: float
    actuator: Actuator
    limit: float
    settled_steps: int
    width: int
    observe: Observe | None = None
    reward: Reward | None = None
    terminate: Terminate | None = None
    disturb: Disturb | None = None

    @property
    def is_more(self) -> bool:
        """Whether something moves, or is counted, beside the attitude."""
        return not self.actuator.is_direct or self.counts

    @property
    def counts(self) -> bool:
        """Whether contacts are counted."""
        return isinstance(self.parts.tally, Contacts)

    @property
    def has_bodies(self) -> bool:
        """Whether episodes differ, or steps, by the body."""
        scaled = self.actuator.effector.needs == "scale"
        return scaled or not isinstance(self.parts.spread, Nominal)


# Rows that differ from episode to episode where the body does.
_BODY = (
    slice(physics.J, physics.J_INV + 3),
    slice(physics.SCALE, physics.SCALE + 3),
    slice(physics.POTENTIAL, physics.POTENTIAL + 6),
)


# What a step writes: observations, rewards, terminated, truncated, kept; see the kernel `judge`. A
# plain tuple, because one is made at each step.
Outputs = tuple[NDArray[np.float32], Array, Flags, Flags, Array]


def _part(outputs: Outputs, first: int, last: int) -> Outputs:
    """The places of the blocks from `first` to before `last`."""
    lanes = slice(first * physics.LANES, last * physics.LANES)
    observations, rewards, terminated, truncated, kept = outputs
    shown = observations[lanes]
    return shown, rewards[lanes], terminated[lanes], truncated[lanes], kept[first:last]


class Episodes:
    """A batch of bodies with their clocks, seeds and outcomes.

    resets_itself: where an episode has ended, the next step begins the seed's next one. reuses:
    what a step returns, but for the observations, is written over by the next one.
    commands: (size, channels), to be set before each step. begun: whether there were episodes yet.
    ready: whether a step may follow; not while one is under way, so that one which was interrupted,
    or whose hook has raised, is followed by a reset.
    """

    def __init__(
        self, batch: Batch, setup: Setup, *, resets_itself: bool = False, reuses: bool = False
    ) -> None:
        self.batch, self.setup, self.size = batch, setup, batch.size
        self.resets_itself = resets_itself
        batch.put_rows(layout.TARGET, np.tile([1.0, 0.0, 0.0, 0.0], (batch.size, 1)))
        batch.put_rows(physics.SCALE, np.tile(setup.torque_limit, (batch.size, 1)))
        self.commands = np.zeros((batch.size, batch.channels))
        self.begun = self.ready = False
        # How many episodes ended, and bodies failed, in the last step: if none, nobody need look.
        self.ended = self.failed = 0.0
        # The kernels write observations unless a Python hook does.
        self._shown = 0 if setup.observe is not None else batch.size
        # A body that is more than its attitude has more to tell.
        self.kept_from = layout.KEPT_ALL if setup.is_more else layout.KEPT
        self.told = physics.COMMAND if setup.actuator.is_direct else batch.actuator_row + APPLIED
        rows = layout.TERMS - self.kept_from + len(setup.terms) + 3
        self._kept = batch.blocks, rows * physics.LANES
        # The next episode may have another body; and a flyer has a force and a mass.
        self.changing = [*_BODY] if setup.has_bodies else []
        if isinstance(setup.actuator.effector, Forces):
            self.changing.append(slice(batch.actuator_row, batch.block_rows))
        self._advance, self._judge = Entry(advance), Entry(kernels.judge)
        h = float(setup.dt / setup.substeps)
        self._pace = 1.0, setup.substeps, h, *batch.way
        self._task = setup.parts, *batch.kept
        self._rules = setup.limit, self.kept_from, self.told
        self._outcome = self._new_outcome() if reuses else None

    # --- rows -------------------------------------------------------------------------------

    def row(self, row: int) -> Array:
        """Copy of one row, (size,)."""
        return self.batch.rows(row, 1)[:, 0]

    @property
    def done(self) -> Flags:
        """Which episodes have ended, (size,)."""
        return self.row(layout.TERMINATED) + self.row(layout.TRUNCATED) > 0

    def lack(self) -> str:
        """Why a step may not follow."""
        why = "the last step was interrupted, or a hook raised in it: " if self.begun else ""
        return f"{why}call reset() before step()"

    def at_start(self) -> Flags:
        """Which episodes have not had a step yet, (size,)."""
        return np.asarray(self.row(layout.ELAPSED) == 0)

    # --- life of an episode -----------------------------------------------------------------

    def seed(self, seeds: NDArray[np.uint64], lanes: Lanes) -> None:
        """Give lanes their seeds; their next episode will be the first."""
        half = np.uint64(32)
        table = np.array([seeds & np.uint64(0xFFFFFFFF), seeds >> half], dtype=np.float64).T
        self.batch.put_rows(layout.SEED, table, lanes)
        self.batch.put_rows(layout.EPISODE, np.full((len(lanes), 1), -1.0), lanes)

    @quietly
    def place(
        self,
        lanes: Lanes,
        quaternion: Array,
        angular_velocity: Array,
        target_quaternion: Array,
        beyond: Array,
    ) -> None:
        """Put bodies, and their targets, somewhere; ValueErrors come before anything is done.

        beyond: (lanes, 6), the BEYOND rows.
        """
        target = np.asarray(target_quaternion)
        shapes = ((4,), (len(lanes), 4))
        if target.shape not in shapes or not np.isfinite(target).all():
            raise ValueError(
                f"target_quaternion must be finite, of shape {' or '.join(map(str, shapes))}, "
                f"got {target_quaternion!r}"
            )
        target = np.broadcast_to(target, (len(lanes), 4))
        norm = np.linalg.norm(target, axis=1)
        if not np.all(np.abs(norm - 1) < 1e-6):
            raise ValueError(f"target_quaternion must have unit length, got {target_quaternion!r}")
        with self._nominal_bodies(lanes):
            self.batch.set_state(quaternion, angular_velocity, lanes=lanes)
        self.batch.put_rows(layout.TARGET, target / norm[:, None], lanes)
        self.batch.put_rows(physics.BEYOND, beyond, lanes)

    @contextmanager
    def _nominal_bodies(self, lanes: Lanes) -> Iterator[None]:
        """Bodies as they were made, not as an episode left them: no round-off of theirs is to be in
        the next start. As it was, if what is done there fails."""
        left = self.batch.rows(physics.J, 6)[lanes]
        moments = np.array([self.batch.bodies[lane].moments for lane in lanes])
        self.batch.put_rows(physics.J, np.concatenate([moments, 1.0 / moments], axis=1), lanes)
        try:
            yield
        except ValueError:
            self.batch.put_rows(physics.J, left, lanes)
            raise

    def restart(self, lanes: Lanes, out: NDArray[np.float32], *, drawn: bool = True) -> None:
        """Begin the next episode of these lanes; writes their rows of `out`.

        drawn: from the seed, else from the state as it stands.
        """
        batch = self.batch
        where = layout.DRAWN if drawn else layout.PLACED
        batch.put_rows(layout.BEGUN, np.full((len(lanes), 1), where), lanes)
        nothing = np.empty((batch.blocks, 3 * physics.LANES))
        outputs = (out[: self._shown], *self._new_outcome(), nothing)
        self.judge(batch.buffer, outputs, alone=True)
        self.ended = self.failed = 0.0
        if len(lanes) < self.size:
            self.ended, self.failed = int(self.done.sum()), int(batch.failed.sum())
        if self.setup.observe is not None:
            out[lanes] = self._observed()[lanes]
        self.begun = self.ready = True

    def _new_outcome(self) -> tuple[Array, Flags, Flags]:
        return np.empty(self.size), np.empty(self.size, bool), np.empty(self.size, bool)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # What came with a pickle may be for reading only.
        self.commands = self.commands.copy()
        self._outcome = self._outcome and self._new_outcome()

    def outputs(self) -> Outputs:
        """Where a step writes."""
        observations = np.empty((self._shown, self.setup.width), np.float32)
        return observations, *(self._outcome or self._new_outcome()), np.empty(self._kept)

    def advance(self, buffer: Array, commands: Array) -> int:
        """Advance the bodies of the buffer, all or a part, by a control period; -1, or nothing done
        and the first whose command is not finite."""
        return self._advance.call(  # type: ignore[no-any-return]
            *self.batch.physics, buffer, commands, *self._pace
        )

    def judge(
        self, buffer: Array, outputs: Outputs, again: bool = False, alone: bool = False
    ) -> tuple[float, float]:
        """Judge the bodies of the buffer; how many episodes ended, and how many bodies failed.

        again, alone: see the kernel.
        """
        return self._judge.call(  # type: ignore[no-any-return]
            *self._task, buffer, *self._rules, again, alone, *outputs
        )

    def _step_ranges(self, outputs: Outputs) -> int:
        """A control period of all, range by range; -1, or nothing done and the first body whose
        command is not finite."""
        batch, commands, again = self.batch, self.commands, self.resets_itself
        if not np.isfinite(commands).all():
            return int(np.argmin(np.isfinite(commands).all(axis=1)))

        def work(first: int, last: int) -> tuple[float, float]:
            part = batch.part(first, last)
            self.advance(part, commands[first * physics.LANES : last * physics.LANES])
            return self.judge(part, _part(outputs, first, last), again)

        counts = threads.over_ranges(batch.blocks, work)
        self.ended, self.failed = map(sum, zip(*counts, strict=True))
        return -1

    def observations(self) -> NDArray[np.float32]:
        """What every body shows now, (size, width)."""
        if self.setup.observe is not None:
            return self._observed()
        batch, shown = self.batch, self.setup.actuator.shown.shape[1]
        rows = batch.rows(layout.OBSERVATION, self.setup.width - shown)
        if shown:
            first = batch.actuator_row + shown_from(self.setup.actuator.part)
            rows = np.concatenate([rows, batch.rows(first, shown)], axis=1)
        return rows.astype(np.float32)

    def step(self) -> tuple[NDArray[np.float32], Array, Flags, Flags, Snapshot]:
        """Advance all by one control period, under `commands`.

        Returns observations, rewards, terminated, truncated, snapshot. Raises ValueError, nothing
        done, if a command is not finite. Whoever calls it sets `ready` again, once all is done.
        """
        batch, setup, size, commands = self.batch, self.setup, self.size, self.commands
        if setup.disturb is not None:
            batch.put_rows(physics.DISTURBANCE, self._hooked("disturbance", setup.disturb, (3,)))
        outputs, self.ready = self.outputs(), False
        if threads.is_large(batch.blocks):
            bad = self._step_ranges(outputs)
        else:
            bad = self.advance(batch.buffer, commands)
            if bad < 0:
                counts = self.judge(batch.buffer, outputs, self.resets_itself)
                self.ended, self.failed = counts
        if bad >= 0:
            self.ready = True
            where = f" in lane {bad}" if size > 1 else ""
            raise ValueError(f"action must be finite, got {commands[bad].tolist()}{where}")
        observations, rewards, terminated, truncated, kept = outputs
        if setup.terminate is not None:
            over = self._hooked("termination", setup.terminate, ()).astype(bool)
            terminated |= over & ~self.at_start()
            batch.put_rows(layout.TERMINATED, terminated[:, None].astype(float))
            self.ended = int((terminated | truncated).sum())
        if setup.observe is not None:
            observations = self._observed()
        if setup.reward is not None:
            rewards = self._rewarded(commands)
        return observations, rewards, terminated, truncated, Snapshot(self, kept)

    # --- Python hooks -----------------------------------------------------------------------

    def state(self) -> State:
        """quaternion, angular_velocity, angular_momentum, energy, time, target_quaternion and
        target_angular_velocity (target frame), and what the actuator has; first axis the lane."""
        return {
            **self.batch.measure(),
            **state_beyond(self.setup.actuator.effector, self.batch),
            "time": self.row(layout.ELAPSED) * self.setup.dt,
            "target_quaternion": self.batch.rows(layout.TARGET, 4),
            "target_angular_velocity": self.batch.rows(layout.TARGET_RATE, 3),
        }

    def _hooked(
        self, name: str, hook: Callable[..., ArrayLike], shape: tuple[int, ...], *args: Array
    ) -> Array:
        """What a hook returns for every lane, or ValueError if its shape is another."""
        return checked_hook(name, hook, (self.size, *shape), self.state(), *args)

    def _observed(self) -> NDArray[np.float32]:
        assert self.setup.observe is not None
        shape = (self.setup.width,)
        return self._hooked("observation", self.setup.observe, shape).astype(np.float32)

    def _rewarded(self, commands: Array) -> Array:
        assert self.setup.reward is not None
        values = self._hooked("reward", self.setup.reward, (), np.clip(commands, -1.0, 1.0))
        values[self.at_start()] = 0.0
        return values

    # --- info -------------------------------------------------------------------------------

    def changing_rows(self) -> tuple[tuple[slice, Array], ...]:
        """Copies of the rows that the next step may change."""
        view = self.batch.block_view()
        return tuple((part, view[:, part].copy()) for part in self.changing)

    def snapshot(self) -> Snapshot:
        """What `info` needs, copied, so that it can be worked out later or never."""
        count, view = self._kept[1] // physics.LANES - 3, self.batch.block_view()
        rows = [
            view[:, self.kept_from : self.kept_from + count],
            view[:, self.told : self.told + 3],
        ]
        return Snapshot(self, np.concatenate(rows, axis=1).reshape(self._kept))


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


def checked_seed(seed: Any) -> int:
    """A seed as an int, or a ValueError naming what is allowed."""
    if not (is_number(seed) and isinstance(seed, int | np.integer)):
        raise ValueError(f"seed must be an integer from 0 to 2**64 - 1, got {seed!r}")
    if not 0 <= int(seed) < _EVERY_SEED:
        raise ValueError(f"seed must be an integer from 0 to 2**64 - 1, got {seed!r}")
    return int(seed)
