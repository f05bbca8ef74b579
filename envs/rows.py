"""Rows of a task, behind those of the physics, counted for the parts in use. One buffer for
both: with two, the compiler cannot rule out that they overlap, and vectorises nothing."""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known, missing_methods, place
from rbgym.rows import CORE, LANES, SCRATCH

# What every task has, counted from `TaskRows.first_row`.
ELAPSED = 0  # steps since the start
EPISODE = 1  # number of the lane's episode since its seed was given
SEED = 2  # 2: lower and upper 32 bits of the lane's seed
BEGINNING = 4  # while an episode begins, how: one of these two, or that + GIVEN; else 0.0
DRAWN, PLACED = 1.0, 2.0
GIVEN = 0.5  # parameters stand in their rows, NaN for those to be drawn
STREAK = 5  # steps in a row that ended inside the success region
TERMINATED = 6
TRUNCATED = 7
COMMON = 8

# What every judgement tells anew, counted from `TaskRows.told_row`.
ERROR = 0  # angle that the attitude is off [rad]
RATE_ERROR = 1  # angular velocity that is off [rad/s]
REWARD = 2
TOLD = 3

_FREE = CORE - SCRATCH  # rows of the solver, free between steps


class Key(NamedTuple):
    """Rows of something: the first, counted from those of what has it, and how many; where it
    starts if nothing is said, and the least and the most that a start may be given."""

    first: int
    width: int
    rest: float = 0.0
    low: float = -math.inf
    high: float = math.inf


class Part(Record):
    """What all parts of a task have. is_noisy: whether it uses the key of the noise."""

    is_noisy = constant(False)

    def rows_needed(self, physics):
        """Number of rows of its own; known while compiling."""
        return 0

    def sketch(self, instant):
        """What it adds to a picture: shapes of an `Instant`, and lines of the caption."""
        return ()


def checked_part(argument: str, value: Any, kind: type) -> Any:
    """The part, or ValueError unless it is one of this kind with all its methods."""
    if not isinstance(value, kind):
        raise ValueError(f"{argument} must be a {kind.__name__}, got {value!r}")
    if missing := missing_methods(type(value)):
        raise ValueError(
            f"{argument} must be of a class with the methods {', '.join(missing)}, got {value!r}"
        )
    return value


class Parts(NamedTuple):
    """What a task is made of, as the kernels need it: each from the file of that name."""

    observation: Any
    sensor: Any
    goal: Any
    reference: Any
    reward: Any
    success: Any
    ends: Any
    start: Any
    randomization: Any
    disturbance: Any
    tally: Any
    constraints: Any


class Places(NamedTuple):
    """Where the rows of a task's parts begin, see `TaskRows`."""

    first: int
    goal: int
    reference: int
    sensor: int
    reward: int
    tally: int
    constraint: int
    randomization: int
    noise: int
    shown: int
    told: int
    number: int


class TaskRows(Record):
    """Where a number of a task stands; every part reaches the others by it. Behind the rows of
    every task come those of the parts; of row r, the lane at i has buffer[i + r * LANES]."""

    physics: Any
    parts: Any

    @known
    def laid_out(self):
        """The first row of each, and behind them the number of the task's rows."""
        physics, parts = self.physics, self.parts
        first = physics.row_count()
        goal = first + COMMON
        reference = goal + parts.goal.rows_needed(physics)
        sensor = reference + parts.reference.rows_needed(physics)
        reward = sensor + parts.sensor.rows_needed(physics)
        tally = reward + parts.reward.rows_needed(physics)
        constraint = tally + parts.tally.rows_needed(physics)
        randomization = constraint + parts.constraints.rows_needed(physics)
        noise = randomization + parts.randomization.rows_needed(physics)
        last = noise + (1 if self.is_noisy() else 0)
        # What is shown and told stands where the solver works, as far as it fits.
        width = parts.observation.width()
        shown, told, more = SCRATCH, CORE - TOLD, 0
        if width > _FREE:
            shown, more = last, width
        elif width > _FREE - TOLD:
            told, more = last, TOLD
        return Places(
            first, goal, reference, sensor, reward, tally, constraint, randomization, noise, shown,
            told, last + more - first,
        )  # fmt: skip

    first_row = place("laid_out", "first")
    goal_row = place("laid_out", "goal")
    reference_row = place("laid_out", "reference")
    sensor_row = place("laid_out", "sensor")
    reward_row = place("laid_out", "reward")
    tally_row = place("laid_out", "tally")
    constraint_row = place("laid_out", "constraint")
    randomization_row = place("laid_out", "randomization")
    noise_row = place("laid_out", "noise", "Key of the episode's noise, an integer below 2**53.")
    observation_row = place("laid_out", "shown")
    told_row = place("laid_out", "told")
    row_count = place("laid_out", "number", "Number of the task's rows.")

    @known
    def is_noisy(self):
        """Whether a part takes a key of the episode's noise."""
        return self.parts.sensor.is_noisy() or self.parts.disturbance.is_noisy()

    def scratch(self) -> slice:
        """Rows that between steps hold nothing of use, nor always a number."""
        width = self.parts.observation.width()
        shown, told = self.observation_row() == SCRATCH, self.told_row() == CORE - TOLD
        return slice(SCRATCH + (width if shown else 0), CORE - (TOLD if told else 0))

    def elapsed(self, buffer, i):
        """Steps of the episode so far."""
        return buffer[i + (self.first_row() + ELAPSED) * LANES]

    def noise_key(self, buffer, i):
        return buffer[i + self.noise_row() * LANES]

    def is_given(self, buffer, i):
        """Whether parameters of the episode that begins were given, see `settle`."""
        how = buffer[i + (self.first_row() + BEGINNING) * LANES]
        return math.floor(how) < how


@inlined
def settle(buffer, k, given, drawn):
    """Settle number k, a parameter, for an episode: as it stands, if it was given, else as it is
    drawn. given: whether any was; NaN then stands for one that was not."""
    value = buffer[k] if given & (buffer[k] == buffer[k]) else drawn
    buffer[k] = value
    return value


@inlined
def settle_vector(buffer, i, row, given, drawn):
    """The same of three numbers."""
    k = i + row * LANES
    return (
        settle(buffer, k, given, drawn[0]),
        settle(buffer, k + LANES, given, drawn[1]),
        settle(buffer, k + 2 * LANES, given, drawn[2]),
    )
