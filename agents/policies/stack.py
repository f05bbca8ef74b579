"""Networks of one shape side by side, as the compiled function takes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.policies import forward
from rbgym.jit import Entry

if TYPE_CHECKING:
    from rbgym.agents.policies.network import Network

_ACT = Entry(forward.act)


@dataclass(frozen=True, eq=False)
class Stack:
    """Arguments of `rbgym.agents.policies.forward.act` that stay the same from step to step."""

    weights: NDArray[np.float32]
    sizes: NDArray[np.int64]
    activation: int
    squashed: int
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    clip: NDArray[np.float64]

    @classmethod
    def of(cls, networks: "Sequence[Network]") -> Self:
        """Networks that have one `shape`; ValueError otherwise, and without any."""
        if not networks:
            raise ValueError("networks must be at least one, got none")
        first = networks[0]
        for n, network in enumerate(networks):
            if network.shape != first.shape:
                raise ValueError(
                    f"networks must have one shape, got {first.shape} and, at {n}, {network.shape}"
                )
        width = first.sizes[0]
        normalizers = [network.normalizer for network in networks]
        return cls(
            weights=np.stack([_packed(network) for network in networks]),
            sizes=np.array([_padded(size) for size in first.sizes], dtype=np.int64),
            activation=forward.ACTIVATIONS[first.activation],
            squashed=int(first.output == "tanh"),
            mean=np.stack([np.zeros(width) if n is None else n.mean for n in normalizers]),
            scale=np.stack([np.ones(width) if n is None else n.scale for n in normalizers]),
            clip=np.array([np.inf if n is None else n.clip for n in normalizers], dtype=np.float64),
        )

    def act(
        self,
        owner: NDArray[np.int64],
        observations: NDArray[np.float32],
        actions: NDArray[np.float64],
    ) -> None:
        """Write actions (lanes, channels) for observations (lanes, width), both C-contiguous.

        owner: which network each block of eight lanes has, (blocks,).
        """
        _ACT.call(
            self.weights, self.sizes, self.activation, self.squashed, self.mean, self.scale,
            self.clip, owner, observations, actions,
        )  # fmt: skip


def _padded(size: int) -> int:
    return -(-size // forward.PADDED_TO) * forward.PADDED_TO


def _packed(network: Any) -> NDArray[np.float32]:
    """Weights and biases of all layers, padded with zeros, in one vector."""
    parts = []
    for weight, bias in network.layers:
        outputs, inputs = (_padded(size) for size in weight.shape)
        W, b = np.zeros((outputs, inputs), np.float32), np.zeros(outputs, np.float32)
        W[: weight.shape[0], : weight.shape[1]], b[: len(bias)] = weight, bias
        parts += [W.ravel(), b]
    return np.concatenate(parts)
