"""Results: how far controlled bodies are from their goal."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from rbgym.arguments import Array, finite
from rbgym.plot import style

_LEAST = 1e-3  # deg and rad/s: smaller errors are cut off


class Errors(NamedTuple):
    """Distance from the goal over time, of one episode or of n.

    time (instants,) [s]; attitude [rad] and rate [rad/s], each (instants,) or (instants, n), nan
    after an episode's end.
    """

    time: Array
    attitude: Array
    rate: Array


def quantiles(values: Array) -> Array:
    """Percentiles 5, 50 and 95 (3, instants) over the episodes that still run; nan after the last.

    values: (instants, n) or (instants,).
    """
    values = values[:, None] if values.ndim == 1 else values
    some = ~np.isnan(values).all(axis=1)
    found = np.full((3, len(values)), np.nan)
    found[:, some] = np.nanpercentile(values[some], (5.0, 50.0, 95.0), axis=1)
    return found


@style.context()
def pointing(
    runs: Mapping[str, Errors], settled: tuple[float, float] | None = None, title: str = ""
) -> Figure:
    """Attitude error [deg], where one counts, and rate error [rad/s] over time [s], by name.

    Of several episodes the median, and the band that holds 90 %. settled: angle [rad] and rate
    [rad/s] within which the task counts as done, drawn as thin lines. Errors below 1e-3 are cut
    off. Raises ValueError for no run.
    """
    style.named("runs", runs, Errors)
    turning = an_attitude_counts(runs.values())
    figure = style.picture(7.0, 4.8 if turning else 2.8, title)
    axes = style.rows(figure, 2 if turning else 1)
    for k, (name, run) in enumerate(runs.items()):
        if turning:
            _draw_errors(axes[0], k, run.time, np.degrees(run.attitude), name)
        _draw_errors(axes[-1], k, run.time, run.rate, name)
    if settled is not None:
        angle, rate = finite("settled", settled, (2,))
        for ax, limit in zip(axes[::-1], (rate, np.degrees(angle)), strict=False):
            ax.axhline(limit, color="black", linewidth=0.6)
    axes[0].set_ylabel("attitude error [deg]")
    axes[-1].set_ylabel("rate error [rad/s]")
    thin = "" if settled is None else "  (thin lines: what counts as settled)"
    axes[-1].set_xlabel(f"time [s]{thin}")
    for ax in axes:
        log_errors(ax)
    axes[0].legend()
    return figure


def _draw_errors(ax: Axes, number: int, time: Array, values: Array, name: str) -> None:
    low, median, high = quantiles(values)
    ax.plot(time, median, label=name, **style.line(number))
    if values.ndim == 2 and values.shape[1] > 1:
        style.band(ax, number, time, low, high)


def an_attitude_counts(errors: Iterable[Errors]) -> bool:
    """Whether there is one to be reached: without, the error is zero throughout."""
    return any(np.nanmax(one.attitude) > 0 for one in errors)


def log_errors(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.set_ylim(_LEAST, max(ax.get_ylim()[1], 10 * _LEAST))
    ax.yaxis.set_minor_formatter(NullFormatter())
