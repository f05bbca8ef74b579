"""The lines at the top of the panel: which run is which, and how each stands."""

from html import escape

from rbgym.agents.view.stage import FAILED, RUNS
from rbgym.agents.view.world import World

_GREY = "#7a8391"


def status_html(world: World, note: str = "", problem: str = "") -> str:
    """A legend with the state of every run. note: said beside the time; problem: in red."""
    lines = [f'<div style="color:{_GREY}">t = {world.time:.2f} s{escape(note)}</div>']
    for k, run in enumerate(world.runs):
        color = "rgb({}, {}, {})".format(*RUNS[k])
        dot = f'<span style="color:{color};font-size:1.3em;line-height:1">&#9679;</span>'
        lines.append(f"<div>{dot} <b>{escape(run.name)}</b> {_standing(world, k)}</div>")
    if problem:
        lines.append(_red(problem))
    return _boxed("".join(lines))


def busy_html(what: str) -> str:
    """What is being done, while nothing moves."""
    return _boxed(f'<div>{escape(what)} &hellip;</div><div style="color:{_GREY}">compiling takes '
                  "some seconds the first time</div>")  # fmt: skip


def _standing(world: World, k: int) -> str:
    run, at = world.runs[k], world.ended_at[k]
    if run.failed:
        return _red(f"failed at t = {at:.2f} s", "span")
    if run.ended:
        return f'<span style="color:{_GREY}">{escape(run.ended)} at t = {at:.2f} s</span>'
    return ""


def _red(text: str, tag: str = "div") -> str:
    color = "rgb({}, {}, {})".format(*FAILED)
    return f'<{tag} style="color:{color};font-weight:600">{escape(text)}</{tag}>'


def _boxed(inner: str) -> str:
    return f'<div style="font-size:0.85em;line-height:1.45;padding:0.2em 0.9em">{inner}</div>'
