"""Learning curves over several seeds."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import real
from rbgym.plot import style

Array = NDArray[np.float64]
Curve = tuple[ArrayLike, ArrayLike]  # steps (m,), rising, and values (m,), of one seed


class Band(NamedTuple):
    """Steps (m,), and over the seeds the median, and the quartiles below and above, each (m,)."""

    steps: Array
    low: Array
    median: Array
    high: Array


def spread(curves: Sequence[Curve]) -> Band:
    """Median and quartiles of curves, at every step that one of them has and all of them cover.

    Between its own steps a curve is a straight line. Raises ValueError for no curve, one whose
    steps do not rise, and curves that share no step.
    """
    for one in curves:
        if not isinstance(one, list | tuple) or len(one) != 2:
            raise ValueError(f"curves must be pairs (steps, values), got {one!r}")
    pairs = [(real("curves", x), real("curves", y)) for x, y in curves]
    if not pairs:
        raise ValueError("curves must hold one curve at least, got none")
    for steps, values in pairs:
        if (
            steps.ndim != 1
            or not len(steps)
            or steps.shape != values.shape
            or not np.all(np.diff(steps) > 0)
        ):
            raise ValueError(
                "curves must be steps (m,), rising, and values (m,), got shapes "
                f"{steps.shape} and {values.shape}, steps {steps.tolist()}"
            )
    first, last = max(x[0] for x, _ in pairs), min(x[-1] for x, _ in pairs)
    steps = np.unique(np.concatenate([x for x, _ in pairs]))
    steps = steps[(steps >= first) & (steps <= last)]
    if not len(steps):
        raise ValueError("curves must have steps in common, got none from "
                         f"{[(x[0], x[-1]) for x, _ in pairs]}")  # fmt: skip
    values = np.array([np.interp(steps, x, y) for x, y in pairs])
    return Band(steps, *np.percentile(values, [25.0, 50.0, 75.0], axis=0))


@style.styled
def learning(
    curves: Mapping[str, Sequence[Curve]], quantity: str = "mean return", title: str = ""
) -> Figure:
    """Learning curves by name: the median over the seeds, with the band between the quartiles.

    curves: of each name one curve (environment steps, values) a seed, see `spread`. quantity: what
    the values are, with its unit if it has one. Raises ValueError for no name and bad curves.
    """
    style.named("curves", curves, list | tuple)
    figure = style.picture(6.4, 3.8, title)
    ax = figure.subplots()
    for k, (name, runs) in enumerate(curves.items()):
        band = spread(runs)
        seeds = f", {len(runs)} seeds" if len(runs) > 1 else ""
        ax.plot(band.steps, band.median, label=f"{name}{seeds}", **style.marked(k))
        if len(runs) > 1:
            style.band(ax, k, band.steps, band.low, band.high)
    many = any(len(runs) > 1 for runs in curves.values())
    ax.set_ylabel(f"{quantity}\n(median and quartiles)" if many else quantity)
    ax.set_xlabel("environment steps")
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.legend()
    return figure
