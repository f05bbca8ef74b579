"""A policy with memory: LSTM cells before a network, as sb3-contrib's RecurrentPPO trains them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.agents.policies.network import (
    QUATERNIONS,
    Arrays,
    Network,
    Normalizer,
    checked_columns,
    checked_observation,
    frozen,
)

Weights = NDArray[np.float32]
Cell = tuple[Weights, Weights, Weights]
_PARTS = ("input", "output", "bias")


@dataclass(frozen=True, eq=False)
class RecurrentNetwork:
    """LSTM cells one upon the other, and a network on what the last of them gives.

    cells: of each the weights of what comes in (4 h, inputs), those of its own output before
    (4 h, h), and a bias (4 h,), in PyTorch's order: input, forget, candidate, output. normalizer:
    of the observations; the head has none. quaternions: as of a `Network`. Source: Hochreiter &
    Schmidhuber (1997), Long short-term memory, with the forget gate of Gers et al. (2000).
    """

    cells: tuple[Cell, ...]
    head: Network
    normalizer: Normalizer | None = None
    quaternions: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        own = checked_columns(QUATERNIONS, self.quaternions, self.width - 4)
        object.__setattr__(self, "quaternions", own)

    def __repr__(self) -> str:
        sizes = (self.width, *(cell[1].shape[1] for cell in self.cells))
        return (
            f"RecurrentNetwork(sizes={sizes}, head={self.head!r}, normalizer={self.normalizer!r})"
        )

    @property
    def width(self) -> int:
        return int(self.cells[0][0].shape[1])

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Weights, tuple[Weights, Weights]]:
        """Actions as of `Network.predict`, and the memory, the next `state`: outputs and contents
        of the cells, each (cells, n, h). episode_start (n,): where they are emptied first."""
        seen = checked_observation(observation, self.width, self.quaternions)
        x = np.atleast_2d(seen)
        shape = (len(self.cells), len(x), self.cells[0][1].shape[1])
        before = np.zeros((2, *shape), np.float32) if state is None else np.stack(state)
        if episode_start is not None:
            before = before * ~np.asarray(episode_start, dtype=np.bool_)[:, None]
        after = np.empty_like(before)
        if self.normalizer is not None:
            x = self.normalizer(x)
        for k, (of_input, of_output, bias) in enumerate(self.cells):
            gates = x @ of_input.T + before[0, k] @ of_output.T + bias
            enter, forget, candidate, leave = np.split(gates, 4, axis=1)
            after[1, k] = _sigmoid(forget) * before[1, k] + _sigmoid(enter) * np.tanh(candidate)
            x = after[0, k] = _sigmoid(leave) * np.tanh(after[1, k])
        actions, _ = self.head.predict(x)
        return (actions if seen.ndim == 2 else actions[0]), (after[0], after[1])

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Arrays by name, and the rest as what JSON can hold; see `from_arrays`."""
        arrays, config = self.head.to_arrays()
        config |= {"cells": len(self.cells), "quaternions": list(self.quaternions)}
        for k, cell in enumerate(self.cells):
            arrays |= {f"cells.{k}.{part}": x for part, x in zip(_PARTS, cell, strict=True)}
        if self.normalizer is not None:
            of_normalizer, config["normalizer"] = self.normalizer.to_arrays()
            arrays |= of_normalizer
        return arrays, config

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike], config: Mapping[str, Any]) -> Self:
        """The network that `to_arrays` took apart; an error of some kind if it is none."""
        rest, of_head, normalizer = dict(arrays), dict(config), None
        if (bounds := of_head.pop("normalizer", None)) is not None:
            normalizer = Normalizer.from_arrays(rest, bounds)
        cells: Any = tuple(
            tuple(frozen(part, rest.pop(f"cells.{k}.{part}"), np.float32) for part in _PARTS)
            for k in range(of_head.pop("cells"))
        )
        quaternions = of_head.pop("quaternions", ())
        network = cls(cells, Network.from_arrays(rest, of_head), normalizer, quaternions)
        network.predict(np.zeros(network.width, np.float32))  # its arrays fit each other
        return network


def _sigmoid(x: Weights) -> Weights:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x), dtype=np.float32)
