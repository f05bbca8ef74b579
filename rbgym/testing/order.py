"""Order of convergence, against the exact motion of the free body."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import positive
from rbgym.quaternion import Array, angle_between
from rbgym.simulate import simulate
from rbgym.testing.step_subject import ATTITUDE, RATES, Step, StepSubject

DIVISIONS = (10, 20, 40, 80, 160, 320)  # steps into which the horizon is divided
_FLOOR = 1e-11  # errors below this are round-off in part, and make no slope


@dataclass(frozen=True)
class Order:
    """How the error shrinks with the step: its slope, of attitude and of momentum apart.

    attitude, momentum: slopes between the two finest steps whose errors are above round-off;
    infinite where none is, nan where the errors are not finite. step_sizes [s];
    attitude_errors [rad]; momentum_errors: of J omega, in body axes, relative.
    """

    attitude: float
    momentum: float
    step_sizes: tuple[float, ...]
    attitude_errors: tuple[float, ...]
    momentum_errors: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The smaller of the two slopes."""
        return math.nan if math.isnan(self.attitude) else min(self.momentum, self.attitude)

    def __str__(self) -> str:
        coarse, fine = self.step_sizes[0], self.step_sizes[-1]
        return (
            f"attitude {self.attitude:.2f}, momentum {self.momentum:.2f}, "
            f"steps of {coarse:.3g} to {fine:.3g} s"
        )


def measure_order(
    step: Step,
    inertia: ArrayLike,
    *,
    horizon: float = 1.0,
    quaternion: ArrayLike = ATTITUDE,
    angular_velocity: ArrayLike = RATES,
) -> Order:
    """Order of convergence of a step function of a free body.

    step, inertia, quaternion, angular_velocity: see `StepSubject`. horizon [s]: where the errors
    are taken, after 10, 20, 40, 80, 160 and 320 steps. The reference is one step of that length
    of the closed-form solution, `rbgym.simulate(integrator="exact")`.

    Raises ValueError for bad arguments.
    """
    horizon = positive("horizon", horizon)
    subject = StepSubject(step, inertia, quaternion=quaternion, angular_velocity=angular_velocity)
    return order_of(subject, horizon)


def order_of(subject: StepSubject, horizon: float) -> Order:
    """The order of a subject over `horizon` seconds."""
    begin = subject.start()
    exact = simulate(
        subject.body,
        integrator="exact",
        dt=horizon,
        steps=1,
        quaternion=begin[0],
        angular_velocity=begin[1],
    )
    errors = [_errors(subject, horizon, n, exact.quaternion[-1], exact.angular_velocity[-1])
              for n in DIVISIONS]  # fmt: skip
    attitude, momentum = zip(*errors, strict=True)
    sizes = tuple(horizon / n for n in DIVISIONS)
    return Order(_slope(attitude), _slope(momentum), sizes, attitude, momentum)


def _errors(
    subject: StepSubject, horizon: float, n: int, q: Array, w: Array
) -> tuple[float, float]:
    end = subject.motion(subject.start(), n, horizon / n)
    with np.errstate(all="ignore"):
        attitude = float(angle_between(end.quaternion[-1], q))
        wanted = subject.body.inertia @ w
        lack = subject.body.inertia @ end.angular_velocity[-1] - wanted
        return attitude, float(np.linalg.norm(lack) / np.linalg.norm(wanted))


def _slope(errors: tuple[float, ...]) -> float:
    if not np.isfinite(errors).all():
        return math.nan
    usable = max((i for i, e in enumerate(errors) if e > _FLOOR), default=-1)
    if usable < 0:
        return math.inf
    if usable == 0:  # round-off is reached at once: at least this much
        return math.log2(errors[0] / _FLOOR)
    return math.log2(errors[usable - 1] / max(errors[usable], _FLOOR))
