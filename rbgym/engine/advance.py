"""A control period of a batch: the quick passes for all lanes, the thorough code for those left."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.compiled.jit import Entry
from rbgym.engine import kernels
from rbgym.quaternion import Array
from rbgym.rows import FAILED, LANES, SOLVED, WAITING


class Advance:
    """Advances bodies of one kind of physics, always with arguments of the same types.

    Few steps need the thorough code: it is compiled when the first one does.
    """

    __slots__ = ("quick", "thorough")

    def __init__(self) -> None:
        self.quick, self.thorough = Entry(kernels.advance), Entry(kernels.redo_stage)

    def __call__(
        self,
        physics: Any,
        buffer: Array,
        rows: int,
        commands: Array,
        stepping: kernels.Stepping,
        first: int,
        last: int,
    ) -> None:
        """Advance the blocks from `first` to before `last` by a control period, see
        `kernels.advance`."""
        aside = np.empty(len(buffer))
        if self.quick.call(physics, buffer, rows, commands, stepping, aside, -1, first, last):
            self.finish(physics, buffer, rows, commands, stepping, aside, first, last)

    def finish(
        self,
        physics: Any,
        buffer: Array,
        rows: int,
        commands: Array,
        stepping: kernels.Stepping,
        aside: Array,
        first: int,
        last: int,
    ) -> NDArray[np.intp]:
        """Finish the period of the lanes that were set aside, those of one stage together; returns
        their blocks."""
        view, kept = (x.reshape(-1, rows, LANES) for x in (buffer, aside))
        block, lane = np.nonzero(view[first:last, FAILED] == WAITING)
        block += first
        blocks = np.unique(block)
        while len(block):
            stages = -1.0 - kept[block, SOLVED, lane]
            stage = int(stages.min())
            some = stages == stage
            where = block[some], slice(None), lane[some]
            own = lay_out(kept[where])
            self.thorough.call(physics, own, rows, stepping, stage)
            again = np.empty(len(own))
            several = len(own) // (rows * LANES)
            self.quick.call(physics, own, rows, commands, stepping, again, stage, 0, several)
            view[where] = by_lane(own, rows)[: some.sum()]
            kept[where] = by_lane(again, rows)[: some.sum()]
            waits = view[block, FAILED, lane] == WAITING
            block, lane = block[waits], lane[waits]
        return blocks

    def __reduce__(self) -> tuple[Any, ...]:
        return Advance, ()  # machine code stays with the process


def lay_out(rows: Array) -> Array:
    """Rows of lanes (n, r) as a buffer of whole blocks, whose last lanes repeat the last one."""
    n, width = rows.shape
    padded = rows[np.minimum(np.arange(-(-n // LANES) * LANES), n - 1)]
    return np.ascontiguousarray(padded.reshape(-1, LANES, width).transpose(0, 2, 1)).reshape(-1)


def by_lane(buffer: Array, rows: int) -> Array:
    """The rows of every lane of a buffer, (lanes, rows)."""
    return buffer.reshape(-1, rows, LANES).transpose(0, 2, 1).reshape(-1, rows)
