"""Machine code on disk: what it was made of, or nothing.

Numba keeps an index beside numbered files, and writes one after the other. Two processes that
compile at once, or one that is killed in between, leave an index that names the code of others; a
damaged file raises, or is run. Here each file stands for itself: it tells what it was made of, and
a digest tells whether it is whole. What is not right is compiled anew.
"""

import contextlib
import copy
import hashlib
import os
import pickle
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
from numba.core import config
from numba.core.codegen import JITCPUCodegen
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

_DIGEST = hashlib.sha256().digest_size  # bytes
# Settings of numba's, from the environment, that make other code of the same source.
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "DISABLE_INTEL_SVML", "LOOP_VECTORIZE", "OPT",
             "SLP_VECTORIZE")  # fmt: skip


class MachineCode:
    """The files of one function, in the place of numba's `IndexDataCacheFile`.

    beginning: of their paths. made_of: everything but the types of the arguments that the code
    depends on. known: whether that still holds for what this process compiles; while it does not,
    nothing is loaded or saved.
    """

    def __init__(self, beginning: Path, made_of: str, known: Callable[[], bool]) -> None:
        self.beginning, self.made_of, self.known = beginning, made_of, known

    def path(self, key: Any) -> Path:
        """The file for a key of numba's, which begins with the types of the arguments."""
        name = hashlib.sha256(repr(key).encode()).hexdigest()[:20]
        return self.beginning.with_name(f"{self.beginning.name}.{name}.nbc")

    def load(self, key: Any) -> Any:
        """What was saved under an equal key; None where there is nothing, or nothing whole."""
        if not self.known():
            return None
        try:
            written = self.path(key).read_bytes()
            digest, content = written[:_DIGEST], written[_DIGEST:]
            if digest != hashlib.sha256(self.made_of.encode() + content).digest():
                return None
            there, data = pickle.loads(content)
        except Exception:  # of a class, say, that this process does not have
            return None
        return data if there == key else None

    def save(self, key: Any, data: Any) -> None:
        """Write the file, whole or not at all; of processes that write it at once, the last."""
        if not self.known():
            return
        content: bytes = dumps((key, data))  # type: ignore[no-untyped-call]
        path = self.path(key)
        temporary = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            digest = hashlib.sha256(self.made_of.encode() + content).digest()
            temporary.write_bytes(digest + content)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def flush(self) -> None:
        """Remove the files."""
        for path in self.beginning.parent.glob(f"{self.beginning.name}.*.nbc"):
            path.unlink(missing_ok=True)


def keep(dispatcher: Any, digest: str, known: Callable[[], bool]) -> None:
    """Let a dispatcher of numba keep its code in such files.

    digest: of all sources of the code. known: whether this process has read them all as they were.
    """
    cache = dispatcher._cache
    file = cache._cache_file
    settings = [str(getattr(config, name, None)) for name in _SETTINGS]
    made_of = " ".join(
        (str(file._version), str(file._source_stamp), digest, llvmlite.__version__, *settings)
    )
    beginning = Path(cache.cache_path) / file._index_name.removesuffix(".nbi")
    cache._cache_file = MachineCode(beginning, made_of, known)


def stand_alone(dispatcher: Any) -> None:
    """Run the machine code of a dispatcher as every process will load it.

    A function that stays out of its callers is compiled by itself and again within each of them,
    to other last bits. A process that has compiled them all runs the first that it finds; one that
    loads a file, the one therein. So all code is loaded, whoever made it, each into an engine that
    knows of no other.
    """
    compiler, kept = dispatcher._compiler, dispatcher._cache._impl
    compile_here, reduced = compiler.compile, list[Any]()

    def compile_and_load(*args: Any) -> Any:
        made = compile_here(*args)
        reduced[:] = [made._reduce()]
        return _loaded(made.target_context, reduced[0])

    compiler.compile = compile_and_load
    kept.reduce = lambda _: reduced.pop()  # called for each result just after it was made
    kept.rebuild = _loaded


def _loaded(target_context: Any, parts: tuple[Any, ...]) -> Any:
    alone = copy.copy(target_context)
    alone._internal_codegen = JITCPUCodegen("rbgym")  # type: ignore[no-untyped-call]
    return CompileResult._rebuild(alone, *parts)  # type: ignore[no-untyped-call]


def tell(reason: str, advice: str = "NUMBA_CACHE_DIR names another folder") -> None:
    """Warn that code is not kept; Python shows it once for each reason."""
    warnings.warn(
        f"machine code cannot be kept on disk, and is made in each process: {reason}; {advice}",
        RuntimeWarning,
        stacklevel=2,
    )
