"""Plots of evaluations, and the writing of figures to files."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from rbgym.agents.judge.evaluation import Evaluation, settling
from rbgym.agents.judge.tables import percent
from rbgym.agents.run_folder import replacing
from rbgym.plot import Errors, pointing, style
from rbgym.plot.figures import an_attitude_counts, log_errors, quantiles


def save(figure: Figure, path: Path) -> None:
    """Write a figure; an interruption leaves the old file. ValueError for an unknown ending."""
    form = path.suffix.removeprefix(".") or "png"
    metadata = {"Date": None} if form == "svg" else None  # the same figure gives the same file
    with style.context(), replacing(path) as temporary:
        figure.savefig(temporary, format=form, metadata=metadata)


def comparison(evaluations: Mapping[str, Evaluation]) -> Figure:
    """Plot the errors of each evaluation over time, with its success rate."""
    runs = {
        f"{name}: {percent(one.success_rate)} % success": _errors(one)
        for name, one in evaluations.items()
    }
    return pointing(runs, next(iter(evaluations.values())).played.settled)


def _errors(one: Evaluation) -> Errors:
    return Errors(one.played.time, one.played.attitude_error, one.played.rate_error)


@style.context()
def card(title: str, evaluations: Mapping[str, Evaluation]) -> Figure:
    """Plot for each row the median error over time, and the share of episodes that have settled.
    The error is of the attitude [deg], or of the rate [rad/s] where the attitude does not count."""
    angle, rate = next(iter(evaluations.values())).played.settled
    turning = an_attitude_counts(map(_errors, evaluations.values()))
    figure = style.picture(8.6, 3.2, title)
    left, right = figure.subplots(1, 2)
    for k, (name, one) in enumerate(evaluations.items()):
        found = one.played
        errors = np.degrees(found.attitude_error) if turning else found.rate_error
        left.plot(found.time, quantiles(errors)[1], label=name, **style.line(k))
        times = settling(found)
        times = np.sort(times[found.success & np.isfinite(times)])
        percent = 100.0 * np.arange(len(times) + 1) / len(found.success)
        steps = [0.0, *times, found.time[-1]], [*percent, percent[-1]]
        right.step(*steps, where="post", **style.line(k))
    label = "median attitude error [deg]" if turning else "median rate error [rad/s]"
    left.set(xlabel="time [s]", ylabel=label)
    log_errors(left, np.degrees(angle) if turning else rate)
    right.set(xlabel="time [s]", ylabel="settled by then [% of episodes]", ylim=(0, 102))
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center")
    return figure
