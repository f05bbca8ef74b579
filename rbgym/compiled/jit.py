"""Decorators that compile every kernel of the package; `record` compiles the methods of classes."""

import gc
import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import config, njit, typeof
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic as _intrinsic
from numba.extending import overload

from rbgym.compiled import cache
from rbgym.compiled.pipeline import Compiler, PartCompiler

MACHINE_CODE: bool = not config.DISABLE_JIT  # type: ignore[attr-defined]
F = TypeVar("F", bound=Callable[..., Any])
intrinsic: Any = _intrinsic  # numba's type hint has one argument too many

OUTLINED: Any = {
    "error_model": "numpy",
    "nogil": True,
    "forceinline": False,  # or the caller's
    "pipeline_class": Compiler,
}
# Contraction, reassociation and reciprocals change only the last bit, `nsz` only the sign of a
# zero. `nnan` and `ninf` would let the compiler delete the tests for states that are not finite.
FAST: Any = {"fastmath": {"contract", "reassoc", "arcp", "nsz"}, **OUTLINED}
# Inlined functions are never called, so they need no wrappers for Python and C.
INLINED: Any = {**FAST, "forceinline": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}


def inlined(function: F, options: Any = INLINED, choose: Any = None) -> F:
    """Make compiled code inline this scalar kernel, or the function that `choose` returns for the
    types of its arguments; Python calls the kernel itself."""
    cache.remember(function)
    overload(function, jit_options=options, strict=False)(choose or (lambda *args: function))
    return function


def kernel_part(function: F) -> F:
    """Make compiled code inline this part of a kernel, which has loops over blocks and lanes."""
    return inlined(function, INLINED | {"pipeline_class": PartCompiler})


def lane_body(function: F) -> F:
    """Copy a lane function into its caller before compilation: the compiler unrolls a loop over
    lanes whose body is a bare call too early, and then does not vectorise it."""
    cache.remember(function)
    compiled_function: F = njit(inline="always", **FAST)(function)
    return compiled_function


def outlined(function: Callable[..., Any]) -> Any:
    """Compile a function, or a `lane_body`, to be called, not inlined: for rare branches."""
    function = getattr(function, "py_func", function)
    cache.remember(function)
    return njit(**OUTLINED)(function)


# Tuples for a loop to fill: unlike array items, their items may be of any type.


def one_each(values: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    """A tuple as long as `values`, with `item` in every place."""
    return (item,) * len(values)


def with_item(values: tuple[Any, ...], k: int, item: Any) -> tuple[Any, ...]:
    """A copy of the tuple with item k replaced."""
    return (*values[:k], item, *values[k + 1 :])


overload(one_each, jit_options=INLINED)(
    lambda values, item: eval(f"lambda values, item: ({'item, ' * len(values)})")
)
overload(with_item, jit_options=INLINED)(
    lambda values, k, item: lambda values, k, item: tuple_setitem(values, k, item)  # type: ignore[call-arg]
)


def compiled(function: F) -> F:
    """Compile an entry point and store the machine code on disk, keyed on all its sources; only in
    memory, with a warning, if there is no writable folder or the sources are in an archive."""
    if not MACHINE_CODE:
        # Machine code does not warn of overflow, which random numbers rely on.
        return np.errstate(all="ignore")(function)
    cache.remember(function)
    dispatcher = njit(**FAST)(function)
    if cache.SOURCES.digest:
        try:
            cache.SOURCES.unchanged()  # check now, just after the import of the sources
            cache.keep_on_disk(dispatcher)
        except (RuntimeError, OSError, ValueError) as error:  # the first two are numba's
            cache.warn(str(error))
    else:
        cache.warn("the sources are in an archive", "unpack it")
    return dispatcher  # type: ignore[no-any-return]


class Entry:
    """A `compiled` kernel whose owner always passes arguments of the same types (arrays: dtype and
    layout): after the first call, `call` is the machine code itself. It skips numba's dispatch,
    which costs more on named tuples than a step does."""

    __slots__ = ("call", "kernel")

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.call: Callable[..., Any] = self._first

    def _first(self, *args: Any) -> Any:
        call = self.kernel
        if MACHINE_CODE:
            signature = tuple(typeof(arg) for arg in args)  # type: ignore[no-untyped-call]
            was_on = gc.isenabled()
            gc.disable()  # the search for cyclic garbage takes a sixth of the time of a compilation
            try:
                self.kernel.compile(signature)
            finally:
                if was_on:
                    gc.enable()
            call = self.kernel.overloads[signature].entry_point
        self.call = call
        return call(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code cannot leave the process: a pickle names the kernel, a copy shares it.
        return _entry, (self.kernel.__module__, self.kernel.__name__)


def _entry(module: str, name: str) -> Entry:
    return Entry(getattr(importlib.import_module(module), name))
