"""A task in which a controller or a trained policy acts, and which can be pushed."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from rbgym.agents import controllers
from rbgym.agents.judge import comparison
from rbgym.agents.view.runs import Look
from rbgym.envs.parts.goals import Target
from rbgym.quaternion import Array

NONE = "none"


class TaskRun:
    """One environment from a start of its own, that of `seed`, with someone who acts.

    policy: "none" for commands of zero, "pretrained", the name of a controller, or a folder.
    env_kwargs: arguments of the environment, before those that a policy was trained with; a
    `disturbance` is refused, and one of training left out, as pushing is one.
    Raises ValueError for what the environment or the policy refuses.
    """

    def __init__(
        self,
        env_id: str,
        policy: str = NONE,
        *,
        seed: int = 0,
        unpickle: str | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        kwargs = dict(env_kwargs or {})
        if "disturbance" in kwargs:
            raise ValueError("env-arg must leave out disturbance: the page pushes by it")
        self._torque = np.zeros(3)
        trained = _trained(policy, env_id, unpickle)
        own = kwargs if trained is None else comparison.own_kwargs(trained, env_id, kwargs)
        pushed = {**own, "disturbance": self._disturb}
        self._env = gym.make(env_id, disable_env_checker=True, **pushed)
        base: Any = self._env.unwrapped
        self._policy = trained
        if trained is None and policy != NONE:
            self._policy = controllers.make(policy, self._env)
        self.name = f"{policy}, {base.integrator}" if policy != NONE else base.integrator
        self.body, self.potential, self.dt = base.body, base.potential, base.dt
        self.rate = float(base.rate_limit)
        self.strength = 2.0 * float(base.torque_limit.max()) or float(base.body.moments.max())
        self.ended, self.failed = "", False
        self._observation, self._info = self._env.reset(seed=seed)
        self._memory: Any = None
        self._first = True

    def _disturb(self, state: Mapping[str, Array]) -> Array:
        return np.broadcast_to(self._torque, (len(state["time"]), 3))

    def push(self, torque: Array) -> None:
        """See `Run`."""
        self._torque = np.asarray(torque, dtype=np.float64)

    def advance(self, steps: int) -> int:
        """See `Run`. A step is a control period."""
        made = 0
        while made < steps and not self.ended:
            self._step()
            made += 1
        return made

    def _step(self) -> None:
        action = self._act()
        self._observation, _, terminated, truncated, self._info = self._env.step(action)
        if self._info["integration_failed"]:
            self.ended, self.failed = "its equation could not be solved", True
        elif terminated:
            self.ended = "done" if self._info["is_success"] else "out of bounds"
        elif truncated:
            self.ended = "done" if self._info["is_success"] else "time is up"

    def _act(self) -> Any:
        if self._policy is None:
            return np.zeros(self._env.action_space.shape or (), np.float32)
        action, self._memory = self._policy.predict(
            self._observation, self._memory, np.array([self._first])
        )
        self._first = False
        return action

    def look(self) -> Look:
        """See `Run`."""
        base: Any = self._env.unwrapped
        state, info = base.episodes.state(), self._info
        return Look(
            quaternion=state["quaternion"][0],
            angular_velocity=state["angular_velocity"][0],
            angular_momentum=state["angular_momentum"][0],
            energy=float(state["energy"][0]),
            torque=np.asarray(info["applied_torque"]) + self._torque,
            position=state["position"][0] if "position" in state else np.zeros(3),
            goal_angle=float(info["attitude_error"]),
            target=state["target_quaternion"][0] if isinstance(base.goal, Target) else None,
            scale=float(state["scale"][0]) if "scale" in state else 1.0,
        )


def _trained(name: str, env_id: str, unpickle: str | None) -> Any:
    """The trained policy of that name, None for a controller or nobody."""
    if name == NONE or name in controllers.names():
        return None
    return comparison.load(name, env_id, unpickle)
