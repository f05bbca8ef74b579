"""Checks of users' arguments: a ValueError names the argument, its value and what is allowed."""

import difflib
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
P = ParamSpec("P")
T = TypeVar("T")


def real(name: str, value: ArrayLike, allowed: str = "real numbers", kinds: str = "iuf") -> Array:
    """The value as a float64 array of any shape, finite or not. Rejects text, complex and masked
    numbers and, unless kinds (of NumPy's dtypes) contains "b", booleans."""
    try:
        array = np.asarray(value)
    except Exception as error:  # an object that is no array may raise anything
        raise ValueError(f"{name} must be {allowed}, got {value!r}: {error}") from error
    if array.dtype.kind not in kinds or _is_masked(value):
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    if array.dtype == np.float64:
        return array
    with np.errstate(over="ignore"):  # too large a long double becomes infinite
        return np.asarray(array, dtype=np.float64)


def _is_masked(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_masked, value))
    return isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)


def finite(name: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """A fresh float64 array of one of these shapes."""
    allowed = f"finite real numbers of shape {' or '.join(map(str, shapes))}"
    array = real(name, value, allowed)
    if array.shape not in shapes or not np.isfinite(array).all():
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    return np.array(array)


def vectors(name: str, value: ArrayLike) -> Array:
    """A fresh float64 array (k, 3) of finite numbers."""
    array = real(name, value)
    if array.shape[1:] != (3,) or not array.size or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers (k, 3), got {value!r}")
    return np.array(array)


def positives(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """A fresh float64 array of this shape, all entries finite and positive."""
    array = finite(name, value, shape)
    if np.any(array <= 0):
        raise ValueError(f"{name} must be positive, got {value!r}")
    return array


def unit(name: str, value: ArrayLike, size: int = 4) -> Array:
    """A fresh unit vector (size,). The length of `value` may be off by 1e-6, as of float32."""
    vector = finite(name, value, (size,))
    # The first test avoids overflow in the length.
    if np.abs(vector).max() > 2.0 or abs((length := np.linalg.norm(vector)) - 1.0) > 1e-6:
        raise ValueError(f"{name} must have unit length, shape ({size},), got {value!r}")
    return vector if abs(length - 1.0) < 1e-9 else np.asarray(vector / length)


def is_number(value: Any) -> bool:
    """Whether the value is a real number of Python or NumPy, not a boolean or an array."""
    # timedelta64 is a subclass of NumPy's integers.
    real_type = isinstance(value, int | float | np.integer | np.floating)
    return real_type and not isinstance(value, bool | np.timedelta64)


def number(value: Any) -> float:
    """The number as a float, infinite if it is too large; nan for anything else."""
    try:
        return float(value) if is_number(value) else np.nan
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def positive(name: str, value: float) -> float:
    """A positive finite number, as a float."""
    found = number(value)
    if not 0 < found < np.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}")
    return found


def count(name: str, value: int, least: int = 1) -> int:
    """An integer from `least` up, as an int."""
    if not (isinstance(value, int | np.integer) and is_number(value)) or value < least:
        allowed = "a positive integer" if least == 1 else f"an integer from {least} up"
        raise ValueError(f"{name} must be {allowed}, got {value!r}")
    if value > 2**53:
        raise ValueError(f"{name} must be at most 2**53, got {value!r}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """True or False, as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def hint(value: Any, known: Iterable[str]) -> str:
    """The end of a message: the known name closest to the value, if one is close."""
    names = {str(name).lower(): name for name in known}
    near = difflib.get_close_matches(str(value).lower(), names, n=1)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def quietly(function: Callable[P, T]) -> Callable[P, T]:
    """Silence overflow warnings in a function whose result is checked afterwards."""

    @wraps(function)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(over="ignore", invalid="ignore"):
            return function(*args, **kwargs)

    return quiet
