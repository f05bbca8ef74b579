"""Which source files compiled code is made of, and a digest of them."""

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
# An import statement that stands at the start of a line or in a block, names in brackets included.
_IMPORT = re.compile(
    rb"^[ \t]*(?:import (rbgym[\w.]*)|from (rbgym[\w.]*) import (\([^)]*\)|[^\n]*))", re.MULTILINE
)
_COMPILES = re.compile(rb"^[ \t]*(?:from|import) (?:numba|rbgym\.jit)\b", re.MULTILINE)


def _files(package: Path) -> dict[str, Path]:
    """Where each module is, by its name, with those of the environments and agents; none if the
    package is in an archive."""
    folders = {"rbgym": package}
    if not (package / "envs").exists():  # the two stand beside the package while it is developed
        folders |= {f"rbgym.{part}": package.parent / part for part in ("envs", "agents")}
    found = {}
    for name, folder in folders.items():
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            inside = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join((name, *inside))] = path
    return found


def _imports(text: bytes, modules: dict[str, bytes]) -> Iterator[str]:
    """Modules that this text imports, or imports something from."""
    for whole, origin, names in _IMPORT.findall(text):
        if whole:
            yield whole.decode()
        for name in re.findall(rb"\w+", names):
            module = f"{origin.decode()}.{name.decode()}"
            yield module if module in modules else origin.decode()


def compiled_modules(package: Path = _PACKAGE) -> dict[str, tuple[Path, bytes]]:
    """Modules with compiled functions and all that these import, whose constants they may hold.

    File and text of each by its name, sorted. The others (command line, plots, validation, the
    classes of environments) have no part in machine code: an edit there compiles nothing anew.
    """
    files = _files(package)
    modules = {name: path.read_bytes() for name, path in files.items()}
    pending = [name for name, text in modules.items() if _COMPILES.search(text)]
    found: set[str] = set()
    while pending:
        name = pending.pop()
        if name in modules and name not in found:
            found.add(name)
            pending.extend(_imports(modules[name], modules))
    return {name: (files[name], modules[name]) for name in sorted(found)}


class Sources:
    """The sources of everything that is compiled, as this process found them.

    digest: Numba's cache looks only at the file that holds the entry point, while the physics is
    inlined from others. Keyed on this digest, an edit of any of them makes the cache miss. "" where
    there are no files.
    """

    def __init__(self, package: Path = _PACKAGE) -> None:
        modules, digest = compiled_modules(package), hashlib.sha256()
        for name, (_, text) in modules.items():
            digest.update(name.encode() + b"\0" + text + b"\0")
        self.digest = digest.hexdigest() if modules else ""
        self._paths = [str(path) for path, _ in modules.values()]
        self._written, self._unchanged = self._times(), True

    def unchanged(self) -> bool:
        """Whether they are still the same; never again, once one was seen that was written anew.

        Modules are imported one after the other, the environments' when they are first asked for:
        after an edit in between nobody can say which text was compiled.
        """
        if self._unchanged:
            try:
                self._unchanged = self._times() == self._written
            except OSError:  # of a file that is no more
                self._unchanged = False
        return self._unchanged

    def _times(self) -> list[tuple[int, int]]:
        return [(stat.st_mtime_ns, stat.st_size) for stat in map(os.stat, self._paths)]
