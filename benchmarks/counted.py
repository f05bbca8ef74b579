"""Numbers that note their arithmetic, for functions that are ordinary Python while not compiled.

Noted is what an optimising compiler leaves of it: what is computed twice counts once, what is
never used does not, nor do a change of sign, an addition of zero and a multiplication by one;
division by a constant is a multiplication. Beyond that nothing is rearranged.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

KINDS = "add", "multiply", "divide", "root", "compare"
_COMMUTE = "add", "multiply"


class Tape:
    """The operations so far: kind and operands of each, those whose result is used, the counts."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.operations: list[tuple[str, tuple[Any, ...]]] = []
        self.known: dict[Any, int] = {}
        self.used: list[int] = []
        self.counts: Counter[str] = Counter()
        self.told: set[int] = set()

    def node(self, kind: str, *operands: Any) -> int:
        """The number of an operation on such operands; the same for the same."""
        if kind in _COMMUTE:
            operands = tuple(sorted(operands, key=repr))
        key = (kind, *operands)
        if key not in self.known:
            self.known[key] = len(self.operations)
            self.operations.append((kind, operands))
        return self.known[key]

    def count(self) -> None:
        """Count what led to a result that is used; nothing computed later is shared with it."""
        pending = self.used
        while pending:
            one = pending.pop()
            if one in self.told:
                continue
            self.told.add(one)
            kind, operands = self.operations[one]
            self.counts[kind] += 1
            pending.extend(node for _, node in operands if isinstance(node, int))
        self.known, self.used = {}, []


TAPE = Tape()


class Counted(float):
    """A float that knows what made it: its operand is (sign, number of the operation)."""

    __slots__ = ("operand",)
    __array_ufunc__ = None  # NumPy's numbers leave the operation to this class
    operand: tuple[int, Any]

    def __add__(self, other: float) -> "Counted":
        if not isinstance(other, Counted) and other == 0.0:
            return self
        return _made(float(self) + float(other), "add", self, other)

    def __sub__(self, other: float) -> "Counted":
        return self + -other

    def __rsub__(self, other: float) -> "Counted":
        return -self + other

    def __mul__(self, other: float) -> "Counted":
        if not isinstance(other, Counted) and abs(other) == 1.0:
            return self if other > 0 else -self
        return _product("multiply", float(self) * float(other), self, other)

    def __truediv__(self, other: float) -> "Counted":
        if not isinstance(other, Counted):
            return self * (1.0 / other)
        return _product("divide", float(self) / float(other), self, other)

    def __rtruediv__(self, other: float) -> "Counted":
        return _product("divide", other / float(self), other, self)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Counted":
        sign, node = self.operand
        return of(-float(self), (-sign, node))

    def __abs__(self) -> "Counted":
        return self if self >= 0.0 else -self

    def __lt__(self, other: float) -> bool:
        return _compared(float(self) < float(other), self, other)

    def __le__(self, other: float) -> bool:
        return _compared(float(self) <= float(other), self, other)

    def __gt__(self, other: float) -> bool:
        return _compared(float(self) > float(other), self, other)

    def __ge__(self, other: float) -> bool:
        return _compared(float(self) >= float(other), self, other)


def of(value: float, operand: tuple[int, Any]) -> Counted:
    """A counted number that this operation made."""
    number = Counted(value)
    number.operand = operand
    return number


def given(value: float) -> Counted:
    """A counted number that was there before: of no operation, and equal to none."""
    TAPE.operations.append(("given", ()))
    return of(value, (1, len(TAPE.operations) - 1))


def use(*numbers: Any) -> None:
    """Say that these numbers, alone or in tuples, are wanted."""
    for number in numbers:
        if isinstance(number, tuple):
            use(*number)
        elif isinstance(number, Counted):
            TAPE.used.append(number.operand[1])


def _operand(x: float) -> tuple[int, Any]:
    return x.operand if isinstance(x, Counted) else (1, f"{float(x)!r}")


def _made(value: float, kind: str, *operands: float) -> Counted:
    return of(value, (1, TAPE.node(kind, *map(_operand, operands))))


def _product(kind: str, value: float, x: float, y: float) -> Counted:
    (s, a), (t, b) = _operand(x), _operand(y)
    return of(value, (s * t, TAPE.node(kind, (1, a), (1, b))))


def _compared(outcome: bool, *operands: float) -> bool:
    TAPE.used.append(TAPE.node("compare", *map(_operand, operands)))
    return outcome


class _Stand:
    """Stands for `math`, and for the few functions of NumPy that kernels call."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.module, name)

    def sqrt(self, x: float) -> float:
        return _made(math.sqrt(float(x)), "root", x) if isinstance(x, Counted) else math.sqrt(x)

    def floor(self, x: float) -> float:
        return _made(float(math.floor(float(x))), "compare", x)

    def copysign(self, x: float, y: float) -> float:
        return _made(math.copysign(float(x), float(y)), "compare", x, y)

    def empty(self, shape: Any) -> np.ndarray:
        return np.zeros(shape, object)

    zeros = empty


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """Within it, modules of rbgym note roots as well; what it gives has the counts at its end."""
    changed = []
    for name, module in list(sys.modules.items()):
        for alias, real in (("math", math), ("np", np)):
            if name.startswith("rbgym") and getattr(module, alias, None) is real:
                changed.append((module, alias, real))
                setattr(module, alias, _Stand(real))
    TAPE.clear()
    try:
        yield TAPE.counts
        TAPE.count()
    finally:
        for module, alias, real in changed:
            setattr(module, alias, real)


def operations(function: Callable[..., Any], *arguments: Any) -> dict[str, int]:
    """How many of each kind the function needs for these arguments, numbers or tuples of them."""

    def taken(x: Any) -> Any:
        return tuple(map(taken, x)) if isinstance(x, tuple) else given(x)

    with counting() as counts:
        use(function(*map(taken, arguments)))
    return {kind: counts[kind] for kind in KINDS}
