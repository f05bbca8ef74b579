"""Values that nobody should pass, and valid ones that were damaged."""

import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

LARGE = 64  # a valid count beyond this would only cost time


class Deliberate(Exception):
    """What the caller's own objects raise, which is theirs to see."""


class Subclass(np.ndarray):
    """An array of another class."""


class RaisesAsArray:
    """An object that cannot be made an array."""

    def __array__(self, dtype=None, copy=None):
        raise Deliberate("no array")


class RaisesAsFloat:
    """An object that cannot be made a number."""

    def __float__(self):
        raise Deliberate("no number")


class Unlike:
    """An object that cannot be compared, nor be told true from false."""

    def __eq__(self, other):
        raise Deliberate("no comparison")

    def __bool__(self):
        raise Deliberate("no truth")

    __hash__ = None


def _raises(*args, **kwargs):
    raise Deliberate("a callable that raises")


def _nested():
    nested: list[Any] = []
    nested.append(nested)
    return nested


def _read_only(array):
    array.flags.writeable = False
    return array


_NAN, _INF = float("nan"), float("inf")

# Each is made anew: no test sees what another did to it.
SCALARS: list[Callable[[], Any]] = [
    *(lambda value=value: value for value in (
        _NAN, _INF, -_INF, 0.0, -0.0, 5e-324, 1e-310, 1e-300, 1e-30, 1e30, 1e154, 1e200, 1.7e308,
        -1.7e308, 0, -1, 1, 2, 7, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63), 10**400, -(10**400),
        True, False, None, 1j, 1 + 2j, complex(_NAN, 0.0), ..., NotImplemented, int, object(),
    )),
    *(lambda value=value: value for value in (
        "", " ", "nan", "inf", "1", "1.0", "0x1", "\u00fc\u4e16\U0001f600", "\x00", "\ud800",
        "None", "a" * 10_000, b"", b"1", b"\xff", bytearray(b"12"), memoryview(b"123"),
    )),
    *(lambda value=value: value for value in (
        decimal.Decimal("1.5"), decimal.Decimal("NaN"), fractions.Fraction(1, 3),
        np.float16(1.0), np.float32("nan"), np.longdouble(1.0), np.longdouble("1e4000"),
        np.int8(-1), np.uint64(2**64 - 1), np.bool_(True), np.complex64(1j), np.str_("1"),
        np.datetime64("2020-01-01"), np.timedelta64(1, "s"), np.void(b"12"),
    )),
    RaisesAsArray, RaisesAsFloat, Unlike,
]  # fmt: skip

CONTAINERS: list[Callable[[], Any]] = [
    list, tuple, dict, set, frozenset, lambda: range(3), lambda: iter([1.0, 2.0, 3.0]),
    lambda: (x for x in (1.0, 2.0, 3.0)), lambda: [1, [2, 3]], lambda: [[1, 2], [3]],
    lambda: [[[[[[1.0]]]]]], _nested, lambda: ["1", "2", "3"], lambda: [None] * 3,
    lambda: [True, False, True], lambda: [1j, 0, 0], lambda: [10**400, 0, 0], lambda: [b"1"] * 3,
    lambda: {"a": 1}, lambda: {1: 2}, lambda: {None: None}, lambda: {"": _NAN},
    lambda: {"x": {"y": {"z": []}}}, lambda: ({},), lambda: [{}], lambda: [0.0] * 10_000,
    lambda: {str(k): k for k in range(1000)}, lambda: [_raises], lambda: [1.0, _NAN, 0.0],
    lambda: ("quaternion",), lambda: [object()], lambda: [Unlike()],
]  # fmt: skip

ARRAYS: list[Callable[[], Any]] = [
    *(lambda shape=shape: np.zeros(shape) for shape in (
        (), (0,), (1,), (2,), (3,), (4,), (5,), (0, 3), (1, 3), (3, 1), (3, 3), (4, 4), (2, 4),
        (2, 3), (1, 1, 1), (3, 3, 3), (2, 0, 4),
    )),
    *(lambda value=value, n=n: np.full(n, value) for value in (
        _NAN, _INF, 5e-324, 1e-200, 1e200, 1.7e308,
    ) for n in (3, 4)),
    *(lambda kind=kind, n=n: np.ones(n).astype(kind) for kind in (
        "f2", "f4", "g", "i1", "u1", "i8", "?", "c8", "c16", "O", "S3", "U3", "M8[s]", "m8[s]",
    ) for n in (3, 4)),
    lambda: np.array([1.0, None, 2.0], dtype=object),
    lambda: np.array([[1, 2], [3]], dtype=object),
    lambda: np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]),
    lambda: np.arange(1.0, 7.0)[::2], lambda: np.arange(1.0, 5.0)[::-1],
    lambda: np.asfortranarray(np.diag([1.0, 2.0, 2.5])), lambda: np.ones((3, 3))[:, ::-1],
    lambda: _read_only(np.ones(3)), lambda: _read_only(np.array([1.0, 0.0, 0.0, 0.0])),
    lambda: np.broadcast_to(1.0, (3,)), lambda: np.broadcast_to(0.5, (4,)),
    lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    lambda: np.ma.masked_array([1.0, 0.0, 0.0, 0.0], mask=[1, 0, 0, 0]),
    lambda: np.ones(3).view(Subclass), lambda: np.array([1.0, 0, 0, 0]).view(Subclass),
    lambda: np.ones(3, dtype=">f8"), lambda: np.array([1.0, 0, 0, 0], dtype=">f4"),
    lambda: np.array("text"), lambda: np.array(None), lambda: np.array({}),
]  # fmt: skip

CALLABLES: list[Callable[[], Any]] = [
    lambda: _raises,
    *(lambda result=result: lambda *args, **kwargs: result for result in (
        None, _NAN, "text", 10**400, 1j, (_NAN,) * 3, [1.0, 2.0], [[1, 2], [3]], {}, object(),
    )),
    lambda: lambda: None,
    lambda: dict,
]  # fmt: skip

PLAIN = [*SCALARS, *CONTAINERS, *ARRAYS]


def anything(callables: bool = True) -> st.SearchStrategy[Any]:
    """A hostile value of any kind; callables only where that is not what is wanted."""
    made = st.sampled_from([*PLAIN, *(CALLABLES if callables else [])]).map(lambda make: make())
    return st.one_of(
        made, made, made, st.floats(), st.integers(), st.text(max_size=8), st.binary(max_size=4),
        st.lists(st.floats(), max_size=5),
    )  # fmt: skip


def damaged(valid: Any) -> st.SearchStrategy[Any]:
    """A valid value with one thing wrong, or in an unusual form that changes nothing."""
    if isinstance(valid, dict):
        return _damaged_dict(valid)
    if isinstance(valid, str):
        return st.sampled_from(
            [valid.upper(), f" {valid}", valid + "\x00", valid[:-1], valid.encode(), [valid],
             np.str_(valid), f"{valid}:4", valid * 3]
        )  # fmt: skip
    try:
        array = np.array(valid, dtype=float)
    except (TypeError, ValueError, RuntimeError):
        return anything()
    return st.builds(_hurt, st.just(array), st.sampled_from(_HURTS), st.integers(0, 10**6))


_HURTS = ["nan", "inf", "huge", "tiny", "zero", "sign", "complex", "text", "object", "f4", "int",
          "longer", "shorter", "deeper", "reversed", "strided", "fortran", "frozen", "list",
          "masked", "subclass", "swapped", "ragged", "half"]  # fmt: skip


def _hurt(valid: Any, how: str, where: int) -> Any:  # one line for each way
    array = np.array(valid, dtype=float)
    flat, values = where % max(array.size, 1), {
        "nan": _NAN, "inf": _INF, "huge": 1e200, "tiny": 5e-324, "zero": 0.0,
    }  # fmt: skip
    if how in values or how == "sign":
        if array.size:
            array.flat[flat] = values.get(how, -array.flat[flat])
        return array if array.ndim else float(array)
    match how:
        case "complex" | "text" | "object" | "f4" | "int" | "half":
            kinds = {"complex": complex, "text": str, "object": object, "f4": "f4", "int": int,
                     "half": "f2"}  # fmt: skip
            with np.errstate(all="ignore"):
                return array.astype(kinds[how])
        case "longer":
            return np.append(array, 1.0)
        case "shorter":
            return array.ravel()[:-1]
        case "deeper":
            return array[None]
        case "reversed" | "strided":
            step = -1 if how == "reversed" else 2
            wide = np.repeat(array, abs(step), axis=-1) if array.ndim else array
            return wide[..., ::step] if array.ndim else array
        case "fortran":
            return np.asfortranarray(array)
        case "frozen":
            return _read_only(array)
        case "masked":
            return np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 0)
        case "subclass":
            return array.view(Subclass)
        case "swapped":
            return array.astype(">f8")
        case "ragged":
            return [array.tolist(), [1.0]]
    return array.tolist()


def _damaged_dict(valid: dict[Any, Any]) -> st.SearchStrategy[Any]:
    keys = list(valid)
    extra = st.tuples(
        st.sampled_from(["", "q", "Quaternion", 1, None, ("a",), "state"]), anything()
    ).map(lambda item: {**valid, item[0]: item[1]})
    if not keys:
        return extra
    missing = st.sampled_from(keys).map(lambda k: {n: v for n, v in valid.items() if n != k})
    wrong = st.sampled_from(keys).flatmap(
        lambda k: st.one_of(anything(), damaged(valid[k])).map(lambda value: {**valid, k: value})
    )
    return st.one_of(missing, extra, wrong, wrong, wrong)


def replacement(valid: Any, callables: bool = True) -> st.SearchStrategy[Any]:
    """What stands in an argument's place: anything, or its valid value damaged."""
    return st.one_of(anything(callables), damaged(valid), damaged(valid))


def arrays_in(value: Any, depth: int = 3) -> list[np.ndarray]:
    """The arrays in a value, so that a test can see that a call leaves them alone."""
    if isinstance(value, np.ndarray):
        return [value]
    if depth == 0 or not isinstance(value, list | tuple | dict) or len(value) > 100:
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [array for part in parts for array in arrays_in(part, depth - 1)]
