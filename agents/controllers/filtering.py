"""An estimator in front of a law or policy: a multiplicative extended Kalman filter."""

from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.base import Plant, fresh
from rbgym.agents.controllers.fitting import make
from rbgym.arguments import flag, positive, real
from rbgym.envs.parts.observations import Quaternion, TargetRate
from rbgym.envs.parts.sensors import Failing, Instruments, Late
from rbgym.identification import rotation_vector
from rbgym.quaternion import (
    Array,
    canonicalized,
    conjugate,
    from_rotation_vector,
    multiply,
    normalized,
    rotate,
    to_matrix,
)

T = TypeVar("T", bound=Any)
_ROUNDING = 1e-7  # rad; of attitudes in float32
_UNIT = 1e-3  # how far from unit length a quaternion may be
_SAME = 2e-7  # two attitudes nearer than this in all components are one that is held
_LOST = 30.7  # of the chi-square distribution of three numbers; one in a million is beyond it
_FAR = 0.5  # rad, of a standard deviation; turns beyond it say little of the bias
_UNEVEN = 1e-3  # part of the target's turn in a control period that its rates may not tell


class Belief(NamedTuple):
    """What is held to be true of n lanes.

    attitude: (n, 4). bias of the gyros: (n, 3) [rad/s]. covariance: (n, 6, 6), of the small turn
    about the body axes [rad] from the estimated attitude to the true one, and of the true bias less
    the estimated. rate, wanted: (n, 3) [rad/s], body axes, of the body and of the target. seen:
    (n, 4), what was shown of the star tracker. past: beliefs of the control periods before, the
    oldest first, as many as a measurement of the star tracker is late.
    """

    attitude: Array
    bias: Array
    covariance: Array
    rate: Array
    wanted: Array
    seen: Array
    past: tuple["Belief", ...] = ()


def instruments_of(env: Any) -> Any:
    """The sensor of a bare env, also where it may fail."""
    sensor = env.episodes.setup.parts.sensor
    return sensor.sensor if isinstance(sensor, Failing) else sensor


class Gyros:
    """What gyros leave unknown of an attitude that is turned on by their rates: the densities of
    their noise are those of the instruments. What they have not counted yet, with the variance
    `left` about each axis [rad^2], does not add up: it is part of the noise of every measurement,
    and no part of the covariance."""

    def __init__(self, sensor: Instruments) -> None:
        dt, v, u = sensor.dt, sensor.angle_walk**2, sensor.rate_walk**2
        self.dt, self.of_turn = dt, v * dt + u * dt**3 / 3.0
        self.of_both, self.of_bias = -0.5 * u * dt**2, u * dt
        self.left = sensor.quantisation**2 / 12.0

    def spread(self, P: Array, a: Array, whole: Array) -> Array:
        """The covariance (n, 6, 6) of turn and bias a control period later, in which the body
        turned by a (n, 3) [rad], and by `whole` (n, 4) relative to the target."""
        G, F = _right_jacobian(a), np.tile(np.eye(6), (len(a), 1, 1))
        F[:, :3, :3], F[:, :3, 3:] = np.swapaxes(to_matrix(whole), 1, 2), -self.dt * G
        P = F @ P @ np.swapaxes(F, 1, 2)
        P[:, :3, :3] += self.of_turn * G @ np.swapaxes(G, 1, 2)
        P[:, :3, 3:] += self.of_both * G
        P[:, 3:, :3] += self.of_both * np.swapaxes(G, 1, 2)
        P[:, 3:, 3:] += self.of_bias * np.eye(3)
        return np.asarray(P)


class StarTracker:
    """A star tracker as a filter takes it. noise: the covariance (3, 3) of a measurement about the
    body axes [rad^2]; late: control periods until it is shown."""

    def __init__(self, sensor: Instruments) -> None:
        across, axis = sensor.across_boresight**2, np.array(sensor.boresight)
        more = sensor.about_boresight**2 - across
        alike = across + _ROUNDING**2 + Gyros(sensor).left
        self.noise = alike * np.eye(3) + more * np.outer(axis, axis)
        self.late = int(sensor.readout.periods) if isinstance(sensor.readout, Late) else 0

    def correct(self, q: Array, b: Array, P: Array, off: Array) -> tuple[Array, Array, Array]:
        """Attitude (n, 4), bias (n, 3) and covariance (n, 6, 6) after a measurement that is turned
        by `off` (n, 4) from that attitude; it begins again where that says nothing of the bias."""
        y, P = rotation_vector(off)[:, :, None], P.copy()
        P[:, :3, :3] += _adjugate(P[:, :3, :3])
        S = P[:, :3, :3] + self.noise
        K = np.swapaxes(np.linalg.solve(S, P[:, :3, :]), 1, 2)
        lost = np.trace(S, axis1=1, axis2=2)[:, None, None] > _FAR**2
        lost |= np.swapaxes(y, 1, 2) @ np.linalg.solve(S, y) > _LOST
        K = np.where(lost, np.eye(6, 3), K)
        x = (K @ y)[:, :, 0]
        F = np.eye(6) - K @ np.eye(3, 6)
        P = F @ P @ np.swapaxes(F, 1, 2) + K @ self.noise @ np.swapaxes(K, 1, 2)
        return normalized(multiply(q, from_rotation_vector(x[:, :3]))), b + x[:, 3:], P


class Estimating:
    """A law or policy that sees estimates of attitude and rates instead of what is measured.

    The filter turns its attitude on by the rates of the gyros less their estimated bias, once a
    control period, and corrects both where the star tracker has said something new: where the
    attitude shown is another than the last one would be by now. What is held is not taken twice.
    With a = (measured - b) dt, G(a) the right Jacobian of the rotation vector, R the rotation of
    the whole turn relative to the target, v, u the densities of the walks and the errors
    x = (turn, bias),

        x' = F x + w,  F = [[R^T, -G dt], [0, I]],
        cov w = [[(v^2 dt + u^2 dt^3 / 3) G G^T, -u^2 dt^2 / 2 G], [., u^2 dt I]],

    and the star tracker measures the turn, all of its angle, with its variances across and about
    the boresight. Turns do not add up as vectors do: one about an axis takes what is known about
    the others with it, which a correction allows for by P + adj(P) in the place of P, the
    covariance of the turn. A turn whose deviation is beyond half a radian, or which is itself
    beyond what all but one in a million are, says nothing of the bias: the attitude begins again
    from the star tracker. A late measurement corrects what was held to be true when it was taken,
    and the rates since then are taken once more. The rates of a target that turns are taken as the
    observation has them, without an error.

    policy: whatever has `predict`, for observations whose columns are a quaternion (w, x, y, z),
    body to world or to a target, rates / rate_limit [rad/s], and, if it is `moving`, the target's
    rates, body axes, in the same way; what follows is handed on. The memory that `predict` takes
    and returns is a `Belief` and the policy's own.

    Source: Lefferts, Markley & Shuster (1982), Kalman filtering for spacecraft attitude estimation,
    J. Guidance 5(5), with the error in body axes; Farrenkopf (1978), J. Guidance and Control 1(4),
    for the noise of the gyros in discrete time.
    """

    def __init__(
        self, policy: Any, sensor: Instruments, *, rate_limit: float, moving: bool = False
    ) -> None:
        if not callable(getattr(policy, "predict", None)):
            raise ValueError(f"policy must have predict, got {policy!r}")
        if not isinstance(sensor, Instruments):
            raise ValueError(
                "sensor must be that of gyros and a star tracker, sensor={'gyro': ..., "
                f"'star_tracker': ...}}, for an estimator; got {sensor!r}"
            )
        self.policy, self.rate_limit = policy, positive("rate_limit", rate_limit)
        self.moving, self.columns = flag("moving", moving), 10 if moving else 7
        self.gyros, self.dt, self.tracker = Gyros(sensor), sensor.dt, StarTracker(sensor)
        self._at_first = np.zeros((6, 6))
        self._at_first[:3, :3] = self.tracker.noise
        self._at_first[3:, 3:] = sensor.bias**2 * np.eye(3)

    @classmethod
    def for_env(cls, policy: Any, env: Any) -> Self:
        """The estimator for an env, single or vector; policy: a controller's name too.

        Raises ValueError where the env has no gyros and star tracker, shows the attitude otherwise
        than as a quaternion, has goals apart from the observation, or a preview of the target.
        """
        base = Plant(env).env
        parts = base.episodes.setup.parts
        if base.task.split or not isinstance(parts.observation.form, Quaternion):
            raise ValueError(
                "env must show the attitude as a quaternion, and no goals apart, for an estimator, "
                f"got {parts.observation.form!r} in {type(base).__name__}"
            )
        moving = bool(parts.reference.moves())
        if moving and not isinstance(parts.observation.more, TargetRate):
            raise ValueError(
                "env must show a moving target by its rates alone for an estimator, got "
                f"{parts.observation.more!r}"
            )
        law = make(policy, env) if isinstance(policy, str) else policy
        return cls(law, instruments_of(base), rate_limit=base.rate_limit, moving=moving)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], Any]:
        """Actions of the policy for what is estimated of observations (n, columns) or (columns,).

        state: the memory that the last call returned, None at first. episode_start: (n,), where an
        episode begins, and the estimate with it. Raises ValueError for other observations.
        """
        seen = real("observation", observation)
        if seen.ndim not in (1, 2) or seen.shape[-1] < self.columns:
            raise ValueError(
                f"observation must have at least {self.columns} columns, got shape {seen.shape}"
            )
        rows = np.atleast_2d(seen)
        small = (np.abs(rows) <= np.finfo(np.float32).max).all(axis=1)  # and no NaN
        with np.errstate(over="ignore", invalid="ignore"):
            good = small & (np.abs(np.linalg.norm(rows[:, :4], axis=1) - 1.0) < _UNIT)
        if not good.all():
            k = int(np.argmin(good))
            raise ValueError(
                "observation must be finite, with a unit quaternion at first, got "
                f"{rows[k].tolist()} in row {k}"
            )
        belief, memory = _memory(state)
        belief = self.estimate(rows, belief, episode_start)
        shown = rows.astype(np.float32)
        shown[:, :4] = canonicalized(belief.attitude)
        shown[:, 4:7] = belief.rate / self.rate_limit
        actions, memory = self.policy.predict(
            shown if seen.ndim == 2 else shown[0],
            state=memory,
            episode_start=episode_start,
            deterministic=deterministic,
        )
        return actions, (belief, memory)

    def estimate(self, rows: Array, before: Belief | None, episode_start: Any) -> Belief:
        """What is held to be true after observations (n, columns); before: after the last."""
        z, measured = normalized(rows[:, :4]), rows[:, 4:7] * self.rate_limit
        wanted = rows[:, 7:10] * self.rate_limit if self.moving else np.zeros_like(measured)
        n = len(z)
        P = np.tile(self._at_first, (n, 1, 1))
        begun = Belief(z, np.zeros((n, 3)), P, measured, wanted, z)
        if before is None:
            return begun
        if len(before.attitude) != n:
            raise ValueError(f"state must be of {n} lanes, got {len(before.attitude)}")
        now = self._propagated(before, measured, wanted)
        moments = (*before.past, before, now)[-1 - self.tracker.late :]
        held = np.where(np.sum(z * now.seen, axis=1, keepdims=True) < 0.0, -now.seen, now.seen)
        # How far off what is held may be told: by what is not known of the way the target turns.
        known = _UNEVEN + 4.0 * np.sqrt(np.trace(now.covariance[:, :3, :3], axis1=1, axis2=2))
        same = _SAME + known * np.linalg.norm(wanted, axis=1) * self.dt
        new = np.abs(z - held).max(axis=1) > same
        if new.any() and len(moments) > self.tracker.late:
            corrected = self._corrected(moments, z)
            moments = tuple(map(partial(where, new), corrected, moments))
        *past, now = (one._replace(past=()) for one in moments)
        found = where(fresh(n, before, episode_start), begun, now._replace(seen=z))
        return found._replace(past=tuple(past))

    def _propagated(self, before: Belief, measured: Array, wanted: Array) -> Belief:
        """What is held to be true a control period later; seen: what is held of the star tracker,
        relative to the target as it is then."""
        q, a = before.attitude, (measured - before.bias) * self.dt
        turn = from_rotation_vector(a)
        # The target's turn, in the body axes of before.
        back = -0.5 * self.dt * (before.wanted + rotate(turn, wanted))
        whole = multiply(from_rotation_vector(back), turn)
        P = self.gyros.spread(before.covariance, a, whole)
        seen_back = rotate(multiply(conjugate(before.seen), q), back)
        held = multiply(before.seen, from_rotation_vector(seen_back))
        q = normalized(multiply(q, whole))
        return Belief(q, before.bias, P, measured - before.bias, wanted, held)

    def _corrected(self, moments: tuple[Belief, ...], z: Array) -> list[Belief]:
        """The same after the attitudes z of the star tracker, measured at the first of the moments
        and shown at the last."""
        first, *later = moments
        off = multiply(conjugate(moments[-1].attitude), z)
        for one in reversed(later):  # what the body has turned since
            off = multiply(from_rotation_vector(one.rate * self.dt), off)
        q, b, P = self.tracker.correct(first.attitude, first.bias, first.covariance, off)
        rate = first.rate + first.bias - b
        found = [first._replace(attitude=q, bias=b, covariance=P, rate=rate)]
        for one in later:
            found.append(self._propagated(found[-1], one.rate + one.bias, one.wanted))
        return found


def where(chosen: NDArray[np.bool_], one: T, other: T) -> T:
    """What the one holds to be true in the chosen lanes, and the other in the rest; no past."""

    def pick(a: Array, b: Array) -> Array:
        return np.where(chosen.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return one._make((*map(pick, one[:-1], other[:-1]), ()))


def _memory(state: Any) -> tuple[Belief | None, Any]:
    """What is held to be true, and the policy's own memory."""
    if state is None:
        return None, None
    if isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], Belief):
        return state
    raise ValueError(f"state must be what the last call returned, or None, got {state!r}")


def _right_jacobian(a: Array) -> Array:
    """G (n, 3, 3) of rotation vectors a (n, 3) [rad]: exp(a + e) = exp(a) exp(G e), e small."""
    zero, (x, y, z) = np.zeros(len(a)), a.T
    cross = np.moveaxis(np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]), 2, 0)
    angle = np.linalg.norm(a, axis=1)[:, None, None]
    half = np.sinc(angle / (2.0 * np.pi))
    # (t - sin t) / t^3, whose first terms are exact enough where its difference is not.
    small = angle < 1e-2
    t = np.where(small, 1.0, angle)
    rest = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (t - np.sin(t)) / t**3)
    return np.asarray(np.eye(3) - 0.5 * half**2 * cross + rest * cross @ cross)


def _adjugate(P: Array) -> Array:
    """Of symmetric matrices P (n, 3, 3): det(P) P^-1, also where P has no inverse."""
    trace, square = np.trace(P, axis1=1, axis2=2)[:, None, None], P @ P
    half = 0.5 * (trace**2 - np.trace(square, axis1=1, axis2=2)[:, None, None])
    return np.asarray(square - trace * P + half * np.eye(3))
