"""A torque shared out among reaction wheels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.law import Law, relative
from rbgym.envs.actuators import MagneticCoils, ReactionWheels, Scaling

Array = NDArray[np.float64]


def fitted(policy: Any, env: Any) -> Any:
    """A law of torque for the actuator of an env; whatever else, as it is.

    Raises ValueError where not every torque can be had.
    """
    base = env.unwrapped
    if not isinstance(policy, Law):
        return policy
    if isinstance(base.actuator, MagneticCoils | Scaling):
        raise ValueError(
            f"env must have torque about every axis for this controller, got {base.actuator!r}"
        )
    # Of goals and a state apart, the law makes an observation of its own.
    policy.width = 7 if base.task.split else base.width
    if isinstance(base.actuator, ReactionWheels):
        return Allocated(policy, base.actuator, base.torque_scale)
    return policy


class Allocated(Law):
    """A law's torque u, had from wheels with the axes A as columns and the momenta h.

        c = A^+ (u + omega x A h) + k N N^T h,   N the null space of A.

    c is the torque of each wheel on the body: the smallest that adds up to u, the gyroscopic torque
    of the wheels taken off. The last term makes no torque as long as all wheels answer: it takes
    wheels that work against each other to rest, with the time 1/k, and keeps them from saturation.
    The law knows nothing of a wheel that has failed. Where a c is beyond its limit
    all are shortened; then the friction of the bearings, which the motors have to overcome, is put
    in.

    Source: Markley & Crassidis (2014), Fundamentals of Spacecraft Attitude Determination and
    Control, for the allocation by the pseudoinverse and its null space.
    """

    def __init__(
        self, law: Law, wheels: ReactionWheels, strength: float = 1.0, *, rate: float = 0.1
    ) -> None:
        super().__init__(law.torque_limit, rate_limit=law.rate_limit, dt=law.dt)
        self.law, self.wheels, self.motor = law, wheels, strength * wheels.torque
        self.axes = wheels.matrix
        self.share = np.linalg.pinv(self.axes)
        self.idle = rate * (np.eye(self.axes.shape[1]) - self.share @ self.axes)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], None]:
        """Actions, one for each wheel, for observations that show the wheels after the rest."""
        if isinstance(observation, dict):
            observation = relative(observation)
        seen = np.asarray(observation, dtype=np.float64)
        width, count = self.law.width or 7, self.axes.shape[1]
        if seen.ndim not in (1, 2) or seen.shape[-1] < width + count:
            raise ValueError(
                f"observation must have at least {width + count} columns, got {seen.shape}"
            )
        rows = np.atleast_2d(seen)
        momenta = rows[:, width : width + count] * self.wheels.momentum
        omega = rows[:, 4:7] * self.rate_limit
        u = np.asarray(self.law.predict(rows)[0], dtype=np.float64) * self.torque_limit
        u = u + np.cross(omega, momenta @ self.axes.T)
        c = (u @ self.share.T + momenta @ self.idle) / self.motor
        c = c / np.maximum(np.max(np.abs(c), axis=-1, keepdims=True), 1.0)
        c = c - self._friction(momenta / self.wheels.inertia - omega @ self.axes) / self.motor
        actions = np.clip(c, -1.0, 1.0).astype(np.float32)
        return (actions if seen.ndim == 2 else actions[0]), None

    def _friction(self, speed: Array) -> Array:
        """Torque of each bearing on the body [N m]; near standstill it is not relied upon."""
        size = self.wheels.coulomb + self.wheels.viscous * np.abs(speed)
        result: Array = size * speed / (np.abs(speed) + 1.0)
        return result
