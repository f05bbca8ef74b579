"""`info`: what is known of one instant beside the observation."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbgym.engine.rows import FAILED, LANES
from rbgym.envs import rows as at
from rbgym.envs.kernels import HAS_FAILED, HAS_SUCCEEDED, Outputs
from rbgym.envs.orbit import places_of
from rbgym.quaternion import Array

if TYPE_CHECKING:
    from rbgym.envs.episodes import Setup


_FLAGS = "integration_failed", "is_success"
Flags = NDArray[np.bool_]


class Entries:
    """What `info` tells, and of which rows of a body it is made.

    copied: the row of the reward, then these rows; at each step the kernel `judge` writes them to
    `Outputs`, so that the numbers of all lanes lie side by side.
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
        copied = [told + at.REWARD]
        for name in order:
            (row, width), k = places[name], len(copied)
            copied += range(row, row + width)
            if width > 1:
                self._vectors.append((name, (slice(k, k + width), slice(bodies))))
            else:
                self._numbers.append((name, (k, slice(bodies))))
        self._names, self._bodies = [name for name, _ in self._numbers], bodies
        self._vectors_from = 1 + len(self._names)
        self.copied = np.array(copied)
        self._masks = [f"_{name}" for name in (*order, *_FLAGS)]
        self._clocks, self.settled = rows.first_row(), float(setup.settled_steps)

    def room(self, shown: int, width: int, bodies: int) -> Outputs:
        """New arrays for what is written of so many bodies, and so many observations."""
        lanes = -(-bodies // LANES) * LANES
        return Outputs(
            np.empty((shown, width), np.float32),
            np.empty((len(self.copied), lanes)),
            np.empty((4, lanes), np.bool_),
            bodies,
        )

    def copy_of(self, view: Array) -> tuple[Array, Flags]:
        """The numbers and flags that `judge` would write now; view: (blocks, rows, lanes)."""
        clocks = self._clocks
        numbers = view[:, self.copied].transpose(1, 0, 2).reshape(len(self.copied), -1)
        flags = view[:, [clocks + at.TERMINATED, clocks + at.TRUNCATED, FAILED]] > 0.0
        settled = view[:, [clocks + at.STREAK]] >= self.settled
        every = np.concatenate([flags, settled], axis=1)
        return numbers, every.transpose(1, 0, 2).reshape(4, -1)

    def of_one(self, numbers: Array, flags: list[bool]) -> dict[str, Any]:
        """The entries of the first body; flags: its four."""
        found = dict(zip(self._names, numbers[1 : self._vectors_from, 0].tolist()))  # noqa: B905
        for name, (rows, _) in self._vectors:
            found[name] = numbers[rows, 0].copy()
        found["integration_failed"], found["is_success"] = flags[HAS_FAILED], flags[HAS_SUCCEEDED]
        return found

    def read(
        self, numbers: Array, flags: Flags, others: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The entries of all bodies, parts of what was copied; put to the others."""
        found: dict[str, Any] = {} if others is None else others
        for name, part in self._numbers:
            found[name] = numbers[part]
        for name, rows in self._vectors:
            found[name] = numbers[rows].T
        found["integration_failed"] = flags[HAS_FAILED, : self._bodies]
        found["is_success"] = flags[HAS_SUCCEEDED, : self._bodies]
        return found

    def masked(self, numbers: Array, flags: Flags, mask: Flags) -> dict[str, Any]:
        """Those of a vector env, each with its `_name` mask of the lanes that it speaks of."""
        return self.read(numbers, flags, dict.fromkeys(self._masks, mask))
