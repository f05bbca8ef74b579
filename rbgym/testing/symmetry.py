"""Two symmetries of the physics: no direction of space is special, and motion can be reversed."""

from typing import Protocol

import numpy as np

from rbgym.quaternion import Array, from_rotation_vector, multiply
from rbgym.testing.motion import Motion, difference

STEPS = 100
_ANGLES = (0.9, 2.1, np.pi)  # rad; the last is a half turn
_DIRECTIONS = np.array([[0.48, -0.6, 0.64], [-0.8, 0.36, 0.48], [0.0, 0.6, 0.8]])


class Placeable(Protocol):
    """A subject that can be started anywhere."""

    @property
    def axis(self) -> Array | None: ...
    def start(self) -> tuple[Array, Array]: ...
    def motions_from(self, begin: tuple[Array, Array], steps: int) -> list[Motion]: ...


def rotations(axis: Array | None) -> list[Array]:
    """Turns of the world (4,) under which the motion must turn alike; about the axis, if any.

    The last is q -> -q, which is no turn at all.
    """
    directions = _DIRECTIONS if axis is None else np.tile(axis, (3, 1))
    turns = [from_rotation_vector(a * v) for a, v in zip(_ANGLES, directions, strict=True)]
    return [*turns, np.array([-1.0, 0.0, 0.0, 0.0])]


def equivariance(subject: Placeable, steps: int = STEPS) -> float:
    """Largest difference between the turned motion and the motion from a turned start.

    Rotation angle [rad] or relative error of the body rates, over `steps` steps.
    """
    quaternion, rates = subject.start()
    plain = subject.motions_from((quaternion, rates), steps)
    worst = 0.0
    for turn in rotations(subject.axis):
        turned = subject.motions_from((multiply(turn, quaternion), rates), steps)
        for a, b in zip(plain, turned, strict=True):
            n = min(a.steps, b.steps) + 1
            expected = multiply(turn, a.quaternion[:n])
            error = difference(
                expected, a.angular_velocity[:n], b.quaternion[:n], b.angular_velocity[:n]
            )
            worst = max(worst, error)
    return worst


def time_reversal(subject: Placeable, steps: int = STEPS) -> float:
    """How far from its start a motion ends that is reversed after `steps` steps and goes back.

    Rotation angle [rad] or relative error of the body rates. Symmetric schemes return to round-off.
    """
    quaternion, rates = subject.start()
    worst = 0.0
    for there in subject.motions_from((quaternion, rates), steps):
        turning = there.quaternion[-1], -there.angular_velocity[-1]
        if not np.isfinite(np.concatenate(turning)).all():
            return np.inf
        for back in subject.motions_from(turning, there.steps):
            if back.steps < there.steps:
                return np.inf
            end = back.quaternion[-1:], -back.angular_velocity[-1:]
            worst = max(worst, difference(quaternion, rates, *end))
    return worst
