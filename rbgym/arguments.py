"""What users give for numbers, checked: a ValueError names the argument and what is allowed."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
P = ParamSpec("P")
T = TypeVar("T")

LARGEST_COUNT = 2**53


def real(name: str, value: ArrayLike, allowed: str = "real numbers", kinds: str = "iuf") -> Array:
    """The value as a float64 array of any shape, perhaps not finite; ValueError unless it is made
    of real numbers: no text, no complex ones, no truth values, none that are masked.

    kinds: of NumPy's dtypes; with "b" truth values are numbers too.
    """
    try:
        array = np.asarray(value)
    except Exception as error:  # what an object raises that cannot be made an array is its own
        raise ValueError(f"{name} must be {allowed}, got {value!r}") from error
    if array.dtype.kind not in kinds or _hides(value):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    with np.errstate(over="ignore"):  # of a longer float: infinite
        return np.asarray(array, dtype=np.float64)


def _hides(value: Any) -> bool:
    """Whether a mask hides something that np.asarray takes."""
    if isinstance(value, list | tuple):
        return any(map(_hides, value))
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def finite(name: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """A fresh float64 array of one of these shapes, or ValueError."""
    allowed = f"finite real numbers of shape {' or '.join(map(str, shapes))}"
    array = real(name, value, allowed)
    if array.shape not in shapes or not np.isfinite(array).all():
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return np.array(array)


def unit(name: str, value: ArrayLike, size: int, slack: float) -> Array:
    """A fresh vector (size,) whose length is 1 but for `slack`, or ValueError."""
    vector = finite(name, value, (size,))
    # Not the length of what is so long that its square is no float.
    if np.abs(vector).max() > 2.0 or abs(np.linalg.norm(vector) - 1.0) > slack:
        raise ValueError(f"{name} must have unit length, shape ({size},), got {value!r}")
    return vector


def is_number(value: Any) -> bool:
    """Whether this is a real number: of Python or NumPy, no truth value and no array."""
    # A span of time is one of NumPy's integers.
    real_type = isinstance(value, int | float | np.integer | np.floating)
    return real_type and not isinstance(value, bool | np.timedelta64)


def number(value: Any) -> float:
    """The number as a float, infinite if it is too large for one; nan for what is none."""
    try:
        return float(value) if is_number(value) else np.nan
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def positive(name: str, value: float) -> float:
    """The value as a float, or a ValueError unless it is a positive finite number."""
    found = number(value)
    if not 0 < found < np.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    return found


def count(name: str, value: int) -> int:
    """The value as an int, or a ValueError unless it is a positive integer."""
    if not (isinstance(value, int | np.integer) and is_number(value)) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    if value > LARGEST_COUNT:
        raise ValueError(f"{name} must be at most 2**53, got {value!r}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """The value as a bool, or a ValueError unless it is one."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def quietly(function: Callable[P, T]) -> Callable[P, T]:
    """The function without warnings of what is beyond the largest float, for where that is refused
    afterwards."""

    @wraps(function)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(*args, **kwargs)

    return quiet
