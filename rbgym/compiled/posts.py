"""Kernels over ranges of blocks, each range in a thread of its own, and none of them in Python.

A kernel that takes ranges ends its arguments with `first, last, part`: blocks from `first` to
before `last`, and which of the ranges this is. It returns RESULT. `spread` leaves each range but
the first at the post of a thread, takes the first itself, and then every one that nobody has begun:
so it is no slower where a thread sleeps. Posts are rows of int64, each of two cache lines:

    state; address of the task, and of its arguments; first, last, part; RESULT as float64
"""

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils

from rbgym.compiled.calls import called, items_of, kept
from rbgym.compiled.jit import compiled, intrinsic

RESULT = types.UniTuple(types.float64, 4)
WIDTH = 16  # of a post
FOUND = slice(6, 6 + RESULT.count)  # in it
_STATE, _TASK, _ARGUMENTS, _RANGE = 0, 1, 2, 3
IDLE, OFFERED, TAKEN, DONE, CALLED = range(5)

_INT, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
_RESULT = ir.ArrayType(ir.DoubleType(), RESULT.count).as_pointer()
_TASK_TYPE = ir.FunctionType(ir.VoidType(), [_BYTES, _INT, _INT, _INT, _RESULT])


class Task(NamedTuple):
    """A kernel that takes ranges and what it is called with but for the range, kept in memory as
    compiled code has it: to take that out of Python's objects takes as long as a thousand bodies.

    address: of what does it, given where that lies. held: the memory, and what it leads to.
    """

    address: int
    data: int
    held: tuple[Any, ...]


# --- posts --------------------------------------------------------------------------------------


def _place(context, builder, kind, post, k):
    data = context.make_array(kind)(context, builder, post).data
    return builder.gep(data, [ir.Constant(_INT, k)])


@intrinsic
def _state(typingctx, post):
    """The state of a post as it is at this moment."""

    def lower(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], _STATE)
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(post), lower


@intrinsic
def _set_state(typingctx, post, state):
    """Change the state, after all that was written before."""

    def lower(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], _STATE)
        builder.store_atomic(args[1], place, "release", 8)
        return context.get_dummy_value()

    return types.void(post, types.int64), lower


@intrinsic
def _take(typingctx, post):
    """Take what is offered at a post, unless somebody else has; whether it was taken."""

    def lower(context, builder, signature, args):
        place = _place(context, builder, signature.args[0], args[0], _STATE)
        old, new = (ir.Constant(_INT, state) for state in (OFFERED, TAKEN))
        swapped = builder.cmpxchg(place, old, new, "acq_rel", "monotonic")
        return builder.extract_value(swapped, 1)

    return types.boolean(post), lower


@intrinsic
def _keep_task(typingctx, memory, task):
    """Write a kernel's address, and what it is called with but for the range, to the memory, if it
    is long enough. Returns the address of what does this, where it lies, and the bytes."""

    def lower(context, builder, signature, args):
        kind, size = signature.args[1], kept(context, builder, signature, args)
        place = context.make_array(signature.args[0])(context, builder, args[0]).data
        name = builder.module.get_unique_name("task")
        function = ir.Function(builder.module, _TASK_TYPE, name)
        function.linkage = "internal"
        data, first, last, part, found = function.args
        inside = ir.IRBuilder(function.append_basic_block())
        task = inside.load(inside.bitcast(data, args[1].type.as_pointer()), align=8)
        address, given = items_of(inside, kind, task)
        kinds = (*kind[1].types, *[types.int64] * 3)
        items = [*items_of(inside, kind[1], given), first, last, part]
        inside.store(called(context, inside, RESULT, address, kinds, items), found)
        inside.ret_void()
        both = [builder.ptrtoint(x, _INT) for x in (function, place)]
        return cgutils.pack_array(builder, [*both, size])

    return types.UniTuple(types.int64, 3)(memory, task), lower


def _call(context, builder, task, place, numbers, found):
    function = builder.inttoptr(task, _TASK_TYPE.as_pointer())
    builder.call(function, [builder.inttoptr(place, _BYTES), *numbers, found])


@intrinsic
def _do(typingctx, task, place, first, last):
    """Do the first part of a task; returns its RESULT."""

    def lower(context, builder, signature, args):
        found = cgutils.alloca_once(builder, _RESULT.pointee)
        task, place, *numbers = args
        _call(context, builder, task, place, [*numbers, ir.Constant(_INT, 0)], found)
        return builder.load(found)

    return RESULT(*[types.int64] * 4), lower


@intrinsic
def _do_posted(typingctx, post):
    """Do the task at a post."""

    def lower(context, builder, signature, args):
        places = [_place(context, builder, signature.args[0], args[0], k) for k in range(7)]
        task, place, *numbers = (builder.load(one) for one in places[_TASK:-1])
        found = builder.bitcast(places[FOUND.start], _RESULT)
        _call(context, builder, task, place, numbers, found)
        return context.get_dummy_value()

    return types.void(post), lower


@compiled
def serve(post, looks):
    """Do what is left at a post, until nothing has come for so many looks, or a call in Python."""
    idle = 0
    while idle < looks:
        state = _state(post)
        if state == CALLED:
            return
        idle += 1
        if state == OFFERED and _take(post):
            _do_posted(post)
            _set_state(post, DONE)
            idle = 0


@compiled
def keep_task(memory, task):
    """Two addresses that a `Task` has, and the bytes that it takes; writes it to the memory, if
    that is long enough."""
    return _keep_task(memory, task)


@compiled
def spread(posts, task, place, first, last):
    """Do a `Task` for all blocks from `first` to before `last`, one range for each post, the first
    of which is that of this thread; of no post, for all at once. Returns RESULT of the first; those
    of others are at their posts."""
    parts, blocks = len(posts), last - first
    if parts < 2:
        return _do(task, place, first, last)
    for k in range(1, parts):
        post = posts[k]
        post[_TASK], post[_ARGUMENTS] = task, place
        post[_RANGE] = first + blocks * k // parts
        post[_RANGE + 1] = first + blocks * (k + 1) // parts
        post[_RANGE + 2] = k
        _set_state(post, OFFERED)
    result = _do(task, place, first, first + blocks // parts)
    for k in range(1, parts):
        post = posts[k]
        if _take(post):
            _do_posted(post)
        else:
            while _state(post) != DONE:
                pass
        _set_state(post, IDLE)
    return result
