"""What the panel shows: a legend with the state of each run, and curves."""

import math
from collections.abc import Callable
from html import escape

import numpy as np
import viser
from viser import uplot

from rbgym.agents.view.scene import FAILED, RUNS
from rbgym.agents.view.simulation import Record, Simulation

CHANGES, VALUES, GOAL = "change since the start or push", "energy and momentum", "way to the goal"
_WINDOW = 30.0  # s
_POINTS = 240
_HEIGHT = 108  # px
_FLOOR = 1e-17  # least change that is drawn
_VERTICAL = "vertical angular"


Quantity = tuple[str, Callable[[Record], float]]  # title, and value of a record

_ENERGY: Quantity = ("energy [J]", lambda record: record.snapshot.energy)
_CHARTS: dict[str, tuple[Quantity, Quantity]] = {
    CHANGES: (
        ("energy: log₁₀ of the relative change", lambda record: _log(record.energy_change)),
        ("angular momentum: log₁₀ of the change", lambda record: _log(record.momentum_change)),
    ),
    VALUES: (_ENERGY, ("angular momentum [kg m²/s]", lambda record: record.momentum)),
    GOAL: (
        ("angle to the goal [°]", lambda record: math.degrees(record.snapshot.goal_angle)),
        _ENERGY,
    ),
}


def _log(change: float) -> float:
    return math.log10(max(change, _FLOOR))


class Curves:
    """Two charts, each with a line for every run there can be.

    They stay for good and only change: a chart that is taken away while its last points are under
    way is an error in a slow browser's console.
    """

    def __init__(self, gui: viser.GuiApi) -> None:
        with gui.add_folder(None):
            self._charts = [_add_chart(gui), _add_chart(gui)]

    def update(self, simulation: Simulation, kind: str) -> None:
        """Draw the last seconds of CHANGES, VALUES or GOAL."""
        window = max(_WINDOW, 200 * simulation.dt)
        for chart, (title, value) in zip(self._charts, _CHARTS[kind], strict=True):
            times, lines = simulation.curves(value, window, _POINTS)
            absent = [np.full(len(times), math.nan)] * (len(RUNS) - len(lines))
            chart.title = title.replace("angular", _VERTICAL) if simulation.vertical else title
            chart.data = (times, *lines, *absent)


def _add_chart(gui: viser.GuiApi) -> viser.GuiUplotHandle:
    points = uplot.Series_Points(show=False)
    lines = [
        uplot.Series(label=f"run {k + 1}", stroke=_rgb(color), width=2.0, points=points)
        for k, color in enumerate(RUNS)
    ]
    return gui.add_uplot(
        data=tuple(np.zeros(1) for _ in range(len(RUNS) + 1)),
        series=(uplot.Series(label="t"), *lines),
        scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
        axes=(uplot.Axis(size=22.0, gap=2.0), uplot.Axis(size=46.0, gap=2.0, space=22.0)),
        legend=uplot.Legend(show=False),
        height=_HEIGHT,
        padding=(8, 10, 0, 0),
    )


def legend(simulation: Simulation, note: str = "", problem: str = "") -> str:
    """HTML: time and note, a line for each run with how it ended, and a problem in red."""
    lines = [_GREY.format(f"t = {simulation.time:.2f} s{escape(note)}")]
    for color, run in zip(RUNS, simulation.runs, strict=False):
        dot = f'<span style="color:{_rgb(color)};font-size:1.3em;line-height:1">&#9679;</span>'
        end = f"{'failed' if run.failed else run.ended} at t = {run.time:.2f} s"
        styled = (_RED if run.failed else _GREY).format(escape(end)) if run.ended else ""
        lines.append(f"{dot} <b>{escape(run.name)}</b> {styled}")
    if problem:
        lines.append(_RED.format(escape(problem)))
    return _BOX.format("<br>".join(lines))


def busy(what: str) -> str:
    """HTML: what is being done, while nothing moves."""
    hint = _GREY.format("compiling takes some seconds the first time")
    return _BOX.format(f"{escape(what)} &hellip;<br>{hint}")


def _rgb(color: tuple[int, int, int]) -> str:
    return "rgb({}, {}, {})".format(*color)


_BOX = '<div style="font-size:0.85em;line-height:1.45;padding:0.2em 0.9em">{}</div>'
_GREY = '<span style="color:#7a8391">{}</span>'
_RED = f'<span style="color:{_rgb(FAILED)};font-weight:600">{{}}</span>'
