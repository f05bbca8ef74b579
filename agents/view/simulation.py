"""What moves on the page: bodies under one scheme each, or a task under several policies, which
advance together from the same start."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import ArrayLike

from rbgym.agents.cases import task_of
from rbgym.agents.judge.contenders import contenders
from rbgym.arguments import positive
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.envs.parts.goals import Target
from rbgym.potentials import HeavyTop, NoPotential, Potential
from rbgym.quaternion import Array

IDLE = "idle"  # the controller whose commands are zero
TRAIL = 80  # instants that are kept of a run
_INTERVAL = 0.02  # least time between two of them [s]


@dataclass(frozen=True)
class Snapshot:
    """A run at one instant.

    quaternion (4,) body to world; angular_velocity (3,) [rad/s, body]; angular_momentum (3,)
    [kg m^2/s, world]; energy [J]; torque (3,) that acts [N m, body]; position (3,) [m, world];
    goal_angle [rad] to the goal, nan without one; target (4,), the attitude of the goal, if it is
    one; scale of the body's size.
    """

    quaternion: Array
    angular_velocity: Array
    angular_momentum: Array
    energy: float
    torque: Array
    position: Array
    goal_angle: float = np.nan
    target: Array | None = None
    scale: float = 1.0


class _Run:
    """Something that advances by steps of `dt` seconds and has come to `time`.

    `push` applies a torque (3,) [N m, body axes] beside all others from now on; `advance` makes so
    many steps, or those up to the end; `snapshot` is the present state, or the last good one.
    ended: why it goes no further, empty while it does; failed: whether a step could not be solved.
    rate: an angular velocity [rad/s] that is large here; strength: a torque [N m] that is felt.
    """

    time, ended, failed = 0.0, "", False

    def _fail(self) -> None:
        self.ended, self.failed = "its equation could not be solved", True


class FreeRun(_Run):
    """A body by itself, or on its point in gravity, stepped by one scheme: bit for bit what
    `rbgym.simulate` computes, with its arguments."""

    def __init__(
        self,
        body: RigidBody,
        integrator: str,
        *,
        dt: float,
        quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
        potential: Potential | None = None,
    ) -> None:
        self.name, self.body, self.dt = integrator, body, positive("dt", dt)
        self.potential = NoPotential() if potential is None else potential
        self.rate = max(math.hypot(*np.asarray(angular_velocity, dtype=np.float64)), 1.0)
        self.strength = float(body.moments.max()) * self.rate
        self._batch = Batch(body, integrator, potential)
        self._batch.set_state(quaternion, angular_velocity)
        self.push(np.zeros(3))
        self._state = self._batch.measure()

    def push(self, torque: Array) -> None:
        self._torque = torque
        self._batch.set_torque(torque)

    def advance(self, steps: int) -> None:
        if self.ended:
            return
        self._batch.advance(self.dt, steps)
        self.time += steps * self.dt
        state = self._batch.measure()
        if self._batch.failed[0] or not all(np.isfinite(part).all() for part in state.values()):
            self._fail()
        else:
            self._state = state

    def snapshot(self) -> Snapshot:
        state: dict[str, Any] = {name: part[0] for name, part in self._state.items()}
        return Snapshot(**state, torque=self._torque, position=np.zeros(3))


class TaskRun(_Run):
    """One episode of a task, from the start of `seed`, in which a policy acts; a step is a control
    period.

    policy: the name of a controller, "pretrained", or a folder. env_kwargs: arguments of the
    environment, before those that a policy was trained with; not `disturbance`, which is how a
    torque is applied here.
    Raises ValueError for what the environment or the policy refuses.
    """

    def __init__(
        self,
        env_id: str,
        policy: str = IDLE,
        *,
        seed: int = 0,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        task_of(env_id)
        if "disturbance" in (env_kwargs or {}):
            raise ValueError("env-arg must leave out disturbance: the page pushes by it")
        _, (one,) = contenders([policy], env_id, env_kwargs)
        self._torque = np.zeros(3)
        kwargs = dict(one.env_kwargs)
        kwargs["disturbance"] = lambda s: np.broadcast_to(self._torque, (len(s["time"]), 3))
        self._env = gym.make(env_id, disable_env_checker=True, **kwargs)
        self._policy = one.at_work(self._env)
        base: Any = self._env.unwrapped
        self.name = f"{policy}, {base.integrator}"
        self.body, self.potential = base.body, base.potential
        self.dt, self.rate = base.dt, float(base.rate_limit)
        self.strength = 2.0 * float(base.torque_limit.max()) or float(base.body.moments.max())
        self._observation, self._info = self._env.reset(seed=seed)
        self._memory: Any = None

    def push(self, torque: Array) -> None:
        self._torque = torque

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            if self.ended:
                return
            begins = np.array([self.time == 0.0])
            action, self._memory = self._policy.predict(self._observation, self._memory, begins)
            self._observation, _, terminated, truncated, self._info = self._env.step(action)
            self.time += self.dt
            if self._info["integration_failed"]:
                self._fail()
            elif terminated or truncated:
                reason = "out of bounds" if terminated else "time is up"
                self.ended = "done" if self._info["is_success"] else reason

    def snapshot(self) -> Snapshot:
        base: Any = self._env.unwrapped
        state, info = base.episodes.state(), self._info
        return Snapshot(
            quaternion=state["quaternion"][0],
            angular_velocity=state["angular_velocity"][0],
            angular_momentum=state["angular_momentum"][0],
            energy=float(state["energy"][0]),
            torque=np.asarray(info["applied_torque"]) + self._torque,
            position=state["position"][0] if "position" in state else np.zeros(3),
            goal_angle=float(info["attitude_error"]) if base.goal.angle_off else math.nan,
            target=state["target_quaternion"][0] if isinstance(base.goal, Target) else None,
            scale=float(state["scale"][0]) if "scale" in state else 1.0,
        )


Run = FreeRun | TaskRun


class Simulation:
    """Runs of equal dt. trails: the last instants of each run, at even times as long as it goes."""

    def __init__(self, runs: Sequence[Run]) -> None:
        steps = {run.dt for run in runs}
        if len(steps) != 1:
            raise ValueError(f"runs must share one dt, got {sorted(steps)}")
        self.runs, self.dt, self.steps = list(runs), steps.pop(), 0
        self.vertical = isinstance(runs[0].potential, HeavyTop)
        self.trails = [deque([run.snapshot()], TRAIL) for run in runs]
        self._stride = max(1, round(_INTERVAL / self.dt))
        self._torque = np.zeros(3)
        self._references = [run.snapshot() for run in runs]

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.steps * self.dt

    @property
    def over(self) -> bool:
        return all(run.ended for run in self.runs)

    def push(self, torque: Array) -> None:
        """Apply a torque (3,) [N m, body axes] to every body from now on."""
        if np.array_equal(torque, self._torque):
            return
        self._torque = torque
        for run in self.runs:
            run.push(torque)
        self._references = [run.snapshot() for run in self.runs]

    def advance(self, steps: int) -> None:
        """Advance all runs by so many steps; a run that ends stands still from then on."""
        last = self.steps + steps
        while self.steps < last:
            part = min(last - self.steps, self._stride - self.steps % self._stride)
            self.steps += part
            for run, trail in zip(self.runs, self.trails, strict=True):
                if not run.ended:
                    run.advance(part)
                    if self.steps % self._stride == 0 and not run.failed:
                        trail.append(run.snapshot())
            if self._torque.any():
                self._references = [run.snapshot() for run in self.runs]

    def changes(self, k: int) -> tuple[float, float]:
        """Changes of a run's energy and momentum since the start, or since the end of the last
        push, relative where there is something to relate to.

        Of the momentum, the vertical component where only that is conserved.
        """
        now, before = self.runs[k].snapshot(), self._references[k]
        conserved = slice(2, 3) if self.vertical else slice(0, 3)
        turned = (now.angular_momentum - before.angular_momentum)[conserved]
        scale = np.linalg.norm(before.angular_momentum) or 1.0
        gained = abs(now.energy - before.energy) / (abs(before.energy) or 1.0)
        return gained, float(np.linalg.norm(turned) / scale)
