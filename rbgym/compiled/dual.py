"""Dual numbers in compiled code: a number and its derivatives along twelve directions. Kernels
accept numbers of any type; given an array of duals (`as_duals`), the same sources compute the
derivatives too, exact to round-off. Comparisons use the values only."""

import math
import operator
import re
from contextlib import contextmanager
from types import FunctionType

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.core.typeconv.castgraph import Conversion

from rbgym.compiled.jit import inlined, intrinsic

# State and three commands of a body make nine directions, with wheels twelve. Two vectors of
# register size hold them, because the number of instructions limits these long kernels.
_LONG, _SHORT = (8, 4), (4,)
WIDTH = sum(_LONG)
_ROUND_OFF = 1e-13  # relative, of a sum that takes hundreds of operations
ITEM = 16  # float64 numbers of memory for a dual, whose vectors are aligned


class Dual(types.Type):
    """Numba's type of a dual number; lengths: of the vectors that hold its derivatives."""

    def __init__(self, lengths):
        super().__init__(name=f"dual{lengths}")
        self.lengths = lengths

    def unify(self, typingctx, other):
        return self if isinstance(other, types.Number | types.Boolean) else None

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, types.Float | types.Integer) else None


class _Vector(types.Type):
    """`length` of the derivatives of a dual."""

    def __init__(self, length):
        super().__init__(name=f"along_{length}")
        self.vector = ir.VectorType(ir.DoubleType(), length)


DUAL, _NARROW = Dual(_LONG), Dual(_SHORT)


class Duals(types.Array):
    """Numba's type of an array of duals. steady: rows that no step changes are read as numbers."""

    def __init__(self, steady):
        self.steady = steady
        super().__init__(DUAL, 1, "A", name=f"duals(steady={steady})")

    @property
    def key(self):
        return (*super().key, self.steady)


extending.register_model(Duals)(extending.models.ArrayModel)


@extending.register_model(_Vector)
class _VectorModel(extending.models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.vector)


@extending.register_model(Dual)
class _DualModel(extending.models.StructModel):
    def __init__(self, manager, kind):
        vectors = [(f"along_{n}", _Vector(length)) for n, length in enumerate(kind.lengths)]
        super().__init__(manager, kind, [*vectors, ("value", types.float64)])


# While code is generated, the tangent of a dual is the list of its vectors.


def _splat(builder, x, kind):
    zero = ir.Constant(ir.IntType(32), 0)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), x, zero)
    mask = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), mask)


def _times(builder, tangent, x):
    factors = [_splat(builder, x, part.type) for part in tangent]
    return list(map(builder.fmul, tangent, factors))


def _parts(context, builder, kind, x):
    """Value and tangent (None for a constant)."""
    if isinstance(kind, Dual):
        dual = cgutils.create_struct_proxy(kind)(context, builder, value=x)
        return dual.value, [getattr(dual, f"along_{n}") for n in range(len(kind.lengths))]
    return context.cast(builder, x, kind, types.float64), None


def _dual(context, builder, kind, value, tangent):
    dual = cgutils.create_struct_proxy(kind)(context, builder)
    dual.value = value
    for n, part in enumerate(_zero_tangent(kind) if tangent is None else tangent):
        setattr(dual, f"along_{n}", part)
    return dual._getvalue()


def _zero_tangent(kind):
    vectors = [_Vector(length).vector for length in kind.lengths]
    return [ir.Constant(vector, [0.0] * vector.count) for vector in vectors]


def _add(builder, a, da, b, db):
    if da is None or db is None:
        return builder.fadd(a, b), db if da is None else da
    return builder.fadd(a, b), list(map(builder.fadd, da, db))


def _sub(builder, a, da, b, db):
    minus = None if db is None else list(map(builder.fneg, db))
    return _add(builder, a, da, builder.fneg(b), minus)


def _mul(builder, a, da, b, db):
    left = None if da is None else _times(builder, da, b)
    right = None if db is None else _times(builder, db, a)
    if left is None or right is None:
        return builder.fmul(a, b), right if left is None else left
    return builder.fmul(a, b), list(map(builder.fadd, left, right))


def _div(builder, a, da, b, db):
    one = ir.Constant(ir.DoubleType(), 1.0)
    value, r = builder.fdiv(a, b), builder.fdiv(one, b)
    if db is None:
        return value, _times(builder, da, r)
    if da is None:
        return value, _times(builder, db, builder.fneg(builder.fmul(value, r)))
    change = list(map(builder.fsub, da, _times(builder, db, value)))
    return value, _times(builder, change, r)


_OPERATIONS = {"add": _add, "sub": _sub, "mul": _mul, "truediv": _div}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def _is_number(kind):
    return isinstance(kind, Dual | types.Float | types.Integer)


def _binary(operation, rule, result=None):
    """Define an operation by a rule for values and tangents; result: its type, if not a dual."""

    def typer_of(context):
        def typer(a, b):
            duals = {kind for kind in (a, b) if isinstance(kind, Dual)}
            if len(duals) != 1 or not (_is_number(a) and _is_number(b)):
                return None
            return result or duals.pop()

        return typer

    extending.type_callable(operation)(typer_of)

    def lower(context, builder, sig, args):
        a, da = _parts(context, builder, sig.args[0], args[0])
        b, db = _parts(context, builder, sig.args[1], args[1])
        found, tangent = rule(builder, a, da, b, db)
        return found if result else _dual(context, builder, sig.return_type, found, tangent)

    for kinds in ((Dual, Dual), (Dual, types.Number), (types.Number, Dual)):
        extending.lower_builtin(operation, *kinds)(lower)


def _comparison(sign):
    compare = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"
    return lambda builder, a, da, b, db: (getattr(builder, compare)(sign, a, b), None)


for _name, _rule in _OPERATIONS.items():
    _binary(getattr(operator, _name), _rule)
    _binary(getattr(operator, f"i{_name}"), _rule)
for _name, _sign in _COMPARISONS.items():
    _binary(getattr(operator, _name), _comparison(_sign), types.boolean)


extending.type_callable(operator.neg)(lambda context: lambda a: a if isinstance(a, Dual) else None)


@extending.lower_builtin(operator.neg, Dual)
def _lower_neg(context, builder, sig, args):
    kind = sig.return_type
    value, tangent = _parts(context, builder, kind, args[0])
    return _dual(context, builder, kind, builder.fneg(value), list(map(builder.fneg, tangent)))


@extending.lower_cast(types.Float, Dual)
@extending.lower_cast(types.Integer, Dual)
@extending.lower_cast(types.Boolean, Dual)
def _from_number(context, builder, kind, target, x):
    return _dual(context, builder, target, context.cast(builder, x, kind, types.float64), None)


@intrinsic
def value(typingctx, x):
    """The value of a dual; a number is its own value."""

    def lower(context, builder, sig, args):
        return _parts(context, builder, sig.args[0], args[0])[0]

    return types.float64(x), lower


@intrinsic
def merge(typingctx, a, x):
    """The dual with the value of a and the derivatives of x."""
    result = x if isinstance(x, Dual) else DUAL

    def lower(context, builder, sig, args):
        a, _ = _parts(context, builder, sig.args[0], args[0])
        _, tangent = _parts(context, builder, sig.args[1], args[1])
        return _dual(context, builder, result, a, tangent)

    return result(a, x), lower


@intrinsic
def follow(typingctx, x, a, where):
    """x, with the derivatives of `a` along the directions where those of `where` are not zero."""

    def lower(context, builder, sig, args):
        (value, kept), (_, other), (_, chosen) = (
            _parts(context, builder, kind, arg) for kind, arg in zip(sig.args, args, strict=True)
        )

        def choose(tangent, old, new):
            zero = ir.Constant(tangent.type, [0.0] * tangent.type.count)
            return builder.select(builder.fcmp_unordered("!=", tangent, zero), new, old)

        return _dual(context, builder, DUAL, value, list(map(choose, chosen, kept, other)))

    return DUAL(x, a, where), lower


@intrinsic
def unit(typingctx, column):
    """The dual 0 whose derivative along direction `column` is 1; for -1 all are zero."""

    def lower(context, builder, sig, args):
        k = context.cast(builder, args[0], sig.args[0], types.int32)
        tangent, first = [], 0
        for zeros in _zero_tangent(DUAL):
            length = zeros.type.count
            whole = ir.VectorType(ir.IntType(32), length)
            columns = ir.Constant(whole, list(range(first, first + length)))
            same = builder.icmp_signed("==", _splat(builder, k, whole), columns)
            one = ir.Constant(zeros.type, [1.0] * length)
            tangent.append(builder.select(same, one, zeros))
            first += length
        return _dual(context, builder, DUAL, ir.Constant(ir.DoubleType(), 0.0), tangent)

    return DUAL(column), lower


@intrinsic
def _narrow(typingctx, v):
    def lower(context, builder, sig, args):
        made, ((length,), kind) = [], (_SHORT, _Vector(*_SHORT).vector)
        for n, x in enumerate(cgutils.unpack_tuple(builder, args[0])):
            a, _ = _parts(context, builder, DUAL, x)
            along = ir.Constant(kind, [1.0 if k == n else 0.0 for k in range(length)])
            made.append(_dual(context, builder, _NARROW, a, [along]))
        return context.make_tuple(builder, sig.return_type, made)

    return types.UniTuple(_NARROW, 3)(v), lower


@intrinsic
def _widen(typingctx, values, v):
    def lower(context, builder, sig, args):
        every, of = (cgutils.unpack_tuple(builder, arg) for arg in args)
        given, made = [_parts(context, builder, DUAL, x)[1] for x in of], []
        for x in every:
            a, (slopes,) = _parts(context, builder, _NARROW, x)
            total = _zero_tangent(DUAL)
            for n, along in enumerate(given):
                slope = builder.extract_element(slopes, ir.Constant(ir.IntType(32), n))
                total = list(map(builder.fadd, total, _times(builder, along, slope)))
            made.append(_dual(context, builder, DUAL, a, total))
        return context.make_tuple(builder, sig.return_type, made)

    return types.UniTuple(DUAL, len(values))(values, v), lower


def along_three(function):
    """Make compiled code inline a function (others, v, h) of three numbers v, which returns numbers
    and a flag. If only v is dual, it runs on narrow duals, and the chain rule gives the others."""

    def chained(others, v, h):
        values, flag = function(others, _narrow(v), h)
        return _widen(values, v), flag

    def choose(others, v, h):
        return chained if v.dtype == DUAL and others.dtype != DUAL else function

    return inlined(function, choose=choose)


def _view(steady):
    """The intrinsic `as_duals`, of steady duals or not."""
    duals = Duals(steady)

    def as_duals(typingctx, numbers, first, apart):
        """An array of duals in the memory of a 1-D float64 array that starts at a cache line, from
        its number `first` on. Each dual takes ITEM numbers: WIDTH derivatives, then the value.
        apart: distance between the indices of two duals; no index in between may be used."""

        def lower(context, builder, sig, args):
            given = context.make_array(sig.args[0])(context, builder, args[0])
            made = context.make_array(duals)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(DUAL))
            assert size == 8 * ITEM
            count = given.nitems.type
            first, apart = (
                context.cast(builder, x, kind, types.intp)
                for x, kind in zip(args[1:], sig.args[1:], strict=True)
            )
            left = builder.sub(given.nitems, first)
            context.populate_array(
                made,
                data=builder.bitcast(builder.gep(given.data, [first]), made.data.type),
                shape=[builder.mul(builder.udiv(left, ir.Constant(count, ITEM)), apart)],
                strides=[builder.udiv(ir.Constant(count, size), apart)],
                itemsize=ir.Constant(count, size),
                meminfo=None,
            )
            return made._getvalue()

        return duals(numbers, first, apart), lower

    return intrinsic(as_duals)


as_duals, as_steady_duals = _view(False), _view(True)


def unchanged(function):
    """Inline a function that reads a number which no step changes; of steady duals the value."""
    alone = lambda buffer, k: value(buffer[k])  # noqa: E731
    steady = lambda buffer: isinstance(buffer, Duals) and buffer.steady  # noqa: E731
    return inlined(function, choose=lambda buffer, k: alone if steady(buffer) else function)


def with_duals(function, of_duals):
    """Make compiled code inline a function of numbers, and another where an argument is a dual."""
    return inlined(function, choose=lambda *args: of_duals if _has_dual(args) else function)


def _has_dual(kinds):
    return any(isinstance(kind, Dual) for kind in kinds)


def without_derivative(function):
    """Make compiled code inline a function of (potential, body, Pi, o, level) which returns three
    numbers; for duals it returns their values only."""
    # A second function with the same code: an overload of `function` would call itself.
    own = inlined(FunctionType(function.__code__, function.__globals__, "own"))

    def values(potential, body, Pi, o, level):
        v = own(potential, body, Pi, o, level)
        return value(v[0]), value(v[1]), value(v[2])

    return with_duals(function, values)


def frozen(x):
    """x without its derivatives."""
    return x


with_duals(frozen, lambda x: value(x))


def beyond_round_off(x, size):
    """x; a dual of round-off relative to `size` becomes zero, with its derivatives."""
    return x


with_duals(
    beyond_round_off,
    lambda x, size: x if abs(value(x)) > _ROUND_OFF * value(size) else merge(0.0, 0.0),
)


@contextmanager
def refusals_in_one_line():
    """Raise ValueError, with place and cause, for code that cannot be compiled for duals."""
    try:
        yield
    except NumbaError as error:
        text = str(error)
        lacking = re.findall(r"No implementation of function .*function (\w+)", text)
        places = re.findall(r'File ".*", line \d+', text)
        why = f"{lacking[-1]} takes no dual number" if lacking else "numba cannot compile it"
        at = f", {places[0]}" if places else ""
        raise ValueError(f"a part has no derivative: {why}{at}") from None


def _root(x):
    y = math.sqrt(value(x))
    # At zero the slope is infinite; zero is taken, as for a length, whose minimum is there.
    slope = 0.5 / y if y > 0.0 else 0.0
    return merge(y, slope * x)


@extending.register_jitable
def _arc_slope(x):
    y = math.sqrt(1.0 - x * x)
    return 1.0 / y if y > 0.0 else 0.0


def _of_duals(function, implementation):
    """Define a function in compiled code where an argument is a dual."""
    extending.overload(function, strict=False)(
        lambda *args: implementation if _has_dual(args) else None
    )


_of_duals(math.sqrt, _root)
_of_duals(operator.pos, lambda x: x)
_of_duals(abs, lambda x: -x if x < 0.0 else x)
_of_duals(math.isfinite, lambda x: math.isfinite(value(x)))
_of_duals(math.floor, lambda x: math.floor(value(x)))
_of_duals(np.floor, lambda x: np.floor(value(x)))
_of_duals(math.sin, lambda x: merge(math.sin(value(x)), math.cos(value(x)) * x))
_of_duals(math.cos, lambda x: merge(math.cos(value(x)), -math.sin(value(x)) * x))
_of_duals(math.exp, lambda x: merge(math.exp(value(x)), math.exp(value(x)) * x))
_of_duals(math.log, lambda x: merge(math.log(value(x)), 1.0 / value(x) * x))
_of_duals(math.tanh, lambda x: merge(math.tanh(value(x)), (1.0 - math.tanh(value(x)) ** 2) * x))
_of_duals(math.asin, lambda x: merge(math.asin(value(x)), _arc_slope(value(x)) * x))
_of_duals(math.acos, lambda x: merge(math.acos(value(x)), -_arc_slope(value(x)) * x))


def _power(x, y):
    a, b = value(x), value(y)
    along_x = b * a ** (b - 1.0) if a != 0.0 or b >= 1.0 else 0.0
    along_y = a**b * math.log(a) if a > 0.0 else 0.0
    return merge(a**b, along_x * x + along_y * y)


_of_duals(math.pow, _power)
_of_duals(operator.pow, _power)
_of_duals(min, lambda a, b: b if b < a else a)
_of_duals(max, lambda a, b: b if b > a else a)
_of_duals(math.copysign, lambda a, b: abs(a) if math.copysign(1.0, value(b)) > 0.0 else -abs(a))


def _angle(a, b):
    y, x = value(a), value(b)
    square = y * y + x * x
    # At zero length the slope is taken as zero, see `_root`.
    share = 1.0 / square if square > 0.0 else 0.0
    return merge(math.atan2(y, x), share * (x * a - y * b))


_of_duals(math.atan2, _angle)
