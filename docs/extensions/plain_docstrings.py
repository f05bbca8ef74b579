"""Docstrings are plain text with `code` and indented formulas; autodoc wants reStructuredText.

What that would read as markup is escaped, an indented block becomes a literal one, and what begins
with the name of an argument an item of a list. In signatures, aliases such as `ArrayLike` are
written instead of all that they stand for. The fields of tuples are described by their classes.
"""

import re
from typing import Any

from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

CODE_OR_MARKUP = re.compile(r"`([^`]*)`(?=(\w?))|([*|_\\])")
NAMED = re.compile(r"(?:^|(?<=\. ))(?=\w+(?:, \w+)*(?: \([^)\n]*\))?: )", re.MULTILINE)
RAISES = re.compile(r"^(?=Raises )", re.MULTILINE)
PATH = re.compile(r"~(?:\w+\.)*(\w+)")
LONG = PATH.sub(r"\1", stringify_annotation(ArrayLike, "smart"))
LIST = re.compile(r"\s*(- |\d+\. )")


def escaped(text: str) -> str:
    """The text with `code` as reStructuredText has it, and without other markup."""
    return CODE_OR_MARKUP.sub(_marked, text)


def _marked(match: re.Match[str]) -> str:
    code, letter, markup = match.groups()
    if markup:
        return f"\\{markup}"
    return f"``{code}``" + ("\\ " if letter else "")


def is_formula(block: str) -> bool:
    """Whether a block stands apart, indented."""
    return not LIST.match(block) and all(line.startswith("    ") for line in block.split("\n"))


def itemised(block: str) -> str:
    """A block whose lines begin with names as a list, and what it raises as a paragraph."""
    described, *raised = RAISES.split(block, maxsplit=1)
    if NAMED.match(described):
        items = (item.strip().replace("\n", "\n  ") for item in NAMED.split(described))
        described = "\n".join(f"- {item}" for item in items if item)
    return "\n\n".join(part for part in (described.strip("\n"), *raised) if part)


def restructured(text: str) -> str:
    """A docstring as reStructuredText."""
    made: list[str] = []
    literal = False
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        begins, literal = not literal, is_formula(block)
        if literal and begins:
            made.append("::")
        made.append(block if literal else escaped(itemised(block)))
    return "\n\n".join(made)


def process(_app: Sphinx, *rest: Any) -> None:
    """Change the last argument, the lines of the docstring, in place; autodoc's event asks so."""
    lines = rest[-1]
    lines[:] = [*restructured("\n".join(lines)).split("\n"), ""]


def shorter(_app: Sphinx, *rest: Any) -> tuple[str | None, ...]:
    """Signature and return annotation, the last two arguments, with short types."""
    return tuple(text and _with_aliases(text) for text in rest[-2:])


def _with_aliases(text: str) -> str:
    text = PATH.sub(r"\1", text).replace("<factory>", "...").replace(LONG, "ArrayLike")
    return re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(.*?\]?)\]\]", r"NDArray[\1]", text)


def skipped(_app: Sphinx, _what: str, _name: str, member: Any, *_rest: Any) -> bool | None:
    """Whether to leave a member out; None for what autodoc thinks."""
    return True if type(member).__name__ == "_tuplegetter" else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", shorter)
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
