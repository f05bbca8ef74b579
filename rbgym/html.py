"""What notebooks show of the library's objects: tables, without any script.

The colours are those of the page around, light or dark.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from rbgym.arguments import Array
from rbgym.inertia import point_inertia

if TYPE_CHECKING:
    from rbgym.body import RigidBody
    from rbgym.simulate import Trajectory

_TABLE = "border-collapse:collapse;margin:0.4em 0"
_LINE = "border-bottom:1px solid rgba(128,128,128,0.4)"
_CELL = f"padding:0.15em 0.9em 0.15em 0;text-align:left;{_LINE}"
_NUMBER = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"
_BROKEN = ' style="background:rgba(213,94,0,0.3)"'
_EQUAL = 1e-9  # moments closer than this, relatively, count as one

Cell = str | float


def table(
    headings: Sequence[str], rows: Iterable[Sequence[Cell]], broken: Sequence[bool] = ()
) -> str:
    """A table; numbers with four digits, everything escaped. broken: rows to be marked."""
    rows = [*rows]
    numeric = [not isinstance(cell, str) for cell in rows[0]] if rows else [False] * len(headings)
    head = "".join(
        f'<th style="{_NUMBER if right else _CELL}">{escape(name)}</th>'
        for name, right in zip(headings, numeric, strict=True)
    )
    lines = [f"<tr>{head}</tr>"]
    for k, row in enumerate(rows):
        mark = _BROKEN if k < len(broken) and broken[k] else ""
        lines.append(f"<tr{mark}>{''.join(map(_cell, row))}</tr>")
    return f'<table style="{_TABLE}">{"".join(lines)}</table>'


def section(title: str, *parts: str) -> str:
    """Parts, which are HTML, under a title, which is text."""
    return f"<div><strong>{escape(title)}</strong>{''.join(parts)}</div>"


def note(text: str) -> str:
    """A line of text."""
    return f"<div>{escape(text)}</div>"


def _cell(value: Cell) -> str:
    if isinstance(value, str):
        return f'<td style="{_CELL}">{escape(value)}</td>'
    return f'<td style="{_NUMBER}">{value:.4g}</td>'


def trajectory(run: "Trajectory") -> str:
    """Drift of the invariants as a table."""
    found = run.drift()
    rows = [(k.replace("_", " "), found[k]["max"], found[k]["final"]) for k in run.conserved]
    redone = f", {run.redone} steps solved again" if run.redone else ""
    title = f"Trajectory: {len(run.time)} instants, {run.time[0]:.6g} to {run.time[-1]:.6g} s"
    return section(f"{title}{redone}", table(("error", "max", "final"), rows))


def body(of: "RigidBody") -> str:
    """Mass, centre, moments and principal axes, and what kind of body that makes."""
    axes: list[list[Cell]] = [
        [str(k + 1), float(moment), *axis.tolist()]
        for k, (moment, axis) in enumerate(zip(of.moments, of.principal_rotation.T, strict=True))
    ]
    headings = ("principal axis", "moment [kg m²]", "x", "y", "z")
    center = ", ".join(f"{x:.4g}" for x in of.center_of_mass)
    return section(
        f"RigidBody: {of.mass:.4g} kg, centre of mass ({center}) m",
        table(headings, axes),
        note(_kind(of.moments)),
        note(_ellipsoid(of)),
    )


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


def _ellipsoid(of: "RigidBody") -> str:
    """The uniform solid that moves alike, J_1 = m (b^2 + c^2)/5 and so on."""
    own = of.inertia - of.mass * point_inertia(of.center_of_mass)
    moments = np.linalg.eigvalsh(own)
    squares = np.maximum(2.5 * (moments.sum() - 2 * moments) / of.mass, 0.0)
    a, b, c = np.sqrt(squares)
    return f"It turns like a uniform ellipsoid of semi-axes {a:.4g}, {b:.4g}, {c:.4g} m."
