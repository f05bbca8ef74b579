"""Kernels that are called by their addresses, see `rbgym.compiled.jit.address_of`.

What is compiled once serves all callers, with the same round-off in every thread.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from rbgym.compiled.jit import address_of, compiled, compiled_for, entry_point, intrinsic

_INT, _NUMBER, _BYTES = ir.IntType(64), ir.DoubleType(), ir.IntType(8).as_pointer()
PLACE, COUNTS = types.int64, types.UniTuple(types.float64, 2)  # what the two of `Repeated` return
_FOUND = ir.ArrayType(_NUMBER, 3)
_AGAIN = ir.FunctionType(ir.VoidType(), [_BYTES, _FOUND.as_pointer()]).as_pointer()


def called(context, builder, returns, address, kinds, values):
    """What the kernel returns; it raises nothing."""
    kind = context.call_conv.get_function_type(returns, kinds)
    result, error = (cgutils.alloca_once(builder, arg.pointee) for arg in kind.args[:2])
    given = context.get_arg_packer(kinds).as_arguments(builder, values)
    builder.call(builder.inttoptr(address, kind.as_pointer()), [result, error, *given])
    return context.data_model_manager[returns].from_return(builder, builder.load(result))


def items_of(builder, kind, values):
    """The items of a tuple."""
    return [builder.extract_value(values, k) for k in range(len(kind))]


def caller(returns: Any) -> Any:
    """call(address, args): what the kernel returns that is at this address, see `address_of`."""

    def call(address, args):
        return address(*args)  # where nothing is compiled

    @compiled_for(call)
    def compiled_call(typingctx, address, args):
        def lower(context, builder, signature, values):
            kind = signature.args[1]
            items = items_of(builder, kind, values[1])
            return called(context, builder, returns, values[0], kind.types, items)

        return returns(address, args), lower

    return call


# --- two calls that are made again and again ----------------------------------------------------


def _borrowed(context, builder, kind, value):
    """The same value, of whose arrays nobody counts the references: the caller has them."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = (
            pointer.type(None) for pointer in (array.meminfo, array.parent)
        )
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind
        for k, item in enumerate(items_of(builder, kind, value)):
            item = _borrowed(context, builder, kinds[k], item)
            value = builder.insert_value(value, item, k)
    return value


def kept(context, builder, signature, args):
    """Write the second of two arguments, whose arrays the caller has, to the first, an array of
    bytes, if it is long enough; returns how many it takes."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    size = ir.Constant(_INT, context.get_abi_sizeof(args[1].type))
    with builder.if_then(builder.icmp_unsigned("<=", size, array.nitems)):
        value = _borrowed(context, builder, signature.args[1], args[1])
        builder.store(value, builder.bitcast(array.data, args[1].type.as_pointer()), align=8)
    return size


@intrinsic
def _keep(typingctx, memory, calls):
    """Write two addresses, and what is called at each, to the memory, if it is long enough. Returns
    the address of what makes these calls, the second if the first returned -1, and the bytes."""

    def lower(context, builder, signature, args):
        kind, kind_of_kept = signature.args[1], args[1].type
        size = kept(context, builder, signature, args)
        name = builder.module.get_unique_name("again")
        function = ir.Function(builder.module, _AGAIN.pointee, name)
        function.linkage = "internal"
        data, found = function.args
        inside = ir.IRBuilder(function.append_basic_block())
        calls = inside.load(inside.bitcast(data, kind_of_kept.as_pointer()), align=8)
        first, with_first, second, with_second = items_of(inside, kind, calls)

        def put(k, number):
            zero, place = (ir.Constant(ir.IntType(32), n) for n in (0, k))
            inside.store(number, inside.gep(found, [zero, place]))

        def call(returns, address, kind, given):
            return called(context, inside, returns, address, kind, items_of(inside, kind, given))

        told = call(PLACE, first, kind[1], with_first)
        put(0, inside.sitofp(told, _NUMBER))
        with cgutils.if_likely(inside, inside.icmp_signed("==", told, ir.Constant(_INT, -1))):
            numbers = call(COUNTS, second, kind[3], with_second)
            for k in range(2):
                put(k + 1, inside.extract_value(numbers, k))
        inside.ret_void()
        address = builder.ptrtoint(function, _INT)
        return cgutils.pack_array(builder, [address, size])

    return types.UniTuple(types.int64, 2)(memory, calls), lower


@intrinsic
def _again(typingctx, address, memory):
    def lower(context, builder, signature, args):
        data = context.make_array(signature.args[1])(context, builder, args[1]).data
        found = cgutils.alloca_once(builder, _FOUND)
        builder.call(builder.inttoptr(args[0], _AGAIN), [data, found])
        return builder.load(found)

    return types.UniTuple(types.float64, 3)(address, memory), lower


@compiled
def keep(memory, calls):
    """See `Repeated`."""
    return _keep(memory, calls)


@compiled
def again(address, memory):
    """See `Repeated`."""
    return _again(address, memory)


class Repeated:
    """Two kernels, PLACE and COUNTS by what they return, that are called again and again, with the
    same arguments.

    To take these out of Python's objects takes as long as stepping a body: they are kept in memory,
    as compiled code has them. call(), while this lives: what the first returns, and then the two
    numbers of the second, or zeros where it was not called, as the first did not return -1.
    """

    def __init__(self, *calls: tuple[Any, tuple[Any, ...]]) -> None:
        self._calls = calls  # and the arrays in them
        self.call: Callable[[], tuple[float, float, float]] = self._in_python
        if not hasattr(keep, "compile"):  # with NUMBA_DISABLE_JIT
            return
        given = tuple(x for kernel, args in calls for x in (address_of(kernel, *args), args))
        memory = np.zeros(0, np.uint8)
        write = entry_point(keep, memory, given)
        address, size = write(memory, given)
        self._memory = np.zeros(size, np.uint8)
        write(self._memory, given)
        bound = address, self._memory
        self.call = partial(entry_point(again, *bound), *bound)

    def _in_python(self) -> tuple[float, float, float]:
        (first, with_first), (second, with_second) = self._calls
        told = first(*with_first)
        return (told, *second(*with_second)) if told == -1 else (told, 0.0, 0.0)
