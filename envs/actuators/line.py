"""Elements that a command passes through: pulse modulation, a pure delay, a first-order lag. Each
returns, for every step of the integrator, the mean of its exact response to its input, which for a
later element is itself such a mean."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rbgym.compiled.record import constant
from rbgym.envs.actuators.driven import LineStage
from rbgym.envs.actuators.effector import Element, Setting
from rbgym.rows import LANES


@dataclass(frozen=True)
class Thrusters(Element):
    """On-off thrusters: a command is the fraction of the control period for which the thruster is
    on, at full torque. The pulse is rounded to a multiple of `minimum_pulse` [s] and cut at the
    period, which a full command fills. Wheels in the same actuator are not modulated."""

    minimum_pulse: float = 0.01
    positive: ClassVar = ("minimum_pulse",)
    uses_limits: ClassVar[bool] = True

    def record(self, setting: Setting) -> "Pulsed":
        if self.minimum_pulse > setting.dt:
            raise ValueError(
                f"Thrusters.minimum_pulse must be at most the control period of {setting.dt:g} s, "
                f"got {self.minimum_pulse!r}"
            )
        return Pulsed(float(self.minimum_pulse))


class Pulsed(LineStage):
    """A command acts at full strength for a part of the period, a multiple of `pulse` seconds.
    first: the first modulated command; those before it act unchanged."""

    pulse: float
    first: int = 0

    def integral(self, n, c, start, end, dt):
        if n < self.first:
            return c * (end - start)
        # With a tiny pulse there are more of them than integers: np.floor gives a float.
        on = dt if abs(c) >= 1.0 else self.pulse * np.floor(abs(c) * dt / self.pulse + 0.5)
        length = max(min(on, end) - start, 0.0)
        return length if c > 0.0 else -length


@dataclass(frozen=True)
class Delay(Element):
    """A pure delay, shorter than an episode and at most 32 control periods. The observation shows
    the commands that have yet to act, the newest first."""

    seconds: float
    not_negative: ClassVar = ("seconds",)
    most: ClassVar = 32  # control periods

    def record(self, setting: Setting) -> "Delayed":
        factor = setting.spread.delay.highest if setting.spread else 1.0
        # Cut, since the largest float over a small dt is infinite, which has no integer.
        delay = min(factor * self.seconds, 1e9 * setting.dt)
        periods = math.ceil(delay / setting.dt - 1e-9)
        if periods >= setting.horizon:
            raise ValueError(
                f"Delay.seconds must be less than the {setting.horizon * setting.dt:g} s of an "
                f"episode, got {self.seconds!r}"
            )
        if periods > self.most:
            raise ValueError(
                f"Delay.seconds must be at most {self.most} control periods of {setting.dt:g} s, "
                f"got {self.seconds!r}"
            )
        return Delayed(float(self.seconds), max(periods, 1))


class Delayed(LineStage):
    """A delay of some seconds; periods: the most control periods that it can span. Rows, from
    `queue_row` on: the commands of this period, of the last one, and so on, of which the oldest are
    not shown; the delay of the episode [s]."""

    seconds: float
    periods: int

    def slots(self):
        return self.periods  # commands that have yet to act

    def rows_needed(self, physics):
        return physics.actuator.channels() * (self.periods + 1) + 1

    def _late_row(self, physics):
        actuator = physics.actuator
        return actuator.queue_row(physics) + actuator.channels() * (self.periods + 1)

    def set_delay(self, physics, buffer, i, factor):
        buffer[i + self._late_row(physics) * LANES] = factor * self.seconds

    def queue(self, physics, buffer, i):
        actuator, count = physics.actuator, physics.actuator.channels()
        k = i + actuator.queue_row(physics) * LANES
        for n in range(count * self.periods - 1, -1, -1):
            buffer[k + (n + count) * LANES] = buffer[k + n * LANES]
        for n in range(count):
            buffer[k + n * LANES] = buffer[i + (actuator.command_row(physics) + n) * LANES]

    def signal(self, physics, buffer, i, n, start, h, dt):
        actuator, late = physics.actuator, buffer[i + self._late_row(physics) * LANES]
        begin = start - late
        ago = min(max(-math.floor(begin / dt), 0.0), float(self.periods))  # periods
        begin = max(begin + ago * dt, 0.0)
        k, count = i + (actuator.queue_row(physics) + n) * LANES, actuator.channels()
        older = buffer[k + int(ago) * count * LANES]
        newer = buffer[k + int(max(ago - 1.0, 0.0)) * count * LANES]
        total = actuator.line.pulses.integral(n, older, begin, min(begin + h, dt), dt)
        total += actuator.line.pulses.integral(n, newer, 0.0, max(begin + h - dt, 0.0), dt)
        return total / h


@dataclass(frozen=True)
class Lag(Element):
    """The response follows a command with a first-order lag of time_constant [s], exact for a held
    command. The observation shows the response, in [-1, 1]."""

    time_constant: float
    positive: ClassVar = ("time_constant",)

    def record(self, setting: Setting) -> "Lagging":
        ratio = setting.h / self.time_constant
        return Lagging(math.exp(-ratio), -math.expm1(-ratio) / ratio)


class Lagging(LineStage):
    """First-order lag: the fraction of a difference left after a step, and on average in it."""

    decay: float
    mean: float
    slots = constant(1)

    def rows_needed(self, physics):
        return physics.actuator.channels()

    def respond(self, buffer, k, c):
        lack = buffer[k] - c
        buffer[k] = min(max(c + self.decay * lack, -1.0), 1.0)
        return c + self.mean * lack
