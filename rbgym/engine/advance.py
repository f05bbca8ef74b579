"""A control period of a batch: quick passes for all lanes, thorough code for the unsolved ones."""

import numpy as np
from numpy.typing import NDArray

from rbgym.compiled.jit import Entry
from rbgym.engine import kernels
from rbgym.quaternion import Array
from rbgym.rows import FAILED, LANES, SOLVED, WAITING, Physics


class Advance:
    """Advances bodies of one kind of physics, in blocks of `rows` rows, always with arguments of
    the same types. Few steps need the thorough code: it is compiled for the first that does."""

    def __init__(self, physics: Physics, rows: int) -> None:
        self.physics, self.rows = physics, rows
        self.quick, self.thorough = Entry(kernels.advance), Entry(kernels.redo_stage)

    def __call__(
        self, buffer: Array, commands: Array, stepping: kernels.Stepping, first: int, last: int
    ) -> None:
        """See `kernels.advance`."""
        aside = np.empty(len(buffer))
        args = self.physics, buffer, self.rows, commands, stepping, aside, -1, first, last
        if self.quick.call(*args):
            self.finish(buffer, commands, stepping, aside, first, last)

    def finish(
        self, buffer: Array, commands: Array, stepping: kernels.Stepping, aside: Array, first: int,
        last: int,
    ) -> NDArray[np.intp]:  # fmt: skip
        """Finish the period of the lanes set aside, stage by stage; returns their blocks."""
        physics, rows = self.physics, self.rows
        view, saved = (x.reshape(-1, rows, LANES) for x in (buffer, aside))
        block, lane = np.nonzero(view[first:last, FAILED] == WAITING)
        block += first
        blocks = np.unique(block)
        while len(block):
            stages = -1.0 - saved[block, SOLVED, lane]
            stage = int(stages.min())
            some = stages == stage
            where = block[some], slice(None), lane[some]
            own = lay_out(saved[where])
            self.thorough.call(physics, own, rows, stepping, stage)
            own_aside = np.empty(len(own))
            count = len(own) // (rows * LANES)
            self.quick.call(physics, own, rows, commands, stepping, own_aside, stage, 0, count)
            view[where] = by_lane(own, rows)[: some.sum()]
            saved[where] = by_lane(own_aside, rows)[: some.sum()]
            waits = view[block, FAILED, lane] == WAITING
            block, lane = block[waits], lane[waits]
        return blocks


def lay_out(rows: Array) -> Array:
    """Rows of lanes (n, r) as a buffer of whole blocks; copies of the last lane fill the last."""
    n, width = rows.shape
    padded = rows[np.minimum(np.arange(-(-n // LANES) * LANES), n - 1)]
    return np.ascontiguousarray(padded.reshape(-1, LANES, width).transpose(0, 2, 1)).reshape(-1)


def by_lane(buffer: Array, rows: int) -> Array:
    """The rows of every lane of a buffer, (lanes, rows)."""
    return buffer.reshape(-1, rows, LANES).transpose(0, 2, 1).reshape(-1, rows)
