"""Parts of the line as a user names them: each checks its numbers, and makes the kernel's part."""

import math
from dataclasses import dataclass
from typing import ClassVar

from rbgym.envs.actuators.line import Delayed, Lagging, Pulsed
from rbgym.envs.actuators.setting import Setting, numbers


@dataclass(frozen=True)
class Lag:
    """The response follows a command by a first-order lag, time_constant [s]: exact for a command
    that is held. Shown: the response, in [-1, 1]."""

    time_constant: float

    def __post_init__(self) -> None:
        numbers(self, "time_constant")

    def part(self, setting: Setting) -> Lagging:
        """The kernel's part."""
        ratio = setting.h / self.time_constant
        return Lagging(math.exp(-ratio), -math.expm1(-ratio) / ratio)


@dataclass(frozen=True)
class Delay:
    """A pure delay of some seconds, of any length below that of an episode and up to 32 control
    periods. Shown: the commands that have yet to act, the newest first."""

    seconds: float
    most: ClassVar = 32  # control periods

    def __post_init__(self) -> None:
        numbers(self, "seconds", zero=True)

    def part(self, setting: Setting, spread: float = 0.0) -> Delayed:
        """The kernel's part; spread: half-width of the factor of the delay."""
        # Cut, since no integer is as large as the largest float over a small dt.
        delay = min((1.0 + spread) * self.seconds, 1e9 * setting.dt)
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
        return Delayed(float(self.seconds), (0.0,) * max(periods, 1))


@dataclass(frozen=True)
class Thrusters:
    """Valves that are open or shut: a command is the part of the control period for which the
    thruster is on, at full torque, rounded to a multiple of `minimum_pulse` [s]; where that is more
    than there is of the period, it stays on for all of it."""

    minimum_pulse: float = 0.01

    def __post_init__(self) -> None:
        numbers(self, "minimum_pulse")

    def part(self, setting: Setting) -> Pulsed:
        """The kernel's part."""
        if self.minimum_pulse > setting.dt:
            raise ValueError(
                f"Thrusters.minimum_pulse must be at most the control period of {setting.dt:g} s, "
                f"got {self.minimum_pulse!r}"
            )
        return Pulsed(float(self.minimum_pulse))
