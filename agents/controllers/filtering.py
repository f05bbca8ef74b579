"""An estimator in front of a law or policy: a multiplicative extended Kalman filter."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.agents import controllers
from rbgym.agents.controllers.base import fresh
from rbgym.arguments import positive, real
from rbgym.envs.base import AttitudeEnv, AttitudeVectorEnv
from rbgym.envs.parts.observations import Quaternion
from rbgym.envs.parts.sensors import Instruments
from rbgym.quaternion import (
    Array,
    canonicalized,
    conjugate,
    from_rotation_vector,
    multiply,
    normalized,
    to_matrix,
)

_ROUNDING = 1e-7  # rad; of attitudes in float32
_SAME = 2e-7  # two attitudes nearer than this in all components are one that is held


class Belief(NamedTuple):
    """What is held to be true of n lanes.

    attitude: (n, 4). bias of the gyros: (n, 3) [rad/s]. covariance: (n, 6, 6), of the small turn
    about the body axes [rad] from the estimated attitude to the true one, and of the true bias less
    the estimated. rate: (n, 3) [rad/s], body axes. seen: (n, 4), what the star tracker said last.
    """

    attitude: Array
    bias: Array
    covariance: Array
    rate: Array
    seen: Array


class Estimating:
    """A law or policy that sees estimates of attitude and rates instead of what is measured.

    The filter turns its attitude on by the rates of the gyros less their estimated bias, once a
    control period, and corrects both where the star tracker has said something new: where the
    attitude shown is another than before. What is held is not taken twice. With a the turn
    (measured - b) dt of a period, R(a) its rotation, G(a) the right Jacobian of the rotation
    vector, v, u the densities of the walks and the errors x = (turn, bias),

        x' = F x + w,  F = [[R(a)^T, -G dt], [0, I]],
        cov w = [[(v^2 dt + u^2 dt^3 / 3) G G^T, -u^2 dt^2 / 2 G], [., u^2 dt I]],

    and the star tracker measures the turn, with its variances across and about the boresight.

    policy: whatever has `predict`, for observations whose columns are a quaternion (w, x, y, z),
    body to world or to a target at rest, and rates / rate_limit [rad/s]; what follows is handed on.
    The memory that `predict` takes and returns is a `Belief` and the policy's own.

    Source: Lefferts, Markley & Shuster (1982), Kalman filtering for spacecraft attitude estimation,
    J. Guidance 5(5), with the error in body axes; Farrenkopf (1978), J. Guidance and Control 1(4),
    for the noise of the gyros in discrete time.
    """

    def __init__(self, policy: Any, sensor: Instruments, *, rate_limit: float) -> None:
        if not callable(getattr(policy, "predict", None)):
            raise ValueError(f"policy must have predict, got {policy!r}")
        if not isinstance(sensor, Instruments):
            raise ValueError(
                "sensor must be that of gyros and a star tracker, sensor={'gyro': ..., "
                f"'star_tracker': ...}}, for an estimator; got {sensor!r}"
            )
        self.policy, self.rate_limit = policy, positive("rate_limit", rate_limit)
        self.dt, one = sensor.dt, np.eye(3)
        v, u = sensor.angle_walk**2, sensor.rate_walk**2
        self._of_turn = v * self.dt + u * self.dt**3 / 3.0
        self._of_both, self._of_bias = -0.5 * u * self.dt**2, u * self.dt * one
        across, axis = sensor.across_boresight**2 + _ROUNDING**2, np.array(sensor.boresight)
        more = sensor.about_boresight**2 - sensor.across_boresight**2
        self._of_tracker = across * one + more * np.outer(axis, axis)
        self._at_first = np.zeros((6, 6))
        self._at_first[:3, :3], self._at_first[3:, 3:] = self._of_tracker, sensor.bias**2 * one

    @classmethod
    def for_env(cls, policy: Any, env: Any) -> Self:
        """The estimator for an env, single or vector; policy: a controller's name too.

        Raises ValueError where the env has no gyros and star tracker, shows the attitude otherwise
        than as a quaternion, or has a target that moves or that the observation names.
        """
        base = getattr(env, "unwrapped", None)
        if not isinstance(base, AttitudeEnv | AttitudeVectorEnv):
            raise ValueError(f"env must be an environment of rbgym, got {env!r}")
        parts = base.episodes.setup.parts
        if base.task.split or not isinstance(parts.observation.form, Quaternion):
            raise ValueError(
                "env must show the attitude as a quaternion, and no goals apart, for an estimator, "
                f"got {parts.observation.form!r} in {type(base).__name__}"
            )
        if parts.reference.moves():
            raise ValueError(
                "env must have a target at rest for an estimator, as attitudes are relative to it; "
                f"its target moves: {parts.reference!r}"
            )
        law = controllers.make(policy, env) if isinstance(policy, str) else policy
        return cls(law, parts.sensor, rate_limit=base.rate_limit)

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
        if seen.ndim not in (1, 2) or seen.shape[-1] < 7:
            raise ValueError(f"observation must have at least 7 columns, got shape {seen.shape}")
        if not np.isfinite(seen).all():
            raise ValueError(f"observation must be finite, got {observation!r}")
        belief, memory = (None, None) if state is None else state
        rows = np.atleast_2d(seen)
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
        n = len(z)
        begun = Belief(z, np.zeros((n, 3)), np.tile(self._at_first, (n, 1, 1)), measured, z)
        if before is None:
            return begun
        if len(before.attitude) != n:
            raise ValueError(f"state must be of {n} lanes, got {len(before.attitude)}")
        q, b, P = self._propagated(before, measured)
        nearest = np.where(np.sum(z * before.seen, axis=1, keepdims=True) < 0.0, -z, z)
        new = np.abs(nearest - before.seen).max(axis=1) > _SAME
        if new.any():
            q, b, P = self._corrected(q, b, P, z, new)
        after = Belief(q, b, P, measured - b, np.where(new[:, None], z, before.seen))
        begins = fresh(n, before, episode_start)
        chosen = (
            np.where(begins.reshape(-1, *(1,) * (one.ndim - 1)), first, one)
            for first, one in zip(begun, after, strict=True)
        )
        return Belief(*chosen)

    def _propagated(self, before: Belief, measured: Array) -> tuple[Array, Array, Array]:
        """Attitude, bias and covariance a control period later."""
        a = (measured - before.bias) * self.dt
        turn, G = from_rotation_vector(a), _right_jacobian(a)
        F = np.tile(np.eye(6), (len(a), 1, 1))
        F[:, :3, :3], F[:, :3, 3:] = np.swapaxes(to_matrix(turn), 1, 2), -self.dt * G
        P = F @ before.covariance @ np.swapaxes(F, 1, 2)
        P[:, :3, :3] += self._of_turn * G @ np.swapaxes(G, 1, 2)
        P[:, :3, 3:] += self._of_both * G
        P[:, 3:, :3] += self._of_both * np.swapaxes(G, 1, 2)
        P[:, 3:, 3:] += self._of_bias
        return normalized(multiply(before.attitude, turn)), before.bias, P

    def _corrected(
        self, q: Array, b: Array, P: Array, z: Array, new: NDArray[np.bool_]
    ) -> tuple[Array, Array, Array]:
        """The same after the attitudes z of the star tracker, in the lanes where they are new."""
        off = multiply(conjugate(q), z)
        y = 2.0 * np.where(off[:, :1] < 0.0, -1.0, 1.0) * off[:, 1:]
        S = P[:, :3, :3] + self._of_tracker
        K = np.swapaxes(np.linalg.solve(S, P[:, :3, :]), 1, 2)
        K = np.where(new[:, None, None], K, 0.0)
        x = (K @ y[:, :, None])[:, :, 0]
        P = P - K @ S @ np.swapaxes(K, 1, 2)
        P = 0.5 * (P + np.swapaxes(P, 1, 2))
        return normalized(multiply(q, from_rotation_vector(x[:, :3]))), b + x[:, 3:], P


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
