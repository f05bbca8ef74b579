"""Measures of a simulator's fidelity: drift of invariants, order, symmetries; and verdicts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import numpy as np

from rbgym.arguments import positive
from rbgym.invariants import momentum_error, norm_error, relative_energy_error
from rbgym.quaternion import (
    Array,
    angle_between,
    from_rotation_vector,
    multiply,
    normalized,
    rotate,
    rotate_inverse,
)

INVARIANTS = ("energy", "momentum", "norm")
ROUND_OFF = 1e-14  # errors below this are reported without a trend
_SHORTEST = 8  # up to so many steps no trend is named
SLACK = 0.1  # largest distance of a measured slope below the required order


class Motion(NamedTuple):
    """One body's motion without control at n + 1 instants: quaternion (n+1, 4) body to world, of
    any length; angular_velocity (n+1, 3) [rad/s, body]; energy (n+1,) [J]; angular_momentum
    (n+1, 3) [kg m^2/s, world]. axis: (3,), the only world axis about which momentum is conserved.
    where: names the motion in reports."""

    quaternion: Array
    angular_velocity: Array
    energy: Array
    angular_momentum: Array
    axis: Array | None = None
    where: str = ""

    @property
    def steps(self) -> int:
        return len(self.energy) - 1

    @property
    def end(self) -> tuple[Array, Array]:
        return self.quaternion[-1], self.angular_velocity[-1]

    def errors(self) -> dict[str, Array]:
        """Errors (n+1,) of |q|, energy and momentum; the last two relative to the start or, with an
        axis, to the largest kinetic energy and momentum of the motion."""
        E, L = self.energy, self.angular_momentum
        with np.errstate(all="ignore"):
            if self.axis is None:
                energy, momentum = relative_energy_error(E), momentum_error(L)
            else:  # gravity changes both, so those of the start may be near zero
                seen = rotate_inverse(normalized(self.quaternion), L)
                kinetic = 0.5 * np.sum(self.angular_velocity * seen, axis=1)
                energy = relative_energy_error(E, float(max(abs(E[0]), kinetic.max())))
                along, size = L @ self.axis, np.linalg.norm(L, axis=1).max()
                momentum = np.asarray(np.abs(along - along[0]) / (size or 1.0))
            return {"energy": energy, "momentum": momentum, "norm": norm_error(self.quaternion)}


def free_motion(quaternion: Array, angular_velocity: Array, inertia: Array) -> Motion:
    """The motion of a free body; inertia (3, 3) [kg m^2, body axes]; |q| has no effect."""
    with np.errstate(all="ignore"):
        momentum = angular_velocity @ inertia
        energy = 0.5 * np.sum(angular_velocity * momentum, axis=-1)
        world = rotate(normalized(quaternion), momentum)
    return Motion(quaternion, angular_velocity, np.asarray(energy), world)


def difference(q: Array, w: Array, q_other: Array, w_other: Array) -> float:
    """The larger of rotation angle [rad] and relative rate between states; or infinity."""
    with np.errstate(all="ignore"):
        turn = angle_between(q, q_other).max()
        scale = np.linalg.norm(w, axis=-1).max()
        rate = np.linalg.norm(w - w_other, axis=-1).max() / (scale or 1.0)
    return float(max(turn, rate)) if np.isfinite(turn + rate) else np.inf


@dataclass(frozen=True)
class Drift:
    """The drift of an invariant. max: the largest error, or infinity, at `step` of the motion
    `where`. final: the last error. growth: error per step, of the best line through the origin.
    trend: a phrase such as "at round-off", "oscillates" or "grows linearly"."""

    max: float
    step: int
    final: float
    growth: float
    trend: str
    where: str = ""

    def __str__(self) -> str:
        if self.trend == "at round-off":
            return self.trend
        seen = f"{self.trend} from step {self.step}"
        if self.max < np.inf:
            pace = f", {self.growth:.1e} a step" if self.trend == "grows linearly" else ""
            seen = f"{self.trend}{pace}, worst at step {self.step}"
        return f"{seen} of {self.where}" if self.where else seen


def drift(errors: Array, where: str = "") -> Drift:
    """The drift of errors (n+1,) of one motion; errors that are not finite count as infinite."""
    bad = ~np.isfinite(errors)
    if bad.any():
        return Drift(np.inf, int(np.argmax(bad)), np.inf, np.inf, "is not finite", where)
    k = np.arange(len(errors), dtype=np.float64)
    growth = float(k @ errors) / (float(k @ k) or 1.0)
    worst = int(np.argmax(errors))
    trend = _trend(errors, growth * k)
    return Drift(float(errors[worst]), worst, float(errors[-1]), growth, trend, where)


def _trend(errors: Array, line: Array) -> str:
    peak, half = errors.max(), len(errors) // 2
    if peak <= ROUND_OFF:
        return "at round-off"
    if len(errors) <= _SHORTEST:
        return "too short to tell"
    ratio = errors[half:].max() / max(errors[:half].max(), ROUND_OFF / 100)
    if ratio < 1.25:
        return "oscillates"
    if np.sqrt(np.mean((errors - line) ** 2)) < 0.1 * peak:
        return "grows linearly"
    return "grows faster than linearly" if ratio > 3 else "wanders"


def worst_drifts(motions: list[Motion]) -> dict[str, Drift]:
    """The drift of each invariant in the motion where it is largest."""
    found = [{name: drift(e, one.where) for name, e in one.errors().items()} for one in motions]
    return {name: max((each[name] for each in found), key=lambda d: d.max) for name in INVARIANTS}


FLOOR = 2e-11  # rad and relative: errors below it are partly round-off and give no slope


@dataclass(frozen=True)
class Order:
    """How the error falls with the step. attitude, momentum: slopes between the two finest steps
    whose errors are above round-off; infinite if no error is, a lower bound if one is, nan if an
    error is not finite. step_sizes [s]; attitude_errors [rad]; momentum_errors: relative, of
    J omega in body axes. floors: for each step, the largest error that counts as round-off."""

    attitude: float
    momentum: float
    step_sizes: tuple[float, ...]
    attitude_errors: tuple[float, ...]
    momentum_errors: tuple[float, ...]
    floors: tuple[float, ...]

    @property
    def slope(self) -> float | None:
        """The smaller of the two slopes; None if one has a single point, which gives no slope."""
        if 1 in self.points:
            return None
        return math.nan if math.isnan(self.attitude) else min(self.momentum, self.attitude)

    @property
    def points(self) -> tuple[int, int]:
        """Numbers of errors of attitude and of momentum above round-off, or not finite."""
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
    """The order from rows (steps over the horizon [s], *`errors_at`); round_off: of one step."""
    steps, attitude, momentum = zip(*errors, strict=True) if errors else ((), (), ())
    sizes = tuple(horizon / n for n in steps)
    floors = tuple(max(FLOOR, n * round_off) for n in steps)
    of_attitude, of_momentum = (_slope(sizes, each, floors) for each in (attitude, momentum))
    return Order(of_attitude, of_momentum, sizes, attitude, momentum, floors)


def errors_at(
    end: tuple[Array, Array], exact: tuple[Array, Array], inertia: Array
) -> tuple[float, float]:
    """Errors of a state (quaternion (4,), body rates (3,)): angle [rad] and relative momentum."""
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


STEPS = 100
_ANGLES = np.array([0.9, 2.1, np.pi])  # rad, with a half turn
_TURNS = _ANGLES[:, None] * [[0.48, -0.6, 0.64], [-0.8, 0.36, 0.48], [0.0, 0.6, 0.8]]

State = tuple[Array, Array]  # quaternion (4,), body to world, and body rates (3,) [rad/s]


class Subject(Protocol):
    """A simulator of bodies, to be measured."""

    @property
    def axis(self) -> Array | None:
        """The only world axis (3,) about which momentum is conserved; None if all are."""
        return None

    @property
    def placeable(self) -> bool:
        """Whether bodies can start in any state, which the measures of symmetry need."""
        return True

    def start(self) -> State:
        """Attitude and rates at the start, of the first body."""

    def motions_from(self, state: State, steps: int) -> list[Motion]:
        """The motion of each body from this state; shorter if a step fails."""

    def order(self) -> Order | None:
        """The order of convergence; None if the step cannot be chosen."""
        return None

    def hints(self) -> tuple[str, ...]:
        """Wrong conventions that one very short step suggests."""
        return ()

    def there_and_back(self, steps: int) -> list[State]:
        """The end of each body's motion that is reversed after `steps` steps and goes back."""
        ends = []
        for there in self.motions_from(self.start(), steps):
            turning = there.end[0], -there.end[1]
            if not np.isfinite(np.concatenate(turning)).all():
                return [turning]
            for back in self.motions_from(turning, there.steps):
                lost = np.inf if back.steps < there.steps else 0.0
                ends.append((back.end[0], lost - back.end[1]))
        return ends


def equivariance(subject: Subject, steps: int = STEPS) -> float:
    """Largest difference between the turned motion and the motion from a turned start, as rotation
    angle [rad] or relative error of the body rates. Turns are about the axis, if there is one."""
    quaternion, rates = subject.start()
    plain, worst = subject.motions_from((quaternion, rates), steps), 0.0
    turns = np.outer(_ANGLES, subject.axis) if subject.axis is not None else _TURNS
    no_turn = np.array([-1.0, 0.0, 0.0, 0.0])  # q -> -q
    for turn in (*from_rotation_vector(turns), no_turn):
        turned = subject.motions_from((multiply(turn, quaternion), rates), steps)
        for a, b in zip(plain, turned, strict=True):
            n = min(a.steps, b.steps) + 1
            expected = multiply(turn, a.quaternion[:n]), a.angular_velocity[:n]
            worst = max(worst, difference(*expected, b.quaternion[:n], b.angular_velocity[:n]))
    return worst


def time_reversal(subject: Subject, steps: int = STEPS) -> float:
    """`difference` between start and end of a motion that is reversed after `steps` steps."""
    quaternion, rates = subject.start()
    return max(difference(quaternion, rates, *end) for end in subject.there_and_back(steps))


@dataclass(frozen=True)
class FidelityLimits:
    """The largest errors allowed, and the least order; None skips a check.

    energy, momentum: relative to the start. norm: | |q| - 1 |. order: of convergence. equivariance,
    time_reversal: rotation angle [rad] or relative error of the rates. A symmetric energy-momentum
    scheme of order two meets the defaults; an explicit Runge-Kutta method has no symmetry in time.
    """

    energy: float | None = 1e-12
    momentum: float | None = 1e-12
    norm: float | None = 1e-12
    order: float | None = 2.0
    equivariance: float | None = 1e-10
    time_reversal: float | None = 1e-10

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                positive(f"limits.{name}", value)


def checked_limits(limits: FidelityLimits) -> FidelityLimits:
    """The limits; ValueError if they are of another class."""
    if not isinstance(limits, FidelityLimits):
        raise ValueError(f"limits must be a rbgym.testing.FidelityLimits, got {limits!r}")
    return limits


CHECKS = tuple(field.name for field in fields(FidelityLimits))


class Verdict(NamedTuple):
    """One check: measured value, limit, and a description; passed: None if not checked."""

    check: str
    measured: float | None
    limit: float | None
    passed: bool | None
    seen: str

    def __str__(self) -> str:
        number = "-" if self.measured is None else f"{self.measured:.2g}"
        sign = ">=" if self.check == "order" else "<="
        allowed = "-" if self.limit is None else f"{sign} {self.limit:g}"
        word = {True: "ok", False: "BROKEN", None: "-"}[self.passed]
        name = self.check.replace("_", " ")
        return f"{name:14}{number:>9}  {allowed:10}{word:8}{self.seen}".rstrip()


def judge(check: str, found: Drift | Order | float | None, limits: FidelityLimits) -> Verdict:
    """The verdict on a measurement `found`; None if there is none."""
    limit: float | None = getattr(limits, check)
    match found:
        case None:
            return Verdict(check, None, limit, None, "not measured")
        case Order():
            measured = found.slope
            passed = None if measured is None else limit is None or measured >= limit - SLACK
        case _:
            measured = found.max if isinstance(found, Drift) else found
            passed = limit is None or measured <= limit
    seen = "" if isinstance(found, float) else str(found)
    return Verdict(check, measured, limit, None if limit is None else passed, seen)
