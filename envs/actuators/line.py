"""What happens to a command on its way: modulation to pulses, a pure delay, a first-order lag.

All three give the mean over each step of the integrator: of the exact response to what comes in, a
mean itself behind another.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from rbgym.compiled.record import constant
from rbgym.envs.actuators.driven import Stage
from rbgym.envs.actuators.effector import Element, Setting
from rbgym.rows import LANES


@dataclass(frozen=True)
class Thrusters(Element):
    """Valves that are open or shut: a command is the part of the control period for which the
    thruster is on, at full torque, rounded to a multiple of `minimum_pulse` [s]; where that is more
    than there is of the period, it stays on for all of it. Wheels beside them have no valves."""

    minimum_pulse: float = 0.01
    positive: ClassVar = ("minimum_pulse",)

    def record(self, setting: Setting) -> "Pulsed":
        if self.minimum_pulse > setting.dt:
            raise ValueError(
                f"Thrusters.minimum_pulse must be at most the control period of {setting.dt:g} s, "
                f"got {self.minimum_pulse!r}"
            )
        return Pulsed(float(self.minimum_pulse))


class Pulsed(Stage):
    """A command acts at full strength for a part of the period, a multiple of `pulse` seconds.

    first: of the commands that do; those before it act at their own strength.
    """

    pulse: float
    first: int = 0

    def integral(self, n, c, start, end, dt):
        if n < self.first:
            return c * (end - start)
        on = self.pulse * math.floor(abs(c) * dt / self.pulse + 0.5)
        length = max(min(on, end) - start, 0.0)
        return length if c > 0.0 else -length


@dataclass(frozen=True)
class Delay(Element):
    """A pure delay of some seconds, of any length below that of an episode and up to 32 control
    periods. Shown: the commands that have yet to act, the newest first."""

    seconds: float
    not_negative: ClassVar = ("seconds",)
    most: ClassVar = 32  # control periods

    def record(self, setting: Setting) -> "Delayed":
        factor = setting.spread.delay.highest if setting.spread else 1.0
        # Cut, since no integer is as large as the largest float over a small dt.
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


class Delayed(Stage):
    """A delay of some seconds; periods: how many may begin before it is over.

    Rows, from `queue_row` on: the commands of this period, of the last one, and so on, the oldest
    not to be shown; the delay of the episode [s].
    """

    seconds: float
    periods: int

    def slots(self):
        return self.periods  # commands that are yet to act

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
    """The response follows a command by a first-order lag, time_constant [s]: exact for a command
    that is held. Shown: the response, in [-1, 1]."""

    time_constant: float
    positive: ClassVar = ("time_constant",)

    def record(self, setting: Setting) -> "Lagging":
        ratio = setting.h / self.time_constant
        return Lagging(math.exp(-ratio), -math.expm1(-ratio) / ratio)


class Lagging(Stage):
    """What is left of a difference after a step, and on average during it: first order."""

    decay: float
    mean: float
    slots = constant(1)

    def rows_needed(self, physics):
        return physics.actuator.channels()

    def respond(self, buffer, k, c):
        lack = buffer[k] - c
        buffer[k] = min(max(c + self.decay * lack, -1.0), 1.0)
        return c + self.mean * lack
