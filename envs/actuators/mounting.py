"""How actuators differ from episode to episode."""

import math

from rbgym.envs.actuators.driven import Stage
from rbgym.quaternion import scale, to_world
from rbgym.rows import LANES, put_vector, vector

# Names of the half-widths and probabilities in `randomization`, and the largest there may be.
RANGES = {"actuator_scale": 0.9, "misalignment": 1.0, "delay": 0.9, "failure": 1.0}


class Differing(Stage):
    """Drawn for each episode.

    scale: half-width of the factor of each command; misalignment: largest angle [rad] by which the
    whole is turned, about a uniform axis; delay: half-width of the factor of the delay; failure:
    probability that one command, drawn among all, has no effect.

    Rows, from `mounting_row` on: the vector part of the quaternion that turns the effector in the
    body, 3; factors of the commands.
    """

    scale: float
    misalignment: float
    delay: float
    failure: float

    def rows_needed(self, physics):
        return 3 + physics.actuator.channels()

    def gain(self, physics, buffer, i, n):
        return buffer[i + (physics.actuator.mounting_row(physics) + 3 + n) * LANES]

    def turned(self, physics, buffer, i, v):
        x, y, z = vector(buffer, i, physics.actuator.mounting_row(physics))
        return to_world((math.sqrt(1.0 - (x * x + y * y + z * z)), x, y, z), v)

    def mount(self, physics, buffer, i, v, w):
        row, count = physics.actuator.mounting_row(physics), physics.actuator.channels()
        # One of the numbers does for two draws: whether a command fails, and which.
        failing = w[0] < self.failure
        which = math.floor(w[0] / self.failure * count) if failing else -1.0
        for n in range(count):
            factor = 1.0 + self.scale * (2.0 * v[n] - 1.0)
            buffer[i + (row + 3 + n) * LANES] = 0.0 if which == n else factor
        z, around = 2.0 * w[1] - 1.0, math.tau * w[2]
        across = math.sqrt(max(1.0 - z * z, 0.0))
        axis = (across * math.cos(around), across * math.sin(around), z)
        # And so does another, by its leading digits and those that follow: delay and angle.
        fine = 1024.0 * w[3]
        size = math.sin(0.5 * self.misalignment * (fine - math.floor(fine)))
        put_vector(buffer, i, row, scale(size, axis))

    def delay_factor(self, w):
        return 1.0 + self.delay * (2.0 * math.floor(1024.0 * w[3]) / 1023.0 - 1.0)
