"""Values that nobody should pass, and valid ones that were damaged."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays


class Deliberate(Exception):
    """What the caller's own objects raise, which is theirs to see."""


class Subclass(np.ndarray):
    """An array of another class."""


@dataclass(frozen=True)
class Returns:
    """A callable that returns a value, whatever it is called with."""

    value: Any

    def __call__(self, *args, **kwargs):
        return self.value


def raises(*args, **kwargs):
    raise Deliberate


# Objects that cannot be made an array or a number, be compared, or be told true from false.
RAISING = [type("Raising", (), {name: raises})
           for name in ("__array__", "__float__", "__eq__", "__bool__")]  # fmt: skip


def _nested():
    nested = []
    nested.append(nested)
    return nested


def _read_only(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


NAN, INF = float("nan"), float("inf")
EDGES = [
    NAN, INF, -INF, 0.0, -0.0, 5e-324, 1e-310, 1e-300, 1e-30, 1e30, 1e154, 1e200, 1.7e308, -1.7e308,
    0, -1, 1, 2, 7, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, -(10**400), True, False, None, 1j,
    complex(NAN, 0.0), ..., NotImplemented, int, dict, raises, "", " ", "nan", "inf", "1", "1.0",
    "0x1", "\x00", "\ud800", "a" * 10_000, np.longdouble("1e4000"), np.uint64(2**64 - 1),
    np.bool_(True), np.str_("1"), np.void(b"12"), range(3), ("quaternion",), ({},), (NAN,) * 3,
]  # fmt: skip
# Made anew each time: no call sees what another did to them.
MADE = [
    *RAISING, object, list, dict, set, _nested, lambda: iter([1.0, 2.0, 3.0]), lambda: [1, [2, 3]],
    lambda: [[[[[[1.0]]]]]], lambda: ["1", "2", "3"], lambda: [None] * 3, lambda: [True] * 3,
    lambda: [1j, 0, 0], lambda: [10**400, 0, 0], lambda: [b"1"] * 3, lambda: [1.0, NAN, 0.0],
    lambda: [raises], lambda: [object()], lambda: [RAISING[2]()], lambda: [0.0] * 10_000,
    lambda: {"": NAN}, lambda: {None: None}, lambda: {"x": {"y": {"z": []}}},
    lambda: {str(k): k for k in range(1000)}, lambda: bytearray(b"12"), lambda: memoryview(b"123"),
    lambda: _read_only([1.0, 0.0, 0.0, 0.0]), lambda: np.broadcast_to(1.0, (3,)),
    lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]), lambda: np.ones(3).view(Subclass),
    lambda: np.array([1.0, None, 2.0]), lambda: np.array([[1, 2], [3]], dtype=object),
    lambda: np.zeros(3, dtype=[("a", "f8"), ("b", "i4")]), lambda: np.ones((3, 3))[:, ::-1],
    lambda: np.array("text"), lambda: np.array({}), lambda: lambda: None,
]  # fmt: skip
SHAPES = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)

odd = st.sampled_from(EDGES) | st.sampled_from(MADE).map(lambda make: make())
drawn = st.one_of(
    st.floats(), st.integers(), st.complex_numbers(), st.decimals(), st.fractions(),
    st.text(max_size=8), st.binary(max_size=4), st.lists(st.floats(), max_size=5),
    arrays.arrays(arrays.scalar_dtypes(), SHAPES),
    arrays.arrays(float, st.sampled_from([(3,), (4,), (3, 3)]),
                  elements=st.sampled_from(EDGES[:14])),
)  # fmt: skip
anything = st.one_of(odd, odd, drawn, odd.map(Returns))


def damaged(valid):
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
        return anything
    one_entry = st.builds(
        _with_entry, st.just(array), st.integers(0, 10**6), st.sampled_from(EDGES[:7])
    )
    return one_entry | st.sampled_from(FORMS).map(lambda form: form(array))


def _with_entry(array, where, value):
    array = array.copy()
    if array.size:
        array.flat[where % array.size] = value
    return array if array.ndim else float(array)


def _as(kind):
    def cast(array):
        with np.errstate(all="ignore"):
            return array.astype(kind)

    return cast


# Other shapes, types and places in memory.
FORMS = [
    *map(_as, (complex, str, object, "f4", int, "f2", ">f8")), np.negative, np.asfortranarray,
    lambda array: np.append(array, 1.0), lambda array: array.ravel()[:-1],
    lambda array: array[None], lambda array: array[..., ::-1] if array.ndim else array.copy(),
    lambda array: np.stack([array, array], axis=-1)[..., 0], _read_only,
    lambda array: np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 0),
    lambda array: array.copy().view(Subclass), lambda array: [array.tolist(), [1.0]],
    lambda array: array.tolist(),
]  # fmt: skip


def _damaged_dict(valid):
    others = st.sampled_from(["", "q", "Quaternion", 1, None, ("a",), "state"])
    extra = st.tuples(others, anything).map(lambda item: {**valid, item[0]: item[1]})
    if not valid:
        return extra
    keys = st.sampled_from(list(valid))
    missing = keys.map(lambda key: {k: v for k, v in valid.items() if k != key})
    wrong = keys.flatmap(lambda key: replacement(valid[key]).map(lambda v: {**valid, key: v}))
    return st.one_of(missing, extra, wrong, wrong, wrong)


def replacement(valid):
    """What stands in an argument's place: anything, or its valid value damaged."""
    return st.one_of(anything, damaged(valid), damaged(valid))
