"""The layout of a task's rows in the buffer, after the rows of the physics.

Both share one buffer. With two, the compiler would have to assume that they overlap, and would not
vectorise.
"""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import inlined
from rbgym.compiled.record import Record, constant, known, missing_methods, places
from rbgym.rows import CORE, LANES, SCRATCH

# Rows common to all tasks, counted from `TaskRows.first_row`.
ELAPSED = 0  # steps since the start
EPISODE = 1  # number of the lane's episode since its seed was set
SEED = 2  # 2: lower and upper 32 bits of the lane's seed
BEGINNING = 4  # while an episode begins: DRAWN or PLACED, perhaps + GIVEN; else 0.0
DRAWN, PLACED = 1.0, 2.0
GIVEN = 0.5  # parameters are in their rows; NaN means to draw one
STREAK = 5  # steps in a row that ended inside the success region
TERMINATED = 6
TRUNCATED = 7
COMMON = 8

# Results that every judgement writes, counted from `TaskRows.result_row`.
ERROR = 0  # of the attitude [rad]
RATE_ERROR = 1  # [rad/s]
REWARD = 2
RESULTS = 3

_FREE = CORE - SCRATCH  # rows of the solver, free between steps


class Key(NamedTuple):
    """Rows of a named quantity. first: counted from the first row of its owner; width: their
    number. rest: its default at a start; low, high: bounds of a value that a user may set."""

    first: int
    width: int
    rest: float = 0.0
    low: float = -math.inf
    high: float = math.inf


class Part(Record):
    """Base of all parts of a task, see rbgym.envs.parts.

    is_noisy: whether it uses the episode's noise key, which sensors and disturbances may.
    is_on_orbit: whether it needs an orbit; faces_sun: whether it needs an orbit with a Sun.
    """

    is_noisy = constant(False)
    is_on_orbit = constant(False)
    faces_sun = constant(False)

    def rows_needed(self, physics):
        """Number of rows of its own, which hold finite numbers; known while compiling."""
        return 0

    def memory_entries(self, physics: Any) -> dict[str, range]:
        """Rows of its memory on which its next result depends smoothly, by name."""
        return {}

    def sketch(self, instant):
        """Shapes that it adds to a picture, mostly made by an `Instant` of rbgym.envs.rendering,
        and lines of the caption."""
        return ()


def checked_part(argument: str, value: Any, kind: type) -> Any:
    """The part; ValueError unless it is of this class and has all its methods."""
    if not isinstance(value, kind):
        raise ValueError(f"{argument} must be a {kind.__name__}, got {value!r}")
    if missing := missing_methods(type(value)):
        raise ValueError(
            f"{argument} must be of a class with the methods {', '.join(missing)}, got {value!r}"
        )
    return value


def says(part: Any, name: str) -> bool:
    """Whether a part, or one inside it, returns True for `name`, such as `is_noisy`."""
    return isinstance(part, tuple) and bool(
        getattr(part, name, bool)() or any(says(one, name) for one in part)
    )


class Parts(NamedTuple):
    """The parts of a task, as the kernels use them; modules of rbgym.envs.parts define them."""

    observation: Any
    sensor: Any
    outage: Any
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


class TaskRows(Record):
    """The place of every number of a task. Each part gets it, and reaches the other parts by it.

    physics: `rbgym.rows.Physics`. parts: `Parts`. The rows common to all tasks come first, then
    those that the parts declare. Row r of the lane at i is buffer[i + r * LANES].
    """

    physics: Any
    parts: Any

    @known
    def laid_out(self):
        """The first row of each part, and the number of the task's rows. noise: key of the
        episode's noise, an integer below 2**53."""
        physics, parts = self.physics, self.parts
        first = physics.row_count()
        goal = first + COMMON
        reference = goal + parts.goal.rows_needed(physics)
        sensor = reference + parts.reference.rows_needed(physics)
        outage = sensor + parts.sensor.rows_needed(physics)
        reward = outage + parts.outage.rows_needed(physics)
        tally = reward + parts.reward.rows_needed(physics)
        constraint = tally + parts.tally.rows_needed(physics)
        randomization = constraint + parts.constraints.rows_needed(physics)
        noise = randomization + parts.randomization.rows_needed(physics)
        last = noise + (1 if self.is_noisy() else 0)
        # Observation and results reuse the solver's rows, if they fit.
        width = parts.observation.width()
        shown, result, more = SCRATCH, CORE - RESULTS, 0
        if width > _FREE:
            shown, more = last, width
        elif width > _FREE - RESULTS:
            result, more = last, RESULTS
        return (
            first, goal, reference, sensor, outage, reward, tally, constraint, randomization, noise,
            shown, result, last + more - first,
        )  # fmt: skip

    (
        first_row, goal_row, reference_row, sensor_row, outage_row, reward_row, tally_row,
        constraint_row, randomization_row, noise_row, observation_row, result_row, row_count,
    ) = places(laid_out, 13)  # fmt: skip

    @known
    def is_noisy(self):
        """Whether a part uses the episode's noise key."""
        return self.parts.sensor.is_noisy() or self.parts.disturbance.is_noisy()

    def scratch(self) -> slice:
        """Rows without meaning between steps, which may hold NaN."""
        width = self.parts.observation.width()
        shown, result = self.observation_row() == SCRATCH, self.result_row() == CORE - RESULTS
        return slice(SCRATCH + (width if shown else 0), CORE - (RESULTS if result else 0))

    def elapsed(self, buffer, i):
        """Steps of the episode so far."""
        return buffer[i + (self.first_row() + ELAPSED) * LANES]

    def noise_key(self, buffer, i):
        return buffer[i + self.noise_row() * LANES]

    def is_given(self, buffer, i):
        """Whether the user gave parameters for the episode that begins, see `settle`."""
        how = buffer[i + (self.first_row() + BEGINNING) * LANES]
        return math.floor(how) < how


@inlined
def settle(buffer, k, given, drawn):
    """Set parameter k of an episode, and return it: the number in its row if the user gave it, else
    `drawn`. given: whether the user gave any parameter; NaN then marks the others."""
    value = buffer[k] if given & (buffer[k] == buffer[k]) else drawn
    buffer[k] = value
    return value


@inlined
def settle_vector(buffer, i, row, given, drawn):
    """`settle` for three numbers."""
    k = i + row * LANES
    return (
        settle(buffer, k, given, drawn[0]),
        settle(buffer, k + LANES, given, drawn[1]),
        settle(buffer, k + 2 * LANES, given, drawn[2]),
    )
