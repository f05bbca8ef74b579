"""Skips the slowest passes of numba's compiler, which spends most of its time on many small
functions. A record's class often determines what a method returns, such as a row number or whether
a potential is free: Python evaluates such calls before type inference, and dead branches go."""

import operator
from collections.abc import Callable
from types import MethodType
from typing import Any

from numba import types
from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.consts import ConstantInference
from numba.core.ir_utils import build_definitions
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import (
    AttributeTemplate,
    infer_getattr,
    make_overload_method_template,
)
from numba.core.untyped_passes import DeadBranchPrune, InlineInlinables, MakeFunctionToJitFunction

_FOLDED = bool, int, float, type(None)
_COMPARED = {operator.gt, operator.lt, operator.ge, operator.le, operator.eq, operator.ne}


class _Unknown:
    """A value unknown while compiling. Any operation on it raises TypeError."""

    __slots__ = ()
    __bool__ = __eq__ = __hash__ = None  # type: ignore[assignment]


_UNKNOWN = _Unknown()


def _stand_in(kind: Any) -> Any:
    """An instance of the class of a numba type, whose fields are stand-ins too."""
    if issubclass(type(kind), types.BaseTuple):
        return tuple.__new__(getattr(kind, "instance_class", tuple), map(_stand_in, kind))
    return _UNKNOWN


@register_pass(mutates_CFG=True, analysis_only=False)
class KnownByClass(FunctionPass):
    """Replaces calls of record methods by the constants that the record's class determines."""

    _name = "known_by_class"

    def __init__(self) -> None:  # numba's own is abstract
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        found = build_definitions(blocks)
        values: dict[str, Any] = {}

        def of_name(name: str) -> Any:
            if name not in values:
                values[name] = _UNKNOWN  # during the search, which may come back here
                if len(found[name]) == 1:
                    values[name] = of(found[name][0])
            return values[name]

        def of(value: Any) -> Any:
            try:
                if isinstance(value, ir.Var):
                    return of_name(value.name)
                if isinstance(value, ir.Arg):
                    return _stand_in(state.args[value.index])
                if isinstance(value, ir.Const | ir.Global | ir.FreeVar):
                    return value.value
                if isinstance(value, ir.Expr):
                    return of_expression(value)
            except Exception:  # it depends on an unknown value
                pass
            return _UNKNOWN

        def of_expression(e: Any) -> Any:
            if e.op == "getattr":
                owner = of(e.value)
                return getattr(owner, e.attr) if isinstance(owner, tuple) else _UNKNOWN
            if e.op == "call" and not e.kws and not e.vararg:
                method = of(e.func)
                if isinstance(method, MethodType) or method is bool:
                    return method(*map(of, e.args))
            if e.op == "binop" and e.fn in _COMPARED:
                return e.fn(of(e.lhs), of(e.rhs))
            if e.op == "unary" and e.fn is operator.not_:
                return not of(e.value)
            if e.op == "build_tuple":
                return tuple(map(of, e.items))
            if e.op == "exhaust_iter":
                return of(e.value)
            if e.op == "static_getitem":
                return of(e.value)[e.index]
            return _UNKNOWN

        called, changed = set(), False
        for block in blocks.values():
            for statement in block.find_insts(ir.Assign):
                e = statement.value
                if not isinstance(e, ir.Expr) or e.op not in ("call", "binop", "unary"):
                    continue
                value = of_name(statement.target.name)
                # Numba prunes a branch only if its test is `bool` of a constant.
                if type(value) in _FOLDED and not (e.op == "call" and of(e.func) is bool):
                    statement.value, changed = ir.Const(value, e.loc), True
                    if e.op == "call" and e.func.name.startswith("$"):  # used once
                        called.add(e.func.name)
        for block in blocks.values():  # these methods are no longer called
            for statement in block.find_insts(ir.Assign):
                if statement.target.name in called:
                    statement.value = ir.Const(None, statement.loc)
        if changed:
            state.func_ir._definitions = build_definitions(blocks)
            state.func_ir._consts = ConstantInference(state.func_ir)
        return changed


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineLaneBodies(InlineInlinables):
    """Numba's pass copies all names of a function for each of its blocks; here the copies share
    the names. That is safe: each inlined call starts from its own copy of the function's code."""

    _name = "inline_lane_bodies"

    def run_pass(self, state: Any) -> bool:
        ir.Scope.__deepcopy__ = lambda scope, memo: scope  # type: ignore[attr-defined]
        try:
            return bool(super().run_pass(state))
        finally:
            del ir.Scope.__deepcopy__  # type: ignore[attr-defined]


class Compiler(CompilerBase):
    """Numba's compiler with `KnownByClass` before dead branches are pruned. unrolls: whether loops
    of inlined functions are unrolled before the loops around them are vectorised."""

    unrolls = True

    def define_pipelines(self) -> list[Any]:
        state = self.state
        # Numba compiles a function once for each set of its callers' flags. Our callers differ in
        # these flags only, of which just some functions of numba read one, the first.
        seen = ConfigStack().top()
        seen.forceinline = seen.no_cfunc_wrapper = seen.no_cpython_wrapper = True
        if state.flags.forceinline:
            # Callers inline it before machine code exists, so it needs none of its own.
            library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
            library.enable_object_caching()
            library._finalize_final_module = lambda: setattr(library, "_finalized", True)
            optimize = library._optimize_final_module

            def unroll() -> None:  # callers do all other optimisation
                del library._optimize_final_module  # frees what the closure holds of the function
                if self.unrolls and compute_cfg_from_blocks(state.func_ir.blocks).loops():
                    optimize()

            library._optimize_final_module = unroll
            state["library"] = library
            # A new built-in function stands in for it: numba identifies code by this object.
            state.targetctx.get_executable = lambda *_: library._ensure_finalized() or [].copy
        manager = DefaultPassBuilder.define_nopython_pipeline(state)
        # Before lane bodies are inlined, so that unreachable ones are not, and again inside them.
        manager.add_pass_after(DeadBranchPrune, MakeFunctionToJitFunction)
        manager.add_pass_after(KnownByClass, MakeFunctionToJitFunction)
        manager.add_pass_after(KnownByClass, InlineInlinables)
        ours = {InlineInlinables: InlineLaneBodies}
        manager.passes = [(ours.get(kind, kind), text) for kind, text in manager.passes]
        manager.finalize()
        return [manager]


class PartCompiler(Compiler):
    """The compiler for parts of kernels, which contain the loops over lanes."""

    unrolls = False


_TEMPLATES: dict[str, Any] = {}


def register_method(name: str, resolve: Callable[..., Any]) -> None:
    """Let compiled code call methods of this name; `resolve` returns the one to compile."""
    _TEMPLATES[name] = make_overload_method_template(types.BaseNamedTuple, name, resolve, "never")


@infer_getattr
class _Methods(AttributeTemplate):
    """Looks a method up by name; `overload_method` would make numba try the templates of all."""

    key = types.BaseNamedTuple

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.made: dict[str, Any] = {}

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        if name not in self.made and name in _TEMPLATES:
            self.made[name] = _TEMPLATES[name](self.context)
        return self.made[name].resolve(kind, name) if name in self.made else None
