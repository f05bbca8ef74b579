"""Doing nothing: what every law and policy must beat."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Idle:
    """No torque."""

    @classmethod
    def for_env(cls, env: Any) -> "Idle":
        """The same for every env."""
        return cls()

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], None]:
        """Zero actions, one for each observation."""
        seen = observation["observation"] if isinstance(observation, dict) else observation
        return np.zeros((*np.shape(seen)[:-1], 3), np.float32), None
