"""The live curves of the page."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
from viser import uplot

from rbgym.agents.view.stage import RUNS
from rbgym.agents.view.world import MOST, World
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array

WINDOW = 30.0  # s
_POINTS = 240
_HEIGHT = 108  # px
_FLOOR = 1e-17  # least change that is drawn
CHANGES, VALUES, GOAL = "change since the start or push", "energy and momentum", "way to the goal"


@dataclass(frozen=True)
class _Kind:
    """A column of the history that can be drawn; digits: as its decimal logarithm."""

    title: str
    column: str
    digits: bool = False
    factor: float = 1.0


_KINDS = {
    CHANGES: (
        _Kind("energy: log₁₀ of the relative change", "energy_change", digits=True),
        _Kind("angular momentum: log₁₀ of the change", "momentum_change", digits=True),
    ),
    VALUES: (_Kind("energy [J]", "energy"), _Kind("angular momentum [kg m²/s]", "momentum")),
    GOAL: (_Kind("angle to the goal [°]", "goal_angle", factor=180 / np.pi),
           _Kind("energy [J]", "energy")),
}  # fmt: skip


class Curves:
    """Two charts, each with a line for every run."""

    def __init__(self, gui: viser.GuiApi) -> None:
        self._gui, self._place = gui, gui.add_folder(None)
        self._charts: list[viser.GuiUplotHandle] = []
        self._shown: tuple[Any, ...] = ()

    def update(self, world: World, kind: str) -> None:
        """Draw the last WINDOW seconds, or what one of _KINDS has."""
        vertical = isinstance(world.runs[0].potential, HeavyTop)
        shown = (kind, len(world.runs), vertical, world.dt > 0.5)
        if shown != self._shown:
            self._shown = shown
            self._make(_KINDS[kind], len(world.runs), vertical)
        window = max(WINDOW, 200 * world.dt)
        for chart, one in zip(self._charts, _KINDS[kind], strict=True):
            times, lines = world.curves(one.column, window, _POINTS)
            chart.data = (times, *(_drawn(one, line) for line in lines))

    def _make(self, kinds: tuple[_Kind, ...], runs: int, vertical: bool) -> None:
        for chart in self._charts:
            chart.remove()
        with self._place:
            self._charts = [self._chart(kind, runs, vertical) for kind in kinds]

    def _chart(self, kind: _Kind, runs: int, vertical: bool) -> viser.GuiUplotHandle:
        return self._gui.add_uplot(
            data=tuple(np.zeros(1) for _ in range(runs + 1)),
            series=(uplot.Series(label="t"), *(_series(k) for k in range(runs))),
            title=_title(kind, vertical),
            scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
            axes=(uplot.Axis(size=22.0, gap=2.0), uplot.Axis(size=46.0, gap=2.0, space=22.0)),
            legend=uplot.Legend(show=False),
            height=_HEIGHT,
            padding=(8, 10, 0, 0),
        )


def _series(k: int) -> uplot.Series:
    color = "rgb({}, {}, {})".format(*RUNS[k % MOST])
    return uplot.Series(
        label=f"run {k + 1}", stroke=color, width=2.0, points=uplot.Series_Points(show=False)
    )


def _title(kind: _Kind, vertical: bool) -> str:
    return kind.title.replace("angular", "vertical angular") if vertical else kind.title


def _drawn(kind: _Kind, line: Array) -> Array:
    return np.log10(np.maximum(line, _FLOOR)) if kind.digits else line * kind.factor
