"""Which source files compiled code is made of, and a digest of them."""

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
# An import statement that stands at the start of a line or in a block, names in brackets included.
_IMPORT = re.compile(
    rb"^[ \t]*(?:import (rbgym[\w.]*)|from (rbgym[\w.]*) import (\([^)]*\)|[^\n]*))", re.MULTILINE
)
_COMPILES = re.compile(rb"^[ \t]*(?:from|import) (?:numba|rbgym\.jit)\b", re.MULTILINE)


def _modules(package: Path) -> dict[str, bytes]:
    """Text of each module by its name, with those of the environments and agents."""
    folders = {"rbgym": package}
    if not (package / "envs").exists():  # the two stand beside the package while it is developed
        folders |= {f"rbgym.{part}": package.parent / part for part in ("envs", "agents")}
    found = {}
    for name, folder in folders.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            inside = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((name, *inside))] = path.read_bytes()
    return found


def _imports(text: bytes, modules: dict[str, bytes]) -> Iterator[str]:
    """Modules that this text imports, or imports something from."""
    for whole, origin, names in _IMPORT.findall(text):
        if whole:
            yield whole.decode()
        for name in re.findall(rb"\w+", names):
            module = f"{origin.decode()}.{name.decode()}"
            yield module if module in modules else origin.decode()


def compiled_modules(package: Path = _PACKAGE) -> dict[str, bytes]:
    """Modules with compiled functions and all that these import, whose constants they may hold.

    Text of each by its name, sorted. The others (command line, plots, validation, the classes of
    environments) have no part in machine code: an edit there compiles nothing anew.
    """
    modules = _modules(package)
    pending = [name for name, text in modules.items() if _COMPILES.search(text)]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in modules and name not in found:
            found.add(name)
            pending.extend(_imports(modules[name], modules))
    return {name: modules[name] for name in sorted(found)}


@functools.cache
def sources_digest(package: Path = _PACKAGE) -> str:
    """Digest of the sources of everything that is compiled.

    Numba's cache looks only at the file that holds the entry point, while the physics is inlined
    from others. Keyed on this digest, an edit of any of them makes the cache miss.
    """
    digest = hashlib.sha256()
    for name, text in compiled_modules(package).items():
        digest.update(name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()
