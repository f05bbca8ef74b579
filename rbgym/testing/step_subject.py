"""A step function on trial."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import count, finite, positive, unit
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.integrators import DEFAULT, Integrator
from rbgym.quaternion import Array
from rbgym.testing.limits import Limits
from rbgym.testing.motion import Motion, free_motion

Step = Callable[[Array, Array, float], tuple[ArrayLike, ArrayLike]]

# A generic start: no component vanishes, and the quaternion is of unit length to the last bit.
ATTITUDE = (0.5, -0.5, 0.1, 0.7)
RATES = (1.0, 2.0, 2.0)
_UNIT = 1e-6


@dataclass(frozen=True)
class StepSubject:
    """A step function of a free body, and the motion it is judged on.

    step: called as step(quaternion (4,), angular_velocity (3,), dt), returns the two after dt
    seconds; the quaternion scalar first and body to world, the rates in body axes [rad/s].
    inertia: (3,) or (3, 3) [kg m^2], about the centre of mass. dt [s], steps: of the run.
    quaternion (4,), angular_velocity (3,) [rad/s, body]: its start; not at rest.

    Raises ValueError for an argument that is none of this.
    """

    step: Step
    inertia: ArrayLike = field(repr=False)
    dt: float = 0.05
    steps: int = 1000
    quaternion: ArrayLike = ATTITUDE
    angular_velocity: ArrayLike = RATES
    limits: Limits = field(default_factory=Limits, repr=False)
    body: RigidBody = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.step):
            raise ValueError(f"step must be callable as (q, omega, dt), got {self.step!r}")
        put = object.__setattr__
        put(self, "body", RigidBody(self.inertia))
        put(self, "dt", positive("dt", self.dt))
        put(self, "steps", count("steps", self.steps))
        quaternion, rates = start(self.quaternion, self.angular_velocity)
        put(self, "quaternion", quaternion)
        put(self, "angular_velocity", rates)
        if not rates.any():
            raise ValueError("angular_velocity must not be zero, got a body at rest: nothing moves")

    @property
    def title(self) -> str:
        """What reports call it if nobody gives it a name."""
        return getattr(self.step, "__name__", type(self.step).__name__)

    @property
    def axis(self) -> None:
        """A free body keeps the whole vector of momentum."""
        return None

    def start(self) -> tuple[Array, Array]:
        """Attitude and rates at the start."""
        return np.array(self.quaternion), np.array(self.angular_velocity)

    def motions(self) -> list[Motion]:
        """The run that invariants are judged on."""
        return self.motions_from(self.start(), self.steps)

    def motions_from(self, begin: tuple[Array, Array], steps: int) -> list[Motion]:
        """The motion from another start."""
        return [self.motion(begin, steps, self.dt)]

    def motion(self, begin: tuple[Array, Array], steps: int, dt: float) -> Motion:
        """`steps` steps of `dt` seconds; ends early where a value is no longer finite."""
        states = [begin]
        for _ in range(steps):
            states.append(self._next(states[-1], dt))
            if not np.isfinite(np.concatenate(states[-1])).all():
                break
        attitudes, rates = zip(*states, strict=True)
        return free_motion(np.array(attitudes), np.array(rates), self.body.inertia)

    def _next(self, state: tuple[Array, Array], dt: float) -> tuple[Array, Array]:
        """One step. What blows up is judged: it neither warns nor raises."""
        try:
            with np.errstate(all="ignore"):
                result = self.step(state[0].copy(), state[1].copy(), dt)
        except ArithmeticError:
            return np.full(4, np.nan), np.full(3, np.nan)
        return _checked(result)


def _checked(result: Any) -> tuple[Array, Array]:
    """Copies of what a step returned: it may hand out the same arrays again and again."""
    try:
        quaternion, rates = (np.array(part, dtype=np.float64) for part in result)
    except (TypeError, ValueError):
        quaternion, rates = np.empty(0), np.empty(0)
    if quaternion.shape != (4,) or rates.shape != (3,):
        raise ValueError(
            f"step must return (quaternion (4,), angular_velocity (3,)), got {result!r}"
        )
    return quaternion, rates


def start(quaternion: ArrayLike, angular_velocity: ArrayLike) -> tuple[Array, Array]:
    """A start, checked: ValueError unless finite and the quaternion of unit length."""
    q = unit("quaternion", quaternion, 4, _UNIT)
    return q, finite("angular_velocity", angular_velocity, (3,))


def integrator_step(inertia: ArrayLike, integrator: str | Integrator = DEFAULT) -> Step:
    """The step function of a free body under one of rbgym's own integrators.

    inertia: (3,) or (3, 3) [kg m^2]. Given what it last returned it goes on from there, with what
    the integrator keeps beside attitude and rates (momentum to the last bit, the energy level);
    given anything else it starts anew. Raises ArithmeticError where a step cannot be solved.
    """
    batch = Batch(RigidBody(inertia), integrator)
    last = np.full(4, np.nan), np.full(3, np.nan)

    def step(quaternion: Array, angular_velocity: Array, dt: float) -> tuple[Array, Array]:
        nonlocal last
        if not (np.array_equal(quaternion, last[0]) and np.array_equal(angular_velocity, last[1])):
            batch.set_state(*start(quaternion, angular_velocity))
        batch.advance(positive("dt", dt))
        if batch.failed[0]:
            raise ArithmeticError(f"{batch.integrator.name} could not solve a step of {dt} s")
        now = batch.measure()
        last = now["quaternion"][0], now["angular_velocity"][0]
        return last[0].copy(), last[1].copy()

    step.__name__ = batch.integrator.name
    return step
