"""Doing nothing: what every law and policy must beat."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.controllers.base import Controller
from rbgym.arguments import count


class Idle(Controller):
    """No torque, from as many commands as an env has."""

    def __init__(self, channels: int = 3) -> None:
        self.channels = count("channels", channels)

    @classmethod
    def for_env(cls, env: Any) -> Self:
        """For an env, single or vector."""
        base = env.unwrapped
        space = getattr(base, "single_action_space", base.action_space)
        return cls(space.shape[0])

    def commands(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.zeros((len(rows), self.channels))
