"""Named tuples with compiled methods: schemes, potentials, actuators, parts of tasks.

Compiled code resolves `potential.energy(o)` by class while compiling and inlines it at no cost;
in Python it is an ordinary method, so the algebra can be tested without compiling.
"""

import functools
import inspect
from collections import namedtuple
from typing import Any, ClassVar, Self, dataclass_transform

from numba.extending import overload

from rbgym.compiled.cache import functions_of, remember_class
from rbgym.compiled.jit import INLINED, F
from rbgym.compiled.pipeline import register_method

# Methods by name. Numba has one signature for all classes, hence the check in `_compile_calls`.
_METHODS: dict[str, inspect.Signature] = {}
_FIELDS: dict[str, str] = {}  # and the first class that has it
_KNOWN: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}
_MOST_KNOWN = 1000
_FROM_NAMEDTUPLE = (
    "__new__", "__repr__", "__getnewargs__", "__match_args__",
    "_make", "_replace", "_fields", "_field_defaults",
)  # fmt: skip


@dataclass_transform(frozen_default=True)
class Record(tuple[Any, ...]):
    """Base of classes with compiled methods. Annotated names become fields, as in
    `typing.NamedTuple`; a subclass of a class with fields may only add methods. A subclass must
    define the methods marked `required`. Methods of one name take the same number of arguments in
    all classes. Compiled code cannot use class and static methods, properties, or names that begin
    with two underscores."""

    __slots__ = ()
    # Numba finds no methods on an empty tuple, so a record without fields holds a None.
    _fields: ClassVar[tuple[str, ...]] = ("_",)

    def __new__(cls) -> Self:
        return tuple.__new__(cls, (None,))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _asdict(self) -> dict[str, Any]:
        return {} if self._fields == ("_",) else dict(zip(self._fields, self, strict=True))

    def _replace(self, **changes: Any) -> Self:
        if changes:
            raise ValueError(f"{type(self).__name__} has no fields, got {sorted(changes)}")
        return self

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        annotations = inspect.get_annotations(cls)
        fields = [name for name, kind in annotations.items() if "ClassVar" not in str(kind)]
        if fields:
            if cls._fields != ("_",):
                raise TypeError(f"{cls.__name__} may only add methods to {cls.__mro__[1].__name__}")
            given = [name in cls.__dict__ for name in fields]
            if given != sorted(given):
                raise TypeError(f"{cls.__name__} must have fields with defaults last, got {fields}")
            defaults = [cls.__dict__[name] for name in fields if name in cls.__dict__]
            plain = namedtuple(cls.__name__, fields, defaults=defaults)  # type: ignore[misc]
            for name in (*_FROM_NAMEDTUPLE, *fields):
                setattr(cls, name, plain.__dict__[name])
        # The class's own methods that compiled code may call.
        methods = {name: v for name, v in functions_of(cls).items() if not name.startswith("__")}
        of_methods = {*_METHODS, *methods, "count", "index"}
        clashes = [(name, "methods") for name in fields if name in of_methods]
        clashes += [(name, f"a field of {_FIELDS[name]}") for name in methods if name in _FIELDS]
        for name, other in clashes:
            raise TypeError(
                f"{cls.__name__}.{name} must have another name, as it is the one of {other}: "
                "compiled code would take a field of one record for a method of another; restart "
                "Python if the other is an earlier version of this class"
            )
        for name in fields:
            _FIELDS.setdefault(name, cls.__name__)
        for name, method in methods.items():
            _compile_calls(cls, name, inspect.signature(method))
        remember_class(cls)


def required(method: F) -> F:
    """Mark a method that a subclass must define."""
    method.is_required = True  # type: ignore[attr-defined]
    return method


def constant(value: Any, doc: str | None = None) -> Any:
    """A method that returns `value`, a constant in compiled code; doc: its docstring."""

    def method(self: Any) -> Any:
        return value

    method.__doc__ = doc
    return method


def known(method: F) -> F:
    """Mark a method whose result depends only on its arguments' classes; it runs once a record."""

    @functools.wraps(method)
    def once(*args: Any) -> Any:
        key = (method, *map(id, args))
        found = _KNOWN.get(key)
        if found is None:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            # Holding the arguments keeps their ids from being reused.
            found = _KNOWN[key] = (method(*args), args)
        return found[0]

    return once  # type: ignore[return-value]


def places(layout: Any, count: int) -> list[Any]:
    """So many methods, each of which returns its entry of the tuple from the method `layout`."""
    own, *others = inspect.signature(layout).parameters
    call = f"{own}.{layout.__name__}({', '.join(others)})"
    # Numba compiles them only with all names written out.
    return [eval(f"lambda {', '.join([own, *others])}: {call}[{k}]") for k in range(count)]


def missing_methods(cls: type) -> list[str]:
    """The required methods that a class still lacks, as `name(arguments)`."""
    lacking = inspect.getmembers(cls, lambda one: getattr(one, "is_required", False))
    return [f"{name}{inspect.signature(method)}" for name, method in lacking]


def _compile_calls(cls: type, name: str, signature: inspect.Signature) -> None:
    """Let compiled code call methods of this name."""
    known = _METHODS.setdefault(name, signature)
    if len(known.parameters) != len(signature.parameters):
        raise TypeError(
            f"{cls.__name__}.{name} must take the arguments {known}, as all methods of this name "
            f"in rbgym's records do, got {signature}; give a method of another purpose another name"
            ", or restart Python if the other is an earlier version of this class"
        )
    if known is not signature:
        return

    def resolve(self: Any, *args: Any) -> Any:
        method: Any = getattr(self.instance_class, name, None)
        if getattr(method, "is_required", False):
            raise TypeError(f"{self.instance_class.__name__} lacks the method {name}{known}")
        return inspect.unwrap(method)

    resolve.__signature__ = signature  # type: ignore[attr-defined]
    overload(resolve, jit_options=INLINED, strict=False)(resolve)
    register_method(name, resolve)
