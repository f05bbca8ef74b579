"""`info`: what is known of one instant beside the observation."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rbgym.engine.rows import FAILED, LANES
from rbgym.envs import rows as at
from rbgym.envs.orbit import places_of
from rbgym.quaternion import Array

if TYPE_CHECKING:
    from rbgym.envs.episodes import Setup


_FLAGS = "integration_failed", "is_success"


class Entries:
    """What `info` tells, and of which rows of a body it is made.

    copied: for each entry (row, place, width), integers: at each step the kernel `judge` copies
    the rows of lane k of n from that one on to `place n + width k` of a flat array. So the numbers
    of all lanes lie side by side, and so do those of a vector, lane after lane. Beside them it
    writes two flags: which lanes have failed, then which have `settled`.
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
        # Numbers stand first, one row each.
        order = sorted(places, key=lambda name: places[name][1] > 1)
        self._numbers = [name for name in order if places[name][1] == 1]
        self._vectors: list[tuple[str, int, int]] = []
        copied: list[tuple[int, int, int]] = []
        self.width = 0
        for name in order:
            row, width = places[name]
            copied.append((row, self.width, width))
            if width > 1:
                self._vectors.append((name, self.width, width))
            self.width += width
        self.copied = np.array(copied)
        self._saved: Array | None = None  # that `of_one` saw last, and its parts
        self._parts: tuple[Array, list[tuple[str, Array]]]
        self._masks = [f"_{name}" for name in (*order, *_FLAGS)]
        self._streak, self.settled = first + at.STREAK, float(setup.settled_steps)

    def copy_of(self, view: Array) -> tuple[Array, NDArray[np.bool_]]:
        """What `judge` would copy now; view: the bodies, (blocks, rows, lanes)."""
        n = len(view) * LANES
        saved = np.empty(self.width * n)
        for row, place, width in self.copied.tolist():
            to = saved[place * n : (place + width) * n].reshape(len(view), LANES, width)
            to[:] = view[:, row : row + width].transpose(0, 2, 1)
        flags = view[:, FAILED] > 0.0, view[:, self._streak] >= self.settled
        return saved, np.concatenate([flag.reshape(n) for flag in flags])

    def of_one(self, saved: Array, flags: NDArray[np.bool_]) -> dict[str, Any]:
        """The entries of the first body of a single block, of what was copied."""
        if saved is not self._saved:  # an env writes to the same ones at each step
            parts: list[tuple[str, Array]] = []
            for name, place, width in self._vectors:
                parts.append((name, saved[place * LANES : place * LANES + width]))
            self._parts = saved[: len(self._numbers) * LANES : LANES], parts
            self._saved = saved
        numbers, vectors = self._parts
        found = dict(zip(self._numbers, numbers.tolist()))  # noqa: B905 (as many)
        for name, vector in vectors:
            found[name] = vector.copy()
        found["integration_failed"], found["is_success"] = flags.item(0), flags.item(LANES)
        return found

    def read(
        self,
        saved: Array,
        flags: NDArray[np.bool_],
        bodies: int,
        others: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The entries of so many bodies, of what was copied, parts of that; put to the others."""
        n = len(flags) // 2
        found: dict[str, Any] = {} if others is None else others
        for i, name in enumerate(self._numbers):
            found[name] = saved[i * n : i * n + bodies]
        for name, i, width in self._vectors:
            found[name] = saved[i * n : (i + width) * n].reshape(n, width)[:bodies]
        found["integration_failed"], found["is_success"] = flags[:bodies], flags[n : n + bodies]
        return found

    def masked(
        self, saved: Array, flags: NDArray[np.bool_], mask: NDArray[np.bool_]
    ) -> dict[str, Any]:
        """Those of a vector env, each with its `_name` mask of the lanes that it speaks of."""
        return self.read(saved, flags, len(mask), dict.fromkeys(self._masks, mask))
