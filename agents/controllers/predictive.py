"""Slews planned by iterative LQR, `Planner`: again in every period, or once at the start."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.controllers.base import BodyLaw, Flags, Plant, Seen, fresh
from rbgym.agents.controllers.lqr import error_of, solvable
from rbgym.agents.extras import naming_extra
from rbgym.arguments import count, finite, positive, positives
from rbgym.eigenaxis import eigenaxis_time
from rbgym.engine.batch import Batch
from rbgym.integrators import Integrator
from rbgym.quaternion import Array, conjugate, multiply, normalized

_MOST = 1000  # steps of a plan, and control periods in each
_PARTS = 0.5 ** np.arange(8)  # step lengths that the line search tries
_SAVED = 1e-9  # least relative saving of a sweep
_TINY = 1e-12  # a command this near to its limit is at the limit
_NEWTON = 20  # steps of `box_minimum`: three unknowns take 6 at most, four 8


class SlewPlan(NamedTuple):
    """The states of n bodies at the steps of a plan, the commands between them, and the cost.

    quaternion: (steps + 1, n, 4), relative to the target. angular_velocity: (steps + 1, n, 3)
    [rad/s, body]. commands: (steps, n, m), within +-1. cost: (n,).
    """

    quaternion: Array
    angular_velocity: Array
    commands: Array
    cost: Array


def _times(matrix: Array, vector: Array) -> Array:
    """Products (..., i) of (..., i, j) and (..., j); their bits do not depend on the batch size."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _quadratic(weight: Array, x: Array) -> Array:
    """x' W x (...), of x (..., s)."""
    return np.asarray(np.sum(x * _times(weight, x), axis=-1))


def _transposed(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def box_minimum(H: Array, g: Array, low: Array, high: Array) -> tuple[Array, Flags]:
    """x (n, m) that minimises x' H x / 2 + g' x within low <= x <= high; and where it is free.

    H: (n, m, m), positive definite. g, low, high: (n, m), low <= 0 <= high. Each step is Newton's
    in the variables not held at a limit: cut at the limits or, if that is no better, straight to
    the minimum or the first limit, which always lowers the value. The last step is exact.

    Source: Bertsekas (1982), Projected Newton methods for optimization problems with simple
    constraints, SIAM J. Control and Optimization 20(2).
    """
    x, free = np.zeros_like(g), np.ones(g.shape, np.bool_)
    for _ in range(_NEWTON):
        slope, at_low, at_high = g + _times(H, x), x <= low + _TINY, x >= high - _TINY
        free = ~((at_low & (slope > 0)) | (at_high & (slope < 0)))
        step = -_times_inverse(H, free, slope[..., None])[..., 0]
        d = np.where((at_low & (step < 0)) | (at_high & (step > 0)), 0.0, step)
        room = np.where(d > 0, high - x, np.where(d < 0, x - low, np.inf))
        room /= np.maximum(np.abs(d), 1e-300)
        least = -np.sum(slope * d, axis=-1) / np.maximum(_quadratic(H, d), 1e-300)
        far = np.minimum(least, room.min(axis=-1))[:, None]
        cut, direct = (np.clip(x + one, low, high) for one in (step, far * d))
        rises = [np.sum((y - x) * (slope + 0.5 * _times(H, y - x)), axis=-1) for y in (cut, direct)]
        y = np.where((rises[0] <= rises[1])[:, None], cut, direct)
        better = (np.minimum(*rises) < 0.0) & (np.abs(y - x).max(axis=-1) > _TINY)
        if not better.any():
            break
        x = np.where(better[:, None], y, x)
    return x, free


def _times_inverse(H: Array, free: Flags, right: Array) -> Array:
    """H^-1 times `right` (n, m, k), in the free rows and columns (n, m); zero elsewhere."""
    both = free[:, :, None] & free[:, None, :]
    held = np.where(both, H, np.eye(H.shape[-1]))
    return np.asarray(np.linalg.solve(held, np.where(free[:, :, None], right, 0.0)))


def _difference(q: Array, omega: Array, q_0: Array, omega_0: Array) -> Array:
    """dx (..., 6) = (theta, domega) between states and references, with q = q_0 exp(theta)."""
    return error_of(multiply(conjugate(q_0), q), omega - omega_0)


@dataclass(eq=False)
class Planner(BodyLaw):
    """Plans slews by iterative LQR with limits on the commands, many bodies at once.

    With x = (p, omega), p the rotation vector from target to body, and commands v, each within +-1,
    it minimises the sum over the steps of the horizon of

        1/2 log(1 + (|p| / angle)^2 + (|omega| / rate)^2) + 1/2 |v|^2,

    plus 1/2 log(1 + x' P x) at its end. Within the tolerances this is the cost of a linear
    quadratic regulator, with P its cost to go. Beyond them it grows so slowly that the duration
    counts most; a plain quadratic brakes late and overshoots. The steps are those of the env, with
    its integrator and substeps. A sweep goes backward and forward:

    Backward, A and B are the derivatives of the steps, `Batch.jacobian`, along dx = (theta, domega)
    of q exp(theta), body axes. With s = x' W x, log(1 + s) / 2 is replaced by x' W x / (1 + s) / 2
    with the curvature D' W D / (1 + s), D = dx / d(theta, domega) (Gauss-Newton): the slope is the
    same, and up to a constant it bounds the cost from above (reweighted least squares). So no
    matrix is indefinite and none needs regularisation. k is the change of v with the least Q within
    the limits, `box_minimum`; the gain is K = -Q_uu^-1 Q_ux for commands that are not at a limit, 0
    for the others.

    Forward, v + a k + K dx is cut at the limits and simulated for a = 1, 1/2, ... 1/128 at once.
    The cheapest replaces the plan if it costs less, so the cost never rises.

    The tolerance of the rate is at least sqrt(a angle / 2), a the smallest of the largest angular
    accelerations about the body axes: it damps the regulator critically; with less it would creep.

    The first plan is that of the linear law with its commands cut. mixing: (3, m) torques of full
    commands, body axes [N m], so that the limits of wheels are those of each wheel. A plan ignores
    what observations do not show, momentum and saturation of wheels, and how flexible modes swing.

    Source: Tassa, Mansard & Todorov (2014), Control-limited differential dynamic programming, IEEE
    Int. Conf. Robotics and Automation; cost and weights are ours.
    """

    torque_limit: ArrayLike
    mixing: ArrayLike
    integrator: str | Integrator
    substeps: int
    _: KW_ONLY
    horizon: float | None = None
    steps: int = 40
    sweeps: int = 40
    tolerances: tuple[float, float] = (0.035, 0.02)
    slews = "planned slews"
    still = True
    every_axis = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_gains("dt")
        for name in ("substeps", "steps", "sweeps"):
            if count(name, getattr(self, name)) > _MOST:
                raise ValueError(f"{name} must be at most {_MOST}, got {getattr(self, name)!r}")
        most = _MOST * self.steps * self.dt
        if self.horizon is None:
            half_turns = eigenaxis_time(np.pi, np.eye(3), self.inertia, self.limits)
            self.horizon = min(float(half_turns.max()), most)
        if positive("horizon", self.horizon) > most:
            raise ValueError(
                f"horizon must be at most {most:g} s with {self.steps} steps, got {self.horizon!r}"
            )
        # Control periods in a step of the plan, and how many such steps.
        self.held = int(np.ceil(self.horizon / (self.steps * self.dt) - 1e-9))
        self.count = int(np.ceil(self.horizon / (self.held * self.dt) - 1e-9))
        self.mix = finite("mixing", self.mixing, (3, 3), (3, 4))
        tolerances = positives("tolerances", self.tolerances, (2,))
        with solvable(tolerances, self.dt, self.limits):
            critical = self.agility() * np.sqrt(0.5 * tolerances[0])
            tolerances[1] = max(tolerances[1], critical)
            weight = np.diag(np.repeat(tolerances**-2.0, 3))
            P, self.gain = self._riccati(weight)
        self.weights = np.stack([*[weight] * self.count, P])[:, None]  # of all lanes
        self._batches: dict[int, Batch] = {}

    @classmethod
    def arguments(cls, plant: Plant) -> dict[str, Any]:
        known = super().arguments(plant)
        if plant.coils is not None or not plant.potential.is_free():
            part = plant.coils if plant.coils is not None else plant.potential
            raise ValueError(
                f"env must have torque commands and no potential for {cls.slews}, got {part!r}"
            )
        setup = plant.env.episodes.setup
        if (hook := setup.hooks.get("disturbance")) is not None:
            raise ValueError(f"disturbance must be given by name for {cls.slews}, got {hook!r}")
        if plant.pulse:
            stages = setup.actuator.stages
            raise ValueError(f"actuator must be without pulses for {cls.slews}, got {stages!r}")
        return known

    @classmethod
    def usual_gains(cls, plant: Plant) -> dict[str, Any]:
        return {"tolerances": (plant.env.task.angle, plant.env.task.rate)}

    @naming_extra()
    def _riccati(self, weight: Array) -> tuple[Array, Array]:
        """P (6, 6) and K (m, 6) of v = -K x near rest at the target, where the motion is linear."""
        from scipy.linalg import solve_discrete_are

        T, m = self.held * self.dt, self.mix.shape[1]
        A, push = np.eye(6), np.linalg.inv(self.inertia) @ self.mix
        A[:3, 3:] = T * np.eye(3)
        B = np.concatenate([0.5 * T * T * push, T * push])
        P = solve_discrete_are(A, B, weight, np.eye(m))
        return P, np.linalg.solve(np.eye(m) + B.T @ P @ B, B.T @ P @ A)

    def plan(self, q: Array, omega: Array, sweeps: int) -> SlewPlan:
        """The plan from attitudes q (n, 4), relative to the target, and rates omega (n, 3)."""
        motion = self.fly(q, omega, lambda t, *state: -_times(self.gain, error_of(*state)))
        for _ in range(sweeps):
            before, motion = motion, self.sweep(motion)
            if motion is before:
                break
        return motion

    def fly(self, q: Array, omega: Array, law: Callable[[int, Array, Array], Array]) -> SlewPlan:
        """The motion from q and omega under the commands law(step, q, omega) (n, m), cut at +-1."""
        batch, h = self._batch(len(q)), self.dt / self.substeps
        batch.set_state(q, omega)
        seen, given = [(q, omega)], []
        for t in range(self.count):
            given.append(np.clip(law(t, *seen[-1]), -1.0, 1.0))
            batch.set_torque(_times(self.mix, given[-1]))
            batch.advance(h, self.substeps * self.held)
            found = batch.measure()
            seen.append((found["quaternion"], found["angular_velocity"]))
        qs, omegas = (np.stack(one) for one in zip(*seen, strict=True))
        v = np.stack(given)
        costs = np.log1p(_quadratic(self.weights, error_of(qs, omegas)))
        costs[:-1] += np.sum(v * v, axis=-1)
        # The bits of numpy's sum depend on the number of lanes; those of cumsum do not.
        return SlewPlan(qs, omegas, v, 0.5 * np.cumsum(costs, axis=0)[-1])

    def sweep(self, motion: SlewPlan) -> SlewPlan:
        """A cheaper motion in every lane where it finds one; the same object if it finds none."""
        k, K = self.backward(motion)
        n, parts = len(motion.cost), len(_PARTS)

        def law(t: int, q: Array, omega: Array) -> Array:
            before = (motion.quaternion[t][:, None], motion.angular_velocity[t][:, None])
            dx = _difference(q.reshape(n, parts, 4), omega.reshape(n, parts, 3), *before)
            v = motion.commands[t][:, None] + _PARTS[:, None] * k[t][:, None]
            return np.asarray((v + _times(K[t][:, None], dx)).reshape(n * parts, -1))

        q, omega = motion.quaternion[0], motion.angular_velocity[0]
        tried = self.fly(np.repeat(q, parts, axis=0), np.repeat(omega, parts, axis=0), law)
        best = parts * np.arange(n) + np.argmin(tried.cost.reshape(n, parts), axis=1)
        better = tried.cost[best] < (1.0 - _SAVED) * motion.cost
        if not better.any():
            return motion
        qs, omegas, v = (
            np.where(better[:, None], new[:, best], old)
            for new, old in zip(tried[:3], motion[:3], strict=True)
        )
        return SlewPlan(qs, omegas, v, np.where(better, tried.cost[best], motion.cost))

    def backward(self, motion: SlewPlan) -> tuple[Array, Array]:
        """Changes k (steps, n, m) of the commands, and gains K (steps, n, m, 6)."""
        A, B = self.linearised(motion)
        slopes, curvatures = self.expansion(motion)
        v, m = motion.commands, self.mix.shape[1]
        k, K = np.empty(v.shape), np.empty((*v.shape, 6))
        V_x, V_xx = slopes[-1], curvatures[-1]
        for t in range(len(v) - 1, -1, -1):
            VA, VB, A_T, B_T = V_xx @ A[t], V_xx @ B[t], _transposed(A[t]), _transposed(B[t])
            Q_x, Q_u = slopes[t] + _times(A_T, V_x), v[t] + _times(B_T, V_x)
            Q_xx, Q_uu, Q_ux = curvatures[t] + A_T @ VA, np.eye(m) + B_T @ VB, B_T @ VA
            k[t], free = box_minimum(Q_uu, Q_u, -1.0 - v[t], 1.0 - v[t])
            K[t] = -_times_inverse(Q_uu, free, Q_ux)
            # Free commands have no slope left, the others no gain.
            V_x, V_xx = Q_x + _times(_transposed(Q_ux), k[t]), Q_xx + _transposed(Q_ux) @ K[t]
            V_xx = 0.5 * (V_xx + _transposed(V_xx))
        return k, K

    def linearised(self, motion: SlewPlan) -> tuple[Array, Array]:
        """A (steps, n, 6, 6) and B (steps, n, 6, m) of the steps of a motion."""
        qs, omegas, v, _ = motion
        shape = v.shape[:2]
        batch = self._batch(shape[0] * shape[1])
        batch.set_state(qs[:-1].reshape(-1, 4), omegas[:-1].reshape(-1, 3))
        batch.set_torque(_times(self.mix, v).reshape(-1, 3))
        of: Any = batch.jacobian(self.dt / self.substeps, self.substeps * self.held)
        return of.state.reshape(*shape, 6, 6), (of.torque @ self.mix).reshape(*shape, 6, -1)

    def expansion(self, motion: SlewPlan) -> tuple[Array, Array]:
        """Slopes (steps + 1, n, 6) and curvatures (steps + 1, n, 6, 6) of the cost, along dx."""
        x = error_of(motion.quaternion, motion.angular_velocity)
        p = x[..., :3]
        half = np.maximum(0.5 * np.linalg.norm(p, axis=-1), 1e-5)[..., None, None]
        # d log(q exp(theta)) / d theta = 1 + [p] / 2 + c [p]^2, where [p] v = p x v.
        turn = np.cross(np.eye(3), p[..., None, :])
        c = (1.0 - half / np.tan(half)) / (4.0 * half * half)
        D = np.broadcast_to(np.eye(6), (*x.shape, 6)).copy()
        D[..., :3, :3] += 0.5 * turn + c * (turn @ turn)
        W = self.weights / (1.0 + _quadratic(self.weights, x))[..., None, None]
        return _times(_transposed(D), _times(W, x)), _transposed(D) @ W @ D

    def _batch(self, size: int) -> Batch:
        """A batch of bodies to step; cached by size, since making one takes a while."""
        if size not in self._batches:
            if len(self._batches) == 12:
                self._batches.clear()
            self._batches[size] = Batch(self.body, self.integrator, size=size)
        return self._batches[size]


@dataclass(eq=False, kw_only=True)
class ModelPredictive(Planner):
    """Plans the rest of the slew in every control period, and gives the plan's first command.

    `Planner` improves the plan of the last period by a few sweeps; at the start of an episode it
    plans by 20. If a step of the plan spans several control periods, the last plan's commands are
    averaged over the new steps, which begin a period later.

    The memory is the plan's commands, (steps, n, m). Gains: horizon [s], by default the time of
    half a turn about the slowest body axis; steps, the largest number in the horizon; sweeps in
    each period; tolerances: angle [rad] and rate [rad/s], by default the task's.

    Source: Tassa, Erez & Todorov (2012), Synthesis and stabilization of complex behaviors through
    online trajectory optimization, IEEE/RSJ Int. Conf. Intelligent Robots and Systems; `Planner`.
    """

    sweeps: int = 2
    first: ClassVar[int] = 20

    def feedback(self, seen: Seen, state: Any, episode_start: Any) -> tuple[Array, Any]:
        q, omega, begins = normalized(seen[0]), seen[1], fresh(len(seen[0]), state, episode_start)
        v = np.zeros((self.count, len(q), self.mix.shape[1])) if state is None else state.copy()
        v[:-1] += (v[1:] - v[:-1]) / self.held
        if begins.any():
            v[:, begins] = self.plan(q[begins], omega[begins], self.first).commands
        motion = self.fly(q, omega, lambda t, *_: v[t])
        for _ in range(self.sweeps):
            motion = self.sweep(motion)
        return _times(self.mix, motion.commands[0]), motion.commands


@dataclass(eq=False, kw_only=True)
class PlannedSlew(Planner):
    """Plans the slew once, at the start of an episode, and follows the plan by feedback.

    With v_i the commands and K_i the gains of step i of the plan, see `Planner`, and dx the
    deviation from it, v = v_i + K_i dx, cut at the limits: a command that the plan has at a limit
    stays there. After the end of the plan the linear law takes over.

    The memory is the plan, q, omega, v and K, (steps + 1, n, ...) each, and the periods since its
    start, (n,). Gains as for `ModelPredictive`, except that `sweeps` is a maximum: planning stops
    when no sweep lowers the cost.

    Source: as `Planner`.
    """

    steps: int = 200

    def feedback(self, seen: Seen, state: Any, episode_start: Any) -> tuple[Array, Any]:
        q, omega, begins = normalized(seen[0]), seen[1], fresh(len(seen[0]), state, episode_start)
        n, m = len(q), self.mix.shape[1]
        if state is None:
            shapes = (4,), (3,), (m,), (m, 6)
            state = *(np.zeros((self.count + 1, n, *one)) for one in shapes), np.zeros(n, int)
        *plan, age = (one.copy() for one in state)
        if begins.any():
            for one, new in zip(plan, self.reference(q[begins], omega[begins]), strict=True):
                one[:, begins] = new
        age = np.where(begins, 0, age)
        step, lanes = np.minimum(age // self.held, self.count), np.arange(n)
        q_0, omega_0, v, K = (one[step, lanes] for one in plan)
        off = _difference(q, omega, q_0, omega_0)
        if self.held > 1:  # the plan itself moves within a step
            after, part = np.minimum(step + 1, self.count), age % self.held / self.held
            ahead = _difference(plan[0][after, lanes], plan[1][after, lanes], q_0, omega_0)
            off = off - part[:, None] * ahead
        v = v + _times(K, off)
        return _times(self.mix, np.clip(v, -1.0, 1.0)), (*plan, age + 1)

    def reference(self, q: Array, omega: Array) -> tuple[Array, Array, Array, Array]:
        """States, commands and gains of a plan; the last ones are those of rest at the target."""
        motion = self.plan(q, omega, self.sweeps)
        _, K = self.backward(motion)
        last = np.broadcast_to(-self.gain, (1, *K.shape[1:]))
        qs, omegas = motion.quaternion.copy(), motion.angular_velocity.copy()
        qs[-1], omegas[-1] = (1.0, 0.0, 0.0, 0.0), 0.0
        v = np.concatenate([motion.commands, np.zeros((1, *motion.commands.shape[1:]))])
        return qs, omegas, v, np.concatenate([K, last])
