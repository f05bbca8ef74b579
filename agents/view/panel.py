"""What the panel shows: a legend with the state of each run."""

import math
from html import escape

from rbgym.agents.view.scene import FAILED, RUNS
from rbgym.agents.view.simulation import Simulation


def legend(simulation: Simulation, note: str = "", problem: str = "") -> str:
    """HTML: time and note, two lines for each run, its numbers or how it ended, and a problem in
    red."""
    lines = [_GREY.format(f"t = {simulation.time:.2f} s{escape(note)}")]
    for k, (color, run) in enumerate(zip(RUNS, simulation.runs, strict=False)):
        dot = f'<span style="color:{_rgb(color)};font-size:1.3em;line-height:1">&#9679;</span>'
        end = f"{'failed' if run.failed else run.ended} at t = {run.time:.2f} s"
        told = escape(end) if run.ended else _numbers(simulation, k)
        lines.append(f"{dot} <b>{escape(run.name)}</b>")
        lines.append((_RED if run.failed else _GREY).format(told))
    if problem:
        lines.append(_RED.format(escape(problem)))
    return _BOX.format("<br>".join(lines))


def _numbers(simulation: Simulation, k: int) -> str:
    """How far a run of a task is from its goal, or how far a free one strayed from its start."""
    now = simulation.runs[k].snapshot()
    if not math.isnan(now.goal_angle):
        return f"angle to the goal {math.degrees(now.goal_angle):.2f}&deg;, {now.energy:.3g} J"
    energy, momentum = simulation.changes(k)
    which = "vertical momentum" if simulation.vertical else "momentum"
    return f"changes: energy {energy:.2g}, {which} {momentum:.2g}"


def busy(what: str) -> str:
    """HTML: what is being done, while nothing moves."""
    hint = _GREY.format("compiling takes some seconds the first time")
    return _BOX.format(f"{escape(what)} &hellip;<br>{hint}")


def _rgb(color: tuple[int, int, int]) -> str:
    return "rgb({}, {}, {})".format(*color)


_BOX = '<div style="font-size:0.85em;line-height:1.45;padding:0.2em 0.9em">{}</div>'
_GREY = '<span style="color:#7a8391">{}</span>'
_RED = f'<span style="color:{_rgb(FAILED)};font-weight:600">{{}}</span>'
