"""`info`: what is known of one instant beside the observation."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbgym.engine.rows import FAILED
from rbgym.envs import rows as at
from rbgym.quaternion import Array

if TYPE_CHECKING:
    from rbgym.envs.episodes import Setup


class Entries:
    """What `info` tells, and of which rows of a body it is made.

    rows: their numbers; the kernel `judge` copies them at each step.
    """

    def __init__(self, rows: at.TaskRows, setup: "Setup") -> None:
        physics, parts, actuator = rows.physics, setup.parts, rows.physics.actuator
        first, goal, counted = rows.first_row(), rows.goal_row(), parts.tally.counted
        direct = setup.actuator.is_direct  # commands are the torque, as a part of the limits
        acted = actuator.command_row(physics) if direct else actuator.applied_row(physics)
        # A single term is the reward.
        own_terms = parts.reward.rows_needed(physics) > 0
        term = rows.reward_row() if own_terms else first + at.REWARD
        places = {
            "attitude_error": (first + at.ERROR, 1),
            "rate_error": (first + at.RATE_ERROR, 1),
            "applied_torque": (acted, 3),
            **{f"reward_{name}": (term + n, 1) for n, name in enumerate(setup.terms)},
            **setup.actuator.effector.places(physics),
            **{n: (goal + key.first, key.width) for n, key in parts.goal.state_keys().items()},
            **{name: (rows.tally_row() + n, 1) for n, name in enumerate(counted)},
        }
        found: list[int] = []

        def saved(row: int, count: int) -> slice:
            found.extend(range(row, row + count))
            return slice(len(found) - count, len(found))

        where = {name: saved(*place) for name, place in places.items()}
        self._numbers = [(n, k.start) for n, k in where.items() if places[n][1] == 1]
        self._vectors = [(n, k) for n, k in where.items() if places[n][1] > 1]
        self._flags = [
            ("integration_failed", saved(FAILED, 1).start, 1.0),
            ("is_success", saved(first + at.STREAK, 1).start, float(setup.settled_steps)),
        ]
        self._limits: Array | slice | None = setup.actuator.limits if direct else None
        if direct and parts.randomization.varies():
            self._limits = saved(actuator.own_row(physics), 3)
        self.rows = np.array(found, dtype=np.int64)
        self._masks = [f"_{name}" for name in (*where, *(name for name, *_ in self._flags))]

    def read(self, saved: Array) -> dict[str, Any]:
        """The entries, from copies of the rows: (rows,) of one body, or (rows, n)."""
        found: dict[str, Any] = {name: saved[row] for name, row in self._numbers}
        for name, rows in self._vectors:
            found[name] = saved[rows].T
        for name, row, least in self._flags:
            found[name] = saved[row] >= least
        if (limits := self._limits) is not None:
            full = saved[limits].T if isinstance(limits, slice) else limits
            found["applied_torque"] = found["applied_torque"] * full
        return found

    def masked(self, saved: Array, mask: NDArray[np.bool_]) -> dict[str, Any]:
        """Those of a vector env, each with its `_name` mask of the lanes that it speaks of."""
        return self.read(saved) | dict.fromkeys(self._masks, mask)
