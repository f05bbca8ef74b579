"""Randomisation of actuators from episode to episode."""

import math
from typing import Any

from rbgym.compiled.record import constant
from rbgym.envs.actuators.driven import LineStage
from rbgym.envs.rows import settle, settle_vector
from rbgym.quaternion import scale, to_world
from rbgym.rows import LANES, parameter, vector

# Names in `randomization`, and the largest half-width, angle or probability allowed.
RANGES = {"actuator_scale": 0.9, "misalignment": 1.0, "delay": 0.9, "friction": 0.9, "failure": 1.0}
_GAINS = 5  # the first row of the commands' factors


class Differing(LineStage):
    """Draws the actuator's parameters for each episode, from distributions of `rbgym.envs.random`.

    scale: of each command's factor; misalignment: of the angle [rad] that turns the effector about
    a uniform axis; delay, friction: of the factors on the delay and on the friction of wheels;
    failure: probability that one command, drawn among all, has no effect.

    Rows, from `mounting_row` on: the vector part of the quaternion that turns the effector in the
    body, 3; factors of the delay, of the friction and of the commands.
    """

    scale: Any
    misalignment: Any
    delay: Any
    friction: Any
    failure: float
    differs_in_friction = constant(True)

    def rows_needed(self, physics):
        return _GAINS + physics.actuator.channels()

    def gain(self, physics, buffer, i, n):
        return buffer[i + (physics.actuator.mounting_row(physics) + _GAINS + n) * LANES]

    def friction_factor(self, physics, buffer, i):
        return parameter(buffer, i + (physics.actuator.mounting_row(physics) + 4) * LANES)

    def misalign(self, physics, buffer, i, v):
        x, y, z = vector(buffer, i, physics.actuator.mounting_row(physics))
        return to_world((math.sqrt(1.0 - (x * x + y * y + z * z)), x, y, z), v)

    def mount(self, physics, buffer, i, given, v, w):
        row, count = physics.actuator.mounting_row(physics), physics.actuator.channels()
        # w[0] decides both whether a command fails and which.
        failing = w[0] < self.failure
        which = math.floor(w[0] / self.failure * count) if failing else -1.0
        for n in range(count):
            factor = 0.0 if which == n else self.scale.quantile(v[n])
            settle(buffer, i + (row + _GAINS + n) * LANES, given, factor)
        z, around = 2.0 * w[1] - 1.0, math.tau * w[2]
        across = math.sqrt(max(1.0 - z * z, 0.0))
        axis = (across * math.cos(around), across * math.sin(around), z)
        more = 1024.0 * w[1]
        factor = self.friction.quantile(more - math.floor(more))
        settle(buffer, i + (row + 4) * LANES, given, factor)
        # w[3] gives the delay by its leading digits, the angle by those that follow.
        fine = 1024.0 * w[3]
        size = math.sin(0.5 * self.misalignment.quantile(fine - math.floor(fine)))
        settle_vector(buffer, i, row, given, scale(size, axis))
        factor = self.delay.quantile(math.floor(fine) / 1023.0)
        factor = settle(buffer, i + (row + 3) * LANES, given, factor)
        physics.actuator.line.delay.set_delay(physics, buffer, i, factor)
