"""Waiting for another thread without going to sleep."""

from typing import Any

from numba import types
from numba.extending import intrinsic, overload

from rbgym.compiled.jit import INLINED, compiled


def _now(numbers: Any) -> Any:
    """The first of an array of integers, as it is in memory at this moment."""
    return numbers[0]


@intrinsic
def _loaded(typingctx, numbers):  # type: ignore[no-untyped-def]
    def lower(context, builder, signature, args):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(array.data, "monotonic", 8)

    return types.int64(numbers), lower


@overload(_now, jit_options=INLINED)
def _now_compiled(numbers):  # type: ignore[no-untyped-def]
    return lambda numbers: _loaded(numbers)  # type: ignore[call-arg]


@compiled
def watch(numbers, seen, looks):
    """Look so many times whether the first of the integers has changed; whether it has."""
    for _ in range(looks):
        if _now(numbers) != seen:
            return True
    return False
