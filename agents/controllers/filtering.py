"""An estimator in front of a law or policy: a multiplicative extended Kalman filter."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.base import Flags, Plant, fresh
from rbgym.agents.controllers.fitting import at_work
from rbgym.arguments import count, flag, positive, real
from rbgym.envs.parts.observations import Quaternion, TargetRate
from rbgym.envs.parts.sensors import Instruments, Late
from rbgym.envs.parts.uncertainty import Failing
from rbgym.identification import rotation_vector
from rbgym.quaternion import (
    Array,
    canonicalized,
    conjugate,
    from_rotation_vector,
    multiply,
    normalized,
    rotate,
    rotate_inverse,
    to_matrix,
)

T = TypeVar("T", bound=Any)
_ROUNDING = 1e-7  # rad, of attitudes in float32
_UNIT = 1e-3  # largest error of a quaternion's length
_SAME = 2e-7  # attitudes that differ by less in all components are the same measurement
_LOST = 30.7  # chi-square of three numbers; one in a million is beyond it
_NOISE = 16.3  # the same; one in a thousand is beyond it
_FAR = 0.5  # rad, standard deviation beyond which a turn says little about the bias
_UNEVEN = 1e-3  # share of the target's turn in a control period that its rates may miss


class Belief(NamedTuple):
    """The filter's estimate for n lanes.

    attitude: (n, 4). bias: (n, 3), of the gyros [rad/s]. covariance: (n, 6, 6), of the small turn
    about the body axes [rad] from the estimated attitude to the true one, and of the true bias
    minus the estimated. rate: (n, 3) [rad/s], body axes, the mean of the control period, and
    end_rate at its end; an episode's first are the present rate. part: (n, 1), see `Gyros`. wanted:
    (n, 3) [rad/s], body axes, of the target. seen: (n, 4), the latest attitude of the star tracker.
    past: estimates of the last control periods, oldest first, as many as the tracker's delay.
    """

    attitude: Array
    bias: Array
    covariance: Array
    rate: Array
    end_rate: Array
    part: Array
    wanted: Array
    seen: Array
    past: tuple["Belief", ...] = ()


class Gyros:
    """The error that gyros add to an attitude propagated by their rates, from the noise densities
    of the instruments. sensor: has dt, angle_walk, rate_walk and quantisation, as `Instruments`.
    left: variance about each axis [rad^2] of the angle that they have not counted yet. That error
    does not accumulate, so it is part of every measurement's noise, not of the covariance."""

    def __init__(self, sensor: Any) -> None:
        dt, v, u = sensor.dt, sensor.angle_walk**2, sensor.rate_walk**2
        self.dt, self.of_turn = dt, v * dt + u * dt**3 / 3.0
        self.of_both, self.of_bias = -0.5 * u * dt**2, u * dt
        self.left = sensor.quantisation**2 / 12.0
        self._of_change = 2.0 * v / dt + 6.0 * self.left / dt**2

    def end_rate(self, before: "Belief", rate: Array) -> Array:
        """The rate (n, 3) [rad/s] at the end of a control period from its mean and the last belief.
        A steady acceleration makes them differ by a part of the mean's change: half of it or, from
        a present rate, all of it. Of the change, noise alone would explain a part."""
        change = rate - before.rate
        square = np.sum(change**2, axis=1, keepdims=True)
        noise = np.minimum(_NOISE * self._of_change, square)
        return np.asarray(rate + before.part * change * (1.0 - noise / np.maximum(square, 1e-300)))

    def spread(self, P: Array, a: Array, whole: Array) -> Array:
        """Propagate the covariance (n, 6, 6) of turn and bias over a control period in which the
        body turns by a (n, 3) [rad], and by `whole` (n, 4) relative to the target."""
        G, F = right_jacobian(a), np.tile(np.eye(6), (len(a), 1, 1))
        F[:, :3, :3], F[:, :3, 3:] = np.swapaxes(to_matrix(whole), 1, 2), -self.dt * G
        P = F @ P @ np.swapaxes(F, 1, 2)
        P[:, :3, :3] += self.of_turn * G @ np.swapaxes(G, 1, 2)
        P[:, :3, 3:] += self.of_both * G
        P[:, 3:, :3] += self.of_both * np.swapaxes(G, 1, 2)
        P[:, 3:, 3:] += self.of_bias * np.eye(3)
        return np.asarray(P)


class StarTracker:
    """A filter's model of a star tracker. noises: the covariance (heads, 3, 3) of a measurement of
    each head about the body axes [rad^2]. late: its delay in control periods. holds: whether it may
    show a measurement for longer than a control period."""

    def __init__(self, sensor: Instruments) -> None:
        across, axes = sensor.across_boresight**2, np.array([sensor.boresight, *sensor.others])
        more = sensor.about_boresight**2 - across
        alike = across + _ROUNDING**2 + Gyros(sensor).left
        self.noises = alike * np.eye(3) + more * (axes[:, :, None] * axes[:, None, :])
        self.late = int(sensor.readout.periods) if isinstance(sensor.readout, Late) else 0
        rare = sensor.period >= 1.5 * sensor.dt or sensor.slew_rate < np.inf
        self.holds = bool(rare or self.late or sensor.sun_exclusion or sensor.earth_exclusion)

    def noise(self, valid: Array) -> Array:
        """The covariances (n, 3, 3) of measurements of the heads that `valid` (n, heads) flags; of
        the first head where it flags none."""
        return np.asarray(self.noises[np.argmax(valid, axis=1)])

    def correct(
        self, q: Array, b: Array, P: Array, off: Array, noise: Array
    ) -> tuple[Array, Array, Array]:
        """Correct attitude (n, 4), bias (n, 3) and covariance (n, 6, 6) by a measurement turned by
        `off` (n, 4) from it, of covariance `noise` (n, 3, 3). If that says nothing about the bias,
        the attitude restarts there."""
        y, P = rotation_vector(off)[:, :, None], P.copy()
        P[:, :3, :3] += _adjugate(P[:, :3, :3])
        S = P[:, :3, :3] + noise
        K = np.swapaxes(np.linalg.solve(S, P[:, :3, :]), 1, 2)
        lost = np.trace(S, axis1=1, axis2=2)[:, None, None] > _FAR**2
        lost |= np.swapaxes(y, 1, 2) @ np.linalg.solve(S, y) > _LOST
        K = np.where(lost, np.eye(6, 3), K)
        x = (K @ y)[:, :, 0]
        F = np.eye(6) - K @ np.eye(3, 6)
        P = F @ P @ np.swapaxes(F, 1, 2) + K @ noise @ np.swapaxes(K, 1, 2)
        return normalized(multiply(q, from_rotation_vector(x[:, :3]))), b + x[:, 3:], P


class Estimating:
    """A law or policy that reads estimates of attitude and rates instead of measurements.

    Once a control period the filter propagates its attitude by the gyros' rates minus their
    estimated bias. It corrects both by the star tracker's measurements, by each of them once: a new
    one is flagged or, without flags, if it may be held, differs from the last one propagated to
    now. With a = (measured - b) dt, G(a) the right Jacobian of the rotation vector, R the rotation
    of the whole turn relative to the target, v, u the densities of the walks and the errors
    x = (turn, bias),

        x' = F x + w,  F = [[R^T, -G dt], [0, I]],
        cov w = [[(v^2 dt + u^2 dt^3 / 3) G G^T, -u^2 dt^2 / 2 G], [., u^2 dt I]],

    and the star tracker measures the turn, all of its angle, with its variances across and about
    the boresight. Turns do not add up as vectors do: one about an axis carries along what is known
    about the others, for which a correction allows by P + adj(P) in place of P, the covariance of
    the turn. A turn says nothing about the bias if its standard deviation exceeds half a radian, or
    its chi-square is one that a good measurement exceeds once in a million: then the attitude
    restarts from the star tracker. A late measurement corrects the estimate of the time at which it
    was taken, and the filter propagates that by the rates since then. It takes the rates of a
    moving target from the observation, without an error.

    Gyros measure the mean rate of the control period, half a period late. The policy gets the rate
    at its end, the mean and half of its change since the last period; the change is reduced by
    what noise alone may explain. A law or policy that foresees a delay knows which commands acted,
    and gets the mean, as does a policy that was trained on gyros.

    policy: any object with `predict`, for observations whose columns are a quaternion (w, x, y, z),
    body to world or to a target, then rates / rate_limit [rad/s], and, if the target is `moving`,
    its rates in body axes, scaled likewise. dt: control period [s]. valid: the first of the columns
    that flag which head of the star tracker measured; None without flags. vectors: columns of
    directions fixed in the world, three each, which the env shows in the measured body axes; the
    policy gets them in the estimated ones. Further columns pass unchanged. The memory that
    `predict` takes and returns is a `Belief` and the policy's memory.

    Source: Lefferts, Markley & Shuster (1982), Kalman filtering for spacecraft attitude estimation,
    J. Guidance 5(5), with the error in body axes; Farrenkopf (1978), J. Guidance and Control 1(4),
    for the noise of the gyros in discrete time.
    """

    def __init__(
        self,
        policy: Any,
        sensor: Instruments,
        *,
        rate_limit: float,
        dt: float,
        moving: bool = False,
        valid: int | None = None,
        vectors: Sequence[int] = (),
    ) -> None:
        if not callable(getattr(policy, "predict", None)):
            raise ValueError(f"policy must have predict, got {policy!r}")
        if not isinstance(sensor, Instruments):
            raise ValueError(
                "sensor must be that of gyros and a star tracker, sensor={'gyro': ..., "
                f"'star_tracker': ...}}, for an estimator; got {sensor!r}"
            )
        self.policy, self.rate_limit = policy, positive("rate_limit", rate_limit)
        self.of_means = bool(getattr(policy, "of_means", False))
        self.moving, self.columns = flag("moving", moving), 10 if moving else 7
        sensor = sensor.suited(positive("dt", dt), self.rate_limit)
        self.gyros, self.dt, self.tracker = Gyros(sensor), sensor.dt, StarTracker(sensor)
        self._at_first = np.diag([0.0] * 3 + [sensor.bias**2] * 3)
        heads = 1 + len(sensor.others)
        if heads > 1 and valid is None:
            raise ValueError(
                "sensor must show which of several heads measured, sensor={'star_tracker': "
                f"{{'flag': True, ...}}}}, for an estimator; got {heads} heads"
            )
        first = 0 if valid is None else count("valid", valid, self.columns)
        self._flagged = valid is not None
        self._valid = slice(first, first + heads)  # without flags any column will do
        self.vectors = [count("vectors", column, 3) for column in vectors]
        self.columns = max(self.columns, first + heads, *(n + 3 for n in self.vectors))

    @classmethod
    def for_env(cls, policy: Any, env: Any) -> Self:
        """Make the estimator for an env, single or vector. policy: may be a controller's name.

        Raises ValueError if the env lacks gyros or a star tracker, or shows the attitude in another
        form than a quaternion, a dict of goals, or a preview of the target.
        """
        base = Plant(env).env
        parts = base.episodes.setup.parts
        if base.task.split or not isinstance(parts.observation.form, Quaternion):
            raise ValueError(
                "env must show the attitude as a quaternion, not in a dict of goals, for an "
                f"estimator, got {parts.observation.form!r} in {type(base).__name__}"
            )
        moving = bool(parts.reference.moves())
        if moving and not isinstance(parts.observation.more, TargetRate):
            raise ValueError(
                "env must show of a moving target only its rates for an estimator, got "
                f"{parts.observation.more!r}"
            )
        shown = base.columns.get("star_tracker_valid")
        turned = (base.columns.get(name) for name in ("keep_out", "position", "velocity"))
        given = {"rate_limit": base.rate_limit, "dt": base.dt, "moving": moving}
        given["valid"] = shown.first if shown else None
        vectors = [n for one in turned if one for n in range(one.first, one.place.stop, 3)]
        made = cls(at_work(policy, env), parts.sensor, **given, vectors=vectors)
        made.tracker.holds |= isinstance(parts.outage, Failing)
        return made

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], Any]:
        """The policy's actions for the estimates from observations (n, columns) or (columns,).

        state: the memory that the last call returned, None at first. episode_start: (n,), lanes in
        which an episode, and so the estimate, starts. Raises ValueError for other observations.
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
        is_own = isinstance(state, tuple) and len(state) == 2 and isinstance(state[0], Belief)
        if state is not None and not is_own:
            raise ValueError(f"state must be what the last call returned, or None, got {state!r}")
        before, memory = state or (None, None)
        belief = self.estimate(rows, before, episode_start)
        shown = rows.astype(np.float32)
        shown[:, :4] = canonicalized(belief.attitude)
        off = multiply(conjugate(normalized(rows[:, :4])), belief.attitude)
        for n in self.vectors:
            shown[:, n : n + 3] = rotate_inverse(off, rows[:, n : n + 3])
        shown[:, 4:7] = (belief.rate if self.of_means else belief.end_rate) / self.rate_limit
        how = {"episode_start": episode_start, "deterministic": deterministic}
        actions, memory = self.policy.predict(shown.reshape(seen.shape), state=memory, **how)
        return actions, (belief, memory)

    def estimate(self, rows: Array, before: Belief | None, episode_start: Any) -> Belief:
        """The estimate after observations (n, columns). before: that of the last control period."""
        z, measured = normalized(rows[:, :4]), rows[:, 4:7] * self.rate_limit
        wanted = rows[:, 7:10] * self.rate_limit if self.moving else np.zeros_like(measured)
        n, valid = len(z), rows[:, self._valid]
        noise = self.tracker.noise(valid)
        P = np.tile(self._at_first, (n, 1, 1))
        P[:, :3, :3] = noise
        first = Belief(z, np.zeros((n, 3)), P, measured, measured, np.ones((n, 1)), wanted, z)
        if before is None:
            return first
        if len(before.attitude) != n:
            raise ValueError(f"state must be of {n} lanes, got {len(before.attitude)}")
        now = self._propagate(before, measured, wanted)
        moments = (*before.past, before, now)[-1 - self.tracker.late :]
        held = np.where(np.sum(z * now.seen, axis=1, keepdims=True) < 0.0, -now.seen, now.seen)
        # The error of a propagated measurement: the target's turn is known only so well.
        known = _UNEVEN + 4.0 * np.sqrt(np.trace(now.covariance[:, :3, :3], axis1=1, axis2=2))
        same = _SAME + known * np.linalg.norm(wanted, axis=1) * self.dt
        new = (np.abs(z - held).max(axis=1) > same) | (not self.tracker.holds)
        if self._flagged:
            new = (valid > 0.5).any(axis=1)
        if new.any() and len(moments) > self.tracker.late:
            corrected = self._correct(moments, z, noise)
            moments = tuple(map(partial(where, new), corrected, moments))
        *past, now = (one._replace(past=()) for one in moments)
        found = where(fresh(n, before, episode_start), first, now._replace(seen=z))
        return found._replace(past=tuple(past))

    def _propagate(self, before: Belief, measured: Array, wanted: Array) -> Belief:
        """The estimate a control period later. Its `seen` is the star tracker's last attitude,
        relative to the target at that time."""
        q, a = before.attitude, (measured - before.bias) * self.dt
        turn = from_rotation_vector(a)
        # The target's turn, in the body axes of before.
        back = -0.5 * self.dt * (before.wanted + rotate(turn, wanted))
        whole = multiply(from_rotation_vector(back), turn)
        P = self.gyros.spread(before.covariance, a, whole)
        seen_back = rotate(multiply(conjugate(before.seen), q), back)
        held = multiply(before.seen, from_rotation_vector(seen_back))
        q = normalized(multiply(q, whole))
        rate = measured - before.bias
        end, half = self.gyros.end_rate(before, rate), np.full((len(q), 1), 0.5)
        return Belief(q, before.bias, P, rate, end, half, wanted, held)

    def _correct(self, moments: tuple[Belief, ...], z: Array, noise: Array) -> list[Belief]:
        """Correct the estimates by attitudes z of the star tracker, with covariances noise, which
        were measured at the first of the moments and arrive at the last."""
        first, *later = moments
        off = multiply(conjugate(moments[-1].attitude), z)
        for one in reversed(later):  # the body's turn since the measurement
            off = multiply(from_rotation_vector(one.rate * self.dt), off)
        q, b, P = self.tracker.correct(first.attitude, first.bias, first.covariance, off, noise)
        rate, end = (one + first.bias - b for one in (first.rate, first.end_rate))
        found = [first._replace(attitude=q, bias=b, covariance=P, rate=rate, end_rate=end)]
        for one in later:
            found.append(self._propagate(found[-1], one.rate + one.bias, one.wanted))
        return found


def where(chosen: Flags, one: T, other: T) -> T:
    """Select the estimate `one` in the chosen lanes and `other` in the rest, without a past."""

    def pick(a: Array, b: Array) -> Array:
        return np.where(chosen.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return one._make((*map(pick, one[:-1], other[:-1]), ()))


def right_jacobian(a: Array) -> Array:
    """G (n, 3, 3) of rotation vectors a (n, 3) [rad]: exp(a + e) = exp(a) exp(G e), e small."""
    zero, (x, y, z) = np.zeros(len(a)), a.T
    cross = np.moveaxis(np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]]), 2, 0)
    angle = np.linalg.norm(a, axis=1)[:, None, None]
    half = np.sinc(angle / (2.0 * np.pi))
    # (t - sin t) / t^3; for small t, where the difference loses digits, its first terms.
    small = angle < 1e-2
    t = np.where(small, 1.0, angle)
    rest = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (t - np.sin(t)) / t**3)
    return np.asarray(np.eye(3) - 0.5 * half**2 * cross + rest * cross @ cross)


def _adjugate(P: Array) -> Array:
    """The adjugates det(P) P^-1 of symmetric matrices P (n, 3, 3), also of singular ones."""
    trace, square = np.trace(P, axis1=1, axis2=2)[:, None, None], P @ P
    half = 0.5 * (trace**2 - np.trace(square, axis1=1, axis2=2)[:, None, None])
    return np.asarray(square - trace * P + half * np.eye(3))
