"""Tables and progress bars at a terminal; plain text in a pipe, a file or a dumb terminal."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.progress import TimeElapsedColumn as Elapsed
from rich.progress import TimeRemainingColumn as Remaining
from rich.table import Table
from rich.text import Text

_PLAIN: Any = {"markup": False, "emoji": False, "highlight": False}
_ALARMS = frozenset({"BROKEN"})
_ENDLESS = 10_000  # columns, for what is not wrapped
_LEFT = frozenset({"name", "title", "env", "policy", "integrator", "quantity", "source"})
_LEFT_TOO = frozenset({"conserves free", "conserves in gravity", "case", "declared", "verdict"})


def styled(*, stderr: bool = False) -> bool:
    """Whether the standard output, or error, is a terminal that shows more than text."""
    console = Console(stderr=stderr)
    return console.is_terminal and not console.is_dumb_terminal


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    optional: Sequence[str] = (),
) -> None:
    """Write a table to the standard output.

    A terminal gets no wider table than it is: the `optional` columns are left out, first the first,
    until the rest fits. Elsewhere every row is one line of all columns, between them two spaces.
    """
    cells = [tuple(row) for row in rows]
    if not styled():
        print(_text(title, columns, cells))
        return
    console, kept = Console(**_PLAIN), list(columns)
    for name in optional:
        wide = console.options.update(width=_ENDLESS)
        needed = Measurement.get(console, wide, _table(columns, cells, kept)).maximum
        if needed <= console.width:
            break
        kept.remove(name)
    console.print(title, style="bold")
    console.print(_table(columns, cells, kept))
    if missing := [name for name in columns if name not in kept]:
        left_out = f"not shown in {console.width} columns: {', '.join(missing)}"
        console.print(f"{left_out}\n", style="dim")


def _text(title: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    console = Console(width=_ENDLESS, color_system=None, force_terminal=False, **_PLAIN)
    with console.capture() as captured:
        console.print(_table(columns, cells, columns, plain=True))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    return "\n".join([title, *lines, ""])


def _table(
    columns: Sequence[str],
    cells: Sequence[Sequence[str]],
    kept: Sequence[str],
    *,
    plain: bool = False,
) -> Table:
    table = Table(
        box=None if plain else box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 2 if plain else 1, 0, 0),
        header_style="" if plain else "bold",
    )
    for k, name in enumerate(columns):
        if name in kept:
            left = name in _LEFT or name in _LEFT_TOO
            style = "cyan" if k == 0 and not plain else ""
            table.add_column(name, justify="left" if left else "right", style=style)
    for row in cells:
        shown = (cell for cell, name in zip(row, columns, strict=True) if name in kept)
        table.add_row(*(Text(c, "bold red") if c in _ALARMS and not plain else c for c in shown))
    return table


def bar(*, refresh: bool = True, remaining: bool = False, hidden: bool = False) -> Progress:
    """A progress bar on stderr that vanishes at its end, hidden where that is no terminal.

    refresh: from a thread of its own, ten times a second; without, whoever updates it asks for it.
    remaining: show the time left in place of the time since the start.
    """
    clock: Any = Remaining() if remaining else Elapsed()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        clock,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=refresh,
        disable=hidden or not styled(stderr=True),
    )


class Counter:
    """Shows (done, all) as one line of a progress bar; as long as `all` is None it only moves."""

    def __init__(self, shown: Progress, what: str, total: int | None = None) -> None:
        self.shown, self.task = shown, shown.add_task(what, total=total)

    def __call__(self, done: int, total: int) -> None:
        """So much is done, of all."""
        self.shown.update(self.task, completed=done, total=total)
