"""How a target moves."""

import math

from rbgym.compiled.jit import inlined
from rbgym.engine.rows import LANES, put_quaternion, put_vector, quaternion, vector
from rbgym.envs.parts import Part
from rbgym.quaternion import add, cos_sin, qmul, to_body

# Of a target that wanders, from its first row on.
_FREQUENCY = 0  # 3, of the angles about z, y and x [rad/s]
_PHASE = 3  # 3, in turns
_START = 6  # 4: its attitude at the beginning
_RATE = 10  # 3: its angular velocity, target frame [rad/s]


class Reference(Part):
    """How a target moves; as it stands, not at all."""

    def set_out(self, rows, buffer, i, a, b):
        """Draw the motion of the lane's target, whose attitude is set, from eight uniform numbers."""

    def follow(self, rows, buffer, i):
        """Move the lane's target to where it is after the steps so far."""

    def ahead(self, rows, buffer, i, seconds):
        """The target's attitude some time from now."""
        return rows.parts.goal.target(rows, buffer, i)

    def target_rate(self, rows, buffer, i):
        """The target's angular velocity, target frame [rad/s]."""
        return (0.0, 0.0, 0.0)


class Still(Reference):
    """The target stays where it is."""


class Wandering(Reference):
    """The target turns smoothly: R(t) = R(0) R_z(a) R_y(b) R_x(c), each angle a swing
    amplitude (sin(w t + p) - sin p) of its own frequency w and phase p.

    amplitude [rad]; slow, fast: range of the frequencies [rad/s]; dt: control period [s].
    """

    amplitude: float
    slow: float
    fast: float
    dt: float

    def largest_rate(self) -> float:
        """Bound of the target's angular velocity [rad/s]."""
        # Of the three axes, z and x may come to lie together.
        return math.sqrt(5.0) * self.amplitude * self.fast

    def rows_needed(self, physics):
        return 13

    def set_out(self, rows, buffer, i, a, b):
        k, span = i + rows.reference_row() * LANES, self.fast - self.slow
        for n in range(3):
            buffer[k + (_FREQUENCY + n) * LANES] = self.slow + span * a[n]
            buffer[k + (_PHASE + n) * LANES] = b[n]
        put_quaternion(buffer, k, _START, rows.parts.goal.target(rows, buffer, i))

    def follow(self, rows, buffer, i):
        q, rate = _at(self, rows, buffer, i, self.dt * rows.elapsed(buffer, i))
        rows.parts.goal.put_target(rows, buffer, i, q)
        put_vector(buffer, i, rows.reference_row() + _RATE, rate)

    def ahead(self, rows, buffer, i, seconds):
        q, _ = _at(self, rows, buffer, i, self.dt * rows.elapsed(buffer, i) + seconds)
        return q

    def target_rate(self, rows, buffer, i):
        return vector(buffer, i, rows.reference_row() + _RATE)


@inlined
def _swing(reference, buffer, k, n, t):
    """One of the three angles, and its rate."""
    frequency, phase = buffer[k + (_FREQUENCY + n) * LANES], buffer[k + (_PHASE + n) * LANES]
    turns = frequency * t / math.tau + phase
    _, from_sin = cos_sin(math.tau * (phase - math.floor(phase + 0.5)))
    cos, sin = cos_sin(math.tau * (turns - math.floor(turns + 0.5)))
    size = reference.amplitude
    return size * (sin - from_sin), size * frequency * cos


@inlined
def _at(reference, rows, buffer, i, t):
    """Attitude and angular velocity (target frame) at the time t [s]."""
    k = i + rows.reference_row() * LANES
    a, a_rate = _swing(reference, buffer, k, 0, t)
    b, b_rate = _swing(reference, buffer, k, 1, t)
    c, c_rate = _swing(reference, buffer, k, 2, t)
    cos, sin = cos_sin(0.5 * a)
    about_z = (cos, 0.0, 0.0, sin)
    cos, sin = cos_sin(0.5 * b)
    about_y = (cos, 0.0, sin, 0.0)
    cos, sin = cos_sin(0.5 * c)
    about_x = (cos, sin, 0.0, 0.0)
    q = qmul(quaternion(buffer, k, _START), qmul(about_z, qmul(about_y, about_x)))
    rate = add(to_body(about_y, (0.0, 0.0, a_rate)), (0.0, b_rate, 0.0))
    return q, add(to_body(about_x, rate), (c_rate, 0.0, 0.0))
