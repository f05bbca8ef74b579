"""A small neural network in plain NumPy: a trained policy without the library that trained it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}
OUTPUTS = {"clip": lambda x: np.clip(x, -1.0, 1.0), "tanh": np.tanh}


@dataclass(frozen=True)
class Network:
    """Dense layers with an activation between them, and actions in [-1, 1].

    layers: weight (out, in) and bias (out,) of each. activation: "tanh" or "relu". output: "clip"
    or "tanh". normalizer: mean (in,) and standard deviation (in,) of observations, or None.
    Raises ValueError for names and shapes that are none of these.
    """

    layers: tuple[tuple[Array, Array], ...]
    activation: str
    output: str
    normalizer: tuple[Array, Array] | None = None

    def __post_init__(self) -> None:
        for name, known in (("activation", ACTIVATIONS), ("output", OUTPUTS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {list(known)}, got {getattr(self, name)!r}")
        width = None
        for weight, bias in self.layers:
            if weight.ndim != 2 or bias.shape != weight.shape[:1] or width not in (None, weight.shape[1]):
                shapes = [(w.shape, b.shape) for w, b in self.layers]
                raise ValueError(f"layers must be (out, in) and (out,), one fitting the next, got {shapes}")
            width = weight.shape[0]
        if width is None:
            raise ValueError("layers must be at least one, got none")

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.float32], None]:
        """Actions (n, out) for observations (n, in), or (out,) for (in,); no memory, no noise."""
        x = np.asarray(observation, dtype=self.layers[0][0].dtype)
        if self.normalizer is not None:
            x = (x - self.normalizer[0]) / self.normalizer[1]
        *hidden, (weight, bias) = self.layers
        for inner, shift in hidden:
            x = ACTIVATIONS[self.activation](x @ inner.T + shift)
        return OUTPUTS[self.output](x @ weight.T + bias).astype(np.float32), None
