"""A cache of machine code on disk. It loads a file only if a trusted user wrote it and if it was
compiled from the present sources; otherwise it compiles.

Numba's own cache checks only the file that holds an entry point, while the physics is inlined from
other files; two processes that write at once can corrupt its index; and it unpickles any file.
Here each file names its sources, and a digest shows whether it is complete. Numba has no public
interface for this: all access to its internals is here, and tests/test_cache.py tests it.
"""

import contextlib
import copy
import hashlib
import os
import pickle
import re
import stat
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
from numba import config
from numba.core import caching
from numba.core.serialize import dumps

PATIENCE = 2.0  # s of compilation before a message
_announced: list[bool] = []

_PACKAGE = Path(__file__).resolve().parents[1]
_DIGEST = hashlib.sha256().digest_size  # bytes
# Settings of numba, from the environment, that change the code compiled from the same source.
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "DISABLE_INTEL_SVML", "LOOP_VECTORIZE", "OPT",
             "SLP_VECTORIZE")  # fmt: skip

# An import statement, at the start of a line or indented, with names in brackets.
_IMPORT = re.compile(
    rb"^[ \t]*(?:import (rbgym[\w.]*)|from (rbgym[\w.]*) import (\([^)]*\)|[^\n]*))", re.MULTILINE
)
_COMPILES = re.compile(rb"^[ \t]*(?:from|import) (?:numba|rbgym\.compiled)\b", re.MULTILINE)


def _modules(package: Path) -> dict[str, Path]:
    """The file of each module, by name; empty if the package is in an archive."""
    folders = {"rbgym": package}
    if not (package / "envs").exists():  # in a checkout, envs and agents are next to the package
        folders |= {f"rbgym.{part}": package.parent / part for part in ("envs", "agents")}
    found = {}
    for name, folder in folders.items():
        for path in folder.rglob("[!.]*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            inside = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((name, *inside))] = path
    return found


def _text(path: Path) -> bytes:
    """A module's source, and the tables beside it, from which it may take constants."""
    return b"".join(one.read_bytes() for one in (path, *sorted(path.parent.glob("*.csv"))))


def _imports(text: bytes, modules: dict[str, bytes]) -> Iterator[str]:
    """Names of the modules that this source text imports, or imports names from."""
    for whole, origin, names in _IMPORT.findall(text):
        if whole:
            yield whole.decode()
        for name in re.findall(rb"\w+", names):
            module = f"{origin.decode()}.{name.decode()}"
            yield module if module in modules else origin.decode()


def compiled_modules(package: Path = _PACKAGE) -> dict[str, tuple[Path, bytes]]:
    """File and text, by name, of modules with compiled functions and of all modules that these
    import, whose constants they may hold. An edit of any other module recompiles nothing."""
    files = _modules(package)
    modules = {name: _text(path) for name, path in files.items()}
    pending = [name for name, text in modules.items() if _COMPILES.search(text)]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in modules and name not in found:
            found.add(name)
            pending.extend(_imports(modules[name], modules))
    return {name: (files[name], modules[name]) for name in sorted(found)}


class Sources:
    """The sources of all compiled functions, as this process read them; digest: "" without any."""

    def __init__(self, package: Path = _PACKAGE) -> None:
        modules, digest = compiled_modules(package), hashlib.sha256()
        for name, (_, text) in modules.items():
            digest.update(name.encode() + b"\0" + text + b"\0")
        self.digest = digest.hexdigest() if modules else ""
        self._paths = [str(path) for path, _ in modules.values()]
        self._written, self._unchanged = self._times(), True

    def unchanged(self) -> bool:
        """Whether no source changed since. Once one did, the answer stays False: modules are
        imported one by one, so it is unknown which text was compiled."""
        if self._unchanged:
            try:
                self._unchanged = self._times() == self._written
            except OSError:  # a file was removed
                self._unchanged = False
        return self._unchanged

    def _times(self) -> list[tuple[int, int]]:
        return [(found.st_mtime_ns, found.st_size) for found in map(os.stat, self._paths)]


SOURCES = Sources()
_FUNCTIONS: list[tuple[FunctionType, Any, dict[str, Any]]] = []
_CLASSES: list[tuple[type, dict[str, Any]]] = []


def _constants(function: FunctionType) -> dict[str, Any]:
    """The present values of the globals that a function uses; arrays are copied."""
    names, table = function.__code__.co_names, function.__globals__
    found = {name: table[name] for name in names if name in table}
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in found.items()}


def remember(function: Any) -> None:
    """Record a function of rbgym that will be compiled, with the constants that it uses."""
    if function.__module__.split(".")[0] == "rbgym":
        _FUNCTIONS.append((function, function.__code__, _constants(function)))


def remember_class(cls: type) -> None:
    """Record a class of rbgym whose methods will be compiled."""
    if cls.__module__.split(".")[0] == "rbgym":
        _CLASSES.append((cls, functions_of(cls)))
        for method in functions_of(cls).values():
            remember(method)


def functions_of(cls: type) -> dict[str, Any]:
    """The functions that a class itself defines, by name."""
    return {name: v for name, v in vars(cls).items() if isinstance(v, FunctionType)}


def as_written() -> bool:
    """Whether no code in this process, such as a test, replaced a function, method or constant."""
    for function, code, constants in _FUNCTIONS:
        table = function.__globals__
        if function.__code__ is not code:
            return False
        for name, value in constants.items():
            now = table.get(name)
            if now is not value and not (type(now) is type(value) and np.all(now == value)):
                return False
    return all(functions_of(cls) == methods for cls, methods in _CLASSES)


def is_trusted(path: Path) -> bool:
    """Whether only trusted users can have written this file: the user, root or the owner of the
    package own file and folder, and no other user can write to either."""
    if not hasattr(os, "getuid"):  # Windows, where only the user can write to the user's folders
        return path.is_file()
    owners = {0, os.getuid(), os.stat(_PACKAGE).st_uid}
    file, folder = os.lstat(path), os.stat(path.parent)
    return stat.S_ISREG(file.st_mode) and all(
        found.st_uid in owners
        and not found.st_mode & stat.S_IWOTH
        # A group whose only member is the owner has the owner's number.
        and (not found.st_mode & stat.S_IWGRP or found.st_gid in (0, found.st_uid))
        for found in (file, folder)
    )


class CodeFiles:
    """The files of one function; replaces numba's `IndexDataCacheFile`. made_of: all that the code
    depends on except the types of its arguments. is_current: whether this process compiles those
    sources; if not, nothing is loaded or saved. folder: where else they are, compiled by the owner
    of a folder that this user cannot write to."""

    def __init__(
        self, beginning: Path, made_of: str, is_current: Callable[[], bool], folder: Path
    ) -> None:
        self.beginning, self.made_of, self.is_current = beginning, made_of, is_current
        self.folder = folder

    def path(self, key: Any) -> Path:
        """The file for a key from numba, which begins with the types of the arguments."""
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return self.beginning.with_name(f"{self.beginning.name}.{name}.nbc")

    def load(self, key: Any) -> Any:
        """The data saved under an equal key; None if no complete and trusted file exists."""
        path = self.path(key)
        paths = (path, self.folder / path.name) if self.is_current() else ()
        return next((data for one in paths if (data := self._read(one, key)) is not None), None)

    def _read(self, path: Path, key: Any) -> Any:
        try:
            if not is_trusted(path):
                if path.parent == self.beginning.parent:
                    why = f"others can write to {path} or its folder"
                    warn(why, "remove the file, chmod go-w the folder")
                return None
            written = path.read_bytes()
            digest, content = written[:_DIGEST], written[_DIGEST:]
            if digest != hashlib.sha256(self.made_of.encode() + content).digest():
                return None
            saved_key, data = pickle.loads(content)
        except Exception:  # no file, or one that needs a class which this process lacks
            return None
        return data if saved_key == key else None

    def save(self, key: Any, data: Any) -> None:
        """Write the file atomically; if several processes write it at once, the last one wins."""
        if not self.is_current():
            return
        content: bytes = dumps((key, data))  # type: ignore[no-untyped-call]
        path = self.path(key)
        temporary = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            digest = hashlib.sha256(self.made_of.encode() + content).digest()
            temporary.touch(0o644)  # no group may write to it, whatever the umask
            temporary.write_bytes(digest + content)
            os.replace(temporary, path)
        finally:
            with contextlib.suppress(OSError):  # it is there only after an error
                temporary.unlink()


class _Closed:
    """Of a locator, from which numba has the folder: no group may write to a folder it makes."""

    def ensure_cache_path(self: Any) -> None:
        os.makedirs(self.get_cache_path(), 0o755, exist_ok=True)
        super().ensure_cache_path()  # type: ignore[misc]


def _owned(function: Any, file: str) -> Any:
    """The locator of the folder that the user names, which is then the only one, or else of the
    package's. Numba itself takes neither where it cannot write."""
    kinds: list[Any] = caching.CacheImpl._locator_classes  # their names differ between versions
    return kinds[0 if config.CACHE_DIR else 1](function, file)  # type: ignore[attr-defined]


class _Folder(caching.CompileResultCacheImpl):
    _locator_classes: Any = (
        *(type("_", (_Closed, cls), {}) for cls in caching.CacheImpl._locator_classes),
        SimpleNamespace(from_function=_owned),  # only to load from
    )


class _Cache(caching.FunctionCache):
    _impl_class = _Folder


def keep_on_disk(dispatcher: Any) -> None:
    """Store the code of a numba dispatcher in `CodeFiles`, and run it as other processes load it.
    ValueError for a relative folder, which would depend on where a process starts."""
    function = dispatcher.py_func
    cache: Any = _Cache(function)  # type: ignore[no-untyped-call]
    owned = Path(_owned(function, function.__code__.co_filename).get_cache_path())
    folder, file = Path(cache.cache_path), cache._cache_file
    for path in (owned, folder):
        if not path.is_absolute():
            raise ValueError(f"the folder {str(path)!r} is relative")
    settings = [str(getattr(config, name, None)) for name in _SETTINGS]
    made_of = (str(file._version), str(file._source_stamp), SOURCES.digest, version("llvmlite"))
    beginning = folder / file._index_name.removesuffix(".nbi")
    current = lambda: SOURCES.unchanged() and as_written()  # noqa: E731
    cache._cache_file = CodeFiles(beginning, " ".join((*made_of, *settings)), current, owned)
    dispatcher._cache = cache
    _load_after_compiling(dispatcher)
    save = cache.save_overload

    def save_own(signature: Any, result: Any) -> None:
        # An edit of a user's class would go unnoticed. A full disk gives a warning, no error.
        if not any(map(_is_foreign, result.signature.args)):
            try:
                save(signature, result)
            except OSError as error:
                warn(error.strerror or str(error))

    cache.save_overload = save_own


def _is_foreign(numba_type: Any) -> bool:
    """Whether a numba type contains a class that is not from rbgym."""
    cls = getattr(numba_type, "instance_class", None)
    own = cls is None or cls.__module__.split(".")[0] == "rbgym"
    return not own or any(map(_is_foreign, getattr(numba_type, "types", ())))


def _load_after_compiling(dispatcher: Any) -> None:
    """Run all code as loaded from its file, also in the process that compiled it, and each file in
    an engine of its own. Without this the last bits could differ: a function that is not inlined
    is compiled by itself and again with each caller, with different last bits; a process that
    compiled them all runs the first that it finds, one that loads a file runs that file's."""
    compiler, implementation = dispatcher._compiler, dispatcher._cache._impl
    compile_here, rebuild = compiler.compile, implementation.rebuild
    reduced = list[Any]()

    def compile_and_load(*args: Any) -> Any:
        with announce_if_slow():
            made = compile_here(*args)
        reduced[:] = [made._reduce()]
        return load(made.target_context, reduced[0])

    def load(target_context: Any, parts: tuple[Any, ...]) -> Any:
        separate = copy.copy(target_context)
        separate._internal_codegen = type(target_context.codegen())("rbgym")
        return rebuild(separate, parts)

    compiler.compile = compile_and_load
    implementation.reduce = lambda _: reduced.pop()  # numba calls it once for each result
    implementation.rebuild = load


@contextlib.contextmanager
def announce_if_slow() -> Iterator[None]:
    """Print, once and only at a terminal, that code compiles if that takes over `PATIENCE`."""
    timer = threading.Timer(PATIENCE, _announce)
    timer.daemon = True
    if sys.stderr is not None and sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _announce() -> None:
    if not _announced:
        _announced.append(True)
        print("rbgym: compiling; later processes load it from disk", file=sys.stderr, flush=True)


def warn(reason: str, advice: str = "NUMBA_CACHE_DIR names another folder") -> None:
    """Warn that code is not stored on disk; Python shows the warning once for each reason."""
    warnings.warn(
        f"machine code cannot be kept on disk, each process compiles: {reason}; {advice}",
        RuntimeWarning,
        stacklevel=2,
    )
