"""How numba's compiler is led past what costs most of its time, many small functions. What a
method of a record returns is often known by class: the number of a row, whether a potential is
free. That is worked out in Python before the types are, and branches never taken are cut off."""

import operator
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from types import MethodType
from typing import Any

from numba import types
from numba.core import ir
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
    """Stands for what is not known while compiling. Whatever looks at it raises TypeError."""

    __slots__ = ()
    __bool__ = __eq__ = __hash__ = None  # type: ignore[assignment]


_UNKNOWN = _Unknown()


def _stand_in(kind: Any) -> Any:
    """An instance of the class that a type says, and in it of the classes of its fields."""
    if issubclass(type(kind), types.BaseTuple):
        return tuple.__new__(getattr(kind, "instance_class", tuple), map(_stand_in, kind))
    return _UNKNOWN


@register_pass(mutates_CFG=True, analysis_only=False)
class KnownByClass(FunctionPass):
    """Puts what methods of records return by class in the place of the calls."""

    _name = "known_by_class"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        found = build_definitions(blocks)
        values: dict[str, Any] = {}

        def of_name(name: str) -> Any:
            if name not in values:
                values[name] = _UNKNOWN  # while it is looked for
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
            except Exception:  # it takes what is not known
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
                # A branch is cut off where its test is seen to be `bool` of a constant.
                if type(value) in _FOLDED and not (e.op == "call" and of(e.func) is bool):
                    statement.value, changed = ir.Const(value, e.loc), True
                    if e.op == "call" and e.func.name.startswith("$"):  # used once
                        called.add(e.func.name)
        for block in blocks.values():  # nobody asks for these methods any more
            for statement in block.find_insts(ir.Assign):
                if statement.target.name in called:
                    statement.value = ir.Const(None, statement.loc)
        if changed:
            state.func_ir._definitions = build_definitions(blocks)
            state.func_ir._consts = ConstantInference(state.func_ir)
        return changed


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineLaneBodies(InlineInlinables):
    """Numba's pass, which copies all names of a function again for each of its blocks: here the
    copies share them. It takes the function's code anew for each call, so that nobody else has
    them."""

    _name = "inline_lane_bodies"

    def run_pass(self, state: Any) -> bool:
        ir.Scope.__deepcopy__ = lambda scope, memo: scope  # type: ignore[attr-defined]
        try:
            return bool(super().run_pass(state))
        finally:
            del ir.Scope.__deepcopy__  # type: ignore[attr-defined]


def _has_loop(blocks: dict[int, Any]) -> bool:
    jumps = {label: block.terminator.get_targets() for label, block in blocks.items()}
    try:
        TopologicalSorter(jumps).prepare()
    except CycleError:
        return True
    return False


class Compiler(CompilerBase):
    """Numba's compiler with this pass before branches are cut off. unrolls: loops of what is
    inlined are to be gone before those around them are vectorised."""

    unrolls = True

    def define_pipelines(self) -> list[Any]:
        state = self.state
        # Numba compiles what is called once for each set of flags of its callers. In these alone
        # ours differ, and of what they call only some of Numba's own asks for one, the first.
        seen = ConfigStack().top()
        seen.forceinline = seen.no_cfunc_wrapper = seen.no_cpython_wrapper = True
        if state.flags.forceinline:
            # Its callers take it as it is before machine code is made: that nobody would call.
            library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
            library.enable_object_caching()
            library._finalize_final_module = lambda: setattr(library, "_finalized", True)
            optimize = library._optimize_final_module

            def unroll() -> None:  # all else is left to the callers' turn
                del library._optimize_final_module  # and all that is known of the function
                if self.unrolls and _has_loop(state.func_ir.blocks):
                    optimize()

            library._optimize_final_module = unroll
            state["library"] = library
            # In its place stands a built-in function, another each time: numba knows code by it.
            state.targetctx.get_executable = lambda *_: library._ensure_finalized() or [].copy
        manager = DefaultPassBuilder.define_nopython_pipeline(state)
        # Before lane bodies are copied in, so that those not reached are not, and again in them.
        manager.add_pass_after(DeadBranchPrune, MakeFunctionToJitFunction)
        manager.add_pass_after(KnownByClass, MakeFunctionToJitFunction)
        manager.add_pass_after(KnownByClass, InlineInlinables)
        ours = {InlineInlinables: InlineLaneBodies}
        manager.passes = [(ours.get(kind, kind), text) for kind, text in manager.passes]
        manager.finalize()
        return [manager]


class PartCompiler(Compiler):
    """Of parts of kernels, which have the loops over lanes."""

    unrolls = False


_TEMPLATES: dict[str, Any] = {}


def find_method(name: str, chosen: Callable[..., Any]) -> None:
    """Let compiled code find the methods of this name, which `chosen` overloads."""
    template = make_overload_method_template(types.BaseNamedTuple, name, chosen, "never")
    _TEMPLATES[name] = template


@infer_getattr
class _Methods(AttributeTemplate):
    """Looks a method up; `overload_method` would have numba ask the templates of all names."""

    key = types.BaseNamedTuple

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.made: dict[str, Any] = {}

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        if name not in self.made and name in _TEMPLATES:
            self.made[name] = _TEMPLATES[name](self.context)
        return self.made[name].resolve(kind, name) if name in self.made else None
