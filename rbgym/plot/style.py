"""The style of all plots. Lines differ in colour, and in dashes and markers when printed grey."""

import io
from collections.abc import Mapping
from functools import partial
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# From Okabe and Ito (2008), Color Universal Design, without the yellow, too faint for a line. In
# this order, colours that share a dash differ in their grey.
COLOURS = ("#0072B2", "#E69F00", "#000000", "#D55E00", "#56B4E9", "#009E73", "#CC79A7")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "v", "^", "D", "x", "+", "*", "P")
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++")
FAINT = "0.55"  # grey of reference lines

SETTINGS: Any = {
    "font.size": 9.0,
    "figure.dpi": 110.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "figure.titlesize": "large",
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "hatch.linewidth": 0.4,
    # Small SVG files with the same bytes each time.
    "svg.fonttype": "none",
    "svg.hashsalt": "rbgym",
}

context = partial(mpl.rc_context, SETTINGS)  # a context, or decorator, to draw in this style


class Picture(Figure):
    """A figure that notebooks show, without a window and without global state."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def picture(width: float, height: float, title: str = "") -> Picture:
    """An empty figure of this size [inch]."""
    known("title", title, str)
    made = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    if title:
        made.suptitle(title)
    return made


def rows(figure: Any, count: int) -> list[Axes]:
    """Axes above each other with a shared abscissa; figure: a Figure or SubFigure."""
    return list(np.ravel(figure.subplots(count, 1, sharex=True, squeeze=False)))


def line(number: int) -> dict[str, Any]:
    """Colour and dash of curve `number`, from 0 on; 28 of them differ."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


def marked(number: int) -> dict[str, Any]:
    return line(number) | {"marker": MARKERS[number % len(MARKERS)]}


def band(ax: Axes, number: int, x: Any, low: Any, high: Any) -> None:
    """Fill the area between two curves in the colour of line `number`."""
    colour, hatch = COLOURS[number % len(COLOURS)], HATCHES[number % len(HATCHES)]
    ax.fill_between(x, low, high, facecolor=(colour, 0.15), edgecolor=(colour, 0.4), hatch=hatch,
                    linewidth=0.0)  # fmt: skip


def known(argument: str, value: Any, kind: type) -> None:
    """Raise ValueError unless the value is an instance of `kind`."""
    if not isinstance(value, kind):
        raise ValueError(f"{argument} must be a {kind.__name__}, got {value!r}")


def named(argument: str, value: Any, kind: Any) -> None:
    """Raise ValueError unless the value maps at least one name to an instance of `kind`."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{argument} must have at least one name, got {value!r}")
    for name, one in value.items():
        known(f"{argument}[{name!r}]", one, kind)
