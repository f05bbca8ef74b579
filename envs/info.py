"""`info`: what is known of one instant beside the observation, worked out when it is read."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.engine.batch import measured
from rbgym.engine.rows import LANES
from rbgym.envs.rows import ERROR, RATE_ERROR, STREAK
from rbgym.quaternion import Array

Mask = NDArray[np.bool_]
INVARIANTS = "energy", "angular_momentum", "quaternion_norm"
_ERRORS = "attitude_error", "rate_error"
_OTHERS = *_ERRORS, "applied_torque", "reward_terms", "integration_failed", "is_success"


class Snapshot:
    """All bodies at one instant: copies of the rows that the next step changes.

    rows: (blocks, count * LANES), as the kernel `judge` copies them. Each entry that is read is a
    new array, first axis the body, or a dict of such.
    """

    __slots__ = ("_episodes", "_measured", "_saved", "failed", "size")

    def __init__(self, episodes: Any, rows: Array) -> None:
        self._episodes, self._saved, self.size = episodes, rows, episodes.size
        self.failed = episodes.batch.failed if episodes.failed else None  # which, (size,), if any
        self._measured: dict[str, Array] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of all entries."""
        goal, effector = self._episodes.setup.parts.goal, self._episodes.setup.actuator.effector
        beside = (*effector.state_keys(), *goal.state_keys(), *effector.reported)
        return (*INVARIANTS, *_OTHERS, *beside, *self._episodes.counted_rows)

    def __getitem__(self, name: str) -> Any:
        episodes, setup = self._episodes, self._episodes.setup
        rows, row = episodes.rows, self._row
        if name in INVARIANTS:
            return self._invariants()[name].copy()
        if name == "attitude_error":
            square = row(rows.first_row() + ERROR)
            return 2.0 * np.arcsin(np.minimum(0.5 * np.sqrt(square), 1.0))
        if name == "rate_error":
            return np.sqrt(row(rows.first_row() + RATE_ERROR))
        if name == "applied_torque":  # of the last control period, on average [N m, body axes]
            return setup.actuator.applied_torque(rows.physics, self._rows)
        if name == "reward_terms":
            return {term: row(where) for term, where in episodes.term_rows.items()}
        if name == "integration_failed":
            return np.zeros(self.size, bool) if self.failed is None else self.failed.copy()
        if name == "is_success":
            return row(rows.first_row() + STREAK) >= setup.settled_steps
        if name in episodes.counted_rows:
            return row(episodes.counted_rows[name])
        if key := setup.parts.goal.state_keys().get(name):
            return row(rows.goal_row() + key.first)
        return setup.actuator.effector.read(name, rows.physics, self._rows)

    def _invariants(self) -> dict[str, Array]:
        if self._measured is None:
            batch, buffer = self._episodes.batch, self._buffer().reshape(-1)
            self._measured = measured(batch.observed, buffer, batch.block_rows, self.size)
            q = self._measured["quaternion"]
            self._measured["quaternion_norm"] = np.linalg.norm(q, axis=1)
        return self._measured

    def _buffer(self) -> Array:
        """The batch's buffer as it was, where it matters, (blocks, rows, lanes)."""
        buffer: Array = self._episodes.batch.block_view().copy()
        buffer[:, self._episodes.saved] = self._saved.reshape(len(buffer), -1, LANES)
        return buffer

    def _rows(self, first: int, count: int) -> Array:
        """So many rows of every body as they were, (size, count)."""
        rows = self._buffer()[:, first : first + count]
        return rows.transpose(0, 2, 1).reshape(-1, count)[: self.size].copy()

    def _row(self, row: int) -> Array:
        place = int(np.searchsorted(self._episodes.saved, row))
        rows = self._saved.reshape(len(self._saved), -1, LANES)
        return rows[:, place].flatten()[: self.size]


def _complete(method: Callable[..., Any]) -> Any:
    """A method of dict, of all entries."""
    return lambda self, *args: method(self._all(), *args)


class Info(dict[str, Any]):
    """A dictionary whose entries are worked out when they are first read.

    It behaves like the plain dictionary with all entries; `copy()` and pickling make it one, a deep
    copy is as late as itself. Here of a single env: numbers, bools and vectors.
    """

    __slots__ = ("_mask", "_snapshot")
    _snapshot: Any  # None once all entries are there
    _mask: Mask | None

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._mask = snapshot, None
        # Never empty: `json` looks into the memory of a dictionary, and asks no further if it is.
        self["integration_failed"] = snapshot.failed is not None

    def _names(self) -> tuple[str, ...]:
        return self._snapshot.names if self._snapshot else ()

    def _entry(self, name: str) -> Any:
        value = self._snapshot[name]
        if isinstance(value, dict):
            return {key: float(term[0]) for key, term in value.items()}
        return value[0].copy() if value.ndim > 1 else value[0].item()

    def __missing__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(name)
        self[name] = value = self._entry(name)
        return value

    def _all(self) -> Self:
        for name in self._names():
            self[name]
        self._snapshot = None
        return self

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._names()

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401  (dict.get is not late)

    def __eq__(self, other: object) -> bool:
        return dict(self) == other

    def __ne__(self, other: object) -> bool:
        return dict(self) != other

    __hash__ = None
    __iter__, __reversed__ = _complete(dict.__iter__), _complete(dict.__reversed__)
    __len__, __repr__ = _complete(dict.__len__), _complete(dict.__repr__)
    __or__, __delitem__ = _complete(dict.__or__), _complete(dict.__delitem__)
    keys, values, items = _complete(dict.keys), _complete(dict.values), _complete(dict.items)
    pop, popitem, clear = _complete(dict.pop), _complete(dict.popitem), _complete(dict.clear)
    copy, setdefault = _complete(dict.copy), _complete(dict.setdefault)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # The snapshot is shared, as it hands out nothing by which it could be written to.
        memo[id(self)] = copy = type(self).__new__(type(self))
        copy._snapshot, copy._mask = self._snapshot, self._mask
        for name, value in dict.items(self):
            copy[name] = deepcopy(value, memo)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class VectorInfo(Info):
    """Of a vector env: arrays, each with its `_name` mask of the lanes that it speaks of.

    mask: those lanes, default all.
    """

    __slots__ = ()

    def __init__(self, snapshot: Snapshot, mask: Mask | None = None) -> None:
        self._snapshot, self._mask = snapshot, mask

    def _names(self) -> tuple[str, ...]:
        names = super()._names()
        return (*names, *(f"_{name}" for name in names))

    def _entry(self, name: str) -> Any:
        snapshot, mask = self._snapshot, self._mask
        if name.startswith("_"):
            return np.ones(snapshot.size, bool) if mask is None else mask.copy()
        value = snapshot[name]
        if isinstance(value, dict):
            return value | {f"_{term}": self._entry(f"_{term}") for term in value}
        return value
