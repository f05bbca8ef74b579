"""Memories of a network: what it reads besides the columns of an observation."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from rbgym.arguments import count, positive, real
from rbgym.envs.arguments import in_range


class Memory:
    """Numbers (n, width) that go from step to step, and as many that the network reads after the
    observation's columns. Observations and memories are arrays of NumPy or PyTorch. name: of its
    kind, in files and hyperparameters."""

    name: ClassVar[str]
    column: int
    width: int

    def first(self, seen: Any) -> Any:
        """The memory before an episode's first observations (n, columns)."""
        raise NotImplementedError

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        """What the network reads with the observations, and the memory after them."""
        raise NotImplementedError

    def columns_of(self, seen: Any) -> Any:
        return seen[:, self.column : self.column + self.width]

    def append(self, seen: Any, memory: Any, begins: Any) -> tuple[Any, Any]:
        """Observations (n, columns) with what the network reads besides, and the memory. begins:
        (n,), episodes that begin, which forget; memory: None for all. ValueError for other
        shapes."""
        size = len(seen)
        if begins is not None and np.shape(begins) != (size,):
            raise ValueError(f"episode_start must be of shape ({size},), got {begins!r}")
        if memory is None:
            memory, begins = np.zeros((size, self.width)), np.ones(size)
        memory = real("state", memory)
        if memory.shape != (size, self.width):
            raise ValueError(f"state must be of shape {(size, self.width)}, got {memory.shape}")
        if begins is not None:
            memory = np.where(np.asarray(begins, bool)[:, None], self.first(seen), memory)
        read, memory = self.after(memory.astype(np.float32), seen)
        return np.hstack([seen, read]), memory


@dataclass(frozen=True)
class Integral(Memory):
    """Sums up three columns of an observation, the vector part of an attitude error, so that a
    network can hold against a constant torque, which without a memory leaves an error.

    In a step m <- clip(m + share v / (1 + |v|^2 / edge^2)), within +-1: errors far beyond the edge
    count little, so that a slew does not wind it up. The network reads m. column: first of the
    three. edge: an error in the units of the column. share: of an error, per step. ValueError for
    bad ones.
    """

    column: int
    edge: float
    share: float

    name = "integral"
    width = 3

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

    def first(self, seen: Any) -> Any:
        return 0.0 * self.columns_of(seen)

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        v = self.columns_of(seen)
        x, y, z = v[:, :1], v[:, 1:2], v[:, 2:]
        far = (x * x + y * y + z * z) / (self.edge * self.edge)
        memory = (memory + v * (self.share / (far + 1.0))).clip(-1.0, 1.0)
        return memory, memory


@dataclass(frozen=True)
class Trend(Memory):
    """Compares columns of an observation with what they were, so that a network can act on rates
    that no instrument measures, such as the change of a magnetic field.

    In a step the network reads x - m, and then m <- m + share (x - m); in the first step of an
    episode m = x. Where x changes by r in each step, x - m becomes r / share: the rate times the
    time of the lag, without the noise of a plain difference, and without a constant error of x.
    column, width: first of the columns, and their number. share: at most 1, which gives the
    difference from the step before. ValueError for bad ones.
    """

    column: int
    width: int
    share: float

    name = "trend"

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", count("column", self.column, least=0))
        object.__setattr__(self, "width", count("width", self.width))
        object.__setattr__(self, "share", in_range("share", positive("share", self.share), 0, 1))

    def first(self, seen: Any) -> Any:
        return self.columns_of(seen)

    def after(self, memory: Any, seen: Any) -> tuple[Any, Any]:
        change = self.columns_of(seen) - memory
        return change, memory + change * self.share


KINDS: dict[str, type[Memory]] = {kind.name: kind for kind in (Integral, Trend)}
