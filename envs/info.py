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


_FLAGS = "integration_failed", "is_success"


class Entries:
    """What `info` tells, and of which rows of a body it is made.

    copied: these rows; at each step the kernel `judge` writes them to an array (rows, lanes), so
    that the numbers of all lanes lie side by side. Beside them it writes two flags: which lanes
    have failed, then which have `settled`.
    """

    def __init__(self, rows: at.TaskRows, setup: "Setup", bodies: int) -> None:
        physics, parts, actuator = rows.physics, setup.parts, rows.physics.actuator
        told, goal, counted = rows.told_row(), rows.goal_row(), parts.tally.counted
        orbit, on_orbit = physics.potential_row(), places_of(physics.potential)
        # A single term is the reward.
        own_terms = parts.reward.rows_needed(physics) > 0
        term = rows.reward_row() if own_terms else told + at.REWARD
        places = {
            "attitude_error": (told + at.ERROR, 1),
            "rate_error": (told + at.RATE_ERROR, 1),
            "applied_torque": (actuator.applied_row(physics), 3),
            **{f"reward_{name}": (term + n, 1) for n, name in enumerate(setup.terms)},
            **setup.actuator.effector.places(physics),
            **{n: (orbit + key.first, key.width) for n, key in on_orbit.items()},
            **{n: (goal + key.first, key.width) for n, key in parts.goal.state_keys().items()},
            **{name: (rows.tally_row() + n, 1) for n, name in enumerate(counted)},
            **(setup.actuator.faults.entries(physics) if setup.actuator.faults else {}),
            **parts.constraints.entries(rows.constraint_row()),
        }
        # Numbers stand first.
        order = sorted(places, key=lambda name: places[name][1] > 1)
        self._numbers: list[tuple[str, tuple[int, slice]]] = []
        self._vectors: list[tuple[str, tuple[slice, slice]]] = []
        copied: list[int] = []
        for name in order:
            (row, width), k = places[name], len(copied)
            copied += range(row, row + width)
            if width > 1:
                self._vectors.append((name, (slice(k, k + width), slice(bodies))))
            else:
                self._numbers.append((name, (k, slice(bodies))))
        self._names, self._bodies = [name for name, _ in self._numbers], bodies
        self.copied = np.array(copied)
        self._masks = [f"_{name}" for name in (*order, *_FLAGS)]
        self._streak, self.settled = rows.first_row() + at.STREAK, float(setup.settled_steps)

    def copy_of(self, view: Array) -> tuple[Array, NDArray[np.bool_]]:
        """What `judge` would copy now; view: the bodies, (blocks, rows, lanes)."""
        saved = view[:, self.copied].transpose(1, 0, 2).reshape(len(self.copied), -1)
        flags = view[:, FAILED] > 0.0, view[:, self._streak] >= self.settled
        return saved, np.stack([flag.ravel() for flag in flags])

    def of_one(self, saved: Array, flags: NDArray[np.bool_]) -> dict[str, Any]:
        """The entries of the first body of a single block, of what was copied."""
        numbers = saved[: len(self._names), 0].tolist()
        found = dict(zip(self._names, numbers))  # noqa: B905 (as many)
        for name, (rows, _) in self._vectors:
            found[name] = saved[rows, 0].copy()
        found["integration_failed"], found["is_success"] = flags.item(0, 0), flags.item(1, 0)
        return found

    def read(
        self, saved: Array, flags: NDArray[np.bool_], others: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The entries of all bodies, parts of what was copied; put to the others."""
        found: dict[str, Any] = {} if others is None else others
        for name, part in self._numbers:
            found[name] = saved[part]
        for name, rows in self._vectors:
            found[name] = saved[rows].T
        found["integration_failed"], found["is_success"] = flags[:, : self._bodies]
        return found

    def masked(
        self, saved: Array, flags: NDArray[np.bool_], mask: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Those of a vector env, each with its `_name` mask of the lanes that it speaks of."""
        return self.read(saved, flags, dict.fromkeys(self._masks, mask))
