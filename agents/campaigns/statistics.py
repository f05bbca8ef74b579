"""Shares, quantiles, differences and sensitivities, with intervals that hold for any distribution.
If runs share draws, an effective number of runs, from the variance between groups, replaces their
number (Korn & Graubard 1998, Survey Methodology 24(2)), and the interval of a quantile follows from
that of the share below it (Woodruff 1952, JASA 47). Rare misses alone do not reveal how alike the
runs of a group are, so the ranks of the figure decide too."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom, mode, norm, rankdata, t

from rbgym.agents.campaigns.plan import FIGURES
from rbgym.agents.judge.statistics import Interval
from rbgym.envs.actuators.faults import KINDS
from rbgym.quaternion import Array

_FEWEST = 5  # runs that either side of a comparison must have
_ROUNDING = 1e-12  # starts at rest differ by less, from rounding
_UNKNOWN = Interval(math.nan, math.nan, math.nan)
_SURE = 0.975  # least level at which the variance between groups is allowed for


class Sample(NamedTuple):
    """values: (n,), of runs. groups: (n,), group of each run; None if runs share no draws."""

    values: Array
    groups: NDArray[Any] | None = None

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
        statistics (David & Nagaraja 2003, 7.1), infinite if there are too few runs. nan is inf."""
        every = np.where(np.isnan(self.values), np.inf, self.values)
        values, n, tail = np.sort(every), len(every), 0.5 * (1.0 - confidence)
        value = float(values[max(math.ceil(p * n - 1e-9), 1) - 1])
        m = round(self.effective((every <= value).astype(np.float64), 1.0 - tail))
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
        if not len(change):
            return _UNKNOWN
        value = float(change.mean())
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


def can_show(share: float, confidence: float, n: int, size: int) -> bool:
    """Whether n runs, `size` of which share draws, can show a share of successes: if none fails, or
    if few do, each in a group of its own, which reveals that its runs are not alike."""
    for failures in range(int(n * (1.0 - share)) + 1):
        hits = np.ones(n)
        hits[: failures * size : size] = 0.0
        m = Sample(hits, np.arange(n) // size).effective(hits, confidence)
        if share_bounds(float(hits.mean()) * m, m, confidence)[0] >= share:
            return True
    return False


def share_bounds(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """One-sided bounds of a share, by Clopper & Pearson (1934). hits, n: may be fractional."""
    low = 0.0 if hits <= 0.0 else float(beta.ppf(1.0 - confidence, hits, n - hits + 1.0))
    high = 1.0 if hits >= n else float(beta.ppf(confidence, hits + 1.0, n - hits))
    return low, high


def shown_at(share: float, hits: float, n: float) -> float:
    """The largest confidence at which the lower bound of the runs' share is at least `share`."""
    return 0.0 if hits <= 0.0 else float(beta.sf(share, hits, n - hits + 1.0))


class Effect(NamedTuple):
    """The correlation of a figure, or of misses, with a draw, from -1 to 1, and its interval.
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
    draw or its distance from the median, whichever gives the larger value. All intervals hold
    together at 95 % (Bonferroni). Each kind of fault counts as a draw, if there are several; its
    channel and time correlate over the runs that have one.
    """
    figures = {n: np.nan_to_num(columns[n], nan=np.inf) for n in FIGURES if n in columns}
    quantities: dict[str, NDArray[Any]] = {**figures, **misses}
    drawn, found = {n: columns[n].astype(float) for n in draws}, list[Effect]()
    if "fault" in drawn:
        kinds, drawn["fault"] = drawn["fault"], (drawn["fault"] > 0.0).astype(float)
        if len(several := sorted({*kinds} - {0.0})) > 1:
            drawn |= {f"fault {KINDS[int(k) - 1]}": (kinds == k).astype(float) for k in several}
    level = float(norm.isf(0.025 / (2 * len(drawn) * len(quantities))))
    for draw, values in drawn.items():
        own = (values >= 0.0) | (not draw.startswith("fault_"))  # -1: none
        values, n = values[own], min(draws.get(draw, len(values)), int(own.sum()))
        if n < _FEWEST or np.ptp(values) < _ROUNDING:
            continue
        two = len(np.unique(values)) <= 2
        sides = [values] if two else [values, np.abs(values - np.median(values))]
        ranked = [*enumerate(map(rankdata, sides))]
        for of, every in quantities.items():
            other, ranks, tries = every[own], rankdata(every[own]), []
            for sized, side in ranked:
                if of in misses:
                    how = rank_biserial(side, other, n, level)
                elif two:
                    how = rank_biserial(ranks, side == side.max(), n, level)
                else:
                    how = rank_correlation(side, ranks, n, level)
                tries.append(Effect(draw, of, *how, bool(sized), of in misses))
            best = max(tries, key=lambda one: abs(one.value))
            found += [best] if math.isfinite(best.value) else []
    return sorted(found, key=lambda one: (one.misses, one.strength), reverse=True)


def strongest(found: list[Effect], most: int) -> list[tuple[Effect | None, Effect | None]]:
    """The strongest effect on misses and on figures, for each of the first `most` draws."""
    draws = [*dict.fromkeys(one.draw for one in found)][:most]
    first = {(one.draw, one.misses): one for one in reversed(found)}
    return [(first.get((draw, True)), first.get((draw, False))) for draw in draws]


def rank_correlation(ranks: Array, others: Array, n: int, level: float) -> Interval:
    """Spearman's correlation, +- level standard deviations; nan if a side is constant or n < 5."""
    if n < _FEWEST or np.ptp(ranks) == 0.0 or np.ptp(others) == 0.0:
        return _UNKNOWN
    r = float(np.corrcoef(ranks, others)[0, 1])
    z = math.atanh(min(max(r, -1.0 + 1e-15), 1.0 - 1e-15))
    wide = level * math.sqrt((1.0 + 0.5 * r * r) / max(n - 3, 1))
    return Interval(r, math.tanh(z - wide), math.tanh(z + wide))


def rank_biserial(ranks: Array, there: NDArray[np.bool_], n: int, level: float) -> Interval:
    """The rank-biserial correlation of ranks with a flag `there`, 2 a - 1 with a the area under the
    ROC curve, and its interval; nan if either value has fewer than five runs."""
    i, k = int(there.sum()), int((~there).sum())
    if min(i, k, n) < _FEWEST or np.ptp(ranks) == 0.0:
        return _UNKNOWN
    a = (float(ranks[there].sum()) - 0.5 * i * (i + 1)) / (i * k)
    r, half = 2.0 * a - 1.0, 0.5 / (i * k)
    a = min(max(a, half), 1.0 - half)  # perfect separation is not certain
    p, q = a / (2.0 - a), 2.0 * a * a / (1.0 + a)
    variance = (a * (1.0 - a) + (i - 1) * (p - a * a) + (k - 1) * (q - a * a)) / (i * k)
    wide = 2.0 * level * math.sqrt(max(variance, 0.0) * len(ranks) / n)
    return Interval(r, max(r - wide, -1.0), min(r + wide, 1.0))
