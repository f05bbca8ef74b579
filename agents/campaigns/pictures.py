"""Plots of a campaign."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from rbgym.agents.campaigns.report import QUANTILES, Report
from rbgym.agents.campaigns.statistics import strongest
from rbgym.agents.judge.plots import save
from rbgym.plot import style
from rbgym.quaternion import Array

_MAIN = "ape_deg", "rpe_deg", "settling_s", "effort_nms"
_MOST = 12  # draws of a tornado


def write(report: Report, folder: Path) -> None:
    """Write histograms, cumulative curves, sensitivities and the envelope over time as PNGs."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (histograms, cumulative, tornado, envelope):
        save(draw(report), folder / f"{draw.__name__}.png")


def histograms(report: Report) -> Figure:
    """Plot histograms of the figures over the runs, and their limits."""

    def draw(ax: Any, values: Array, ends: tuple[float, float], **line: Any) -> None:
        ax.hist(values[np.isfinite(values)], 60, range=ends, histtype="step", **line)

    return _each(report, draw, "runs")


def cumulative(report: Report) -> Figure:
    """Plot cumulative distributions of the figures over the runs, and their limits."""

    def draw(ax: Any, values: Array, ends: tuple[float, float], **line: Any) -> None:
        own = np.sort(values[np.isfinite(values)])  # a run that never settles is beyond the edge
        ax.step(own, 100.0 * np.arange(1, len(own) + 1) / len(values), where="post", **line)

    return _each(report, draw, "% of runs")


@style.context()
def _each(report: Report, draw: Callable[..., None], label: str) -> Figure:
    """Plot the main figures and those with a requirement, by `draw` for each contender."""
    wanted = [*next(iter(report.verdicts.values()))]
    shown = {*_MAIN, *(one.figure for one in wanted)}
    names = [name for name in report.campaign.figures if name in shown]
    figure = style.picture(7.0, 1.9 * len(names), report.campaign.plan.env_id)
    for ax, name in zip(figure.subplots(len(names), 1, squeeze=False)[:, 0], names, strict=True):
        of_all = {n: own[name].astype(float) for n, own in report.campaign.columns.items()}
        finite = np.concatenate([own[np.isfinite(own)] for own in of_all.values()])
        ends = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
        for k, (contender, own) in enumerate(of_all.items()):
            draw(ax, own, ends, label=contender, **style.line(k))
        for limit in (one.limit for one in wanted if one.figure == name):
            ax.axvline(limit, color="black", linewidth=0.9)
        ax.set(xlabel=name, ylabel=label)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right upper")
    return figure


@style.context()
def tornado(report: Report) -> Figure:
    """Plot the strongest effects of the draws, with intervals."""
    many = len(report.effects)
    figure = style.picture(7.0, 3.2 * many, report.campaign.plan.env_id)
    axes = figure.subplots(many, 1, squeeze=False)[:, 0]
    for ax, (name, found) in zip(axes, report.effects.items(), strict=True):
        bars = [next(filter(None, pair)) for pair in strongest(found, _MOST)][::-1]
        at, values = np.arange(len(bars)), [one.value for one in bars]
        wide = [[one.value - one.low for one in bars], [one.high - one.value for one in bars]]
        ax.barh(at, values, xerr=np.abs(wide), color=style.COLOURS[0])
        ax.set_yticks(at, [f"{one.name}: {one.of}" for one in bars])
        ax.set(xlim=(-1.05, 1.05), title=name, xlabel="rank correlation, joint 95 % intervals")
        ax.axvline(0.0, color="black", linewidth=0.6)
    return figure


@style.context()
def envelope(report: Report) -> Figure:
    """Plot quantiles of the attitude error over time: 50, 95 and 99.73 %."""
    figure = style.picture(7.0, 3.2, report.campaign.plan.env_id)
    ax = figure.subplots()
    for k, contender in enumerate(report.campaign.columns):
        time, (middle, most, nearly_all) = report.campaign.envelope(contender, QUANTILES)
        line = style.line(k)
        ax.plot(time, middle, label=contender, **line)
        ax.fill_between(time, middle, most, alpha=0.25, color=line["color"], linewidth=0)
        ax.plot(time, nearly_all, linewidth=0.7, **line)
    ax.set(yscale="log", xlabel="time [s]", ylabel="attitude error [deg]: 50, 95, 99.73 %")
    ax.legend()
    return figure
