"""Shares, quantiles, differences and sensitivities, with intervals that hold for any distribution.
If runs share draws, an effective number of runs, from the variance between groups, replaces their
number (Korn & Graubard 1998, Survey Methodology 24(2)), and the interval of a quantile follows from
that of the share below it (Woodruff 1952, JASA 47). Rare misses alone do not reveal how alike the
runs of a group are, so the ranks of the figure decide too."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom, mode, rankdata, t

from rbgym.agents.campaigns.plan import FIGURES
from rbgym.agents.judge.statistics import Interval
from rbgym.quaternion import Array

_FEWEST = 5  # runs that either side of a comparison must have
_ROUNDING = 1e-12  # starts at rest differ by less, from rounding
_SURE = 0.975  # least level at which the variance between groups is allowed for
_LEVEL = 1.959963984540054  # standard normal quantile of 0.975


class Sample(NamedTuple):
    """values: (n,), of runs. groups: (n,), group of each run; None if runs share no draws."""

    values: Array
    groups: Array | None = None

    def effective(self, hits: Array, level: float) -> float:
        """The number of independent runs that tell as much of the share of `hits`, (n,) of 0 and 1,
        at this level of a bound: at least the number of groups, which it is if all runs are alike.

        The mean rank of the values, or the share of hits, varies more than that of independent
        runs; the larger ratio of the variances counts. The estimate is as sure as there are groups
        that count, by their runs with a value other than the commonest: all if the values differ,
        few if it is success and failures are rare. Without a miss it relies on the ranks: that
        those beyond the limit are no more alike within a group than all are."""
        if self.groups is None:
            return float(len(hits))
        ranks = rankdata(np.nan_to_num(self.values, nan=np.inf))
        different = np.bincount(self.groups, ranks != mode(ranks).mode)
        count = float(len(different))
        freedom = different.sum() ** 2 / max(float(np.sum(different**2)), 1.0) - 1.0
        if freedom <= 0.0:
            return count
        alike = min(independent(ranks, self.groups), independent(hits, self.groups))
        sure = t.ppf(max(level, _SURE), [len(hits) - 1.0, freedom])
        return max(alike * float(sure[0] / sure[1]) ** 2, count)

    def quantile(self, p: float, confidence: float = 0.95) -> Interval:
        """The least value that a share p of the runs does not exceed, and its interval by order
        statistics (David & Nagaraja 2003, 7.1), infinite if there are too few runs."""
        values, n, tail = np.sort(self.values), len(self.values), 0.5 * (1.0 - confidence)
        value = float(values[max(math.ceil(p * n - 1e-9), 1) - 1])
        m = round(self.effective((self.values <= value).astype(np.float64), 1.0 - tail))
        # P(value of rank k above the quantile) = P(fewer than k below it) = binom.cdf(k - 1).
        first = math.floor(binom.ppf(tail, m, p) * n / m)
        last = math.ceil((binom.ppf(1.0 - tail, m, p) + 1.0) * n / m)
        low = float(values[first - 1]) if first >= 1 else -math.inf
        return Interval(value, low, float(values[last - 1]) if last <= n else math.inf)

    def more_than(self, other: "Sample", confidence: float = 0.95) -> Interval:
        """The difference of the mean from another sample's of the same runs, with Student's paired
        interval; if runs share draws, that of a ratio of totals over groups (Cochran 1977, Sampling
        Techniques, 6.3). Leaves out runs that are infinite in either."""
        both = np.isfinite(self.values) & np.isfinite(other.values)
        change = self.values[both] - other.values[both]
        value = float(change.mean()) if len(change) else math.nan
        if not len(change):
            return Interval(value, value, value)
        groups = np.arange(len(both)) if self.groups is None else self.groups
        _, own = np.unique(groups[both], return_inverse=True)
        off, count = np.bincount(own, change - value), own.max() + 1
        if count < 2:
            return Interval(value, -math.inf, math.inf)
        error = math.sqrt(float(np.sum(off**2)) * count / (count - 1.0)) / len(change)
        wide = float(t.ppf(0.5 * (1.0 + confidence), count - 1.0)) * error
        return Interval(value, value - wide, value + wide)


def independent(values: Array, groups: Array) -> float:
    """The number of independent runs whose mean value varies as that of these runs, at most n."""
    n, off = float(len(values)), values - values.mean()
    between = np.bincount(groups, off)
    variance = float(np.sum(between**2)) * len(between) / (len(between) - 1.0)
    return min(float(np.sum(off**2)) / variance, 1.0) * n if variance else n


def least_runs(share: float, confidence: float) -> int:
    """The fewest runs that show a share at a one-sided confidence if none of them fails."""
    return math.ceil(math.log1p(-confidence) / math.log(share) - 1e-9)


def share_bounds(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """One-sided bounds of a share, by Clopper & Pearson (1934). hits, n: may be fractional."""
    low = 0.0 if hits <= 0.0 else float(beta.ppf(1.0 - confidence, hits, n - hits + 1.0))
    high = 1.0 if hits >= n else float(beta.ppf(confidence, hits + 1.0, n - hits))
    return low, high


def shown_at(share: float, hits: float, n: float) -> float:
    """The largest confidence at which the lower bound of the runs' share is at least `share`."""
    return 0.0 if hits <= 0.0 else float(beta.sf(share, hits, n - hits + 1.0))


class Effect(NamedTuple):
    """The correlation of a figure, or of misses, with a draw, from -1 to 1, and its 95 % interval.
    sized: whether it is with the distance of the draw from its median."""

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

    @property
    def strength(self) -> tuple[float, float]:
        """Sort key: the distance of the interval from 0, then the size of the value."""
        sure = min(abs(self.low), abs(self.high)) if self.low * self.high > 0.0 else 0.0
        return sure, abs(self.value)


def effects(
    columns: Mapping[str, Array], draws: Mapping[str, int], misses: Mapping[str, NDArray[np.bool_]]
) -> list[Effect]:
    """The effects of every draw on a contender's figures and misses, (n,) by name; those on misses
    first, then the strongest. draws: number of independent values of each.

    A figure has Spearman's rank correlation, with the interval of Bonett & Wright (2000),
    Psychometrika 65(1). A two-valued quantity, as a miss or a fault, has the rank-biserial
    correlation 2 P(larger) - 1 of the Mann-Whitney test, which does not depend on how rare one
    value is, with the interval of Hanley & McNeil (1982), Radiology 143(1). Each correlates the
    draw or its distance from the median, whichever gives the larger value.
    """
    figures = {n: rankdata(columns[n].astype(float)) for n in FIGURES if n in columns}
    found = list[Effect]()
    for draw, n in draws.items():
        values = columns[draw].astype(float)
        if draw == "fault":
            values = (values > 0.0).astype(float)  # of any kind
        if np.ptp(values) < _ROUNDING:
            continue
        two = len(np.unique(values)) <= 2
        sides = {False: values} | ({} if two else {True: np.abs(values - np.median(values))})
        for of, other in {**figures, **misses}.items():
            missed = of in misses
            tries = []
            for sized, side in sides.items():
                if missed:
                    how = rank_biserial(rankdata(side), other, n)
                elif two:
                    how = rank_biserial(other, side == side.max(), n)
                else:
                    how = rank_correlation(rankdata(side), other, n)
                tries.append(Effect(draw, of, *how, sized, missed))
            best = max(tries, key=lambda one: abs(one.value))
            found += [best] if math.isfinite(best.value) else []
    return sorted(found, key=lambda one: (one.misses, one.strength), reverse=True)


def strongest(found: list[Effect], most: int) -> list[tuple[Effect | None, Effect | None]]:
    """The strongest effect on misses and on figures, for each of the first `most` draws."""
    draws = [*dict.fromkeys(one.draw for one in found)][:most]
    first = {(one.draw, one.misses): one for one in reversed(found)}
    return [(first.get((draw, True)), first.get((draw, False))) for draw in draws]


def rank_correlation(ranks: Array, others: Array, n: int) -> tuple[float, float, float]:
    """Spearman's rank correlation, and its interval; nan if a side is constant, or n below five."""
    if n < _FEWEST or np.ptp(ranks) == 0.0 or np.ptp(others) == 0.0:
        return math.nan, math.nan, math.nan
    r = float(np.corrcoef(ranks, others)[0, 1])
    z = math.atanh(min(max(r, -1.0 + 1e-15), 1.0 - 1e-15))
    wide = _LEVEL * math.sqrt((1.0 + 0.5 * r * r) / max(n - 3, 1))
    return r, math.tanh(z - wide), math.tanh(z + wide)


def rank_biserial(ranks: Array, there: NDArray[np.bool_], n: int) -> tuple[float, float, float]:
    """The rank-biserial correlation of ranks with a flag `there`, 2 a - 1 with a the area under the
    ROC curve, and its interval; nan if either value has fewer than five runs."""
    i, k = int(there.sum()), int((~there).sum())
    if min(i, k, n) < _FEWEST or np.ptp(ranks) == 0.0:
        return math.nan, math.nan, math.nan
    a = (float(ranks[there].sum()) - 0.5 * i * (i + 1)) / (i * k)
    p, q = a / (2.0 - a), 2.0 * a * a / (1.0 + a)
    variance = (a * (1.0 - a) + (i - 1) * (p - a * a) + (k - 1) * (q - a * a)) / (i * k)
    r, wide = 2.0 * a - 1.0, 2.0 * _LEVEL * math.sqrt(max(variance, 0.0) * len(ranks) / n)
    return r, max(r - wide, -1.0), min(r + wide, 1.0)
