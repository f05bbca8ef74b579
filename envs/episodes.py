"""Episodes of a batch of bodies: what the single and the vectorised environment share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym import layout as physics
from rbgym.engine import Batch, measured
from rbgym.envs import kernels, layout
from rbgym.envs.actuators import Actuator, Forces, state_beyond
from rbgym.envs.actuators.driven import shown_from
from rbgym.envs.actuators.effector import APPLIED
from rbgym.envs.kernels import Parts
from rbgym.envs.parts.spreads import Nominal
from rbgym.envs.parts.tallies import Contacts
from rbgym.jit import Entry
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


class Episodes:
    """A batch of bodies with their clocks, seeds and outcomes.

    resets_itself: where an episode has ended, the next step begins the seed's next one.
    commands: (size, channels), to be set before each step.
    """

    def __init__(self, batch: Batch, setup: Setup, *, resets_itself: bool = False) -> None:
        self.batch, self.setup, self.size = batch, setup, batch.size
        self.resets_itself = resets_itself
        batch.put_rows(layout.TARGET, np.tile([1.0, 0.0, 0.0, 0.0], (batch.size, 1)))
        batch.put_rows(physics.SCALE, np.tile(setup.torque_limit, (batch.size, 1)))
        self.commands = np.zeros((batch.size, batch.channels))
        self.begun = np.zeros(batch.size, dtype=bool)
        self.all_begun = False
        # How many episodes ended, and bodies failed, in the last step: if none, nobody need look.
        self.ended = self.failed = 0
        # The kernels write observations unless a Python hook does.
        self._shown = 0 if setup.observe is not None else batch.size
        # A body that is more than its attitude has more to tell.
        self.kept_from = layout.KEPT_ALL if setup.is_more else layout.KEPT
        self.told = physics.COMMAND if setup.actuator.is_direct else batch.actuator_row + APPLIED
        rows = layout.TERMS - self.kept_from + len(setup.terms) + 3
        self._kept = batch.blocks, rows * physics.LANES
        self._h = setup.dt / setup.substeps
        self._judge = Entry(kernels.judge)

    # --- rows -------------------------------------------------------------------------------

    def row(self, row: int) -> Array:
        """Copy of one row, (size,)."""
        return self.batch.rows(row, 1)[:, 0]

    @property
    def done(self) -> Flags:
        """Which episodes have ended, (size,)."""
        return self.row(layout.TERMINATED) + self.row(layout.TRUNCATED) > 0

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
        self._judged(out[: self._shown], again=False, alone=True)
        if not self.all_begun:
            self.begun[lanes] = True
            self.all_begun = bool(self.begun.all())
        self.ended = self.failed = 0
        if len(lanes) < self.size:
            self.ended, self.failed = int(self.done.sum()), int(batch.failed.sum())
        if self.setup.observe is not None:
            out[lanes] = self._observed()[lanes]

    def _judged(
        self, observations: NDArray[np.float32], *, again: bool, alone: bool
    ) -> tuple[Array, Flags, Flags, Array]:
        """Rewards, terminated, truncated and kept rows; all of them empty if alone."""
        size = self.size
        rewards, terminated, truncated = np.empty(size), np.empty(size, bool), np.empty(size, bool)
        kept = np.empty(self._kept)
        self.ended, self.failed = self._judge.call(
            self.setup.parts, *self.batch.kept, self.batch.buffer, self.setup.limit,
            again, alone, observations, rewards, terminated, truncated,
            self.kept_from, self.told, kept,
        )  # fmt: skip
        return rewards, terminated, truncated, kept

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

    def step(self) -> tuple[NDArray[np.float32], Array, Flags, Flags, "Snapshot"]:
        """Advance all by one control period, under `commands`.

        Returns observations, rewards, terminated, truncated, snapshot. Raises ValueError, nothing
        done, if a command is not finite.
        """
        batch, setup, size, commands = self.batch, self.setup, self.size, self.commands
        if setup.disturb is not None:
            batch.put_rows(physics.DISTURBANCE, self._hooked("disturbance", setup.disturb, (3,)))
        bad = batch.advance_under(commands, 1.0, self._h, setup.substeps)
        if bad >= 0:
            where = f" in lane {bad}" if size > 1 else ""
            raise ValueError(f"action must be finite, got {commands[bad].tolist()}{where}")
        observations = np.empty((self._shown, setup.width), np.float32)
        rewards, terminated, truncated, kept = self._judged(
            observations, again=self.resets_itself, alone=False
        )
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

    def snapshot(self) -> "Snapshot":
        """What `info` needs, copied, so that it can be worked out later or never."""
        count, view = self._kept[1] // physics.LANES - 3, self.batch.block_view()
        rows = [
            view[:, self.kept_from : self.kept_from + count],
            view[:, self.told : self.told + 3],
        ]
        return Snapshot(self, np.concatenate(rows, axis=1).reshape(self._kept))


# Rows that differ from episode to episode where the body does.
_BODY = (
    slice(physics.J, physics.J_INV + 3),
    slice(physics.SCALE, physics.SCALE + 3),
    slice(physics.POTENTIAL, physics.POTENTIAL + 6),
)


class Snapshot:
    """The invariants, reward terms and flags of one instant, computed when asked for."""

    __slots__ = ("_batch", "_copied", "_failed", "_first", "_kept", "_measured", "_setup", "size")

    KEYS = (
        "energy",
        "angular_momentum",
        "quaternion_norm",
        "attitude_error",
        "rate_error",
        "applied_torque",
        "reward_terms",
        "integration_failed",
        "is_success",
    )

    def __init__(self, episodes: Episodes, kept: Array) -> None:
        batch = episodes.batch
        self._batch, self._setup, self.size = batch, episodes.setup, episodes.size
        self._kept = kept
        self._failed = batch.failed if episodes.failed else None
        self._first = episodes.kept_from
        # The next episode may have another body; and a flyer has a force and a mass.
        parts = list(_BODY) if episodes.setup.has_bodies else []
        if isinstance(episodes.setup.actuator.effector, Forces):
            parts.append(slice(batch.actuator_row, batch.block_rows))
        self._copied = [(part, batch.block_view()[:, part].copy()) for part in parts]
        self._measured: dict[str, Array] | None = None

    def _row(self, row: int) -> Array:
        return self._rows()[:, row - self._first].reshape(-1)[: self.size]

    def _rows(self) -> Array:
        return self._kept.reshape(len(self._kept), -1, physics.LANES)

    def _measure(self) -> dict[str, Array]:
        if self._measured is None:
            self._measured = measured(self._batch.kept, self._blocks().reshape(-1), self.size)
        return self._measured

    def _blocks(self) -> Array:
        """The buffer as it was, where it matters."""
        blocks, rows = self._batch.block_view().copy(), self._rows()[:, :-3]
        blocks[:, self._first : self._first + rows.shape[1]] = rows
        for part, values in self._copied:
            blocks[:, part] = values
        return blocks

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of all entries."""
        effector = self._setup.actuator.effector
        force = ("applied_force",) if isinstance(effector, Forces) else ()
        counts = ("contacts",) if self._setup.counts else ()
        return (*self.KEYS, *effector.state_keys(), *force, *counts)

    def _beyond(self) -> dict[str, Array]:
        """What moves beside the attitude."""
        rows = _by_lane(self._blocks())[: self.size]
        beyond = rows[:, physics.BEYOND : physics.BEYOND + 6]
        reference = rows[:, physics.POTENTIAL : physics.POTENTIAL + 3]
        return self._setup.actuator.effector.state(beyond, reference)

    def _applied(self) -> Array:
        """Torque of the last control period, on average [N m, body axes]."""
        torque = _by_lane(self._rows()[:, -3:])[: self.size]
        if not self._setup.actuator.is_direct:
            return torque
        scale = _by_lane(self._blocks()[:, physics.SCALE : physics.SCALE + 3])
        return np.asarray(torque * scale[: self.size])

    def _force(self) -> Array:
        """Force of the last control period, on average [N, body axes]."""
        first = self._batch.actuator_row + APPLIED + 3
        return _by_lane(self._blocks()[:, first : first + 3])[: self.size]

    def __getitem__(self, key: str) -> Any:
        if key in ("energy", "angular_momentum"):
            return self._measure()[key]
        if key in self._setup.actuator.effector.state_keys():
            return self._beyond()[key]
        if key == "contacts":
            return self._row(layout.CONTACTS)
        if key == "applied_torque":
            return self._applied()
        if key == "applied_force":
            return self._force()
        if key == "quaternion_norm":
            return np.linalg.norm(self._measure()["quaternion"], axis=1)
        if key == "attitude_error":
            return 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(self._row(layout.ERROR)), 1.0))
        if key == "rate_error":
            return np.sqrt(self._row(layout.RATE_ERROR))
        if key == "reward_terms":
            return {n: self._row(layout.TERMS + j) for j, n in enumerate(self._setup.terms)}
        if key == "integration_failed":
            return np.zeros(self.size, dtype=bool) if self._failed is None else self._failed
        if key == "is_success":
            return self._row(layout.STREAK) >= self._setup.settled_steps
        raise KeyError(key)


def _by_lane(rows: Array) -> Array:
    """Rows (blocks, count, lanes) as (lane, count), copied."""
    return rows.transpose(0, 2, 1).reshape(-1, rows.shape[1]).copy()


def checked_hook(
    name: str, hook: Callable[..., ArrayLike], shape: tuple[int, ...], *args: Any
) -> Array:
    """What a hook returns, or ValueError if its shape is another or a value is not finite."""
    values = np.array(hook(*args), dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"{name} must return shape {shape}, got {values.shape}")
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        lane = int(np.argmin(finite))
        raise ValueError(f"{name} must return finite values, got {values[lane]} in lane {lane}")
    return values


def checked_seed(seed: Any) -> int:
    """A seed as an int, or a ValueError naming what is allowed."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise ValueError(f"seed must be an integer from 0 to 2**64 - 1, got {seed!r}")
    if not 0 <= int(seed) < _EVERY_SEED:
        raise ValueError(f"seed must be an integer from 0 to 2**64 - 1, got {seed!r}")
    return int(seed)
