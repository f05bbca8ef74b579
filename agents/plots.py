"""Plots, drawn without a display; matplotlib is imported when the first one is drawn."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.evaluation import Evaluation
from rbgym.simulate import Trajectory

# Line styles and greys that stay apart when printed without colour.
_LINES = (("-", "#08306b"), ("--", "#d95f02"), (":", "#4a4a4a"), ("-.", "#7570b3"))


def _figure(rows: int) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 2.4 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plot_comparison(evaluations: Mapping[str, Evaluation], path: Path) -> None:
    """Median errors of attitude [deg] and rate [rad/s] over time [s], with the band that holds 90 %
    of the lanes."""
    figure, (above, below) = _figure(2)
    for (name, result), (style, color) in zip(evaluations.items(), _LINES * 9, strict=False):
        label = f"{name}: {100 * result.success_rate:.1f} % success"
        _band(above, result.time, np.degrees(result.attitude_error), style, color, label)
        _band(below, result.time, result.rate_error, style, color, label)
        above.axhline(np.degrees(result.settled[0]), color="black", linewidth=0.6)
        below.axhline(result.settled[1], color="black", linewidth=0.6)
    above.set_ylabel("attitude error [deg]")
    below.set_ylabel("rate error [rad/s]")
    below.set_xlabel("time [s]  (thin lines: what counts as settled)")
    for ax in (above, below):
        # What is smaller than this is no pointing error that anyone could measure.
        ax.set_yscale("log")
        ax.set_ylim(bottom=1e-3)
    above.legend(frameon=False)
    figure.savefig(path, dpi=150)


def _band(
    ax: Any, time: NDArray[Any], values: NDArray[Any], style: str, color: str, label: str
) -> None:
    low, median, high = np.nanpercentile(values, [5, 50, 95], axis=1)
    ax.plot(time, median, style, color=color, label=label)
    ax.fill_between(time, low, high, color=color, alpha=0.18, linewidth=0)


def plot_trajectory(trajectory: Trajectory, title: str, path: Path) -> None:
    """Quaternion, body rates, and the errors of energy and quaternion norm over time."""
    figure, (attitude, rates, errors) = _figure(3)
    styles = ("-", "--", ":", "-.")
    for name, style, values in zip("wxyz", styles, trajectory.quaternion.T, strict=True):
        attitude.plot(trajectory.time, values, style, label=name)
    for name, style, values in zip("123", styles, trajectory.angular_velocity.T, strict=False):
        rates.plot(trajectory.time, values, style, label=name)
    energy = trajectory.energy
    errors.plot(trajectory.time, energy - energy[0], "-", label="energy change [J]")
    norm = np.linalg.norm(trajectory.quaternion, axis=1) - 1
    errors.plot(trajectory.time, norm, ":", label="quaternion norm - 1")
    attitude.set_title(title)
    attitude.set_ylabel("quaternion")
    rates.set_ylabel("body rate [rad/s]")
    errors.set_ylabel("error")
    errors.set_xlabel("time [s]")
    for ax in (attitude, rates, errors):
        ax.legend(frameon=False, ncols=4, fontsize="small")
    figure.savefig(path, dpi=150)
