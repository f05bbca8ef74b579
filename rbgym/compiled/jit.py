"""How every kernel of the package is compiled.

- `@inlined`: scalar kernels on tuples of floats, inlined into whoever calls them;
- `@kernel_part`: parts of one of the entry points, inlined there;
- methods of a `Record` (see rbgym.compiled.record): the same, chosen by the class;
- `@lane_body`: what stands directly in a loop over lanes;
- `@outlined`: what is rarely used, and had better stay out of its caller;
- `@compiled`: the few entry points, kept in an on-disk cache.
"""

import gc
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numba import config, njit, typeof, types
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import intrinsic as _intrinsic
from numba.extending import overload

from rbgym.compiled import cache
from rbgym.compiled.pipeline import Compiler, PartCompiler

F = TypeVar("F", bound=Callable[..., Any])
intrinsic: Any = _intrinsic  # whose own type lacks that it takes one argument less

OUTLINED: Any = {
    "error_model": "numpy",
    "nogil": True,
    "forceinline": False,  # or the caller's
    "pipeline_class": Compiler,
}
# Contraction, reassociation and reciprocals change the last bit only, `nsz` the sign of a zero.
# `nnan` and `ninf` would let the compiler delete the tests that notice a state which is no longer
# finite.
FAST: Any = {"fastmath": {"contract", "reassoc", "arcp", "nsz"}, **OUTLINED}
# What is inlined is never called: no time is spent on wrappers for Python and C.
INLINED: Any = {**FAST, "forceinline": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": True}


def inlined(function: F, options: Any = INLINED, choose: Any = None) -> F:
    """Make compiled code inline this scalar kernel, or what `choose` returns for the types of its
    arguments; called from Python it stays what it is."""
    cache.remember(function)
    overload(function, jit_options=options, strict=False)(choose or (lambda *args: function))
    return function


def kernel_part(function: F) -> F:
    """Make compiled code inline this part of a kernel, in which loops over blocks and lanes are."""
    return inlined(function, INLINED | {"pipeline_class": PartCompiler})


def lane_body(function: F) -> F:
    """Copy a lane function into its caller before anything is compiled: a loop over lanes whose
    body is a bare call is unrolled too early, and nothing is vectorised."""
    cache.remember(function)
    compiled_function: F = njit(inline="always", **FAST)(function)
    return compiled_function


def outlined(function: Callable[..., Any]) -> Any:
    """Compile a function, or a `lane_body`, that is called, not inlined: a rare branch."""
    function = getattr(function, "py_func", function)
    cache.remember(function)
    return njit(**OUTLINED)(function)


def chosen_by_class(options: Any) -> Callable[..., Any]:
    """Decorates what picks a function while compiling, by the class of the first argument; others
    are not compiled. options: INLINED, if it stands in a loop over lanes, or OUTLINED."""

    def decorate(choose: Callable[[type], Callable[..., Any]]) -> Callable[..., Any]:
        def chosen(*args: Any) -> Any:
            return choose(type(args[0]))(*args)

        def choice(*args: Any) -> Callable[..., Any]:
            return choose(args[0].instance_class)

        overload(chosen, jit_options=options, strict=False)(choice)
        return chosen

    return decorate


# Tuples that a loop fills: unlike an array's, their items may be of any kind.


def one_each(values: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    """A tuple as long as `values`, of one item."""
    return (item,) * len(values)


def with_item(values: tuple[Any, ...], k: int, item: Any) -> tuple[Any, ...]:
    """The tuple with another item k."""
    return (*values[:k], item, *values[k + 1 :])


@intrinsic
def _fill(typingctx, values, item):  # type: ignore[no-untyped-def]
    def lower(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return context.make_tuple(builder, signature.return_type, [args[1]] * len(values))

    filled: Any = types.UniTuple  # it is a class that numba gives no types
    return filled(item, len(values))(values, item), lower


overload(one_each, jit_options=INLINED)(
    lambda values, item: lambda values, item: _fill(values, item)
)
overload(with_item, jit_options=INLINED)(
    lambda values, k, item: lambda values, k, item: tuple_setitem(values, k, item)  # type: ignore[call-arg]
)


def compiled(function: F) -> F:
    """Compile an entry point and keep the machine code on disk, keyed on all its sources; in
    memory, with a warning, where there is no folder for it or the sources are no files."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        # As silent as machine code where numbers overflow, as random ones do.
        return np.errstate(all="ignore")(function)
    cache.remember(function)
    if cache.SOURCES.digest:
        try:
            dispatcher = njit(cache=True, **FAST)(function)
            cache.SOURCES.unchanged()  # look now, just after the import of what will be compiled
            cache.keep_on_disk(dispatcher)
            return dispatcher  # type: ignore[no-any-return]
        except RuntimeError:  # numba's
            cache.warn("no folder for it can be written to")
        except ValueError as error:
            cache.warn(str(error))
    else:
        cache.warn("the sources are in an archive", "unpack it")
    return njit(**FAST)(function)  # type: ignore[no-any-return]


def entry_point(kernel: Any, *args: Any) -> Callable[..., Any]:
    """The machine code of a `compiled` kernel, for arguments of exactly these types (arrays: dtype
    and layout): working out those of named tuples costs more than stepping a body."""
    if not hasattr(kernel, "compile"):  # with NUMBA_DISABLE_JIT
        return kernel  # type: ignore[no-any-return]
    signature = tuple(typeof(arg) for arg in args)  # type: ignore[no-untyped-call]
    with _no_collection():
        kernel.compile(signature)
    entry: Callable[..., Any] = kernel.overloads[signature].entry_point
    return entry


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the search for cyclic garbage, which would be a sixth of a compilation."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Entry:
    """A `compiled` kernel as one object calls it, always with arguments of the same types: `call`
    is the machine code from the first call on."""

    __slots__ = ("call", "kernel")

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self.call: Callable[..., Any] = self._first

    def _first(self, *args: Any) -> Any:
        self.call = entry_point(self.kernel, *args)
        return self.call(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        # Machine code stays with the process: a pickle names the kernel, a copy shares it.
        function = getattr(self.kernel, "py_func", self.kernel)
        return _entry, (function.__module__, function.__name__)


def _entry(module: str, name: str) -> Entry:
    return Entry(getattr(importlib.import_module(module), name))
