"""A motion over time, its invariants, and how far they drift."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rbgym.flight import Flight
from rbgym.plot import style
from rbgym.plot.globe import draw_polhode
from rbgym.quaternion import Array
from rbgym.simulate import Trajectory

UNIT = 2.0**-53  # unit round-off of float64
FLOOR = 1e-18  # where an error of exactly zero is drawn


@style.styled
def motion(trajectory: Trajectory | Flight, title: str = "") -> Figure:
    """Quaternion, body to world, and angular velocity [rad/s, body] over time [s]."""
    style.known("trajectory", trajectory, Trajectory | Flight)
    figure = style.picture(7.0, 4.6, title)
    _draw_motion(style.rows(figure, 2), trajectory)
    return figure


@style.styled
def invariants(trajectory: Trajectory, title: str = "") -> Figure:
    """Energy [J] and world angular momentum [kg m^2/s] over time [s]; `drift` shows their errors.

    An axis spans a tenth of its quantity at least, so that round-off is no feature.
    """
    style.known("trajectory", trajectory, Trajectory)
    figure = style.picture(7.0, 4.6, title)
    above, below = style.rows(figure, 2)
    above.plot(trajectory.time, trajectory.energy, **style.line(0))
    _widen(above, float(np.abs(trajectory.energy).max()))
    above.set_ylabel("energy [J]")
    L = trajectory.angular_momentum
    size = np.linalg.norm(L, axis=1)
    for k, (name, values) in enumerate(zip("xyz", L.T, strict=True)):
        below.plot(trajectory.time, values, label=f"$L_{name}$", **style.line(k))
    below.plot(trajectory.time, size, label="$|L|$", **style.line(3))
    _widen(below, float(size.max()))
    below.set_ylabel("angular momentum,\nworld [kg m²/s]")
    below.set_xlabel("time [s]")
    below.legend(ncols=4)
    return figure


@style.styled
def drift(trajectory: Trajectory, title: str = "") -> Figure:
    """Largest error so far of what is conserved, over time [s]; it ends at the max of `drift()`.

    The errors are those of `Trajectory.drift`, relative where there is something to relate to. The
    marker at the end is its final error. An error of exactly zero is drawn at the bottom.
    """
    style.known("trajectory", trajectory, Trajectory)
    figure = style.picture(7.0, 3.6, title)
    _draw_drift(figure.subplots(), trajectory)
    return figure


@style.styled
def drifts(trajectories: Mapping[str, Trajectory], title: str = "") -> Figure:
    """As `drift`, of several motions by name: one panel for energy, one for momentum.

    That is the whole momentum if all of them conserve it, else its vertical part.
    """
    style.named("trajectories", trajectories, Trajectory)
    figure = style.picture(9.0, 3.6, title)
    panels = figure.subplots(1, 2, sharey=True)
    whole = all("angular_momentum" in one.conserved for one in trajectories.values())
    momentum = "angular_momentum" if whole else "vertical_momentum"
    for ax, quantity in zip(panels, ("energy", momentum), strict=True):
        for k, (name, one) in enumerate(trajectories.items()):
            _draw_error(ax, k, one.time, one.errors()[quantity], name)
        ax.set_title(quantity.replace("_", " "))
    for ax in panels:
        _frame_errors(ax)
    panels[0].set_ylabel("largest relative error so far")
    panels[0].legend()
    return figure


@style.styled
def summary(trajectory: Trajectory, title: str = "") -> Figure:
    """Motion, drift and polhode side by side; the polhode where the motion has a known body."""
    style.known("trajectory", trajectory, Trajectory)
    figure = style.picture(11.0, 6.4, title)
    halves: Any = figure.subfigures(1, 2)
    left, right = halves
    _draw_motion(style.rows(left, 2), trajectory)
    if trajectory.body is None or not np.all(np.any(trajectory.angular_momentum, axis=1)):
        _draw_drift(right.subplots(), trajectory)
        return figure
    below, above = right.subplots(2, 1, height_ratios=(1.5, 1.0))
    draw_polhode(below, trajectory, trajectory.body)
    _draw_drift(above, trajectory)
    return figure


def _draw_motion(axes: list[Axes], run: Trajectory | Flight) -> None:
    above, below = axes
    for k, (name, values) in enumerate(zip("wxyz", run.quaternion.T, strict=True)):
        above.plot(run.time, values, label=f"${name}$", **style.line(k))
    for k, (name, values) in enumerate(zip("xyz", run.angular_velocity.T, strict=True)):
        below.plot(run.time, values, label=rf"$\omega_{name}$", **style.line(k))
    above.set_ylabel("quaternion, body to world")
    below.set_ylabel("angular velocity, body [rad/s]")
    below.set_xlabel("time [s]")
    for ax in axes:
        ax.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.1)


def _draw_drift(ax: Axes, run: Trajectory) -> None:
    errors = run.errors()
    for k, name in enumerate(run.conserved):
        error = errors[name]
        largest = f"{error.max():.1e}" if error.max() else "exactly 0"
        _draw_error(ax, k, run.time, error, f"{name.replace('_', ' ')}: {largest}")
    _frame_errors(ax)
    ax.set_ylabel("largest relative error so far")
    ax.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.1)


def _draw_error(ax: Axes, number: int, time: Array, error: Array, label: str) -> None:
    look: dict[str, Any] = style.line(number)
    worst = np.maximum(np.maximum.accumulate(error), FLOOR)
    ax.plot(time, worst, label=label, **look)
    marker = style.MARKERS[number % len(style.MARKERS)]
    ax.plot(time[-1:], np.maximum(error[-1:], FLOOR), marker, color=look["color"])


def _frame_errors(ax: Axes) -> None:
    """Logarithmic, down to where zero is drawn; what is below the unit round-off is shaded."""
    ax.set_yscale("log")
    ax.set_ylim(FLOOR / 2, max(1e-12, ax.get_ylim()[1]))
    ax.axhspan(FLOOR / 2, UNIT, color="0.93", zorder=0.5)
    ax.axhline(UNIT, color=style.FAINT, linewidth=0.8)
    ax.text(0.5, UNIT, "unit round-off, 1.1e-16", color="0.35", fontsize="small", va="top",
            ha="center", transform=ax.get_yaxis_transform())  # fmt: skip
    ax.set_xlabel("time [s]  (markers: error at the end)")


def _widen(ax: Axes, scale: float) -> None:
    low, high = ax.get_ylim()
    middle, half = (low + high) / 2, max((high - low) / 2, 0.05 * scale)
    ax.set_ylim(middle - half, middle + half)
    ax.ticklabel_format(useOffset=False)
