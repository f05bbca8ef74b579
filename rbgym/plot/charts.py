"""Curves given as plain data, in panels side by side."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from rbgym.arguments import real
from rbgym.plot import style

Array = NDArray[np.float64]

_CROWD = 10  # more curves than this share one legend, beside the panels


class Line(NamedTuple):
    """One curve: its label, abscissae (n,) and ordinates (n,). Points that are not
    finite, or on logarithmic axes not positive, are left out."""

    label: str
    x: Array
    y: Array


class Panel(NamedTuple):
    """One pair of axes: what is on them, with units, and the curves."""

    x: str
    y: str
    lines: Sequence[Line]
    log: bool = False  # both axes


@style.styled
def panels(given: Sequence[Panel], title: str = "") -> Figure:
    """Panels in rows of two. Raises ValueError for none."""
    if not isinstance(given, list | tuple) or not given:
        raise ValueError(f"panels must hold one at least, got {given!r}")
    for panel in given:
        style.known("given", panel, Panel)
    columns = min(2, len(given))
    count = -(-len(given) // columns)
    figure = style.picture(5.6 * columns, 3.9 * count, title)
    axes = list(figure.subplots(count, columns, squeeze=False).ravel())
    for ax, panel in zip(axes, given, strict=False):
        _draw(ax, panel)
    for ax in axes[len(given) :]:
        ax.set_axis_off()
    if len(given[0].lines) > _CROWD:
        handles = {line.get_label(): line for ax in axes for line in ax.get_lines()}
        figure.legend(list(handles.values()), list(map(str, handles)), loc="outside right center",
                      ncols=2 if count == 1 else 1)  # fmt: skip
    return figure


@style.styled
def work_precision(
    curves: Mapping[str, tuple[Array, Array]],
    *,
    work: str = "time per simulated second [us]",
    error: str = "attitude error [rad]",
    title: str = "",
) -> Figure:
    """Error against work, both logarithmic: (work (n,), error (n,)) by name. Further down and to
    the left is better; a scheme of order p falls by p decades a decade of work.

    work, error: what the axes are called. Raises ValueError for no curve.
    """
    style.named("curves", curves, list | tuple)
    for name, curve in curves.items():
        if len(curve) != 2:
            raise ValueError(f"curves[{name!r}] must be (work, error), got {curve!r}")
    lines = [Line(name, x, y) for name, (x, y) in curves.items()]
    return panels([Panel(work, error, lines, log=True)], title)


def _draw(ax: Axes, panel: Panel) -> None:
    for k, line in enumerate(panel.lines):
        look = style.marked(k) if panel.log else style.line(k)
        x, y = (
            real(f"line {line.label!r} of the curves given", values) for values in (line.x, line.y)
        )
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(
                f"line {line.label!r} of the curves given must be x (n,) and y (n,), got shapes "
                f"{x.shape} and {y.shape}"
            )
        keep = np.isfinite(x) & np.isfinite(y) & ((x > 0) & (y > 0) | (not panel.log))
        ax.plot(x[keep], y[keep], label=line.label, **look)
    if panel.log:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.ticklabel_format(useOffset=False)
    ax.set_xlabel(panel.x)
    ax.set_ylabel(panel.y)
    if panel.lines and panel.lines[0].label and len(panel.lines) <= _CROWD:
        ax.legend()
