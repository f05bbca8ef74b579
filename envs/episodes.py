"""Episodes of a batch of bodies: what the single and the vectorised environment share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import real
from rbgym.compiled.jit import Entry
from rbgym.engine.advance import Advance, by_lane, lay_out
from rbgym.engine.batch import Batch
from rbgym.envs import kernels
from rbgym.envs import rows as at
from rbgym.envs.actuators import Assembly
from rbgym.envs.arguments import named
from rbgym.envs.kernels import TOGETHER, Judging
from rbgym.envs.orbit import Orbit, places_of
from rbgym.envs.parts.starts import Start
from rbgym.envs.parts.uncertainty import Randomization
from rbgym.envs.rows import Parts, TaskRows
from rbgym.integrators.free_scale import REFERENCE, FreeScale
from rbgym.potentials import HeavyTop, Potential
from rbgym.potentials.gravity_gradient import OrbitPotential
from rbgym.quaternion import Array
from rbgym.rows import FAILED, LANES, J
from rbgym.threads import FEWEST_BLOCKS, over_ranges

Flags = NDArray[np.bool_]
Lanes = NDArray[np.intp]
State = dict[str, Array]
Outputs = tuple[NDArray[np.float32], Array, Flags]  # observations, numbers, flags, see `period`
StartGroups = Sequence[tuple[Start, Lanes]]  # what draws the starts of which lanes
_SEEN, _FLAG = np.dtype(np.float32), np.dtype(np.bool_)  # sooner read than the classes
_FLAGS = {"integration_failed": 2, "is_success": 3}  # their rows in `Outputs`


@dataclass(frozen=True)
class Setup:
    """Everything that defines the episodes.

    terms: names of the reward's terms, in the kernel's order. strength: factor of all torques.
    limit: steps after which an episode is truncated. settled_steps: steps in a row inside the
    success region that make a success. width: columns of an observation. hooks: callables by the
    argument that gave them; observation and reward replace a part, termination and disturbance add
    to it. orbit: if there is one. least_time: an estimate [s] of the time to succeed, at full
    torque, 0 if unknown. varied: names in `randomization`. info: names of its entries, see
    `Entries`.
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
    hooks: Mapping[str, Callable[..., ArrayLike]]
    orbit: Orbit | None
    least_time: float
    varied: tuple[str, ...]
    info: tuple[str, ...]


class Entries:
    """The entries of `info` and the rows of a body that they come from. `Setup.info` is ("all",) or
    names the entries. has_parameters: whether `parameters` is one of them.

    copied: the row of the reward, then the rows of the entries. At each step the kernel copies them
    to `Outputs`, where the numbers of all lanes are contiguous.
    """

    def __init__(self, rows: TaskRows, setup: Setup) -> None:
        physics, parts, actuator = rows.physics, setup.parts, rows.physics.actuator
        result, goal, counted = rows.result_row(), rows.goal_row(), parts.tally.counted
        orbit, on_orbit = physics.potential_row(), places_of(physics.potential)
        # A reward of one term has no row for it.
        term = rows.reward_row() if len(setup.terms) > 1 else result + at.REWARD
        places = {
            "attitude_error": (result + at.ERROR, 1),
            "rate_error": (result + at.RATE_ERROR, 1),
            "applied_torque": (actuator.applied_row(physics), 3),
            **{f"reward_{name}": (term + n, 1) for n, name in enumerate(setup.terms)},
            **setup.actuator.places(physics),
            **{n: (orbit + key.first, key.width) for n, key in on_orbit.items()},
            **{n: (goal + key.first, key.width) for n, key in parts.goal.state_keys().items()},
            **{name: (rows.tally_row() + n, 1) for n, name in enumerate(counted)},
            **(setup.actuator.faults.entries(physics) if setup.actuator.faults else {}),
            **parts.constraints.entries(rows.constraint_row()),
        }
        flags = [*_FLAGS.items()]
        for name in setup.info:
            named("info", name, ("all", "parameters", *places, *_FLAGS))
        if "all" not in setup.info:
            places = {name: place for name, place in places.items() if name in setup.info}
            flags = [(name, row) for name, row in flags if name in setup.info]
        self.has_parameters, self._flags = "parameters" in setup.info, flags
        copied, self._scalars, self._vectors = [result + at.REWARD], [], []
        for name, (row, width) in places.items():
            since = len(copied)
            copied += range(row, row + width)
            if width == 1:
                self._scalars.append((name, since))
            else:
                self._vectors.append((name, slice(since, len(copied))))
        self._whole = [n for n in ("fault", "fault_channel") if n in places]  # integers
        self._masks = [f"_{name}" for name in (*places, *dict(flags))]
        self.copied, self.settled = np.array(copied), float(setup.settled_steps)

    def of(self, numbers: Array, flags: Flags, mask: Flags | None = None) -> dict[str, Any]:
        """The entries of all bodies, views of their numbers (k, bodies) and flags (4, bodies), but
        copies of integers. mask: lanes with entries, added as `_name` for each, as in Gymnasium."""
        found: dict[str, Any] = {} if mask is None else dict.fromkeys(self._masks, mask)
        for name, k in self._scalars:
            found[name] = numbers[k]
        for name in self._whole:
            found[name] = found[name].astype(np.int64)
        for name, rows in self._vectors:
            found[name] = numbers[rows].T
        for name, row in self._flags:
            found[name] = flags[row]
        return found

    def of_one(self, numbers: Array, flags: Flags) -> tuple[float, list[bool], dict[str, Any]]:
        """Reward, flags and entries of one body, copies of its numbers (k, 1) and flags (4, 1)."""
        body, ends = numbers[:, 0].copy(), flags[:, 0].tolist()
        values = body.tolist()
        found = {}
        for name, k in self._scalars:  # sooner than in one expression
            found[name] = values[k]
        for name in self._whole:
            found[name] = int(found[name])
        for name, rows in self._vectors:
            found[name] = body[rows]
        for name, row in self._flags:
            found[name] = ends[row]
        return values[0], ends, found


class Episodes:
    """A batch of bodies with their clocks, seeds and outcomes.

    resets_itself: whether a step after the end of an episode begins the seed's next episode.
    commands: (size, channels), of the last step. started: whether there are episodes.
    ready: whether a step is allowed. It is False during a step or reset, so after one that was
    interrupted, or whose hook raised, a reset has to follow. entries: of `info`. fixed: rows that
    neither steps nor resets change, and to what each belongs.
    """

    def __init__(self, batch: Batch, setup: Setup, *, resets_itself: bool = False) -> None:
        self.batch, self.setup, self.size = batch, setup, batch.size
        self.rows = TaskRows(batch.physics, setup.parts)
        self._first_row, self.scratch = self.rows.first_row(), self.rows.scratch()
        self.commands = np.zeros((batch.size, batch.channels))
        self.started = self.ready = False
        # Whether a part writes the disturbance rows in each step; else only a hook does.
        self.pushes = bool(setup.parts.disturbance.largest_torque().any())
        self.entries = entries = Entries(self.rows, setup)
        self.fixed = self._fixed_rows()
        self._width = setup.parts.observation.width() + self.rows.physics.actuator.shown_rows()
        self._copied = len(entries.copied)
        self._period = Entry(kernels.period)
        self._advance = Advance(batch.physics, batch.block_rows)
        self._no_commands, self._aside = np.zeros((0, batch.channels)), np.empty(len(batch.buffer))
        self.stepping = batch.stepping(float(setup.dt / setup.substeps), setup.substeps)
        self._judging = Judging(setup.limit, resets_itself, entries.copied, entries.settled)
        self._judging_once = self._judging._replace(restarts=False)

    def _fixed_rows(self) -> dict[int, str]:
        physics, found = self.rows.physics, dict[int, str]()
        potential, actuator, first = physics.potential, physics.actuator, physics.potential_row()
        drawn = type(self.setup.parts.randomization).vary is not Randomization.vary
        if isinstance(potential, OrbitPotential):
            found = dict.fromkeys(range(first, first + 6), "orbit")  # up to its phase
        elif type(potential).advance_phase is Potential.advance_phase:
            first += drawn and isinstance(potential, HeavyTop)  # whose weight is drawn
            found = dict.fromkeys(range(first, physics.memory_row()), "potential")
        if drawn:  # with all that follows
            return found
        scales = isinstance(physics.scheme, FreeScale)  # then the moments move
        first = physics.memory_row() + REFERENCE if scales else J
        if scales or not self.batch.varies:
            found |= dict.fromkeys(range(first, first + 3), "moments of inertia")
        found |= dict.fromkeys(range(physics.frame_row(), physics.row_count()), "principal axes")
        first = actuator.own_row(physics)
        limits = range(first, first + 3 * actuator.has_limits())
        return found | dict.fromkeys(limits, "torque limit")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_aside"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._aside = np.empty(len(self.batch.buffer))

    def row(self, row: int) -> Array:
        """A copy of one of the rows common to all tasks, (size,)."""
        return self.batch.rows(self._first_row + row, 1)[:, 0]

    def _put(self, row: int, value: ArrayLike, lanes: Lanes | None = None) -> None:
        self.batch.put_row(self._first_row + row, value, lanes)

    @property
    def done(self) -> Flags:
        """Which episodes have ended, (size,)."""
        return self.row(at.TERMINATED) + self.row(at.TRUNCATED) > 0

    def lack(self, call: str = "step") -> str:
        """Why a step, or another call, is not allowed; for error messages."""
        why = "the last step was interrupted, or a hook raised in it: " if self.started else ""
        return f"{why}call reset() before {call}()"

    def at_start(self) -> Flags:
        """Which episodes have not had a step yet, (size,)."""
        return np.asarray(self.row(at.ELAPSED) == 0)

    def seed(self, seeds: NDArray[np.uint64], lanes: Lanes) -> None:
        """Give lanes their seeds; their next episode will be the first."""
        self._put(at.SEED, seeds & np.uint64(0xFFFFFFFF), lanes)
        self._put(at.SEED + 1, seeds >> np.uint64(32), lanes)
        self._put(at.EPISODE, -1.0, lanes)

    def restart(
        self,
        lanes: Lanes,
        out: NDArray[np.float32],
        how: float = at.DRAWN,
        groups: StartGroups = (),
    ) -> None:
        """Begin the next episode of these lanes; writes their rows of `out`.

        how: DRAWN from the seed, or PLACED at the state in the rows; + GIVEN, with the parameters
        in their rows. groups: what draws them, by default the env's own start.
        """
        self._put(at.BEGINNING, how, lanes)
        hooked = "observation" in self.setup.hooks
        for start, some in groups or [(self.setup.parts.start, lanes)]:
            seen = self._begin(start, some)
            if not hooked:
                out[some] = seen
        if hooked:
            out[lanes] = self.observations()[lanes]
        self.started = self.ready = True

    def _begin(self, start: Start, lanes: Lanes) -> Any:
        """Begin the episodes of these lanes, drawn by this start; returns their observations."""
        batch, n = self.batch, len(lanes)
        buffer, blocks = batch.buffer, batch.blocks
        if n < self.size:  # the others stay as they are
            buffer = lay_out(batch.block_view()[lanes // LANES, :, lanes % LANES])
            blocks = -(-n // LANES)
        outputs, rows = self.room(n), self.rows
        rows = rows._replace(parts=rows.parts._replace(start=start))
        self._judge(rows, buffer, outputs, self._judging, 0, blocks)
        if n < self.size:
            batch.put_rows(0, by_lane(buffer, batch.block_rows)[:n], lanes)
        return outputs[0]

    def try_out(self, buffer: Array, commands: Array, outputs: Outputs) -> None:
        """`period` of other bodies, in a buffer of the batch's layout. No episode begins."""
        blocks = len(buffer) // (self.batch.block_rows * LANES)
        self.period(buffer, commands, outputs, self._judging_once, 0, blocks)

    def whole_state(self) -> Array:
        """Every row of every body, including clocks and seeds, (size, r)."""
        return self.without_scratch(self.batch.rows(0, self.batch.block_rows))

    def without_scratch(self, rows: Array) -> Array:
        """The rows, with the unfinished step of failed bodies, which may hold NaN, set to zero."""
        rows[rows[:, FAILED] > 0, self.scratch] = 0.0
        return rows

    def follow(self, rows: Array) -> None:
        """Prepare to step bodies with these rows, see `whole_state`."""
        batch = self.batch
        if batch.follow(rows[:, J : J + 3]):
            self.rows = TaskRows(batch.physics, self.setup.parts)
            self._period = Entry(kernels.period)
            self._advance = Advance(batch.physics, batch.block_rows)

    def put_whole_state(self, rows: Array) -> None:
        """Restore the rows that `whole_state` returned."""
        self.ready = False
        self.follow(rows)
        self.batch.put_rows(0, rows)
        self.started = True

    def is_over(self, rows: Array) -> Flags:
        """Which episodes have ended, (size,), in rows that `whole_state` returned."""
        first = self._first_row
        return rows[:, first + at.TERMINATED] + rows[:, first + at.TRUNCATED] > 0

    def room(self, bodies: int) -> Outputs:
        """New output arrays for so many bodies."""
        lanes = -(-bodies // LANES) * LANES
        seen = np.empty((bodies, self._width), _SEEN)
        return seen, np.empty((self._copied, lanes)), np.empty((4, lanes), _FLAG)

    def period(
        self, buffer: Array, commands: Array, out: Outputs, judging: Judging, first: int, last: int
    ) -> None:
        """A control period of the bodies in the blocks from `first` to before `last`, see
        `kernels.period`.

        buffer: the bodies of the batch, or others of the same layout. commands: (bodies, channels).
        Raises ValueError, and changes nothing, if a command is not finite.
        """
        # The batch's own array is seldom written, so the system seldom gives it memory.
        aside = self._aside if buffer is self.batch.buffer else np.empty(len(buffer))
        args = self.rows, buffer, commands, self.stepping, judging, out, aside, first, last
        left = self._period.call(*args)
        if left < 0:
            where = f" in lane {-1 - left}" if self.size > 1 else ""
            raise ValueError(f"action must be finite, got {commands[-1 - left].tolist()}{where}")
        if left > 0:
            blocks = self._advance.finish(buffer, commands, self.stepping, aside, first, last)
            # Judge the groups of blocks that `kernels.period` left out.
            for begin in np.unique(first + (blocks - first) // TOGETHER * TOGETHER).tolist():
                self._judge(self.rows, buffer, out, judging, begin, min(begin + TOGETHER, last))

    def _judge(
        self, rows: TaskRows, buffer: Array, out: Outputs, judging: Judging, first: int, last: int
    ) -> None:
        """Judge the bodies without stepping them, and begin the episodes that are due."""
        stays, aside = self.stepping._replace(substeps=0), np.empty(0)
        self._period.call(rows, buffer, self._no_commands, stays, judging, out, aside, first, last)

    def observations(self) -> NDArray[np.float32]:
        """The current observations, (size, width)."""
        if "observation" in self.setup.hooks:
            return self._hooked("observation", (self.setup.width,)).astype(np.float32)
        batch, physics, actuator = self.batch, self.rows.physics, self.rows.physics.actuator
        own = batch.rows(self.rows.observation_row(), self.setup.parts.observation.width())
        more = batch.rows(actuator.shown_row(physics), actuator.shown_rows())
        return np.concatenate([own, more], axis=1).astype(np.float32)

    def step(self, commands: Array) -> Outputs:
        """Advance all by one control period under these commands (size, channels).

        Raises ValueError, and changes nothing, if a command is not finite. The caller sets `ready`
        once the step is complete.
        """
        batch, hooks, self.commands = self.batch, self.setup.hooks, commands
        if "disturbance" in hooks:
            row = batch.physics.actuator.disturbance_row(batch.physics)
            before = batch.rows(row, 3)
            pushed = before if self.pushes else 0.0
            batch.put_rows(row, pushed + self._hooked("disturbance", (3,)))
        self.ready = False
        outputs = self.room(self.size)
        try:
            if batch.blocks < FEWEST_BLOCKS:  # not worth a thread
                self.period(batch.buffer, commands, outputs, self._judging, 0, batch.blocks)
            else:
                work = partial(self.period, batch.buffer, commands, outputs, self._judging)
                over_ranges(batch.blocks, work)
        except ValueError:
            if "disturbance" in hooks:
                batch.put_rows(row, before)
            self.ready = True
            raise
        return self._apply_hooks(outputs) if hooks else outputs

    def _apply_hooks(self, outputs: Outputs) -> Outputs:
        """Apply the user's hooks to the outcome of a step."""
        hooks, n = self.setup.hooks, self.size
        observations, numbers, flags = outputs
        if "termination" in hooks:
            flags[0, :n] |= self._hooked("termination", ()).astype(bool) & ~self.at_start()
            self._put(at.TERMINATED, flags[0, :n])
        if "observation" in hooks:
            observations = self.observations()
        if "reward" in hooks:
            rewards = self._hooked("reward", (), np.clip(self.commands, -1.0, 1.0))
            numbers[0, :n] = np.where(self.at_start(), 0.0, rewards)
        return observations, numbers, flags

    def state(self) -> State:
        """quaternion, angular_velocity, angular_momentum, energy, time, target_quaternion and
        target_angular_velocity (target frame), and the actuator's state; first axis: the lane."""
        return state_of(self.batch, self.rows, self.setup.actuator, self.setup.dt)

    def _hooked(self, name: str, shape: tuple[int, ...], *args: Array) -> Array:
        """Call a hook for all lanes; ValueError if it returns a wrong shape."""
        return checked_hook(name, self.setup.hooks[name], (self.size, *shape), self.state(), *args)

    def now(self, entries: Entries | None = None) -> tuple[Array, Flags]:
        """The current numbers and flags of `Outputs`, for the bodies only; entries: other ones."""
        numbers = self.batch.block_view()[:, (entries or self.entries).copied].transpose(1, 0, 2)
        over, late, streak = (self.row(row) for row in (at.TERMINATED, at.TRUNCATED, at.STREAK))
        flags = over > 0.0, late > 0.0, self.batch.failed, streak >= self.entries.settled
        return numbers.reshape(len(numbers), -1)[:, : self.size], np.stack(flags)


def state_of(batch: Batch, rows: TaskRows, actuator: Assembly, dt: float) -> State:
    """See `Episodes.state`."""
    physics, goal, state = rows.physics, rows.parts.goal, batch.measure()
    orbit, own, reported = physics.potential_row(), rows.goal_row(), actuator.places(physics)
    places = {n: reported[n] for n in actuator.state_keys()}
    places |= {n: (orbit + key.first, key.width) for n, key in places_of(physics.potential).items()}
    places |= {n: (own + key.first, key.width) for n, key in goal.state_keys().items()}
    for name, (first, width) in places.items():
        values = batch.rows(first, width)
        state[name] = values[:, 0] if width == 1 else values
    state["time"] = dt * batch.rows(rows.first_row() + at.ELAPSED, 1)[:, 0]
    target = np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], (batch.size, 1))
    if goal.has_target():
        target = batch.rows(rows.goal_row(), 7)
    return {**state, "target_quaternion": target[:, :4], "target_angular_velocity": target[:, 4:]}


def checked_hook(
    name: str, hook: Callable[..., ArrayLike], shape: tuple[int, ...], *args: Any
) -> Array:
    """Call a hook; ValueError if it returns a wrong shape or a value that is not finite."""
    allowed = "a function that returns real numbers or flags"
    values = np.array(real(name, hook(*args), allowed, "iufb"))
    if name == "observation":
        with np.errstate(over="ignore"):  # becomes infinite
            values = values.astype(np.float32)
    if values.shape != shape:
        raise ValueError(f"{name} must return shape {shape}, got {values.shape}")
    finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
    if not finite.all():
        lane = int(np.argmin(finite))
        raise ValueError(f"{name} must return finite values, got {values[lane]} in lane {lane}")
    if name == "termination" and not np.isin(values, (0, 1)).all():
        raise ValueError(f"termination must return flags, got {values}")
    return values
