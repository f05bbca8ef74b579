"""Tables that notebooks show of the library's objects, without any script.

The colours are those of the page around, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape

_TABLE = "border-collapse:collapse;margin:0.4em 0"
_CELL = "padding:0.15em 0.9em 0.15em 0;border-bottom:1px solid rgba(128,128,128,0.4)"
_TEXT = f"{_CELL};text-align:left"
_NUMBER = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"

Cell = str | float


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table; numbers with four digits, everything escaped."""
    rows = [*rows]
    styles = [_TEXT if isinstance(cell, str) else _NUMBER for cell in rows[0]] if rows else []
    styles += [_TEXT] * (len(headings) - len(styles))
    lines = [_row("th", headings, styles), *(_row("td", row, styles) for row in rows)]
    return f'<table style="{_TABLE}">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[Cell], styles: Sequence[str]) -> str:
    texts = [escape(cell) if isinstance(cell, str) else f"{cell:.4g}" for cell in cells]
    inside = (
        f'<{tag} style="{style}">{text}</{tag}>' for text, style in zip(texts, styles, strict=True)
    )
    return f"<tr>{''.join(inside)}</tr>"


def section(title: str, *parts: str) -> str:
    """Parts, which are HTML, under a title, which is text."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"
