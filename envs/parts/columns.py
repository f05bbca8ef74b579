"""Columns of an observation and of an action, which each part declares. From them come the bounds
of the spaces, tables of a task's page, the contract of exported code and the inputs of a law."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import count, real
from rbgym.quaternion import Array

BODY, WORLD = "body axes", "world axes"
_MOST = 10_000  # columns of one quantity


@dataclass(frozen=True)
class Column:
    """A quantity that fills `size` adjacent columns.

    name: as in the contract of exported code. unit. frame: the axes of a vector, the two frames of
    an attitude, or "". A column holds quantity / scale, which stays between low and high; each of
    these three is one number, or one for each column (size,). words: what the name does not say.
    first: index of the first column, see `placed`.

    Raises ValueError for a name that is not a string, and for numbers of the wrong shape.
    """

    name: str
    size: int = 1
    _: KW_ONLY
    unit: str = "1"
    frame: str = ""
    scale: ArrayLike = 1.0
    low: ArrayLike = -1.0
    high: ArrayLike = 1.0
    words: str = ""
    first: int = 0

    def __post_init__(self) -> None:
        for key in ("name", "unit", "frame", "words"):
            if not isinstance(getattr(self, key), str) or not self.name:
                raise ValueError(f"Column.{key} must be a string, got {getattr(self, key)!r}")
        size = count("Column.size", self.size)
        if size > _MOST:
            raise ValueError(f"Column.size must be at most {_MOST}, got {self.size!r}")
        for key in ("scale", "low", "high"):
            given = getattr(self, key)
            value = real(f"Column.{key}", given)
            if value.shape not in ((), (1,), (size,)) or np.isnan(value).any():
                raise ValueError(f"Column.{key} must have shape () or ({size},), got {given!r}")
            object.__setattr__(self, key, tuple(np.broadcast_to(value, (size,)).tolist()))

    @property
    def place(self) -> slice:
        """Its columns in an observation or action."""
        return slice(self.first, self.first + self.size)

    @property
    def factor(self) -> float:
        """The scale, if all its columns share one."""
        return float(np.asarray(self.scale)[0])


def placed(columns: Iterable[Column], first: int = 0) -> dict[str, Column]:
    """The columns by name, adjacent from index `first` on; ValueError if two share a name."""
    found: dict[str, Column] = {}
    for one in columns:
        if one.name in found:
            raise ValueError(f"columns must have different names, got {one.name!r} twice")
        found[one.name] = replace(one, first=first)
        first += one.size
    return found


def width(columns: Iterable[Column]) -> int:
    """Total number of columns."""
    return sum(one.size for one in columns)


def bounds(columns: Iterable[Column]) -> Array:
    """Lower and upper bound of each column, (2, k)."""
    sides = [np.array([one.low, one.high], dtype=float) for one in columns]
    return np.hstack([np.zeros((2, 0)), *sides])
