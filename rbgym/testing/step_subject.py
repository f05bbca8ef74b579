"""Motions of a step function to be measured, its order, and hints at wrong conventions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import count, finite, positive, unit
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.integrators import DEFAULT, Integrator
from rbgym.quaternion import Array, conjugate, multiply, normalized
from rbgym.trajectory import simulate
from rbgym.validation import fidelity
from rbgym.validation.external import EXTERNAL
from rbgym.validation.fidelity import FidelityLimits, Motion, Order, State

Step = Callable[[Array, Array, float], tuple[ArrayLike, ArrayLike]]

# A generic start: no component vanishes, and the quaternion has unit length to the last bit.
ATTITUDE = (0.5, -0.5, 0.1, 0.7)
RATES = (1.0, 2.0, 2.0)
DIVISIONS = (10, 20, 40, 80, 160, 320)  # numbers of steps over the horizon of the order
HORIZON = 20  # default horizon, in steps of dt
_LARGEST_TURN = 1.0  # rad, in the coarsest step of a lengthened horizon
_SHORT = 1e-3  # step for the hints, in units of dt
_SHORT_OF_SINGLE = 5e-3  # rad, in single precision
_ROUND_OFF_OF_SINGLE = 3.0 * float(np.finfo(np.float32).eps)  # of one step; it accumulates
_ALIKE = 0.02  # relative distance within which two vectors count as the same


@dataclass(frozen=True)
class StepSubject(fidelity.Subject):
    """A step function of a free body, and the motion to measure it on.

    step: called as step(quaternion (4,), angular_velocity (3,), dt), returns the two after dt
    seconds; the quaternion is scalar first and body to world, the rates in body axes [rad/s].
    inertia: (3,) or (3, 3) [kg m^2], about the centre of mass. dt [s], steps: of the run; its start
    is quaternion (4,) and angular_velocity (3,), not zero. Raises ValueError for bad arguments.
    """

    step: Step
    inertia: ArrayLike = field(repr=False)
    dt: float = 0.05
    steps: int = 1000
    quaternion: ArrayLike = ATTITUDE
    angular_velocity: ArrayLike = RATES
    limits: FidelityLimits = field(default_factory=FidelityLimits, repr=False)
    body: RigidBody = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.step):
            raise ValueError(f"step must be callable as (q, omega, dt), got {self.step!r}")
        quaternion, rates = _state(self.quaternion, self.angular_velocity)
        if not rates.any():
            raise ValueError("angular_velocity must not be zero, got a body at rest")
        checked = {
            "body": RigidBody(self.inertia),
            "dt": positive("dt", self.dt),
            "steps": count("steps", self.steps),
            "quaternion": quaternion,
            "angular_velocity": rates,
            "limits": fidelity.checked_limits(self.limits),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def title(self) -> str:
        return getattr(self.step, "__name__", type(self.step).__name__)

    def start(self) -> State:
        return np.array(self.quaternion), np.array(self.angular_velocity)

    def motions(self) -> list[Motion]:
        return self.motions_from(self.start(), self.steps)

    def motions_from(self, state: State, steps: int, dt: float | None = None) -> list[Motion]:
        """The motion from this state, in steps of `dt` [s], up to the first value not finite."""
        states = [state]
        for _ in range(steps):
            states.append(self._next(states[-1], self.dt if dt is None else dt))
            if not np.isfinite(np.concatenate(states[-1])).all():
                break
        attitudes, rates = zip(*states, strict=True)
        return [fidelity.free_motion(np.array(attitudes), np.array(rates), self.body.inertia)]

    def _next(self, state: State, dt: float) -> State:
        """The state after one step; NaN where the step fails, without warning or error."""
        try:
            with np.errstate(all="ignore"):
                result: Any = self.step(state[0].copy(), state[1].copy(), dt)
        except ArithmeticError:
            return np.full(4, np.nan), np.full(3, np.nan)
        try:  # copies: a step may return the same arrays each time
            quaternion, rates = (np.array(part, dtype=np.float64) for part in result)
            if quaternion.shape == (4,) and rates.shape == (3,):
                return (quaternion if quaternion.any() else np.full(4, np.nan)), rates
        except (TypeError, ValueError):
            pass
        raise ValueError(f"step must return (quaternion (4,), rates (3,)), got {result!r}")

    def order(self, horizon: float | None = None) -> Order:
        """The order over `horizon` seconds, against one step of the closed form. If attitude or
        momentum has fewer than two errors above round-off, the horizon is doubled, as long as the
        coarsest step turns by less than a radian."""
        horizon, (q, omega) = HORIZON * self.dt if horizon is None else horizon, self.start()
        exact = simulate(self.body, integrator="exact", dt=horizon, steps=1,
                         quaternion=q, angular_velocity=omega)  # fmt: skip
        end, errors = (exact.quaternion[-1], exact.angular_velocity[-1]), []
        for n in DIVISIONS:
            (motion,) = self.motions_from((q, omega), n, horizon / n)
            errors.append((n, *fidelity.errors_at(motion.end, end, self.body.inertia)))
        solved = (k for k, error in enumerate(errors) if np.isfinite(error).all())
        errors = errors[next(solved, 0) :]  # long steps may have no solution
        round_off = _ROUND_OFF_OF_SINGLE if _is_single(self.start(), motion.end) else 0.0
        found, rate = fidelity.order_of(horizon, errors, round_off), float(np.linalg.norm(omega))
        if min(found.points) < 2 and 2 * horizon / DIVISIONS[0] * rate < _LARGEST_TURN:
            longer = self.order(2 * horizon)
            if np.isfinite(longer.attitude_errors + longer.momentum_errors).all():
                return longer
        return found

    def hints(self) -> tuple[str, ...]:
        dt = _SHORT * self.dt
        (motion,) = self.motions_from(self.start(), 1, dt)
        if _is_single(self.start(), motion.end):
            dt = max(dt, _SHORT_OF_SINGLE / float(np.linalg.norm(self.angular_velocity)))
            (motion,) = self.motions_from(self.start(), 1, dt)
        (before, rates), (after, rates_after) = self.start(), motion.end
        if not np.isfinite([*after, *rates_after]).all():
            return ()
        attitude = _attitude(before, normalized(after), rates, dt)
        gyroscopic = _gyroscopic(self.body.inertia, rates, (rates_after - rates) / dt)
        return tuple(hint for hint in (attitude, gyroscopic) if hint)


def _is_single(start: State, end: State) -> bool:
    """Whether attitude or rates, if they changed, have single precision, whatever their dtype."""
    with np.errstate(over="ignore"):
        return any(
            np.array_equal(b, b.astype(np.float32)) and not np.allclose(a, b, rtol=0.0, atol=1e-9)
            for a, b in zip(start, end, strict=True)
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

    step, inertia, quaternion, angular_velocity: see `StepSubject`. horizon [s]: time at which the
    errors of 10, 20, 40, 80, 160 and 320 steps are measured; it is lengthened if they are
    round-off. The reference is one step of `rbgym.simulate(integrator="exact")`. Raises ValueError
    for bad arguments.
    """
    subject = StepSubject(step, inertia, quaternion=quaternion, angular_velocity=angular_velocity)
    return subject.order(positive("horizon", horizon))


def external_errors(kind: str, step: Step, dt: float | None = None) -> dict[str, float]:
    """Errors of a simulator against the published end of one of the motions in `EXTERNAL`.

    step: see `StepSubject`; for the body `EXTERNAL[kind].case.body` under its `potential`, called
    in order from time 0. dt: approximate step [s], default the case's. Returns the errors of
    "attitude" [rad] and "rates" [rad/s], as far as published; infinity if the motion is not finite.
    Raises ValueError for bad arguments.
    """
    if not (isinstance(kind, str) and kind in EXTERNAL):
        raise ValueError(f"kind must be among {sorted(EXTERNAL)}, got {kind!r}")
    truth = EXTERNAL[kind]
    case = truth.case
    h, steps, every = truth.division(positive("dt", case.dt if dt is None else dt))
    q, omega = case.quaternion, case.omega
    subject = StepSubject(step, case.body.inertia, quaternion=q, angular_velocity=omega)
    (motion,) = subject.motions_from(subject.start(), steps, h)
    if not np.isfinite([*motion.end[0], *motion.end[1]]).all():
        return dict.fromkeys(truth.own, np.inf)
    at = slice(every, None, every)
    return truth.errors(motion.quaternion[at], motion.angular_velocity[at])


def _state(quaternion: ArrayLike, angular_velocity: ArrayLike) -> State:
    """The checked state; ValueError unless it is finite and the quaternion has unit length."""
    return unit("quaternion", quaternion), finite("angular_velocity", angular_velocity, (3,))


def integrator_step(inertia: ArrayLike, integrator: str | Integrator = DEFAULT) -> Step:
    """The step function of a free body for one of rbgym's own integrators. inertia: (3,) or (3, 3)
    [kg m^2]. Called with the state that it returned last, it continues from there to the last bit;
    with any other it starts again, without the memory of a scheme such as `dir_em`, which then does
    not reverse in time. Raises ArithmeticError if a step cannot be solved."""
    batch = Batch(RigidBody(inertia), integrator)
    last = np.full(4, np.nan), np.full(3, np.nan)

    def step(quaternion: Array, angular_velocity: Array, dt: float) -> State:
        nonlocal last
        h = positive("dt", dt)
        if not (np.array_equal(quaternion, last[0]) and np.array_equal(angular_velocity, last[1])):
            batch.set_state(*_state(quaternion, angular_velocity))
        last = last[0], np.full(3, np.nan)  # unless the step is solved, nothing continues from it
        batch.advance(h)
        if batch.failed[0]:
            raise ArithmeticError(f"{batch.integrator.name} could not solve a step of {dt} s")
        now = batch.measure()
        last = now["quaternion"][0], now["angular_velocity"][0]
        return last[0].copy(), last[1].copy()

    step.__name__ = batch.integrator.name
    return step


# Hints at wrong conventions: how attitude and rates change each other in a short step.


def _attitude(before: Array, after: Array, rates: Array, dt: float) -> str:
    body = _rate(conjugate(before), after, dt)
    world = _rate(after, conjugate(before), dt)
    last = _rate(conjugate(np.roll(before, 1)), np.roll(after, 1), dt)
    guesses = [
        (body, rates, ""),
        (world, rates, "the attitude turns as if the rates were in world axes"),
        (world, -rates, "the quaternion seems to map world to body"),
        (body, -rates, "the attitude turns the wrong way"),
        (body, 2 * rates, "the attitude turns twice as fast: q' = q omega / 2 lacks its half"),
        (body, rates / 2, "the attitude turns half as fast: q' = q omega / 2 has a half too many"),
        (last, rates, "the quaternion seems to be scalar-last (x, y, z, w)"),
        (body, 0 * rates, "the attitude does not turn"),
    ]
    fits = (hint for seen, wanted, hint in guesses if _same(seen, wanted, rates))
    return next(fits, "the attitude does not turn with the rates")


def _gyroscopic(inertia: Array, rates: Array, seen: Array) -> str:
    wanted = np.asarray(np.linalg.solve(inertia, np.cross(inertia @ rates, rates)), np.float64)
    if np.linalg.norm(wanted) < _ALIKE * np.linalg.norm(rates) ** 2 or _same(seen, wanted, wanted):
        return ""
    if _same(seen, 0 * wanted, wanted):
        return "the rates do not change: the gyroscopic term omega x J omega is missing"
    if _same(seen, -wanted, wanted):
        return "the gyroscopic term omega x J omega has the wrong sign"
    return "the rates do not follow Euler's equations"


def _rate(left: Array, right: Array, dt: float) -> Array:
    """Angular velocity of the small turn left o right, q and -q being the same."""
    turn = multiply(left, right)
    return np.asarray(2.0 * turn[1:] / dt * (1.0 if turn[0] >= 0.0 else -1.0))


def _same(seen: Array, wanted: Array, scale: Array) -> bool:
    return bool(np.linalg.norm(seen - wanted) <= _ALIKE * np.linalg.norm(scale))
