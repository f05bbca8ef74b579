"""What a few lines of a loop over the lanes of a block do, as the instructions they should become.

A loop over eight lanes with next to nothing in it is unrolled before it can be vectorised, and then
stays eight times the work. Arrays are flat; `j` and `k` are where the first of the eight numbers
lies in them. Nothing sees to it, in a debug run either, that the others lie in them too.
"""

from llvmlite import ir
from numba import types
from numba.extending import overload

from rbgym.compiled.jit import INLINED, intrinsic

LANES = 8
_BYTES = ir.IntType(8).as_pointer()
_NUMBERS, _FLAGS = (ir.VectorType(kind, LANES) for kind in (ir.DoubleType(), ir.IntType(8)))


def copy_lanes(target, j, source, k):
    """The same numbers in another array."""
    target[j : j + LANES] = source[k : k + LANES]


def flag_lanes(flags, j, source, k, least):
    """Whether each of the numbers is the least, or above it."""
    flags[j : j + LANES] = source[k : k + LANES] >= least


def lanes_above(source, k):
    """How many of the numbers are above zero."""
    return int((source[k : k + LANES] > 0.0).sum())


def spread_lanes(target, j, stride, source, k):
    """The numbers, to places that lie a stride apart, and to their kind."""
    target[j : j + LANES * stride : stride] = source[k : k + LANES]


def fetch(source, k):
    """Ask for the numbers to be brought near, from where they will be read soon."""


def clip_lanes(target, j, source, k, stride):
    """Numbers that lie a stride apart, clipped to +-1."""
    target[j : j + LANES] = source[k : k + LANES * stride : stride].clip(-1.0, 1.0)


# --- compiled -----------------------------------------------------------------------------------


def _place(context, builder, kind, array, k, wide=None):
    """Pointer to a number of an array, or to eight of them."""
    data = context.make_array(kind)(context, builder, array).data
    place = builder.gep(data, [k])
    return builder.bitcast(place, wide.as_pointer()) if wide else place


def _eight(context, builder, kind, array, k):
    return builder.load(_place(context, builder, kind, array, k, _NUMBERS), align=8)


def _compared(context, builder, how, kind, array, k, number):
    """A bit for each of the eight numbers."""
    every = ir.Constant(_NUMBERS, ir.Undefined)
    for lane in range(LANES):
        every = builder.insert_element(every, number, ir.Constant(ir.IntType(32), lane))
    return builder.fcmp_ordered(how, _eight(context, builder, kind, array, k), every)


@intrinsic
def _copy(typingctx, target, j, source, k):
    def lower(context, builder, signature, args):
        target, j, source, k = args
        numbers = _eight(context, builder, signature.args[2], source, k)
        builder.store(
            numbers, _place(context, builder, signature.args[0], target, j, _NUMBERS), align=8
        )
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64), lower


@intrinsic
def _fetch(typingctx, source, k):
    def lower(context, builder, signature, args):
        kind, module = ir.IntType(32), builder.module
        place = builder.bitcast(_place(context, builder, signature.args[0], *args), _BYTES)
        name = "llvm.prefetch.p0"
        function = module.globals.get(name) or ir.Function(
            module, ir.FunctionType(ir.VoidType(), [_BYTES, kind, kind, kind]), name
        )
        to_read, to_the_first_level, numbers = kind(0), kind(3), kind(1)
        builder.call(function, [place, to_read, to_the_first_level, numbers])
        return context.get_dummy_value()

    return types.void(source, types.int64), lower


@intrinsic
def _spread(typingctx, target, j, stride, source, k):
    def lower(context, builder, signature, args):
        target, j, stride, source, k = args
        kind = context.get_data_type(signature.args[0].dtype)
        numbers = _eight(context, builder, signature.args[3], source, k)
        if kind != ir.DoubleType():
            numbers = builder.fptrunc(numbers, ir.VectorType(kind, LANES))
        for lane in range(LANES):
            number = builder.extract_element(numbers, ir.Constant(ir.IntType(32), lane))
            at = builder.add(j, builder.mul(stride, ir.Constant(j.type, lane)))
            builder.store(number, _place(context, builder, signature.args[0], target, at))
        return context.get_dummy_value()

    integer = types.int64
    return types.void(target, integer, integer, source, integer), lower


@intrinsic
def _flag(typingctx, flags, j, source, k, least):
    def lower(context, builder, signature, args):
        flags, j, source, k, least = args
        above = _compared(context, builder, ">=", signature.args[2], source, k, least)
        place = _place(context, builder, signature.args[0], flags, j, _FLAGS)
        builder.store(builder.zext(above, _FLAGS), place, align=1)
        return context.get_dummy_value()

    return types.void(flags, types.int64, source, types.int64, types.float64), lower


@intrinsic
def _count(typingctx, source, k):
    def lower(context, builder, signature, args):
        (source, k), nothing = args, ir.Constant(ir.DoubleType(), 0.0)
        above = _compared(context, builder, ">", signature.args[0], source, k, nothing)
        number = builder.ctpop(builder.bitcast(above, ir.IntType(LANES)))
        return builder.zext(number, ir.IntType(64))

    return types.int64(source, types.int64), lower


@intrinsic
def _clip(typingctx, target, j, source, k, stride):
    def lower(context, builder, signature, args):
        target, j, source, k, stride = args
        numbers = ir.Constant(_NUMBERS, ir.Undefined)
        for lane in range(LANES):
            at = builder.add(k, builder.mul(stride, ir.Constant(k.type, lane)))
            number = builder.load(_place(context, builder, signature.args[2], source, at))
            numbers = builder.insert_element(numbers, number, ir.Constant(ir.IntType(32), lane))
        for compared, bound in (("<", -1.0), (">", 1.0)):
            most = ir.Constant(_NUMBERS, [bound] * LANES)
            beyond = builder.fcmp_ordered(compared, numbers, most)
            numbers = builder.select(beyond, most, numbers)
        builder.store(
            numbers, _place(context, builder, signature.args[0], target, j, _NUMBERS), align=8
        )
        return context.get_dummy_value()

    integer = types.int64
    return types.void(target, integer, source, integer, integer), lower


overload(copy_lanes, jit_options=INLINED)(
    lambda target, j, source, k: lambda target, j, source, k: _copy(target, j, source, k)
)
overload(spread_lanes, jit_options=INLINED)(
    lambda target, j, stride, source, k: (
        lambda target, j, stride, source, k: _spread(target, j, stride, source, k)
    )
)
overload(fetch, jit_options=INLINED)(lambda source, k: lambda source, k: _fetch(source, k))
overload(flag_lanes, jit_options=INLINED)(
    lambda flags, j, source, k, least: (
        lambda flags, j, source, k, least: _flag(flags, j, source, k, least)
    )
)
overload(lanes_above, jit_options=INLINED)(lambda source, k: lambda source, k: _count(source, k))
overload(clip_lanes, jit_options=INLINED)(
    lambda target, j, source, k, stride: (
        lambda target, j, source, k, stride: _clip(target, j, source, k, stride)
    )
)
