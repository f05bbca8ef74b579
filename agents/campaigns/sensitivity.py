"""Which draws drive the figures and the failures of a campaign."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rbgym.agents.campaigns.flight import FIGURES, SUCCESS
from rbgym.quaternion import Array

_FEWEST = 5  # runs on either side that are compared
_LEVEL = 1.959963984540054  # of a standard normal number, 95 %


class Effect(NamedTuple):
    """How a figure goes with a draw: the rank correlation, from -1 to 1, and its 95 % interval. Of
    success it tells failures from successes: 2 P(the draw of a failure is the larger) - 1. sized:
    whether it is with the distance of the draw from its median, whatever the sign."""

    draw: str
    figure: str
    value: float
    low: float
    high: float
    sized: bool

    @property
    def name(self) -> str:
        return f"|{self.draw}|" if self.sized else self.draw


def effects(columns: Mapping[str, Array], draws: list[str]) -> list[Effect]:
    """Those of every draw on every figure of a contender, the strongest first: on success where
    runs fail, by the largest on any figure elsewhere.

    Of a draw that differs and of its distance from the median, the one that tells more. Spearman's
    rank correlation, with the interval of Bonett & Wright (2000), Psychometrika 65(1); for failures
    the rank-biserial correlation of the Mann-Whitney test, with that of Newcombe (2006), Statistics
    in Medicine 25(4), method 5, in its simpler form by Hanley & McNeil (1982), Radiology 143(1).
    """
    failed = ~columns[SUCCESS].astype(bool)
    fails = min(failed.sum(), (~failed).sum()) >= _FEWEST
    figures = [name for name in FIGURES if name in columns and np.ptp(_ranks(columns[name])) > 0.0]
    found = []
    for draw in draws:
        values = columns[draw].astype(float)
        if len(values) < _FEWEST or np.ptp(values) == 0.0:
            continue
        distance = np.abs(values - np.median(values))
        sides = [(values, False), *([(distance, True)] if len(np.unique(values)) > 2 else [])]
        ranked = [(_ranks(side), sized) for side, sized in sides if np.ptp(side) > 0.0]
        for figure in figures:
            own = _ranks(columns[figure])
            r, sized = max(
                ((float(np.corrcoef(side, own)[0, 1]), sized) for side, sized in ranked),
                key=lambda one: abs(one[0]),
            )
            found.append(Effect(draw, figure, r, *_spearman(r, len(own)), sized))
        if fails:
            r, sized = max(
                ((_rank_biserial(side, failed), sized) for side, sized in ranked),
                key=lambda one: abs(one[0]),
            )
            ends = _biserial(r, int(failed.sum()), int((~failed).sum()))
            found.append(Effect(draw, SUCCESS, r, *ends, sized))
    return sorted(found, key=lambda one: (fails and one.figure != SUCCESS, -abs(one.value)))


def _ranks(values: Array) -> Array:
    """Mean ranks; what never happened, which is infinite, comes last."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values.astype(float)))


def _rank_biserial(ranks: Array, failed: Array) -> float:
    """2 U / (m n) - 1 of the Mann-Whitney statistic U."""
    m = int(failed.sum())
    above = float(ranks[failed].sum()) - m * (m + 1) / 2.0
    return 2.0 * above / (m * (len(ranks) - m)) - 1.0


def _spearman(r: float, n: int) -> tuple[float, float]:
    z = math.atanh(min(max(r, -1.0 + 1e-15), 1.0 - 1e-15))
    wide = _LEVEL * math.sqrt((1.0 + 0.5 * r * r) / max(n - 3, 1))
    return math.tanh(z - wide), math.tanh(z + wide)


def _biserial(r: float, m: int, n: int) -> tuple[float, float]:
    """Of the area a = (r + 1) / 2 under the curve of m failures and n successes."""
    a = 0.5 * (r + 1.0)
    q, s = a / (2.0 - a), 2.0 * a * a / (1.0 + a)
    variance = (a * (1.0 - a) + (m - 1) * (q - a * a) + (n - 1) * (s - a * a)) / (m * n)
    wide = 2.0 * _LEVEL * math.sqrt(max(variance, 0.0))
    return max(r - wide, -1.0), min(r + wide, 1.0)
