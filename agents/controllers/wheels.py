"""A torque shared out among reaction wheels."""

from typing import Any

import numpy as np

from rbgym.agents.controllers.base import Array, Controller
from rbgym.agents.controllers.law import Law
from rbgym.envs.actuators import ReactionWheels


class Allocated(Controller):
    """A law's torque u, had from wheels with the axes A as columns and the momenta h.

        c = A^+ (u + omega x A h) + k N N^T h,   N the null space of A.

    c is the torque of each wheel on the body: the smallest that adds up to u, the gyroscopic torque
    of the wheels taken off. The last term makes no torque as long as all wheels answer: it takes
    wheels that work against each other to rest, with the time 1/k, and keeps them from saturation.
    The law knows nothing of a wheel that has failed. Where a c is beyond its limit all are
    shortened; then the friction of the bearings, which the motors have to overcome, is put in.

    first: column of an observation from which it shows the wheels' momenta. rate: k [1/s].

    Source: Markley & Crassidis (2014), Fundamentals of Spacecraft Attitude Determination and
    Control, for the allocation by the pseudoinverse and its null space.
    """

    def __init__(
        self,
        law: Law,
        wheels: ReactionWheels,
        strength: float = 1.0,
        *,
        first: int = 7,
        rate: float = 0.1,
    ) -> None:
        self.law, self.wheels, self.motor, self.first = law, wheels, strength * wheels.torque, first
        self.axes = wheels.matrix
        self.share = np.linalg.pinv(self.axes)
        self.idle = rate * (np.eye(self.axes.shape[1]) - self.share @ self.axes)
        self.least = first + self.axes.shape[1]
        self.must = f"have at least {self.least} columns, got"

    def act(self, rows: Array, state: Any, episode_start: Any) -> tuple[Array, Any]:
        """Commands, one for each wheel, and the law's memory."""
        momenta = rows[:, self.first : self.least] * self.wheels.momentum
        omega = rows[:, 4:7] * self.law.rate_limit
        u, state = self.law.answer(rows[:, : self.first], state, episode_start)
        u = u + np.cross(omega, momenta @ self.axes.T)
        c = (u @ self.share.T + momenta @ self.idle) / self.motor
        c = c / np.maximum(np.max(np.abs(c), axis=-1, keepdims=True), 1.0)
        c = c - self._friction(momenta / self.wheels.inertia - omega @ self.axes) / self.motor
        return np.clip(c, -1.0, 1.0), state

    def _friction(self, speed: Array) -> Array:
        """Torque of each bearing on the body [N m]; near standstill it is not relied upon."""
        size = self.wheels.coulomb + self.wheels.viscous * np.abs(speed)
        result: Array = size * speed / (np.abs(speed) + 1.0)
        return result
