"""What notebooks show of the library's objects: tables, without any script.

The colours are those of the page around, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rbgym.arguments import Array

if TYPE_CHECKING:
    from rbgym.body import RigidBody
    from rbgym.simulate import Trajectory

_TABLE = "border-collapse:collapse;margin:0.4em 0"
_CELL = "padding:0.15em 0.9em 0.15em 0;border-bottom:1px solid rgba(128,128,128,0.4)"
_TEXT = f"{_CELL};text-align:left"
_NUMBER = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"
_BROKEN = ' style="background:rgba(213,94,0,0.3)"'
_EQUAL = 1e-9  # moments closer than this, relatively, count as one

Cell = str | float


def table(
    headings: Sequence[str], rows: Iterable[Sequence[Cell]], broken: Sequence[bool] = ()
) -> str:
    """A table; numbers with four digits, everything escaped. broken: rows to be marked."""
    rows = [*rows]
    styles = [_TEXT if isinstance(cell, str) else _NUMBER for cell in rows[0]] if rows else []
    styles += [_TEXT] * (len(headings) - len(styles))
    lines = [_row("th", headings, styles)]
    for k, row in enumerate(rows):
        lines.append(_row("td", row, styles, _BROKEN if k < len(broken) and broken[k] else ""))
    return f'<table style="{_TABLE}">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[Cell], styles: Sequence[str], mark: str = "") -> str:
    texts = [escape(cell) if isinstance(cell, str) else f"{cell:.4g}" for cell in cells]
    inside = (
        f'<{tag} style="{style}">{text}</{tag}>' for text, style in zip(texts, styles, strict=True)
    )
    return f"<tr{mark}>{''.join(inside)}</tr>"


def section(title: str, *parts: str) -> str:
    """Parts, which are HTML, under a title, which is text."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def note(text: str) -> str:
    """A line of text."""
    return f"<div>{escape(text)}</div>"


def trajectory(run: "Trajectory") -> str:
    """Drift of the invariants as a table."""
    found = run.drift()
    rows = [(k.replace("_", " "), found[k]["max"], found[k]["final"]) for k in run.conserved]
    title = f"Trajectory: {len(run.time)} instants, {run.time[0]:.6g} to {run.time[-1]:.6g} s"
    redone = f", {run.redone} steps solved twice" if run.redone else ""
    return section(f"{title}{redone}", table(("error", "max", "final"), rows))


def body(of: "RigidBody") -> str:
    """Mass, centre, moments and principal axes, and what kind of body that makes."""
    axes: list[list[Cell]] = [
        [str(k + 1), float(moment), *axis.tolist()]
        for k, (moment, axis) in enumerate(zip(of.moments, of.principal_rotation.T, strict=True))
    ]
    headings = ("principal axis", "moment [kg m²]", "x", "y", "z")
    center = ", ".join(f"{x:.4g}" for x in of.center_of_mass)
    title = f"RigidBody: {of.mass:.4g} kg, centre of mass ({center}) m"
    return section(title, table(headings, axes), note(_kind(of.moments)))


def _kind(moments: Array) -> str:
    order = np.argsort(moments, kind="stable")
    low, middle, high = moments[order]
    same = _EQUAL * high
    if high - low <= same:
        return "Spherical: every axis is a principal one."
    if middle - low <= same:
        return f"Symmetric and flat (oblate) about axis {order[2] + 1}."
    if high - middle <= same:
        return f"Symmetric and long (prolate) about axis {order[0] + 1}."
    return f"Asymmetric: a spin about axis {order[1] + 1}, of the middle moment, is unstable."
