"""The confidence in a difference: intervals over training seeds and start states.

Sources: Agarwal et al. (2021), Deep reinforcement learning at the edge of the statistical
precipice, Advances in Neural Information Processing Systems 34, for interquartile means and the
probability of improvement; Efron & Tibshirani (1993), An introduction to the bootstrap.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import trim_mean

from rbgym.agents.judge.episodes import PlayedEpisodes
from rbgym.agents.judge.evaluation import effort, settling
from rbgym.quaternion import Array

_DRAWS, _SHARE = 2000, 0.95
_interquartile_mean = partial(trim_mean, proportiontocut=0.25, axis=None)


class Interval(NamedTuple):
    """A figure, and its 95 % confidence interval."""

    value: float
    low: float
    high: float


def merits(runs: Sequence[PlayedEpisodes]) -> dict[str, Array]:
    """Figures of each run and start, (runs, starts); all runs share the starts. An episode that
    does not settle counts with the time limit [s]. "cost" exists only with constraints."""
    costs = np.stack([one.costs for one in runs])
    return {
        "success": np.stack([one.success.astype(float) for one in runs]),
        "return": np.stack([one.returns for one in runs]),
        "settling": np.stack([np.minimum(settling(one), one.limit) for one in runs]),
        "effort": np.stack([effort(one) for one in runs]),
        **({} if np.isnan(costs).any() else {"cost": costs}),
    }


def interval(values: Array, statistic: Callable[..., Any], *others: Array) -> Interval:
    """The interval of a statistic of values (runs, starts), and of `others` from the same starts,
    by a bootstrap over runs and over starts. All samples share the drawn starts."""
    rng, starts, samples = np.random.default_rng(0), values.shape[1], (values, *others)
    drawn = []
    for _ in range(_DRAWS):
        column = rng.integers(starts, size=starts)
        rows = [rng.integers(len(one), size=len(one)) for one in samples]
        drawn.append(statistic(*(x[row][:, column] for x, row in zip(samples, rows, strict=True))))
    low, high = np.quantile(drawn, [0.5 * (1.0 - _SHARE), 0.5 * (1.0 + _SHARE)])
    return Interval(float(statistic(*samples)), float(low), float(high))


def differences(
    runs: Sequence[PlayedEpisodes], others: Sequence[PlayedEpisodes]
) -> dict[str, Interval]:
    """The difference runs - others of each of `merits` that both have: of interquartile means for
    the return, of means for the rest; and "improvement", the probability of a larger one - 0.5."""
    ours, theirs = merits(runs), merits(others)
    found = {}
    for name, own in ((name, own) for name, own in ours.items() if name in theirs):
        middle: Callable[[Array], Any] = _interquartile_mean if name == "return" else np.mean
        found[name] = interval(own, lambda a, b, of=middle: float(of(a) - of(b)), theirs[name])
    value, low, high = found["success"]
    if low == high:  # no start differs from the others, and more might: Clopper & Pearson (1934)
        unseen = 1.0 - (0.5 * (1.0 - _SHARE)) ** (1.0 / ours["success"].shape[1])
        found["success"] = Interval(value, max(value - unseen, -1.0), min(value + unseen, 1.0))
    ahead: Callable[..., float] = lambda a, b: float(0.5 * np.sign(a[:, None] - b).mean())  # noqa: E731
    found["improvement"] = interval(ours["return"], ahead, theirs["return"])
    return found
