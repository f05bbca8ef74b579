"""Gymnasium spaces as plain data, for JSON: boxes, discrete choices, and dicts of them."""

from typing import Any

import numpy as np
from gymnasium import spaces


def as_plain(space: spaces.Space[Any]) -> dict[str, Any]:
    """The space as plain data. Raises ValueError for a space that is none of these."""
    if isinstance(space, spaces.Dict):
        return {"dict": {key: as_plain(part) for key, part in space.items()}}
    if isinstance(space, spaces.Discrete):
        return {"discrete": {"n": int(space.n), "start": int(space.start)}}
    if not isinstance(space, spaces.Box):
        raise ValueError(f"space must be a Box, Discrete or a Dict of them, got {space}")
    bounds = {name: _text(values) for name, values in (("low", space.low), ("high", space.high))}
    return {"box": {**bounds, "shape": list(space.shape), "dtype": str(space.dtype)}}


def space_of(content: dict[str, Any]) -> spaces.Space[Any]:
    """The space that `as_plain` made this of; of anything else, an error of some kind."""
    if "dict" in content:
        return spaces.Dict({key: space_of(part) for key, part in content["dict"].items()})
    if "discrete" in content:
        return spaces.Discrete(**content["discrete"])
    box = content["box"]
    low, high = (_values(box[name], box["shape"], box["dtype"]) for name in ("low", "high"))
    return spaces.Box(low, high, dtype=np.dtype(box["dtype"]).type)


def _text(values: Any) -> list[str]:
    # As text: JSON has no infinity. repr of a float64 is exact for float32 too.
    return [repr(float(x)) for x in np.asarray(values).ravel()]


def _values(texts: list[str], shape: list[int], dtype: str) -> Any:
    with np.errstate(over="raise"):
        return np.array([float(text) for text in texts]).reshape(shape).astype(dtype)
