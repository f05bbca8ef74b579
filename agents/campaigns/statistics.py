"""Shares, quantiles and differences, with intervals that hold for any distribution.

Runs of a group that share draws are not independent. For them the number of runs is replaced by the
effective one, from the variance between groups (Korn & Graubard 1998, Survey Methodology 24(2)),
and the interval of a quantile is that of the share below it (Woodruff 1952, JASA 47).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import beta, binom, ttest_1samp

from rbgym.agents.judge.statistics import Interval
from rbgym.quaternion import Array


class Sample(NamedTuple):
    """values (n,) of runs. groups (n,): with which they share draws; None if with none."""

    values: Array
    groups: Array | None = None

    def effective(self, hits: Array) -> float:
        """How many independent runs tell as much of the share of `hits`, (n,) of 0 and 1: no fewer
        than there are groups, and just as many where all runs are alike."""
        n, share = float(len(hits)), float(hits.mean())
        if self.groups is None:
            return n
        size, hit = np.bincount(self.groups), np.bincount(self.groups, hits)
        count = float(len(size))
        variance = float(np.sum((hit - share * size) ** 2)) / n**2 * count / max(count - 1.0, 1.0)
        if share in (0.0, 1.0) or variance == 0.0:
            return count if share in (0.0, 1.0) else n
        return min(max(share * (1.0 - share) / variance, count), n)

    def quantile(self, p: float, confidence: float = 0.95) -> Interval:
        """The smallest value below or at which a share p of the runs lies, and the two values
        between which it is with this confidence: order statistics (David & Nagaraja 2003, 7.1),
        infinite where there are too few runs."""
        values, n, tail = np.sort(self.values), len(self.values), 0.5 * (1.0 - confidence)
        value = float(values[max(math.ceil(p * n - 1e-9), 1) - 1])
        m = round(self.effective((self.values <= value).astype(np.float64)))
        # P(value of rank k above the quantile) = P(fewer than k below it) = binom.cdf(k - 1).
        first = math.floor(binom.ppf(tail, m, p) * n / m)
        last = math.ceil((binom.ppf(1.0 - tail, m, p) + 1.0) * n / m)
        low = float(values[first - 1]) if first >= 1 else -math.inf
        return Interval(value, low, float(values[last - 1]) if last <= n else math.inf)

    def more_than(self, other: "Sample", confidence: float = 0.95) -> Interval:
        """How much larger the mean is than that of the same runs of another: Student's paired
        interval, over groups where runs share draws; runs infinite in either are left out."""
        both = np.isfinite(self.values) & np.isfinite(other.values)
        change = self.values[both] - other.values[both]
        if self.groups is not None:
            size = np.bincount(self.groups[both])
            change = np.bincount(self.groups[both], change)[size > 0] / size[size > 0]
        if len(change) < 2 or np.ptp(change) == 0.0:
            value = float(change.mean()) if len(change) else math.nan
            return Interval(value, value, value)
        low, high = ttest_1samp(change, 0.0).confidence_interval(confidence)
        return Interval(float(change.mean()), float(low), float(high))


def least_runs(share: float, confidence: float) -> int:
    """The fewest runs, none of which fails, that show a share at a one-sided confidence."""
    return math.ceil(math.log1p(-confidence) / math.log(share) - 1e-9)


def share_bounds(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """One-sided bounds of a share, each at this confidence: Clopper & Pearson (1934). hits, n:
    perhaps effective numbers, not whole."""
    low = 0.0 if hits <= 0.0 else float(beta.ppf(1.0 - confidence, hits, n - hits + 1.0))
    high = 1.0 if hits >= n else float(beta.ppf(confidence, hits + 1.0, n - hits))
    return low, high


def shown_at(share: float, hits: float, n: float) -> float:
    """The largest confidence at which the lower bound of a share is no less than this."""
    return 0.0 if hits <= 0.0 else float(beta.sf(share, hits, n - hits + 1.0))
