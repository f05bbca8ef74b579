"""The Markdown pages of the repository, and the code blocks in them.

A comment on the line before a Python block says what it needs:

    <!-- continues -->                      it goes on with the block before it
    <!-- not run: why; given: names -->     it is compiled, and its names are looked up, the given
                                            ones aside; what it needs is not there
    <!-- with: library -->                  tests/clients runs it, where that library is installed
    <!-- blocks: interpreted -->            anywhere in a page: its blocks run without compiled
                                            kernels, because classes of their own are never cached
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# What is no page of its own, but put into one, or what the site is built into.
_PARTS = DOCS / "equations", DOCS / "build"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted(page for page in DOCS.rglob("*.md") if not set(_PARTS) & set(page.parents)),
]

_PYTHON = re.compile(
    r"(?:<!-- (?P<note>[^>]*) -->\n)?```python\n(?P<code>.*?)```\n"
    r"(?:\nprints\n\n```text\n(?P<output>.*?)```)?",
    re.DOTALL,
)
_SHELL = re.compile(r"```(?:sh|bash|shell|console)\n(.*?)```", re.DOTALL)
_INLINE = re.compile(r"(?<!`)`((?:rbgym|make) [^`]+)`(?!`)")
_FENCED = re.compile(r"```.*?```", re.DOTALL)


class Block(NamedTuple):
    """A Python block: its page, the line where its code begins, what is said of it, what it prints.

    output: None where the page does not say.
    """

    page: str
    line: int
    note: str
    code: str
    output: str | None


def text(page: Path) -> str:
    return page.read_text("utf-8")


def name(page: Path) -> str:
    """The page's name within the repository."""
    return page.relative_to(ROOT).as_posix()


def loaded(script: str) -> ModuleType:
    """The module of a script in docs/, by its path there without the ending."""
    file = DOCS / f"{script}.py"
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_interpreted(page: Path) -> bool:
    """Whether the blocks of a page run without compiled kernels."""
    return "<!-- blocks: interpreted -->" in text(page)


def blocks(page: Path) -> list[Block]:
    """The Python blocks of a page, in their order."""
    content, found = text(page), []
    for match in _PYTHON.finditer(content):
        line = content.count("\n", 0, match.start("code")) + 1
        found.append(Block(name(page), line, match["note"] or "", match["code"], match["output"]))
    return found


def commands(page: Path) -> list[str]:
    """The lines of the shell blocks of a page, and commands of ours within its sentences."""
    content = text(page)
    lines = "\n".join(_SHELL.findall(content)).replace("\\\n", " ").splitlines()
    inline = [" ".join(span.split()) for span in _INLINE.findall(_FENCED.sub("", content))]
    return [line for line in (*lines, *inline) if line.partition("#")[0].strip()]
