"""A step function on trial."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import count, finite, positive, unit
from rbgym.body import RigidBody
from rbgym.engine import Batch
from rbgym.fidelity.motion import Motion, free_motion
from rbgym.fidelity.order import Order, errors_at, order_of
from rbgym.fidelity.symmetry import State, Subject
from rbgym.integrators import DEFAULT, Integrator
from rbgym.quaternion import Array
from rbgym.simulate import simulate
from rbgym.testing.limits import Limits

Step = Callable[[Array, Array, float], tuple[ArrayLike, ArrayLike]]

# A generic start: no component vanishes, and the quaternion is of unit length to the last bit.
ATTITUDE = (0.5, -0.5, 0.1, 0.7)
RATES = (1.0, 2.0, 2.0)
DIVISIONS = (10, 20, 40, 80, 160, 320)  # steps into which the horizon of the order is divided
_UNIT = 1e-6


@dataclass(frozen=True)
class StepSubject(Subject):
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
        quaternion, rates = _state(self.quaternion, self.angular_velocity)
        if not rates.any():
            raise ValueError("angular_velocity must not be zero, got a body at rest: nothing moves")
        checked = {
            "body": RigidBody(self.inertia),
            "dt": positive("dt", self.dt),
            "steps": count("steps", self.steps),
            "quaternion": quaternion,
            "angular_velocity": rates,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def title(self) -> str:
        """What reports call it if nobody gives it a name."""
        return getattr(self.step, "__name__", type(self.step).__name__)

    @property
    def axis(self) -> None:
        """A free body keeps the whole vector of momentum."""
        return None

    @property
    def placeable(self) -> bool:
        """Every state can be a start."""
        return True

    def start(self) -> State:
        """Attitude and rates at the start."""
        return np.array(self.quaternion), np.array(self.angular_velocity)

    def motions(self) -> list[Motion]:
        """The run that invariants are judged on."""
        return self.motions_from(self.start(), self.steps)

    def motions_from(self, begin: State, steps: int) -> list[Motion]:
        """The motion from another start."""
        return [self.motion(begin, steps, self.dt)]

    def motion(self, begin: State, steps: int, dt: float) -> Motion:
        """`steps` steps of `dt` seconds; ends early where a value is no longer finite."""
        states = [begin]
        for _ in range(steps):
            states.append(self._next(states[-1], dt))
            if not np.isfinite(np.concatenate(states[-1])).all():
                break
        attitudes, rates = zip(*states, strict=True)
        return free_motion(np.array(attitudes), np.array(rates), self.body.inertia)

    def _next(self, state: State, dt: float) -> State:
        """One step. What blows up is judged: it neither warns nor raises."""
        try:
            with np.errstate(all="ignore"):
                result: Any = self.step(state[0].copy(), state[1].copy(), dt)
        except ArithmeticError:
            return np.full(4, np.nan), np.full(3, np.nan)
        try:  # copies: a step may return the same arrays each time
            quaternion, rates = (np.array(part, dtype=np.float64) for part in result)
            if quaternion.shape == (4,) and rates.shape == (3,):
                return quaternion, rates
        except (TypeError, ValueError):
            pass
        raise ValueError(
            f"step must return (quaternion (4,), angular_velocity (3,)), got {result!r}"
        )

    def order(self, horizon: float) -> Order:
        """The order over `horizon` seconds, against one step of the closed-form solution."""
        begin = self.start()
        exact = simulate(
            self.body,
            integrator="exact",
            dt=horizon,
            steps=1,
            quaternion=begin[0],
            angular_velocity=begin[1],
        )
        end = exact.quaternion[-1], exact.angular_velocity[-1]
        errors = []
        for n in DIVISIONS:
            run = self.motion(begin, n, horizon / n)
            last = run.quaternion[-1], run.angular_velocity[-1]
            errors.append((n, *errors_at(last, end, self.body.inertia)))
        return order_of(horizon, errors)


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
    return subject.order(horizon)


def _state(quaternion: ArrayLike, angular_velocity: ArrayLike) -> State:
    """Both checked: ValueError unless finite and the quaternion of unit length."""
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

    def step(quaternion: Array, angular_velocity: Array, dt: float) -> State:
        nonlocal last
        if not (np.array_equal(quaternion, last[0]) and np.array_equal(angular_velocity, last[1])):
            batch.set_state(*_state(quaternion, angular_velocity))
        batch.advance(positive("dt", dt))
        if batch.failed[0]:
            raise ArithmeticError(f"{batch.integrator.name} could not solve a step of {dt} s")
        now = batch.measure()
        last = now["quaternion"][0], now["angular_velocity"][0]
        return last[0].copy(), last[1].copy()

    step.__name__ = batch.integrator.name
    return step
