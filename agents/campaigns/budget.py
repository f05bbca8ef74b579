"""What each source contributes to the figures: the campaign again without it, same numbers."""

import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.judge.statistics import Interval


class Contribution(NamedTuple):
    """A source, the quantile of a figure with everything, and without this source; and how much of
    it is the source's, with a 95 % interval."""

    contender: str
    source: str
    figure: str
    quantile: float
    whole: float
    without: float
    share: Interval


def contributions(
    campaign: Campaign, p: float = 0.95, jobs: int | None = None, progress: bool = True
) -> list[Contribution]:
    """Contributions of every source that has a nominal value to every figure of every contender,
    the largest of a figure first. p: of the quantile. Flies the campaign once for each source, into
    its folder."""
    found = list[Contribution]()
    for source in campaign.pilot.spread.of_budget:
        folder = campaign.folder / "budget" / f"{zlib.crc32(source.name.encode()):08x}"
        plan = replace(campaign.plan, without=source.name, impossible="redraw")
        without = Campaign(plan, folder, campaign.runs).fly(jobs, progress)
        found += _contributions(campaign, without, source.name, p)
    return sorted(found, key=lambda one: (one.contender, one.figure, -one.share.value))


def _contributions(
    campaign: Campaign, without: Campaign, source: str, p: float
) -> Iterator[Contribution]:
    for contender in campaign.columns:
        for figure in campaign.figures:
            ours, theirs = (c.columns[contender][figure] for c in (campaign, without))
            with_all, left = (_quantile(values, p) for values in (ours, theirs))
            share = _paired(ours, theirs, p, campaign.plan.seed)
            yield Contribution(contender, source, figure, p, with_all, left, share)


def _quantile(values: np.ndarray, p: float) -> float:
    return float(np.quantile(values, p, method="inverted_cdf"))


def _paired(ours: np.ndarray, theirs: np.ndarray, p: float, seed: int) -> Interval:
    """The difference of two quantiles over the same runs, by the paired bootstrap."""
    rng, n = np.random.default_rng(seed), len(ours)
    drawn = [
        _quantile(ours[k], p) - _quantile(theirs[k], p)
        for k in (rng.integers(n, size=n) for _ in range(400))
    ]
    value = _quantile(ours, p) - _quantile(theirs, p)
    low, high = np.quantile(drawn, (0.025, 0.975), method="inverted_cdf")
    return Interval(value, float(low), float(high))
