"""Faults that occur during an episode: of one command, or of the sensors."""

import math
from typing import Any

import numpy as np

from rbgym.arguments import finite
from rbgym.envs.actuators.driven import LineStage
from rbgym.envs.arguments import in_range, keys, named
from rbgym.envs.random import numbers
from rbgym.rows import LANES

KINDS = ("stuck", "weak", "runaway", "sensor")  # in `info` by their number, from 1 on
_STUCK, _WEAK, _RUNAWAY, _SENSOR = 1.0, 2.0, 3.0, 4.0
# Rows: three that `info` has; periods so far; factor and summand that replace the command.
_KIND, _CHANNEL, _TIME, _PERIODS, _FACTOR, _SUMMAND = range(6)
_LATEST = 1e9  # s


class Faults(LineStage):
    """Draws at most one fault for each episode, with a probability.

    Its kind is one of the first `several` of `kinds` (by number), its time uniform in [first, last]
    [s]; it starts with the next control period. stuck: a command has no effect; weak: `strength` of
    it has; runaway: full command of either sign, whatever is asked. These hit one command, drawn
    among all, after delay, lag and mounting. sensor: measurements freeze at those of the control
    period before. dt: control period [s].
    """

    probability: float
    several: int
    kinds: tuple[float, float, float, float]
    strength: float
    first: float
    last: float
    dt: float

    def rows_needed(self, physics):
        return 6

    def strike(self, physics, buffer, i, seed, episode):
        u = numbers(seed, episode, np.uint64(13))
        k, channels = i + physics.actuator.fault_row(physics) * LANES, physics.actuator.channels()
        share = self.several * u[1]
        which = math.floor(share)
        fails = u[0] < self.probability
        kind = self.kinds[int(which)] if fails else 0.0
        # The kind uses the leading digits; the later ones give the sign.
        sign = 1.0 if share - which < 0.5 else -1.0
        strikes = fails & (kind != _SENSOR)
        buffer[k + _KIND * LANES] = kind
        buffer[k + _CHANNEL * LANES] = float(math.floor(channels * u[2])) if strikes else -1.0
        time = self.first + (self.last - self.first) * u[3]
        buffer[k + _TIME * LANES] = time if fails else -1.0
        buffer[k + _PERIODS * LANES] = 0.0
        buffer[k + _FACTOR * LANES] = self.strength if kind == _WEAK else 0.0
        buffer[k + _SUMMAND * LANES] = sign if kind == _RUNAWAY else 0.0

    def count_period(self, physics, buffer, i):
        buffer[i + (physics.actuator.fault_row(physics) + _PERIODS) * LANES] += 1.0

    def apply_fault(self, physics, buffer, i, n, c):
        k = i + physics.actuator.fault_row(physics) * LANES
        now = self.dt * (buffer[k + _PERIODS * LANES] - 1.0 + 1e-9)
        struck = (buffer[k + _CHANNEL * LANES] == n) & (now >= buffer[k + _TIME * LANES])
        left = buffer[k + _FACTOR * LANES] * c + buffer[k + _SUMMAND * LANES]
        return left if struck else c

    def blinds(self, physics, buffer, i):
        """Whether the sensors have failed by now; False before the first control period."""
        k = i + physics.actuator.fault_row(physics) * LANES
        periods = buffer[k + _PERIODS * LANES]
        late = (self.dt * (periods + 1e-9) >= buffer[k + _TIME * LANES]) & (periods > 0.0)
        return late & (buffer[k + _KIND * LANES] == _SENSOR)

    def may_blind(self) -> bool:
        """Whether a sensor fault can occur."""
        return _SENSOR in self.kinds

    def entries(self, physics):
        """Row and width of its entries in `info`, by name."""
        names, row = ("fault", "fault_channel", "fault_time"), physics.actuator.fault_row(physics)
        return {name: (row + n, 1) for n, name in enumerate(names)}


def resolve_faults(value: Any, dt: float) -> Faults | None:
    """The faults that the argument `faults` describes; dt: control period [s]."""
    if value is None:
        return None
    given = keys("faults", value, ("time", "kinds", "probability", "strength"))
    if "time" not in given:
        raise ValueError(f"faults must have time, first and last onset [s], got {value!r}")
    first, last = finite("faults['time']", given["time"], (2,)).tolist()
    if not 0.0 <= first <= last <= _LATEST:
        raise ValueError(
            f"faults['time'] must be first and last onset in [0, {_LATEST:g}] s, "
            f"got {given['time']!r}"
        )
    kinds = given.get("kinds", KINDS)
    if not isinstance(kinds, list | tuple) or not 0 < len(kinds) <= len(KINDS):
        raise ValueError(f"faults['kinds'] must be a list out of {list(KINDS)}, got {kinds!r}")
    for kind in kinds:
        named("faults['kinds']", kind, KINDS)
    # Always four numbers, so that fewer kinds reuse the compiled code.
    codes: Any = tuple(1.0 + KINDS.index(kind) for kind in (*kinds, *[kinds[0]] * 3)[:4])
    probability = in_range("faults['probability']", given.get("probability", 1.0), 0.0, 1.0)
    strength = in_range("faults['strength']", given.get("strength", 0.5), 0.0, 1.0)
    return Faults(probability, len(kinds), codes, strength, first, last, dt)
