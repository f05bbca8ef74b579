"""What the panel shows: a legend with the state of each run, and curves."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import viser
from viser import uplot

from rbgym.agents.view.runs import Run
from rbgym.agents.view.scene import FAILED, RUNS
from rbgym.agents.view.simulation import Record, Simulation

CHANGES, VALUES, GOAL = "change since the start or push", "energy and momentum", "way to the goal"
_GREY = "#7a8391"
_WINDOW = 30.0  # s
_POINTS = 240
_HEIGHT = 108  # px
_FLOOR = 1e-17  # least change that is drawn


@dataclass(frozen=True)
class _Quantity:
    """What a chart draws of each record."""

    title: str
    value: Callable[[Record], float]


_CHARTS = {
    CHANGES: (
        _Quantity(
            "energy: log₁₀ of the relative change",
            lambda record: np.log10(max(record.energy_change, _FLOOR)),
        ),
        _Quantity(
            "angular momentum: log₁₀ of the change",
            lambda record: np.log10(max(record.momentum_change, _FLOOR)),
        ),
    ),
    VALUES: (
        _Quantity("energy [J]", lambda record: record.snapshot.energy),
        _Quantity("angular momentum [kg m²/s]", lambda record: record.momentum),
    ),
    GOAL: (
        _Quantity("angle to the goal [°]", lambda record: np.degrees(record.snapshot.goal_angle)),
        _Quantity("energy [J]", lambda record: record.snapshot.energy),
    ),
}


class Curves:
    """Two charts, each with a line for every run."""

    def __init__(self, gui: viser.GuiApi) -> None:
        self._gui, self._folder = gui, gui.add_folder(None)
        self._charts: list[viser.GuiUplotHandle] = []
        self._shown: tuple[Any, ...] = ()

    def update(self, simulation: Simulation, kind: str) -> None:
        """Draw the last seconds of CHANGES, VALUES or GOAL."""
        shown = (kind, len(simulation.runs), simulation.vertical)
        if shown != self._shown:
            self._shown = shown
            for chart in self._charts:
                chart.remove()
            with self._folder:
                self._charts = [self._add(one.title, *shown[1:]) for one in _CHARTS[kind]]
        window = max(_WINDOW, 200 * simulation.dt)
        for chart, quantity in zip(self._charts, _CHARTS[kind], strict=True):
            times, lines = simulation.curves(quantity.value, window, _POINTS)
            chart.data = (times, *lines)

    def _add(self, title: str, runs: int, vertical: bool) -> viser.GuiUplotHandle:
        points = uplot.Series_Points(show=False)
        lines = [
            uplot.Series(label=f"run {k + 1}", stroke=_rgb(RUNS[k]), width=2.0, points=points)
            for k in range(runs)
        ]
        return self._gui.add_uplot(
            data=tuple(np.zeros(1) for _ in range(runs + 1)),
            series=(uplot.Series(label="t"), *lines),
            title=title.replace("angular", "vertical angular") if vertical else title,
            scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
            axes=(uplot.Axis(size=22.0, gap=2.0), uplot.Axis(size=46.0, gap=2.0, space=22.0)),
            legend=uplot.Legend(show=False),
            height=_HEIGHT,
            padding=(8, 10, 0, 0),
        )


def legend(simulation: Simulation, note: str = "", problem: str = "") -> str:
    """HTML: time and note, a line for each run with how it ended, and a problem in red."""
    lines = [_line(f"t = {simulation.time:.2f} s{note}", f"color:{_GREY}")]
    for k, run in enumerate(simulation.runs):
        dot = f'<span style="color:{_rgb(RUNS[k])};font-size:1.3em;line-height:1">&#9679;</span>'
        lines.append(f"<div>{dot} <b>{escape(run.name)}</b> {_end_of(run)}</div>")
    return _box(*lines, _line(problem, _red()) if problem else "")


def busy(what: str) -> str:
    """HTML: what is being done, while nothing moves."""
    hint = "compiling takes some seconds the first time"
    return _box(_line(f"{what} …"), _line(hint, f"color:{_GREY}"))


def _end_of(run: Run) -> str:
    if not run.ended:
        return ""
    how, style = ("failed", _red()) if run.failed else (run.ended, f"color:{_GREY}")
    return f'<span style="{style}">{escape(how)} at t = {run.time:.2f} s</span>'


def _rgb(color: tuple[int, int, int]) -> str:
    return "rgb({}, {}, {})".format(*color)


def _red() -> str:
    return f"color:{_rgb(FAILED)};font-weight:600"


def _line(text: str, style: str = "") -> str:
    return f'<div style="{style}">{escape(text)}</div>'


def _box(*lines: str) -> str:
    style = "font-size:0.85em;line-height:1.45;padding:0.2em 0.9em"
    return f'<div style="{style}">{"".join(lines)}</div>'
