"""What a body did, and how far its invariants strayed: by how much, where, and how they grew."""

from dataclasses import dataclass, field

import numpy as np

from rbgym.invariants import momentum_error, norm_error, relative_energy_error
from rbgym.quaternion import Array, angle_between, normalized, rotate, rotate_inverse

INVARIANTS = ("energy", "momentum", "norm")
ROUND_OFF = 1e-14  # errors below this have no trend worth a word
_SHORTEST = 8  # steps below which no trend is named


@dataclass(frozen=True)
class Motion:
    """One body's motion without control, n + 1 instants.

    quaternion (n+1, 4) body to world, of whatever length; angular_velocity (n+1, 3) [rad/s, body];
    energy (n+1,) [J]; angular_momentum (n+1, 3) [kg m^2/s, world].
    axis: (3,) world axis of the one component of momentum that is an invariant, None for all.
    where: which lane and episode it was, for reports.
    """

    quaternion: Array = field(repr=False)
    angular_velocity: Array = field(repr=False)
    energy: Array = field(repr=False)
    angular_momentum: Array = field(repr=False)
    axis: Array | None = None
    where: str = ""

    @property
    def steps(self) -> int:
        return len(self.energy) - 1

    @property
    def end(self) -> tuple[Array, Array]:
        return self.quaternion[-1], self.angular_velocity[-1]

    def errors(self) -> dict[str, Array]:
        """Errors (n+1,) of energy and momentum, relative, and of |q|.

        To the start; with an axis, to the largest kinetic energy and momentum of the motion.
        """
        E, L = self.energy, self.angular_momentum
        with np.errstate(all="ignore"):
            if self.axis is None:
                energy, momentum = relative_energy_error(E), momentum_error(L)
            else:  # Gravity makes both out of nothing: the start's may be near zero.
                seen = rotate_inverse(normalized(self.quaternion), L)
                kinetic = 0.5 * np.sum(self.angular_velocity * seen, axis=1)
                energy = relative_energy_error(E, float(max(abs(E[0]), kinetic.max())))
                along, size = L @ self.axis, np.linalg.norm(L, axis=1).max()
                momentum = np.asarray(np.abs(along - along[0]) / (size or 1.0))
            return {"energy": energy, "momentum": momentum, "norm": norm_error(self.quaternion)}


def free_motion(quaternion: Array, angular_velocity: Array, inertia: Array) -> Motion:
    """The motion of a free body with this inertia (3, 3) [kg m^2, body axes].

    The length of the quaternions plays no part in energy and momentum.
    """
    with np.errstate(all="ignore"):
        momentum = angular_velocity @ inertia
        energy = 0.5 * np.sum(angular_velocity * momentum, axis=-1)
        world = rotate(normalized(quaternion), momentum)
    return Motion(quaternion, angular_velocity, np.asarray(energy), world)


def difference(q: Array, w: Array, q_other: Array, w_other: Array) -> float:
    """Largest of rotation angle [rad] and relative rate between states (..., 4), (..., 3);
    infinite where something is not finite."""
    with np.errstate(all="ignore"):
        turn = angle_between(q, q_other).max()
        scale = np.linalg.norm(w, axis=-1).max()
        rate = np.linalg.norm(w - w_other, axis=-1).max() / (scale or 1.0)
    return float(max(turn, rate)) if np.isfinite(turn + rate) else np.inf


@dataclass(frozen=True)
class Drift:
    """How far an invariant strayed.

    max: the largest error, infinite where a value is not finite, at `step` of the motion `where`.
    final: the last error. growth: error per step, slope of the line through the origin that fits
    best. trend: "at round-off", "oscillates", "grows linearly", "grows faster than linearly",
    "wanders", "is not finite", or "too short to tell".
    """

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
    """The drift of errors (n+1,) of one motion; those that are not finite count as infinite."""
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
    """Of each invariant, the drift in the motion that strays farthest."""
    found = [{name: drift(e, one.where) for name, e in one.errors().items()} for one in motions]
    return {name: max((each[name] for each in found), key=lambda d: d.max) for name in INVARIANTS}
