"""What a task asks for: how far attitude and angular velocity are from it.

A part is a small `NamedTuple` of numbers; what it does is registered for its class. All parts see
the user's body frame: q (w, x, y, z) body to world, omega [rad/s] in body axes.
"""

import math
from typing import Any, NamedTuple

from rbgym.compiled.jit import choice, for_type
from rbgym.envs.layout import TARGET, TARGET_RATE, TARGET_SPIN
from rbgym.layout import LANES
from rbgym.quaternion import add, dot, qconj, qmul, scale, sub, to_body, upward
from rbgym.rows import quaternion, vector


class Axis(NamedTuple):
    """The body z axis at a nutation angle from the upward vertical, turning steadily.

    The rates asked for are precession about the vertical and spin about the axis. Upright and at
    rest: nutation 0, both rates 0.
    """

    cos_nutation: float = 1.0
    sin_nutation: float = 0.0
    precession: float = 0.0
    spin: float = 0.0

    @classmethod
    def at(cls, nutation: float, precession: float, spin: float) -> "Axis":
        """nutation [rad]; precession, spin [rad/s]."""
        return cls(math.cos(nutation), math.sin(nutation), precession, spin)


class Target(NamedTuple):
    """The target's attitude and angular velocity, all three axes of them."""


class Rest(NamedTuple):
    """No angular velocity, at whatever attitude."""


class Spin(NamedTuple):
    """An angular velocity about the body z axis, at whatever attitude and nutation."""


@choice
def compare(goal: Any, buffer: Any, i: int, q: Any, omega: Any) -> Any:
    """How far the lane is off: the square of 2 sin(angle / 2), and that of the angular velocity too
    much [rad^2/s^2]. The angular velocity wanted, body axes. And the attitude to be shown: relative
    to the target where there is one."""
    raise NotImplementedError


@for_type(compare, Axis)
def _(goal, buffer, i, q, omega):
    o = upward(q)
    across = math.sqrt(max(1.0 - o[2] * o[2], 0.0))
    square = 2.0 * (1.0 - (goal.cos_nutation * o[2] + goal.sin_nutation * across))
    wanted = add(scale(goal.precession, o), (0.0, 0.0, goal.spin))
    gap = sub(omega, wanted)
    return max(square, 0.0), dot(gap, gap), wanted, q


@for_type(compare, Target)
def _(goal, buffer, i, q, omega):
    relative = qmul(qconj(quaternion(buffer, i, TARGET)), q)
    x, y, z = relative[1], relative[2], relative[3]
    wanted = to_body(relative, vector(buffer, i, TARGET_RATE))
    gap = sub(omega, wanted)
    return 4.0 * (x * x + y * y + z * z), dot(gap, gap), wanted, relative


@for_type(compare, Rest)
def _(goal, buffer, i, q, omega):
    return 0.0, dot(omega, omega), (0.0, 0.0, 0.0), q


@for_type(compare, Spin)
def _(goal, buffer, i, q, omega):
    wanted = buffer[i + TARGET_SPIN * LANES]
    gap = omega[2] - wanted
    return 0.0, gap * gap, (0.0, 0.0, wanted), q
