"""What observations pass before the first layer of a network."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import number, real

Array = NDArray[np.float64]


def frozen(name: str, value: ArrayLike, dtype: type) -> NDArray[Any]:
    """A private copy that cannot be written to; ValueError unless it is finite."""
    with np.errstate(over="ignore"):
        array: NDArray[Any] = np.array(real(name, value), dtype=dtype)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {value!r}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Normalizer:
    """What observations pass before the first layer: clip((x - mean) / sqrt(variance + epsilon)).

    mean, variance: (width,). clip: the bound of the result. As Stable-Baselines3's VecNormalize.
    Raises ValueError for shapes that differ, a variance below zero and bounds that are not
    positive.
    """

    mean: Array
    variance: Array
    clip: float = 10.0
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        for name in ("mean", "variance"):
            object.__setattr__(self, name, frozen(name, getattr(self, name), np.float64))
        if self.mean.ndim != 1 or self.mean.shape != self.variance.shape:
            raise ValueError(
                f"mean and variance must have one shape (width,), got {self.mean.shape} and "
                f"{self.variance.shape}"
            )
        if (self.variance < 0).any():
            raise ValueError(f"variance must not be negative, got {self.variance}")
        for name in ("clip", "epsilon"):
            if not number(getattr(self, name)) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)!r}")

    @property
    def scale(self) -> Array:
        """What a deviation from the mean is multiplied by, (width,)."""
        scale: Array = 1.0 / np.sqrt(self.variance + self.epsilon)
        return scale

    def __call__(self, x: ArrayLike) -> NDArray[np.float32]:
        """Observations (..., width), normalised, with the rounding of VecNormalize."""
        scaled = (np.asarray(x) - self.mean) / np.sqrt(self.variance + self.epsilon)
        return np.clip(scaled, -self.clip, self.clip).astype(np.float32)
