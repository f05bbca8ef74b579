"""Distributions, as a spread names them, by their quantile functions: one uniform number in, one
number out, so that the same uniform numbers serve every distribution."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rbgym.arguments import number, real
from rbgym.envs.arguments import keys
from rbgym.quaternion import Array

# The numbers of each, in their order.
KINDS: dict[str, tuple[str, ...]] = {
    "normal": ("mean", "std"),
    "uniform": ("low", "high"),
    "log_uniform": ("low", "high"),
    "triangular": ("low", "mode", "high"),
    "values": (),
}
_BESIDE = "factor", "nominal", "weights"


@dataclass(frozen=True)
class Distribution:
    """kind: of `KINDS`, and its numbers. values: (n,), or (n, size) of whole vectors, of a table,
    each drawn with its weight (n,). factor: whether a draw is a factor of the nominal value.
    nominal: what counts as such in a budget, None for that of the env."""

    kind: str
    numbers: tuple[float, ...]
    values: Array | None = None
    weights: Array | None = None
    factor: bool = False
    nominal: float | None = None

    @classmethod
    def read(cls, argument: str, value: Any) -> "Distribution":
        """That of {kind: numbers}, perhaps within {"factor": ...}; else ValueError."""
        given = keys(argument, value, (*KINDS, *_BESIDE))
        if "factor" in given:
            inner = {**keys(f"{argument}: factor", given.pop("factor"), (*KINDS, "weights"))}
            read = cls.read(argument, inner | given)
            return cls(**(vars(read) | {"factor": True}))
        kinds = [kind for kind in KINDS if kind in given]
        if len(kinds) != 1:
            raise ValueError(f"{argument} must have one of {list(KINDS)}, got {value!r}")
        kind, nominal = kinds[0], given.get("nominal")
        if nominal is not None and not math.isfinite(number(nominal)):
            raise ValueError(f"{argument}: nominal must be a finite number, got {nominal!r}")
        if kind == "values":
            return cls(kind, (), *_table(argument, given), nominal=nominal)
        if "weights" in given:
            raise ValueError(f"{argument}: weights must stand beside values, got {value!r}")
        return cls(kind, _numbers(argument, kind, given[kind]), nominal=nominal)

    def at(self, u: Array) -> Array:
        """The numbers (runs, size) of uniform ones in (0, 1)."""
        from scipy import stats

        if self.values is not None and self.weights is not None:
            ends = np.cumsum(self.weights)
            # One number chooses a row of whole vectors.
            chosen = np.searchsorted(ends, (u if self.values.ndim == 1 else u[:, 0]) * ends[-1])
            return np.asarray(self.values[np.minimum(chosen, len(ends) - 1)])
        if self.kind == "normal":
            mean, std = self.numbers
            return np.asarray(mean + std * stats.norm.ppf(u))
        if self.kind == "triangular":
            low, mode, high = self.numbers
            return np.asarray(stats.triang.ppf(u, (mode - low) / (high - low), low, high - low))
        low, high = self.numbers
        if self.kind == "uniform":
            return low + (high - low) * u
        return np.exp(math.log(low) + math.log(high / low) * u)


def _numbers(argument: str, kind: str, value: Any) -> tuple[float, ...]:
    names = KINDS[kind]
    if isinstance(value, Mapping):
        value = [keys(f"{argument}: {kind}", value, names).get(name) for name in names]
    listed = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    found = tuple(map(number, listed))
    if len(found) != len(names) or not all(map(math.isfinite, found)):
        raise ValueError(f"{argument}: {kind} must have the numbers {names}, got {value!r}")
    good, allowed = _legal(kind, found)
    if not good:
        raise ValueError(f"{argument}: {kind} must have {allowed}, got {value!r}")
    return found


def _legal(kind: str, numbers: tuple[float, ...]) -> tuple[bool, str]:
    """Whether a distribution may have these, and what it may."""
    if kind == "normal":
        return numbers[1] >= 0.0, "a std that is not negative"
    low, high = numbers[0], numbers[-1]
    if kind == "triangular":
        return low <= numbers[1] <= high and low < high, "low <= mode <= high, and low < high"
    return low <= high and (kind == "uniform" or low > 0.0), (
        "low <= high" if kind == "uniform" else "0 < low <= high"
    )


@dataclass(frozen=True)
class Joint:
    """Normal numbers that vary together: mean (n,), and root (n, n), lower triangular, with
    covariance root @ root.T."""

    mean: Array
    root: Array
    factor: ClassVar[bool] = False
    nominal: ClassVar[float | None] = None

    @classmethod
    def of(cls, argument: str, mean: Array, matrix: Array) -> "Joint":
        """ValueError for a matrix that is no covariance."""
        try:
            if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0.0):
                raise np.linalg.LinAlgError
            return cls(mean, np.asarray(np.linalg.cholesky(matrix), dtype=np.float64))
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{argument}: matrix must be symmetric and positive definite, got {matrix.tolist()}"
            ) from None

    def at(self, u: Array) -> Array:
        """The numbers (runs, n) of uniform ones in (0, 1)."""
        from scipy.stats import norm

        return np.asarray(self.mean + norm.ppf(u) @ self.root.T)


def _table(argument: str, given: Mapping[str, Any]) -> tuple[Array, Array]:
    values = real(f"{argument}: values", given["values"])
    if values.ndim not in (1, 2) or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{argument}: values must be finite numbers, or rows of them, got {given['values']!r}"
        )
    weights = real(f"{argument}: weights", given.get("weights", np.ones(len(values))))
    if weights.shape != values.shape[:1] or not (weights >= 0.0).all() or not weights.sum() > 0.0:
        raise ValueError(
            f"{argument}: weights must be {len(values)} numbers that are not negative, got "
            f"{given.get('weights')!r}"
        )
    return values, weights
