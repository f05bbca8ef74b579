"""Docstrings are plain text with `code` and indented formulas; autodoc wants reStructuredText.

What that would read as markup is escaped, and an indented block becomes a literal one. In
signatures `ArrayLike` is written as that, not as all that it is an alias of.
"""

import re
from typing import Any

from numpy.typing import ArrayLike
from sphinx.application import Sphinx
from sphinx.util.typing import stringify_annotation

CODE_OR_MARKUP = re.compile(r"`([^`]*)`(?=(\w?))|([*|_\\])")
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


def restructured(text: str) -> str:
    """A docstring as reStructuredText."""
    made: list[str] = []
    literal = False
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        begins, literal = not literal, is_formula(block)
        if literal and begins:
            made.append("::")
        made.append(block if literal else escaped(block))
    return "\n\n".join(made)


def process(_app: Sphinx, *rest: Any) -> None:
    """Change the last argument, the lines of the docstring, in place; autodoc's event asks so."""
    lines = rest[-1]
    lines[:] = [*restructured("\n".join(lines)).split("\n"), ""]


def shorter(_app: Sphinx, *rest: Any) -> tuple[str | None, ...]:
    """Signature and return annotation, the last two arguments, with the alias in them."""
    long = stringify_annotation(ArrayLike, "smart")
    return tuple(text and text.replace(long, "ArrayLike") for text in rest[-2:])


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", shorter)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
