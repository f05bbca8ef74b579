"""Results of agents as plots, and figures as files; matplotlib is imported when one is drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rbgym.agents.judge.evaluation import Evaluation, settling
from rbgym.agents.run_folder import IDENTITY, RunFolder, read_json, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ALIKE = tuple(key for key in IDENTITY if key != "seed")


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


Folders = Sequence[str | Path]


def learning(
    folders: Folders | Mapping[str, Folders], quantity: str = "mean_return", title: str = ""
) -> "Figure":
    """Learning curves of finished runs, from what `train` found on the test set as it went on.

    folders: runs by a name, one for each seed; without names, runs that differ in nothing but the
    seed make one curve. quantity: "mean_return" or "success_rate". Raises ValueError for another,
    and for folders without evaluations.
    """
    from rbgym.plot import learning as draw

    if quantity not in ("mean_return", "success_rate"):
        raise ValueError(f"quantity must be 'mean_return' or 'success_rate', got {quantity!r}")
    named = folders if isinstance(folders, Mapping) else _by_training(folders)
    curves = {name: [_curve(one, quantity) for one in group] for name, group in named.items()}
    return draw(curves, f"{quantity.replace('_', ' ')} on the test set", title)


def _by_training(folders: Folders) -> dict[str, list[Path]]:
    """The folders of runs that differ in nothing but the seed, by a name for each kind."""
    groups: dict[str, list[Path]] = {}
    names: dict[str, str] = {}
    for folder in map(Path, folders):
        config = RunFolder(folder).read_config()
        kind = repr([config.get(key) for key in _ALIKE])
        if kind not in names:
            name = f"{config.get('env_id')}, {config.get('algo')}"
            names[kind] = f"{name}, {folder}" if name in groups else name
        groups.setdefault(names[kind], []).append(folder)
    return groups


def _curve(folder: str | Path, quantity: str) -> tuple[list[int], list[float]]:
    """Steps of a run, and the quantity at each."""
    results = RunFolder(Path(folder)).results
    if not results.is_file():
        raise ValueError(f"folders must hold finished runs, got {str(folder)!r}")
    judged = read_json(results).get("judgements")
    if not judged:
        raise ValueError(
            f"folders must hold runs that were evaluated while they went on, got {str(folder)!r}"
        )
    try:
        steps = [int(entry["timesteps"]) for entry in judged]
        values = [float(entry[quantity]) for entry in judged]
        if not np.isfinite(values).all():
            raise ValueError(f"{quantity} must be finite")
        return steps, values
    except (TypeError, LookupError, ValueError, OverflowError) as error:
        raise ValueError(f"{str(results)!r} holds evaluations of another kind: {error}") from None
