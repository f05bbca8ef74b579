"""Info dictionaries that cost nothing until they are read."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rbgym.envs.snapshot import Snapshot

Mask = NDArray[np.bool_]


class _Source(Protocol):
    def keys(self) -> tuple[str, ...]: ...
    def __getitem__(self, key: str) -> Any: ...


class _Empty:
    def keys(self) -> tuple[str, ...]:
        return ()

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)


_EMPTY = _Empty()


class LazyInfo(dict[str, Any]):
    """An info dictionary whose entries are worked out when they are first read.

    It behaves like the plain dictionary with all entries; `copy()` and pickling make it one, a deep
    copy is as late as itself. Only what reads a dictionary's memory, as `json` does, sees no more
    than what was read before: give it a `copy()`.
    """

    __slots__ = ("_source",)

    def __init__(self, source: _Source) -> None:
        self._source = source

    def __missing__(self, key: str) -> Any:
        if key not in self._source.keys():  # noqa: SIM118  (a source is no dictionary)
            raise KeyError(key)
        self[key] = value = self._source[key]
        return value

    def filled(self) -> "LazyInfo":
        """Itself, with every entry worked out."""
        for key in self._source.keys():  # noqa: SIM118
            self[key]
        return self

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._source.keys()  # noqa: SIM118

    def __iter__(self) -> Iterator[str]:
        return dict.__iter__(self.filled())

    def __len__(self) -> int:
        return dict.__len__(self.filled())

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default  # noqa: SIM401  (dict.get sees no source)

    def keys(self) -> Any:
        return dict.keys(self.filled())

    def items(self) -> Any:
        return dict.items(self.filled())

    def values(self) -> Any:
        return dict.values(self.filled())

    def copy(self) -> dict[str, Any]:
        return dict(self.items())

    def __eq__(self, other: object) -> bool:
        return dict(self.items()) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __reversed__(self) -> Iterator[str]:
        return dict.__reversed__(self.filled())

    # Whoever takes entries away or sets defaults gets the plain dictionary that it looks like.

    def _plain(self) -> "LazyInfo":
        self.filled()
        self._source = _EMPTY
        return self

    def setdefault(self, key: str, default: Any = None) -> Any:
        return dict.setdefault(self._plain(), key, default)

    def pop(self, key: str, *default: Any) -> Any:
        return dict.pop(self._plain(), key, *default)

    def popitem(self) -> tuple[str, Any]:
        return dict.popitem(self._plain())

    def clear(self) -> None:
        dict.clear(self._plain())

    def __delitem__(self, key: str) -> None:
        dict.__delitem__(self._plain(), key)

    __hash__ = None

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def __deepcopy__(self, memo: dict[int, Any]) -> "LazyInfo":
        # The source is shared, as it hands out nothing by which it could be written to.
        memo[id(self)] = copy = LazyInfo(self._source)
        for key, value in dict.items(self):
            copy[key] = deepcopy(value, memo)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (dict(self.items()),))


class SingleInfo:
    """Of a batch of one: scalars, plain bools, and vectors without the lane axis."""

    __slots__ = ("snapshot",)

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def keys(self) -> tuple[str, ...]:
        return self.snapshot.keys

    def __getitem__(self, key: str) -> Any:
        value = self.snapshot[key]
        if isinstance(value, dict):
            return {name: float(v[0]) for name, v in value.items()}
        return value[0].copy() if value.ndim > 1 else value[0].item()


class VectorInfo:
    """Of many: arrays, each with its `_key` mask of the lanes it speaks of (None: every one)."""

    __slots__ = ("mask", "snapshot")

    def __init__(self, snapshot: Snapshot, mask: Mask | None = None) -> None:
        self.snapshot, self.mask = snapshot, mask

    def keys(self) -> tuple[str, ...]:
        keys = self.snapshot.keys
        return (*keys, *(f"_{key}" for key in keys))

    def _lanes(self) -> Mask:
        return np.ones(self.snapshot.size, dtype=bool) if self.mask is None else self.mask.copy()

    def __getitem__(self, key: str) -> Any:
        if key.startswith("_"):
            return self._lanes()
        value = self.snapshot[key]
        if not isinstance(value, dict):
            return value
        masks = {f"_{name}": self._lanes() for name in value}
        return {**value, **masks}
