"""A campaign as pictures; matplotlib is imported when one is drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rbgym.agents.campaigns.report import Report, strongest
from rbgym.quaternion import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAIN = "ape_deg", "rpe_deg", "settling_s", "effort_nms"
_MOST = 12  # draws of a tornado


def write(report: Report, folder: Path) -> list[Path]:
    """Write all of them as PNG; where they are."""
    from rbgym.agents.judge.plots import save

    drawn: dict[str, Callable[[Report], Figure]] = {
        "histograms": histograms,
        "cumulative": cumulative,
        "tornado": tornado,
        "envelope": envelope,
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.png" for name in drawn]
    for path, draw in zip(paths, drawn.values(), strict=True):
        save(draw(report), path)
    return paths


def _shown(report: Report) -> list[str]:
    """Figures that have a requirement, and the main ones."""
    wanted = {one.figure for own in report.verdicts.values() for one in own}
    return [name for name in report.campaign.figures if name in wanted or name in _MAIN]


def _limits(report: Report, figure: str) -> list[float]:
    first = next(iter(report.verdicts.values()))
    return [one.limit for one in first if one.figure == figure]


def _each(report: Report, draw: Callable[..., None], label: str) -> "Figure":
    """A row of axes for every figure that is shown; the finite values of each contender."""
    from rbgym.plot import style

    names = _shown(report)
    with style.context():
        figure = style.picture(7.0, 1.9 * len(names), report.campaign.plan.env_id)
        axes = np.ravel(figure.subplots(len(names), 1, squeeze=False))
        for ax, name in zip(axes, names, strict=True):
            for k, (contender, own) in enumerate(report.campaign.columns.items()):
                draw(ax, own[name].astype(float), contender, k)
            for limit in _limits(report, name):
                ax.axvline(limit, color="black", linewidth=0.9)
            ax.set_xlabel(name)
            ax.set_ylabel(label)
        axes[0].legend()
    return figure


def histograms(report: Report) -> "Figure":
    """How many runs have which value of a figure, and its limits."""
    from rbgym.plot import style

    def draw(ax: "object", values: Array, label: str, k: int) -> None:
        own = values[np.isfinite(values)]
        ax.hist(own, bins=60, histtype="step", label=label, **style.line(k))  # type: ignore[attr-defined]

    return _each(report, draw, "runs")


def cumulative(report: Report) -> "Figure":
    """The share of runs up to a value of a figure, and its limits."""
    from rbgym.plot import style

    def draw(ax: "object", values: Array, label: str, k: int) -> None:
        own = np.sort(values)
        share = 100.0 * np.arange(1, len(own) + 1) / len(own)
        here = np.isfinite(own)
        ax.step(own[here], share[here], where="post", label=label, **style.line(k))  # type: ignore[attr-defined]

    return _each(report, draw, "% of runs")


def tornado(report: Report) -> "Figure":
    """The correlations of the strongest draws with what they drive, with intervals."""
    from rbgym.plot import style

    with style.context():
        many = len(report.effects)
        figure = style.picture(4.6 * many, 3.6, report.campaign.plan.env_id)
        for ax, (name, found) in zip(
            figure.subplots(1, many, squeeze=False)[0], report.effects.items(), strict=True
        ):
            first = (next(filter(None, pair)) for pair in strongest(found, _MOST))
            bars = [*first][::-1]
            at, values = np.arange(len(bars)), np.array([one.value for one in bars])
            wide = np.array([(one.value - one.low, one.high - one.value) for one in bars]).T
            ax.barh(at, values, xerr=np.abs(wide) if len(bars) else None, color=style.COLOURS[0])
            ax.set_yticks(at, [f"{one.name}: {one.of}" for one in bars])
            ax.set_xlim(-1.05, 1.05)
            ax.axvline(0.0, color="black", linewidth=0.6)
            ax.set_title(name)
            ax.set_xlabel("rank correlation, 95 % interval")
    return figure


def envelope(report: Report) -> "Figure":
    """Median, 95 % and 99.7 % of the attitude error over time."""
    from rbgym.plot import style

    with style.context():
        figure = style.picture(7.0, 3.2, report.campaign.plan.env_id)
        ax = figure.subplots()
        for k, contender in enumerate(report.campaign.columns):
            time, (middle, most, all_but_few) = report.campaign.envelope(
                contender, (0.5, 0.95, 0.9973)
            )
            line = style.line(k)
            ax.plot(time, middle, label=contender, **line)
            ax.fill_between(time, middle, most, alpha=0.25, color=line["color"], linewidth=0)
            ax.plot(time, all_but_few, linewidth=0.7, **line)
        ax.set_yscale("log")
        ax.set_xlabel("time [s]")
        ax.set_ylabel("attitude error [deg]: 50, 95, 99.73 %")
        ax.legend()
    return figure
