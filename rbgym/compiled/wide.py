"""What a few lines of a loop over the lanes of a block do, as the instructions they should become.

A loop over eight lanes with next to nothing in it is unrolled before it can be vectorised, and then
stays eight times the work. Arrays are contiguous; `j` and `k` are where the first of the eight
numbers lies among all of theirs. Nothing sees to it, in a debug run either, that the others lie in
them too.
"""

import ctypes

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from rbgym.compiled.jit import compiled_for

LANES = 8
EVERY = (1 << LANES) - 1  # bits of all lanes, the lowest for the first
_BYTES = ir.IntType(8).as_pointer()
_NUMBERS, _FLAGS = (ir.VectorType(kind, LANES) for kind in (ir.DoubleType(), ir.IntType(8)))
# By bits: the lanes whose bits are set, one behind the other, a byte each.
_LISTED = [
    int.from_bytes([lane for lane in range(LANES) if bits >> lane & 1], "little")
    for bits in range(1 << LANES)
]


def _lanes_of(bits):
    return [lane for lane in range(LANES) if bits >> lane & 1]


def copy_lanes(target, j, source, k, bits):
    """The same numbers in another array, of the lanes whose bits are set."""
    for lane in _lanes_of(bits):
        target.reshape(-1)[j + lane] = source[k + lane]


def flag_lanes(flags, j, source, k, least, bits):
    """Whether each of the numbers is the least, or above it; of the lanes whose bits are set."""
    for lane in _lanes_of(bits):
        flags[j + lane] = source[k + lane] >= least


def lanes_above(source, k):
    """Bits: which of the numbers are above zero."""
    return int((1 << (source[k : k + LANES] > 0.0).nonzero()[0]).sum())


def how_many(bits):
    """How many are set."""
    return bits.bit_count()


def spread_lanes(target, j, stride, source, k, rows, bits):
    """Of so many rows, or the first eight, which lie eight numbers apart, what belongs to a lane
    side by side, and lanes a stride apart; as numbers of the target's kind, and of the lanes whose
    bits are set."""
    rows, target = min(rows, LANES), target.reshape(-1)
    for lane in _lanes_of(bits):
        first = j + stride * lane
        target[first : first + rows] = source[k + lane : k + lane + LANES * rows : LANES]


def list_lanes(places, j, first, bits):
    """Write the numbers of the lanes whose bits are set, one after the other, the first lane's
    being `first`; what stands in the rest of eight is lost."""
    for lane in range(LANES):
        places[j] = first + lane
        j += bits >> lane & 1


def take_lanes(block, source, places, count, first, last):
    """Put so many lanes, or the first eight, side by side, rows from `first` to before `last`; the
    last one also where eight would have more. Where each begins in the source stands in the block's
    own array, from `places` on."""
    for lane in range(LANES):
        since = int(block[places + min(lane, count - 1)])
        there = source[since + first * LANES : since + last * LANES : LANES]
        block[lane + first * LANES : lane + last * LANES : LANES] = there


def put_lanes(target, block, places, count, first, last):
    """The reverse; what the last one was put in besides is to be like it still."""
    for lane in range(LANES):
        since = int(block[places + min(lane, count - 1)])
        here = block[lane + first * LANES : lane + last * LANES : LANES]
        target[since + first * LANES : since + last * LANES : LANES] = here


def room(count):
    """So many numbers, of any value, until the function that asks returns: on its stack."""
    return np.zeros(count)


def singles_at(address, count):
    """So many float32, where they are kept already."""
    return np.frombuffer((ctypes.c_float * count).from_address(int(address)), np.float32)


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


def _every(builder, number):
    """The number, eight times."""
    every = ir.Constant(_NUMBERS, ir.Undefined)
    for lane in range(LANES):
        every = builder.insert_element(every, number, ir.Constant(ir.IntType(32), lane))
    return every


def _compared(context, builder, how, kind, array, k, number):
    """A bit for each of the eight numbers."""
    eight = _eight(context, builder, kind, array, k)
    return builder.fcmp_ordered(how, eight, _every(builder, number))


def _write(builder, bits, all_of_them, one):
    """Write all lanes, or one after the other those whose bits are set."""
    every = builder.icmp_unsigned("==", bits, bits.type(EVERY))
    with builder.if_else(every, likely=True) as (whole, parts):
        with whole:
            all_of_them()
        with parts:
            for lane in range(LANES):
                bit = builder.and_(bits, bits.type(1 << lane))
                with builder.if_then(builder.icmp_unsigned("!=", bit, bits.type(0))):
                    one(lane)


def _store(context, builder, kind, target, j, numbers, bits):
    size = context.get_abi_sizeof(numbers.type.element)

    def all_of_them():
        place = _place(context, builder, kind, target, j, numbers.type)
        builder.store(numbers, place, align=size)

    def one(lane):
        number = builder.extract_element(numbers, ir.IntType(32)(lane))
        at = builder.add(j, j.type(lane))
        builder.store(number, _place(context, builder, kind, target, at))

    _write(builder, bits, all_of_them, one)
    return context.get_dummy_value()


@compiled_for(copy_lanes)
def _copy(typingctx, target, j, source, k, bits):
    def lower(context, builder, signature, args):
        target, j, source, k, bits = args
        numbers = _eight(context, builder, signature.args[2], source, k)
        return _store(context, builder, signature.args[0], target, j, numbers, bits)

    return types.void(target, types.int64, source, types.int64, types.int64), lower


def _array(context, builder, kind, data, count):
    """Of numbers that others take care of."""
    array, size = context.make_array(kind)(context, builder), kind.dtype.bitwidth // 8
    size = count.type(size)
    context.populate_array(
        array, data=data, shape=[count], strides=[size], itemsize=size, meminfo=None
    )
    return array._getvalue()


@compiled_for(room)
def _room(typingctx, count):
    kind = types.Array(types.float64, 1, "C")

    def lower(context, builder, signature, args):
        data = builder.alloca(ir.DoubleType(), args[0])
        data.align = 64
        return _array(context, builder, kind, data, args[0])

    return kind(types.int64), lower


@compiled_for(singles_at)
def _singles(typingctx, address, count):
    kind = types.Array(types.float32, 1, "C", readonly=True)

    def lower(context, builder, signature, args):
        data = builder.inttoptr(args[0], ir.FloatType().as_pointer())
        return _array(context, builder, kind, data, args[1])

    return kind(types.int64, types.int64), lower


@compiled_for(fetch)
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


@compiled_for(spread_lanes)
def _spread(typingctx, target, j, stride, source, k, rows, bits):
    def lower(context, builder, signature, args):
        target, j, stride, source, k, rows, bits = args
        kind = context.get_data_type(signature.args[0].dtype)
        wide, number, size = ir.VectorType(kind, LANES), ir.IntType(32), j.type
        last, lanes = builder.sub(rows, size(1)), []
        for row in range(LANES):  # those beyond the last are read like it, and not written
            least = builder.select(builder.icmp_signed("<", size(row), last), size(row), last)
            at = builder.add(k, builder.mul(least, size(LANES)))
            numbers = _eight(context, builder, signature.args[3], source, at)
            lanes.append(builder.fptrunc(numbers, wide) if kind != ir.DoubleType() else numbers)
        # Transposed: quarters of one number change places, then of four, then of sixteen.
        for half in (1, 2, 4):
            for i in (i for i in range(LANES) if not i & half):
                one, other = lanes[i], lanes[i + half]
                picked = [n if not n & half else LANES + (n ^ half) for n in range(LANES)]
                mask = ir.Constant(ir.VectorType(number, LANES), picked)
                lanes[i] = builder.shuffle_vector(one, other, mask)
                picked = [n + half if not n & half else LANES + n for n in range(LANES)]
                mask = ir.Constant(ir.VectorType(number, LANES), picked)
                lanes[i + half] = builder.shuffle_vector(one, other, mask)
        many = ir.Constant(ir.VectorType(size, LANES), ir.Undefined)
        for row in range(LANES):
            many = builder.insert_element(many, rows, number(row))
        written = builder.icmp_signed("<", ir.Constant(many.type, list(range(LANES))), many)
        suffix = f"v{LANES}f{64 if kind == ir.DoubleType() else 32}"
        store = builder.module.declare_intrinsic(
            f"llvm.masked.store.{suffix}.p0",
            fnty=ir.FunctionType(ir.VoidType(), [wide, wide.as_pointer(), number, written.type]),
        )

        def write(lane):
            at = builder.add(j, builder.mul(stride, size(lane)))
            place = _place(context, builder, signature.args[0], target, at, wide)
            builder.call(store, [lanes[lane], place, number(1), written])

        _write(builder, bits, lambda: [write(lane) for lane in range(LANES)], write)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(target, integer, integer, source, *[integer] * 3), lower


@compiled_for(flag_lanes)
def _flag(typingctx, flags, j, source, k, least, bits):
    def lower(context, builder, signature, args):
        flags, j, source, k, least, bits = args
        above = _compared(context, builder, ">=", signature.args[2], source, k, least)
        above = builder.zext(above, _FLAGS)
        return _store(context, builder, signature.args[0], flags, j, above, bits)

    integer = types.int64
    return types.void(flags, integer, source, integer, types.float64, integer), lower


@compiled_for(lanes_above)
def _above(typingctx, source, k):
    def lower(context, builder, signature, args):
        (source, k), nothing = args, ir.Constant(ir.DoubleType(), 0.0)
        above = _compared(context, builder, ">", signature.args[0], source, k, nothing)
        return builder.zext(builder.bitcast(above, ir.IntType(LANES)), ir.IntType(64))

    return types.int64(source, types.int64), lower


@compiled_for(list_lanes)
def _list(typingctx, places, j, first, bits):
    def lower(context, builder, signature, args):
        places, j, first, bits = args
        table = ir.Constant(ir.ArrayType(bits.type, 1 << LANES), _LISTED)
        listed = cgutils.global_constant(builder, "listed_lanes", table)
        listed = builder.load(builder.gep(listed, [bits.type(0), bits]))
        numbers = builder.uitofp(builder.bitcast(listed, _FLAGS), _NUMBERS)
        numbers = builder.fadd(numbers, _every(builder, builder.sitofp(first, ir.DoubleType())))
        builder.store(numbers, _place(context, builder, signature.args[0], places, j, _NUMBERS), 8)
        return context.get_dummy_value()

    return types.void(places, *[types.int64] * 3), lower


def _moved(to, source, takes):
    """Signature and code of both ways between a block and where its lanes come from."""

    def lower(context, builder, signature, args):
        (here, elsewhere), (block, others) = signature.args[:2], args[:2]
        if not takes:
            here, elsewhere, block, others = elsewhere, here, others, block
        (places, count, first, last), number, since = args[2:], ir.IntType(32), []
        for lane in range(LANES):
            lane, most = count.type(lane), builder.sub(count, count.type(1))
            lane = builder.select(builder.icmp_signed("<", lane, most), lane, most)
            at = builder.add(places, lane)
            at = builder.load(_place(context, builder, here, block, at))
            at = builder.fptosi(at, places.type)
            since.append(_place(context, builder, elsewhere, others, at))
        with cgutils.for_range_slice(builder, first, last, ir.Constant(first.type, 1)) as (row, _):
            k = builder.mul(row, ir.Constant(row.type, LANES))
            eight = _place(context, builder, here, block, k, _NUMBERS)
            numbers = ir.Constant(_NUMBERS, ir.Undefined) if takes else builder.load(eight, align=8)
            for lane, place in enumerate(since):
                one = builder.gep(place, [k])
                if takes:
                    numbers = builder.insert_element(numbers, builder.load(one), number(lane))
                else:
                    builder.store(builder.extract_element(numbers, number(lane)), one)
            if takes:
                builder.store(numbers, eight, align=8)
        return context.get_dummy_value()

    return types.void(to, source, *[types.int64] * 4), lower


@compiled_for(take_lanes)
def _take(typingctx, block, source, places, count, first, last):
    return _moved(block, source, takes=True)


@compiled_for(put_lanes)
def _put(typingctx, target, block, places, count, first, last):
    return _moved(target, block, takes=False)


@compiled_for(how_many)
def _how_many(typingctx, bits):
    def lower(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.int64), lower


@compiled_for(clip_lanes)
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
