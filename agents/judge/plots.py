"""Results of agents as plots, and figures as files; matplotlib is imported when one is drawn."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rbgym.agents.judge.evaluation import Evaluation, settling
from rbgym.agents.run_folder import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: "Figure", path: Path) -> None:
    """Write a figure, whole or not at all; the ending of the name says in which format.

    Raises ValueError for an ending that matplotlib does not know.
    """
    from rbgym.plot import style

    form = path.suffix.removeprefix(".") or "png"
    # Without the date, so that the same figure is the same file.
    metadata = {"Date": None} if form == "svg" else None
    with style.context(), replacing(path) as temporary:
        figure.savefig(temporary, format=form, metadata=metadata)


def comparison(evaluations: Mapping[str, Evaluation]) -> "Figure":
    """Errors over time of each evaluation, with its success rate."""
    from rbgym.plot import Errors, pointing

    runs = {
        f"{name}: {100 * one.success_rate:.1f} % success": Errors(
            one.time, one.attitude_error, one.rate_error
        )
        for name, one in evaluations.items()
    }
    return pointing(runs, next(iter(evaluations.values())).settled)


def card(title: str, evaluations: Mapping[str, Evaluation]) -> "Figure":
    """Median error over time, and the share of episodes that have settled, of each row."""
    from rbgym.plot import Errors, Settled
    from rbgym.plot import card as draw

    rows = {
        name: Settled(
            Errors(one.time, one.attitude_error, one.rate_error),
            np.where(one.played.success, settling(one.played), np.inf),
        )
        for name, one in evaluations.items()
    }
    return draw(rows, next(iter(evaluations.values())).settled, title)
