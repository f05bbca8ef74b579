"""Quantiles, shares and differences with intervals that hold for any distribution.

Where runs share draws of a group they are not independent. Then the number of runs is replaced by
the effective one, by the variance between groups (Korn & Graubard 1998, Confidence intervals for
proportions with small expected number of positive counts estimated from survey data), and
intervals of a quantile are those of the share below it (Woodruff 1952).
"""

import math
from typing import NamedTuple

import numpy as np

from rbgym.agents.judge.statistics import Interval
from rbgym.quaternion import Array


class Sample(NamedTuple):
    """values (n,) of runs. groups (n,): what they share draws with, None where runs are drawn
    independently of each other."""

    values: Array
    groups: Array | None = None

    def effective(self, hits: Array) -> float:
        """How many independent runs tell as much of the share of `hits`, (n,) of 0 and 1. At least
        the groups, which are as many where all runs are alike."""
        n = float(len(hits))
        if self.groups is None:
            return n
        _, of = np.unique(self.groups, return_inverse=True)
        size = np.bincount(of)
        share, count = float(hits.mean()), float(len(size))
        between = np.sum((np.bincount(of, hits) - share * size) ** 2) / n**2
        if share in (0.0, 1.0) or count < 2.0:
            return count
        variance = between * count / (count - 1.0)
        return min(max(share * (1.0 - share) / variance, count), n) if variance > 0.0 else n


def least_runs(share: float, confidence: float) -> int:
    """The fewest runs, none of which fails, that show a share at a one-sided confidence."""
    return math.ceil(math.log1p(-confidence) / math.log(share) - 1e-9)


def share_bounds(hits: float, n: float, confidence: float) -> tuple[float, float]:
    """One-sided bounds of a share, each at this confidence: Clopper & Pearson (1934). hits, n:
    perhaps effective numbers, not whole."""
    from scipy.stats import beta

    low = 0.0 if hits <= 0.0 else float(beta.ppf(1.0 - confidence, hits, n - hits + 1.0))
    high = 1.0 if hits >= n else float(beta.ppf(confidence, hits + 1.0, n - hits))
    return low, high


def quantile(sample: Sample, p: float, confidence: float = 0.95) -> Interval:
    """A quantile, the smallest value below or at which a share p of the runs lies, and the interval
    between two of the values that covers it with this confidence, whatever the distribution (David
    & Nagaraja 2003, Order statistics, 7.1). Infinite where there are too few runs for a side."""
    from scipy.stats import binom

    values = np.sort(sample.values)
    n, value = len(values), float(np.quantile(values, p, method="inverted_cdf"))
    effective = sample.effective((sample.values <= value).astype(float))
    m, tail = round(effective), 0.5 * (1.0 - confidence)
    # P(a value of rank k is above the quantile) = P(fewer than k are below) = binom.cdf(k - 1).
    first, last = float(binom.ppf(tail, m, p)), float(binom.ppf(1.0 - tail, m, p)) + 1.0
    first, last = math.floor(first * n / m), math.ceil(last * n / m)
    low = float(values[first - 1]) if first >= 1 else -math.inf
    return Interval(value, low, float(values[last - 1]) if last <= n else math.inf)


def mean_difference(ours: Sample, theirs: Sample, confidence: float = 0.95) -> Interval:
    """How much larger ours are in the mean, run by run: Student's paired interval, over the groups
    where runs share draws. Runs that are infinite in either are left out."""
    from scipy.stats import ttest_1samp

    both = np.isfinite(ours.values) & np.isfinite(theirs.values)
    change = ours.values[both].astype(float) - theirs.values[both]
    if ours.groups is not None:
        _, of = np.unique(ours.groups[both], return_inverse=True)
        change = np.bincount(of, change) / np.bincount(of)
    if len(change) < 2:
        return Interval(math.nan, math.nan, math.nan)
    if np.ptp(change) == 0.0:
        return Interval(*[float(change[0])] * 3)
    low, high = ttest_1samp(change, 0.0).confidence_interval(confidence)
    return Interval(float(change.mean()), float(low), float(high))
