"""`info`: what is known of one instant beside the observation."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbgym.engine.rows import FAILED
from rbgym.envs import rows as at
from rbgym.envs.orbit import places_of
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
        orbit, on_orbit = physics.potential_row(), places_of(physics.potential)
        # A single term is the reward.
        own_terms = parts.reward.rows_needed(physics) > 0
        term = rows.reward_row() if own_terms else first + at.REWARD
        places = {
            "attitude_error": (first + at.ERROR, 1),
            "rate_error": (first + at.RATE_ERROR, 1),
            "applied_torque": (actuator.applied_row(physics), 3),
            **{f"reward_{name}": (term + n, 1) for n, name in enumerate(setup.terms)},
            **setup.actuator.effector.places(physics),
            **{n: (orbit + key.first, key.width) for n, key in on_orbit.items()},
            **{n: (goal + key.first, key.width) for n, key in parts.goal.state_keys().items()},
            **{name: (rows.tally_row() + n, 1) for n, name in enumerate(counted)},
            **(setup.actuator.faults.entries(physics) if setup.actuator.faults else {}),
            **parts.constraints.entries(rows.constraint_row()),
        }
        self._least = {"integration_failed": 1.0, "is_success": float(setup.settled_steps)}
        places |= {"integration_failed": (FAILED, 1), "is_success": (first + at.STREAK, 1)}
        # Numbers and flags stand first, one row each.
        order = sorted(places, key=lambda name: places[name][1] > 1)
        self._numbers = [name for name in order if places[name][1] == 1]
        self._vectors, end = [], len(self._numbers)
        for name in order[end:]:
            self._vectors.append((name, slice(end, end + places[name][1])))
            end += places[name][1]
        self.rows = np.concatenate(
            [np.arange(row, row + n) for row, n in map(places.__getitem__, order)]
        )
        self._masks = [f"_{name}" for name in order]

    def of_one(self, saved: Array) -> dict[str, Any]:
        """The entries of one body, from a copy of its rows, (rows,), of which vectors are parts."""
        found: dict[str, Any] = dict(zip(self._numbers, saved.tolist(), strict=False))
        for name, least in self._least.items():
            found[name] = found[name] >= least
        for name, rows in self._vectors:
            found[name] = saved[rows]
        return found

    def read(self, saved: Array) -> dict[str, Any]:
        """The entries of n bodies, from copies of the rows, (rows, n)."""
        found: dict[str, Any] = dict(zip(self._numbers, saved, strict=False))
        for name, least in self._least.items():
            found[name] = found[name] >= least
        for name, rows in self._vectors:
            found[name] = np.ascontiguousarray(saved[rows].T)
        return found

    def masked(self, saved: Array, mask: NDArray[np.bool_]) -> dict[str, Any]:
        """Those of a vector env, each with its `_name` mask of the lanes that it speaks of."""
        return dict.fromkeys(self._masks, mask) | self.read(saved)
