"""Order of convergence: how the error at a horizon shrinks with the step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rbgym.quaternion import Array, angle_between

FLOOR = 2e-11  # rad and relative: errors below it are round-off in part, and make no slope


@dataclass(frozen=True)
class Order:
    """How the error shrinks with the step: its slope, of attitude and of momentum apart.

    attitude, momentum: slopes between the two finest steps whose errors are above round-off;
    infinite where none is, the least that it can be where one is, nan where the errors are not
    finite. step_sizes [s]; attitude_errors [rad]; momentum_errors: of J omega, in body axes,
    relative. floors: of each, what counts as round-off.
    """

    attitude: float
    momentum: float
    step_sizes: tuple[float, ...]
    attitude_errors: tuple[float, ...]
    momentum_errors: tuple[float, ...]
    floors: tuple[float, ...]

    @property
    def slope(self) -> float | None:
        """The smaller of the two slopes; None where one has a single point, which measures none."""
        if 1 in self.points:
            return None
        return math.nan if math.isnan(self.attitude) else min(self.momentum, self.attitude)

    @property
    def points(self) -> tuple[int, int]:
        """How many errors of attitude and of momentum are above round-off, or not finite."""
        attitude, momentum = (
            sum(not error <= floor for error, floor in zip(errors, self.floors, strict=True))
            for errors in (self.attitude_errors, self.momentum_errors)
        )
        return attitude, momentum

    def __str__(self) -> str:
        coarse, fine = self.step_sizes[0], self.step_sizes[-1]
        unknown = "not measured, no two errors above round-off: " if self.slope is None else ""
        return (
            f"{unknown}attitude {self.attitude:.2f}, momentum {self.momentum:.2f}, "
            f"steps of {coarse:.3g} to {fine:.3g} s"
        )


def order_of(
    horizon: float, errors: Sequence[tuple[int, float, float]], round_off: float = 0.0
) -> Order:
    """The order that (steps over the horizon [s], `errors_at` it) show, from coarse to fine.

    round_off: of a step, where it is that of a lower precision than double.
    """
    steps, attitude, momentum = zip(*errors, strict=True) if errors else ((), (), ())
    sizes = tuple(horizon / n for n in steps)
    floors = tuple(max(FLOOR, n * round_off) for n in steps)
    of_attitude, of_momentum = (_slope(sizes, each, floors) for each in (attitude, momentum))
    return Order(of_attitude, of_momentum, sizes, attitude, momentum, floors)


def errors_at(
    end: tuple[Array, Array], exact: tuple[Array, Array], inertia: Array
) -> tuple[float, float]:
    """Errors of a state (quaternion (4,), body rates (3,)): angle [rad], relative momentum."""
    with np.errstate(all="ignore"):
        momentum, lack = inertia @ exact[1], inertia @ (end[1] - exact[1])
        angle = float(angle_between(end[0], exact[0]))
        return angle, float(np.linalg.norm(lack) / np.linalg.norm(momentum))


def _slope(sizes: Sequence[float], errors: Sequence[float], floors: Sequence[float]) -> float:
    if not errors or not np.isfinite(errors).all():
        return math.nan
    above = [i for i, floor in enumerate(floors) if errors[i] > floor]
    if not above:
        return math.inf
    if len(errors) == 1:
        return math.nan
    fine = max(above[-1], 1)
    shrinks = errors[fine - 1] / max(errors[fine], floors[fine])
    return math.log(shrinks) / math.log(sizes[fine - 1] / sizes[fine])
