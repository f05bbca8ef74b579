"""Laws with a memory: hysteretic feedback and geometric tracking."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import Array, BodyLaw, fresh
from rbgym.agents.controllers.pd import AttitudePD
from rbgym.agents.controllers.plant import Plant
from rbgym.arguments import number

Memory = tuple[Array, Array]


@dataclass(eq=False)
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

    _: KW_ONLY
    delta: float = 0.1
    slews = "hysteretic feedback"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < number(self.delta) < 1:
            raise ValueError(f"delta must be in (0, 1), got {self.delta!r}")

    def feedback(
        self, seen: tuple[Array, Array, Array], state: Memory | None, episode_start: Any
    ) -> tuple[Array, Memory]:
        quaternion, omega, wanted = seen
        h, q = self.remembered(quaternion, state, episode_start)
        u = self.turning(h[:, None] * q[:, 1:], omega, wanted)
        return self.limited(u + self.gyroscopic_torque(omega)), (h, q)

    def remembered(self, q: Array, state: Memory | None, episode_start: Any) -> Memory:
        """The memory after the error quaternion q or -q, (n, 4), has been seen."""
        begins = fresh(len(q), state, episode_start)
        h, last = (np.ones(len(q)), q) if state is None else state
        lifted = np.where(np.sum(q * last, axis=1, keepdims=True) < 0, -q, q)
        q = np.where(begins[:, None], q, lifted)
        h = np.where(begins, np.where(q[:, 0] < 0, -1.0, 1.0), h)
        return np.where(h * q[:, 0] < -self.delta, -h, h), q


@dataclass(eq=False)
class GeometricTracking(BodyLaw):
    """Follows a target by errors of rotation matrices.

    With R and R_d the attitudes of body and target, body to world, and w = R^T R_d Omega_d the
    target's angular velocity in body axes, which is observed,

        e_R = 1/2 (R_d^T R - R^T R_d)^vee,    e_Omega = Omega - w,
        u = -k_R e_R - k_Omega e_Omega + Omega x J Omega - J (Omega x w - R^T R_d dOmega_d/dt).

    e_R is sin(angle) times the axis, 2 q_0 v of the error quaternion (q_0, v): the same for q and
    -q, and next to nothing near a half turn, from which the law starts slowly. The last bracket is
    -dw/dt, and had from the change of w in the last period, which is the memory of the law; where
    an episode starts dOmega_d/dt is taken as zero. What exceeds the limits is shortened, not
    turned.

    k_R = n^2 J_max and k_Omega = 2 z n J_max, J_max the largest moment, are numbers, as in the
    paper: about the other axes the law is stiffer and better damped. Gains: frequency n
    [rad/s], damping z.

    Source: Lee, Leok & McClamroch (2010), Geometric tracking control of a quadrotor UAV on SE(3),
    49th IEEE Conference on Decision and Control, eqs. (10), (11) and (16).
    """

    torque_limit: ArrayLike
    _: KW_ONLY
    frequency: float = 0.7
    damping: float = 1.0
    slews = "geometric tracking"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("frequency", "damping")
        largest = float(np.max(self.body.moments))
        self.k_R = self.frequency**2 * largest
        self.k_Omega = 2 * self.damping * self.frequency * largest

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        return {"frequency": 1.2} if plant.moves else {}

    def feedback(
        self, seen: tuple[Array, Array, Array], state: Array | None, episode_start: Any
    ) -> tuple[Array, Array]:
        q, Omega, w = seen
        begins = fresh(len(q), state, episode_start)[:, None]
        last = w if state is None else state
        turning = np.where(begins, -np.cross(Omega, w), (w - last) / self.dt)
        e_R, e_Omega = 2.0 * q[:, :1] * q[:, 1:], Omega - w
        feedback = -self.k_R * e_R - self.k_Omega * e_Omega
        u = feedback + self.gyroscopic_torque(Omega) + turning @ self.inertia
        return self.limited(u), w
