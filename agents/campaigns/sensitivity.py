"""Which draws drive the figures and the failures of a campaign."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.campaigns.flight import FIGURES
from rbgym.quaternion import Array

_FEWEST = 5  # runs on either side that are compared
_LEVEL = 1.959963984540054  # of a standard normal number, 95 %


class Effect(NamedTuple):
    """How something goes with a draw, from -1 to 1, and its 95 % interval. of: a figure; success
    for the runs that fail, or a requirement for those that miss it. sized: whether it is with the
    distance of the draw from its median, whatever the sign."""

    draw: str
    of: str
    value: float
    low: float
    high: float
    sized: bool
    misses: bool

    @property
    def name(self) -> str:
        return f"|{self.draw}|" if self.sized else self.draw


def effects(
    columns: Mapping[str, Array], draws: list[str], misses: Mapping[str, NDArray[np.bool_]]
) -> list[Effect]:
    """Those of every draw on every figure of a contender, and on its misses: (n,) truth values by
    name. Misses come first, and of each the strongest.

    Of figures Spearman's rank correlation, with the interval of Bonett & Wright (2000),
    Psychometrika 65(1). What has two values, as a miss or a fault that is there or not, has the
    rank-biserial correlation 2 P(larger) - 1 of the Mann-Whitney test, which reaches 1 however rare
    the one value is; its interval is that of Hanley & McNeil (1982), Radiology 143(1). Each is
    taken of the draw or of its distance from the median, whichever tells more.
    """
    figures = {name: _ranks(columns[name]) for name in FIGURES if name in columns}
    figures = {name: ranks for name, ranks in figures.items() if np.ptp(ranks) > 0.0}
    few = {name: missed for name, missed in misses.items() if _can_be_compared(missed)}
    found = list[Effect]()
    for draw in draws:
        values = columns[draw].astype(float)
        if np.ptp(values) == 0.0:
            continue
        distance = np.abs(values - np.median(values))
        sides = [(False, values), *([(True, distance)] if len(np.unique(values)) > 2 else [])]
        ranked = [(sized, _ranks(side)) for sized, side in sides if np.ptp(side) > 0.0]
        found += [_strongest(draw, name, ranked, missed) for name, missed in few.items()]
        if len(sides) == 2:
            found += [_strongest(draw, name, ranked, own) for name, own in figures.items()]
        elif _can_be_compared(there := values == values.max()):
            whole = ((name, _biserial(ranks, there)) for name, ranks in figures.items())
            found += [Effect(draw, name, *how, False, False) for name, how in whole]
    return sorted(found, key=lambda one: (not one.misses, -abs(one.value)))


def _can_be_compared(there: NDArray[np.bool_]) -> bool:
    return min(int(there.sum()), int((~there).sum())) >= _FEWEST


def _strongest(draw: str, of: str, ranked: list[tuple[bool, Array]], other: NDArray[Any]) -> Effect:
    misses = other.dtype == np.bool_
    measure: Callable[..., tuple[float, float, float]] = _biserial if misses else _spearman
    found = [Effect(draw, of, *measure(ranks, other), sized, misses) for sized, ranks in ranked]
    return max(found, key=lambda one: abs(one.value))


def _ranks(values: Array) -> Array:
    """Mean ranks; what never happened, which is infinite, comes last."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values.astype(float)))


def _spearman(ranks: Array, others: Array) -> tuple[float, float, float]:
    r = float(np.corrcoef(ranks, others)[0, 1])
    z = math.atanh(min(max(r, -1.0 + 1e-15), 1.0 - 1e-15))
    wide = _LEVEL * math.sqrt((1.0 + 0.5 * r * r) / max(len(ranks) - 3, 1))
    return r, math.tanh(z - wide), math.tanh(z + wide)


def _biserial(ranks: Array, there: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Of the ranks where something is `there` against those where it is not: 2 a - 1, a = U / (m n)
    the area under the curve."""
    m, n = int(there.sum()), int((~there).sum())
    a = (float(ranks[there].sum()) - 0.5 * m * (m + 1)) / (m * n)
    q, s = a / (2.0 - a), 2.0 * a * a / (1.0 + a)
    variance = (a * (1.0 - a) + (m - 1) * (q - a * a) + (n - 1) * (s - a * a)) / (m * n)
    r, wide = 2.0 * a - 1.0, 2.0 * _LEVEL * math.sqrt(max(variance, 0.0))
    return r, max(r - wide, -1.0), min(r + wide, 1.0)
