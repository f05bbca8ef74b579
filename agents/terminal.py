"""Tables and progress bars: by Rich at a terminal, in plain text elsewhere."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

# Columns of words, which are aligned to the left; figures are aligned to the right.
_WORDS = frozenset({
    "name", "title", "env", "policy", "integrator", "quantity", "source", "case", "declared",
    "verdict", "value", "conserves free", "conserves in gravity",
})  # fmt: skip


def styled(*, stderr: bool = False) -> bool:
    """Whether the standard output, or error, is a terminal that can show styles."""
    stream = sys.stderr if stderr else sys.stdout
    forced = os.environ.keys() & {"FORCE_COLOR", "TTY_COMPATIBLE"}  # perhaps a terminal to Rich
    if stream is None or not (stream.isatty() or forced):  # None: closed
        return False
    from rich.console import Console

    console = Console(stderr=stderr)
    return console.is_terminal and not console.is_dumb_terminal


def plain(text: str) -> str:
    """Escape control characters, as \\x1b: text from a file could command the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def print_json(content: Any) -> None:
    """Write JSON to the standard output, from NumPy numbers too; null for infinity and NaN."""
    text = json.dumps(content, default=lambda value: value.item())
    print(json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to the standard output. A narrow terminal folds long cells; elsewhere each row
    is one line, its columns two spaces apart."""
    title, rows = plain(title), [tuple(map(plain, row)) for row in rows]
    if not styled():
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        print(title)
        for row in (columns, *rows):
            cells = [
                cell.ljust(width) if name in _WORDS else cell.rjust(width)
                for name, cell, width in zip(columns, row, widths, strict=True)
            ]
            print("  ".join(cells).rstrip())
        print()
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        style = "cyan" if name == columns[0] else ""
        table.add_column(name, justify="left" if name in _WORDS else "right", style=style)
    for row in rows:
        table.add_row(*(Text(cell, "bold red") if cell == "BROKEN" else cell for cell in row))
    console = Console(markup=False, emoji=False, highlight=False)
    console.print(title, style="bold")
    console.print(table)


def bar(*, hidden: bool = False) -> Progress:
    """A progress bar on stderr that vanishes at its end; hidden if stderr is not a terminal."""
    from rich import progress
    from rich.console import Console

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=4,
        disable=hidden or not styled(stderr=True),
    )


class Counter:
    """One line of a progress bar, called with (done, total); it pulses while total is None."""

    def __init__(self, shown: Progress, what: str, total: int | None = None) -> None:
        self.shown, self.task = shown, shown.add_task(what, total=total)

    def __call__(self, done: int, total: int, mean_return: float | None = None) -> None:
        """Show the progress; mean_return: of a training's latest episodes."""
        what = None if mean_return is None else f"return {mean_return:6.1f}"
        self.shown.update(self.task, completed=done, total=total, description=what)
