"""Doing nothing: what every law and policy must beat."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Idle:
    """No torque, from as many commands as an env has."""

    def __init__(self, channels: int = 3) -> None:
        self.channels = channels

    @classmethod
    def for_env(cls, env: Any) -> "Idle":
        """For an env, single or vector."""
        base = env.unwrapped
        space = getattr(base, "single_action_space", base.action_space)
        return cls(space.shape[0])

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], None]:
        """Zero actions, one for each observation."""
        seen = observation["observation"] if isinstance(observation, dict) else observation
        return np.zeros((*np.shape(seen)[:-1], self.channels), np.float32), None
