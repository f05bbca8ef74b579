"""A small neural network in plain NumPy: a trained policy without the library that trained it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0.0),
}
OUTPUTS: dict[str, Callable[[Array], Array]] = {
    "clip": lambda x: np.clip(x, -1.0, 1.0),
    "tanh": np.tanh,
}


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
            given = getattr(self, name)
            if given not in known:
                raise ValueError(f"{name} must be one of {list(known)}, got {given!r}")
        shapes = [(weight.shape, bias.shape) for weight, bias in self.layers]
        widths = [weight[0] for weight, _ in shapes if weight]
        if (
            not shapes
            or any(len(weight) != 2 or bias != weight[:1] for weight, bias in shapes)
            or any(weight[1] != k for (weight, _), k in zip(shapes[1:], widths, strict=False))
        ):
            raise ValueError(
                f"layers must be (out, in) and (out,), each fitting the next, got {shapes}"
            )

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
