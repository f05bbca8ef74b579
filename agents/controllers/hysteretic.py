"""Attitude control with a memory against unwinding and chattering."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.controllers.attitude import AttitudePD
from rbgym.agents.controllers.base import fresh
from rbgym.agents.controllers.fitting import aimed, moves
from rbgym.arguments import number
from rbgym.body import RigidBody

Array = NDArray[np.float64]
Memory = tuple[Array, Array]


class Hysteretic(AttitudePD):
    """`AttitudePD`, to that of q and -q which a memory h names and not to the nearer.

        u = J (-2 n^2 h v - 2 z n g + omega_t x omega) + omega x J omega,
        h changes its sign where h q_0 < -delta,

    q = (q_0, v) the error quaternion. Near a half turn, where the nearer way is decided by noise,
    the body is turned on in the direction in which it was going: a change needs q_0 to be beyond
    zero by delta. As observations do not tell q from -q, the memory has the quaternion of the last
    period too, and of q and -q the one near to it is meant (lifting the path of attitudes).

    The memory is (h (n,), q (n, 4)): the `state` that `predict` takes and returns. Where an
    episode starts, h is that of the nearer way.

    Gains: frequency n [rad/s], damping z, delta in (0, 1).

    Source: Mayhew, Sanfelice & Teel (2011), Quaternion-based hybrid control for robust global
    attitude tracking, IEEE Trans. Automatic Control 56(11), hysteretic feedback, with gains
    proportional to J; for the lifting, by the same (2013), On path-lifting mechanisms and
    unwinding in quaternion-based attitude control, 58(5).
    """

    def __init__(
        self,
        body: RigidBody,
        torque_limit: ArrayLike,
        *,
        rate_limit: float,
        dt: float,
        frequency: float = 0.4,
        damping: float = 1.0,
        delta: float = 0.1,
    ) -> None:
        gains = {"frequency": frequency, "damping": damping}
        super().__init__(body, torque_limit, rate_limit=rate_limit, dt=dt, **gains)
        if not 0 < number(delta) < 1:
            raise ValueError(f"delta must be in (0, 1), got {delta!r}")
        self.delta = delta

    @classmethod
    def for_env(cls, env: Any, **gains: float) -> Self:
        """The law for an env with a target; gains: frequency, damping, delta."""
        base = aimed(env, "hysteretic feedback")
        return cls.of(base, **{**({"frequency": 2.0} if moves(base) else {}), **gains})

    def feedback(
        self, seen: tuple[Array, Array, Array], state: Memory | None, episode_start: Any
    ) -> tuple[Array, Memory]:
        quaternion, omega, wanted = seen
        h, q = self.remembered(quaternion, state, episode_start)
        u = self.turning(h[:, None] * q[:, 1:], omega, wanted) + self.gyroscopic(omega)
        return self.limited(u), (h, q)

    def remembered(self, q: Array, state: Memory | None, episode_start: Any) -> Memory:
        """The memory after the error quaternion q or -q, (n, 4), has been seen."""
        begins = fresh(len(q), state, episode_start)
        h, last = (np.ones(len(q)), q) if state is None else state
        lifted = np.where(np.sum(q * last, axis=1, keepdims=True) < 0, -q, q)
        q = np.where(begins[:, None], q, lifted)
        h = np.where(begins, np.where(q[:, 0] < 0, -1.0, 1.0), h)
        return np.where(h * q[:, 0] < -self.delta, -h, h), q
