"""The memory of a network: an attitude error summed up over time, as the I of a PID law."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rbgym.arguments import count, positive, real

WIDTH = 3  # columns that it adds


@dataclass(frozen=True)
class Integral:
    """Sums up three columns of an observation, the vector part of an attitude error, so that a
    network can hold against a constant torque, which without a memory leaves an error.

    In a step m <- clip(m + share v / (1 + |v|^2 / edge^2)), within +-1: errors far beyond the edge
    count little, so that a slew does not wind it up. column: first of the three. edge: an error in
    the units of the column. share: of an error, per step. ValueError for bad ones.
    """

    column: int
    edge: float
    share: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", count("column", self.column, least=0))
        for name in ("edge", "share"):
            object.__setattr__(self, name, positive(name, getattr(self, name)))
        if not self.edge * self.edge > 0.0:
            raise ValueError(f"edge must have a square above 0, got {self.edge!r}")

    @classmethod
    def over(cls, time: float, dt: float, edge: float, column: int) -> Self:
        """The one that a constant error of size `edge` fills in `time` [s], at a period dt [s]."""
        return cls(column, edge, 2.0 * dt / (positive("integral", time) * positive("edge", edge)))

    def __call__(self, memory: Any, seen: Any) -> Any:
        """The memory (n, 3) after observations (n, width), of NumPy or PyTorch."""
        v = seen[:, self.column : self.column + WIDTH]
        x, y, z = v[:, :1], v[:, 1:2], v[:, 2:]
        far = (x * x + y * y + z * z) / (self.edge * self.edge)
        return (memory + v * (self.share / (far + 1.0))).clip(-1.0, 1.0)

    def append(self, seen: Any, memory: Any, begins: Any) -> tuple[Any, Any]:
        """Observations (n, width) with the memory as last columns, and the memory. begins: (n,),
        episodes that begin, whose memory is cleared; memory: None for all. ValueError for other
        shapes."""
        size = len(seen)
        memory = np.zeros((size, WIDTH)) if memory is None else real("state", memory)
        if memory.shape != (size, WIDTH):
            raise ValueError(f"state must be of shape {(size, WIDTH)}, got {memory.shape}")
        if begins is not None:
            if np.shape(begins) != (size,):
                raise ValueError(f"episode_start must be of shape ({size},), got {begins!r}")
            memory = np.where(np.asarray(begins, bool)[:, None], 0.0, memory)
        memory = self(memory.astype(np.float32), seen)
        return np.hstack([seen, memory]), memory
