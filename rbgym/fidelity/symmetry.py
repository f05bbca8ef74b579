"""Two symmetries of the physics: no direction of space is special, and motion can be reversed."""

from typing import Protocol

import numpy as np

from rbgym.fidelity.motion import Motion, difference
from rbgym.fidelity.order import Order
from rbgym.quaternion import Array, from_rotation_vector, multiply

STEPS = 100
_ANGLES = (0.9, 2.1, np.pi)  # rad; the last is a half turn
_DIRECTIONS = np.array([[0.48, -0.6, 0.64], [-0.8, 0.36, 0.48], [0.0, 0.6, 0.8]])

State = tuple[Array, Array]  # quaternion (4,), body to world, and body rates (3,) [rad/s]


class Subject(Protocol):
    """A simulator of bodies that can be started anywhere."""

    @property
    def axis(self) -> Array | None:
        """The only world axis (3,) about which momentum is conserved, None for all."""
        return None

    @property
    def placeable(self) -> bool:
        """Whether it can be placed, since symmetries are measured by other starts."""
        return True

    def start(self) -> State:
        """Attitude and rates at the start, of the first of several bodies."""

    def motions_from(self, state: State, steps: int) -> list[Motion]:
        """The motion of each body from this state; shorter where it does not go on."""

    def order(self) -> Order | None:
        """The order of convergence, None where the step is not to be chosen."""
        return None

    def hints(self) -> tuple[str, ...]:
        """What it seems to get wrong, where one very short step can tell."""
        return ()

    def there_and_back(self, steps: int) -> list[State]:
        """Where each body ends that is reversed after `steps` steps and goes back."""
        ends = []
        for there in self.motions_from(self.start(), steps):
            turning = there.end[0], -there.end[1]
            if not np.isfinite(np.concatenate(turning)).all():
                return [turning]
            for back in self.motions_from(turning, there.steps):
                lost = np.inf if back.steps < there.steps else 0.0
                ends.append((back.end[0], lost - back.end[1]))
        return ends


def rotations(axis: Array | None) -> list[Array]:
    """Turns of the world (4,) under which the motion must turn alike; about the axis, if any.

    The last is q -> -q, which is no turn at all.
    """
    directions = _DIRECTIONS if axis is None else np.tile(axis, (3, 1))
    turns = [from_rotation_vector(a * v) for a, v in zip(_ANGLES, directions, strict=True)]
    return [*turns, np.array([-1.0, 0.0, 0.0, 0.0])]


def equivariance(subject: Subject, steps: int = STEPS) -> float:
    """Largest difference between the turned motion and the motion from a turned start.

    Rotation angle [rad] or relative error of the body rates, over `steps` steps.
    """
    quaternion, rates = subject.start()
    plain, worst = subject.motions_from((quaternion, rates), steps), 0.0
    for turn in rotations(subject.axis):
        turned = subject.motions_from((multiply(turn, quaternion), rates), steps)
        for a, b in zip(plain, turned, strict=True):
            n = min(a.steps, b.steps) + 1
            expected = multiply(turn, a.quaternion[:n]), a.angular_velocity[:n]
            worst = max(worst, difference(*expected, b.quaternion[:n], b.angular_velocity[:n]))
    return worst


def time_reversal(subject: Subject, steps: int = STEPS) -> float:
    """How far from its start a motion ends that is reversed after `steps` steps and goes back.

    Rotation angle [rad] or relative error of the body rates. Symmetric schemes return to round-off.
    """
    quaternion, rates = subject.start()
    return max(difference(quaternion, rates, *end) for end in subject.there_and_back(steps))
