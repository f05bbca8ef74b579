"""Equations as MathML, made while the site is built: no script, no font and no network are needed.

The conversion is that of docutils, which Sphinx is built on.
"""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

# docutils 0.22 would put the index of an accented letter under it, not behind it.
ACCENTED = re.compile(r"(\\(?:dot|ddot|bar|hat|tilde)\{[^{}]*\})(?=[_^])")


def converted(node: nodes.Element, *, as_block: bool) -> str:
    """The MathML of a node; an error that names the page for LaTeX that cannot be converted."""
    latex = ACCENTED.sub(r"\1{}", node.astext())
    try:
        return str(latex2mathml.tex2mathml(latex, as_block=as_block))
    except MathError as error:
        raise ExtensionError(f"{node.source}:{node.line}: {error}: {latex}") from error


def inline(translator: Any, node: nodes.Element) -> None:
    """Write an equation within a line."""
    translator.body.append(converted(node, as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.Element) -> None:
    """Write an equation on a line of its own, which scrolls where it is too wide."""
    translator.body.append(f'<div class="equation">{converted(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
