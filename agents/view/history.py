"""What the page remembers of a run: the last records, and no more."""

import numpy as np
from numpy.typing import NDArray

from rbgym.quaternion import Array

# Columns of a record, by name. "momentum" is the size of the vector, or its vertical component.
WIDTHS = {
    "time": 1,
    "quaternion": 4,
    "angular_velocity": 3,
    "angular_momentum": 3,
    "energy": 1,
    "torque": 3,
    "momentum": 1,
    "energy_change": 1,
    "momentum_change": 1,
    "goal_angle": 1,
    "position": 3,
}
_ENDS = np.cumsum(list(WIDTHS.values()))
COLUMNS = {
    name: slice(int(end) - width, int(end))
    for (name, width), end in zip(WIDTHS.items(), _ENDS, strict=True)
}
WIDTH = int(_ENDS[-1])


class History:
    """A ring of at most `capacity` records, (WIDTH,) each."""

    def __init__(self, capacity: int) -> None:
        self._rows = np.zeros((capacity, WIDTH))
        self._written = 0

    def __len__(self) -> int:
        return min(self._written, len(self._rows))

    def append(self, **parts: object) -> None:
        """Write a record, over the oldest one where the ring is full; all names of WIDTHS."""
        row = self._rows[self._written % len(self._rows)]
        for name, columns in COLUMNS.items():
            row[columns] = parts[name]
        self._written += 1

    def rows(self) -> Array:
        """A copy of all records, oldest first, (n, WIDTH)."""
        if self._written <= len(self._rows):
            return self._rows[: self._written].copy()
        return np.roll(self._rows, -(self._written % len(self._rows)), axis=0)

    def last(self, count: int) -> Array:
        """A copy of the last records, oldest first, (at most count, WIDTH)."""
        numbers = np.arange(max(self.numbers.start, self._written - count), self._written)
        return self._rows[numbers % len(self._rows)]

    @property
    def numbers(self) -> range:
        """The numbers of the records that are left; the first of all was 0."""
        return range(self._written - len(self), self._written)

    def values(self, name: str, numbers: NDArray[np.intp]) -> Array:
        """One column, of width 1, of records by their numbers, (n,); nan where there is none."""
        kept = (numbers >= self.numbers.start) & (numbers < self.numbers.stop)
        found = self._rows[numbers % len(self._rows), COLUMNS[name]][:, 0]
        return np.where(kept, found, np.nan)
