"""The results of a campaign, as data and tables, and the verdicts on requirements."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.campaigns import statistics
from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.campaigns.plan import SUCCESS
from rbgym.agents.campaigns.statistics import Effect, Sample
from rbgym.agents.judge.statistics import Interval
from rbgym.agents.judge.tables import part
from rbgym.agents.terminal import print_table
from rbgym.arguments import number
from rbgym.envs.arguments import keys
from rbgym.envs.layers import plain
from rbgym.quaternion import Array

QUANTILES = 0.5, 0.95, 0.9973
_MOST = 8  # rows of a table of draws
MET, NOT_MET, UNDECIDED = "met", "not met", "undecided"
_DECIDING = 1e9  # the search for a deciding number of runs stops here
_OF_BUDGET = "ape_deg", "rpe_deg", "rate_error_deg_s"


class Finding(NamedTuple):
    """A verdict on a requirement. value, low, high: the runs' figure and its interval. margin: to
    the limit, negative beyond it. shown: confidence at which the runs show that it is met. decides:
    about how many runs would decide an undecided one; None for others, and beyond a billion."""

    value: float
    low: float
    high: float
    limit: float
    margin: float
    shown: float
    verdict: str
    decides: int | None


@dataclass(frozen=True)
class Requirement:
    """Requires that a share of all runs keeps a figure at or below (or above) a limit, or, for
    "success", that the share succeeds. confidence: one-sided, at which the runs must show it."""

    figure: str
    share: float
    confidence: float
    limit: float
    at_most: bool

    @classmethod
    def read(cls, require: Any, figures: Iterable[str], runs: int, shared: int = 1) -> list[Self]:
        """Read {figure: {"quantile": p, "confidence": c, "at_most": limit}}, where a list may give
        several for a figure. ValueError for bad ones, for figures that the task lacks, and if this
        number of runs, so many of which share draws, cannot show one."""
        given = keys("require", require, [SUCCESS, *figures])
        found = [
            cls._read(f"require[{figure!r}]", figure, one)
            for figure, value in given.items()
            for one in (value if isinstance(value, list | tuple) and value else [value])
        ]
        for one in found:
            sure = one.share, one.confidence
            least = statistics.least_runs(*sure)
            if one.figure == SUCCESS and not statistics.can_show(*sure, runs, shared):
                least = (least - 1) * shared + 1  # if none fails
            if runs < least:
                raise ValueError(
                    f"runs must be at least {least} for a requirement on {100 * one.share:g} % of "
                    f"all at a confidence of {one.confidence:g} ({one}), got {runs}"
                )
        return found

    @classmethod
    def _read(cls, argument: str, figure: str, value: Any) -> Self:
        of_success = figure == SUCCESS
        sides = ("at_least",) if of_success else ("at_most", "at_least")
        share = "at_least" if of_success else "quantile"
        given = keys(argument, value, {share: 0, "confidence": 0, **dict.fromkeys(sides)})
        shares = {"confidence": 0.95} | {n: given[n] for n in (share, "confidence") if n in given}
        side = [name for name in sides if name in given]
        limit = 1.0 if of_success else number(given.get(side[0] if side else ""))
        if len(side) != 1 or not math.isfinite(limit):
            raise ValueError(f"{argument} must have one number {' or '.join(sides)}, got {value!r}")
        for name, low in ((share, 0.0), ("confidence", 0.5)):
            if not low < number(shares.get(name)) < 1.0:
                raise ValueError(f"{argument}: {name} must be between {low:g} and 1, got {value!r}")
        return cls(figure, float(shares[share]), float(shares["confidence"]), limit,
                   side[0] == "at_most")  # fmt: skip

    def __str__(self) -> str:
        said = f"{self.figure} of {100 * self.share:.15g} %"  # all digits, as results are by it
        if self.figure != SUCCESS:
            said += f" {'at most' if self.at_most else 'at least'} {self.limit:.15g}"
        sure = "" if self.confidence == 0.95 else f" at {100 * self.confidence:.15g} % confidence"
        return said + sure

    def missed(self, values: Array) -> NDArray[np.bool_]:
        """Whether each value is beyond the limit, or unknown (nan)."""
        return np.asarray(~(values <= self.limit if self.at_most else values >= self.limit))

    def judge(self, sample: Sample) -> Finding:
        """Judge it by the share of runs within the limit: it is met if the lower bound of that
        share is at least the required one, and not met if the upper bound is below."""
        hits = (~self.missed(sample.values)).astype(np.float64)
        n, within = sample.effective(hits, self.confidence), float(hits.mean())
        low, high = statistics.share_bounds(within * n, n, self.confidence)
        verdict = MET if low >= self.share else NOT_MET if high < self.share else UNDECIDED
        least = self._decides(within) if verdict == UNDECIDED else None
        decides = math.ceil(least * len(hits) / n) if least else None
        sign = 1.0 if self.at_most else -1.0
        if self.figure == SUCCESS:
            limit, value = self.share, within
            ends = [*statistics.share_bounds(within * n, n, 0.5 * (1.0 + self.confidence))]
        else:
            limit, signed = self.limit, sample._replace(values=sign * sample.values)
            value, *ends = (sign * one for one in signed.quantile(self.share, self.confidence))
        shown = statistics.shown_at(self.share, within * n, n)
        margin = sign * (limit - value)
        return Finding(value, min(ends), max(ends), limit, margin, shown, verdict, decides)

    def _decides(self, within: float) -> int | None:
        """The fewest independent runs, to 1 %, that decide if this share of them is within."""
        n = float(statistics.least_runs(self.share, self.confidence))
        while n < _DECIDING:
            low, high = statistics.share_bounds(within * n, n, self.confidence)
            if low >= self.share or high < self.share:
                return math.ceil(n)
            n *= 1.01
        return None


class Contribution(NamedTuple):
    """The quantile of a figure with all sources drawn, and with this one at its nominal value."""

    contender: str
    figure: str
    source: str
    quantile: float
    whole: float
    without: float


def contributions(
    campaign: Campaign, p: float = 0.95, jobs: int | None = None, progress: bool = False
) -> list[Contribution]:
    """Fly the campaign again without each source that has a nominal value, into a folder below its
    own. Returns the contribution of each to every figure of every contender, the largest first."""
    if not 0.0 < number(p) < 1.0:
        raise ValueError(f"p must be between 0 and 1, got {p!r}")
    found = list[Contribution]()
    for k, source in enumerate(campaign.spread.sources):
        if source.nominal is None:
            continue
        plan = replace(campaign.plan, without=source.name, impossible="redraw")
        less = Campaign(plan, campaign.folder / "budget" / f"{k:02d}", campaign.runs)
        less.fly(jobs, progress)
        for contender in campaign.columns:
            for figure in campaign.figures:
                both = (one.sample(contender, figure).quantile(p).value for one in (campaign, less))
                found.append(Contribution(contender, figure, source.name, p, *both))
    # Both may be infinite.
    return sorted(found, key=lambda x: (*x[:2], x.without != x.whole and x.without - x.whole))


@dataclass(frozen=True)
class Report:
    """The results of a campaign. By contender: quantiles of figures and the success rate;
    differences of means from the first contender on the same runs; verdicts; effects of draws,
    strongest first. budget: the contributions, if they were flown."""

    campaign: Campaign
    figures: Mapping[str, Mapping[str, Mapping[float, Interval]]]
    differences: Mapping[str, Mapping[str, Interval]]
    verdicts: Mapping[str, Mapping[Requirement, Finding]]
    effects: Mapping[str, list[Effect]]
    budget: list[Contribution]

    @classmethod
    def of(
        cls, campaign: Campaign, require: Mapping[str, Any], budget: Iterable[Contribution] = ()
    ) -> "Report":
        """Evaluate a campaign that is flown. Raises ValueError for bad requirements."""
        own, figures = campaign.columns, campaign.figures
        wanted = Requirement.read(require, figures, campaign.runs, campaign.shared)
        samples = {n: {f: campaign.sample(n, f) for f in (SUCCESS, *figures)} for n in own}
        first, *others = own
        misses = {
            n: {"failures": ~own[n][SUCCESS].astype(bool)}
            | {str(r): r.missed(own[n][r.figure]) for r in wanted if r.figure != SUCCESS}
            for n in own
        }
        return cls(
            campaign,
            {n: {f: {p: samples[n][f].quantile(p) for p in QUANTILES} for f in figures}
             | {SUCCESS: {1.0: _rate(samples[n][SUCCESS])}} for n in own},
            {n: {f: one.more_than(samples[first][f]) for f, one in samples[n].items()}
             for n in others},
            {n: {r: r.judge(samples[n][r.figure]) for r in wanted} for n in own},
            {n: statistics.effects(own[n], campaign.draws, misses[n]) for n in own},
            [*budget],
        )  # fmt: skip

    @property
    def all_met(self) -> bool:
        """Whether the runs show that every contender meets every requirement."""
        return all(v.verdict == MET for own in self.verdicts.values() for v in own.values())

    def as_dict(self) -> dict[str, Any]:
        """Convert to data for JSON; numbers that are not finite become None."""
        return plain({
            "env_id": self.campaign.plan.env_id, "runs": self.campaign.runs,
            "figures": self.figures, "differences": self.differences,
            "requirements": {n: {str(r): v._asdict() for r, v in own.items()}
                             for n, own in self.verdicts.items()},
            "sensitivity": {n: [one._asdict() for one in own] for n, own in self.effects.items()},
            "budget": [one._asdict() for one in self.budget],
        })  # fmt: skip

    def print(self) -> None:
        plan, first = self.campaign.plan, next(iter(self.figures))
        title = f"{plan.env_id}, {self.campaign.runs} runs, errors of the last {plan.window:g} s"
        if shared := self.campaign.spread.grouped:
            title += f"; {plan.group} runs share {', '.join(shared)}"
        columns = ("policy", "figure", *(f"{100 * p:g} %" for p in QUANTILES))
        print_table(title, columns, [
            (n, f, *map(_cell, found.values()), *[""] * (len(QUANTILES) - len(found)))
            for n, own in self.figures.items() for f, found in own.items()
        ])  # fmt: skip
        for other, found in self.differences.items():
            heading = f"{other} more than {first}, means of the same runs, where both are finite"
            rows = [(figure, _cell(one)) for figure, one in found.items()]
            print_table(heading, ("figure", "difference"), rows)
        for name, of in self.effects.items():
            heading = f"what drives {name}, joint 95 % intervals"
            print_table(heading, ("draw", "tells apart", "by", "drives", "by"), [
                (" / ".join(dict.fromkeys(one.name for one in pair if one)),
                 *(cell for one in pair for cell in _effect(one)))
                for pair in statistics.strongest(of, _MOST)
            ])  # fmt: skip
        if of_budget := [one for one in self.budget if one.figure in _OF_BUDGET]:
            heading = f"budget, {100 * of_budget[0].quantile:g} % of the runs"
            print_table(heading, ("policy", "figure", "source", "with all", "without it"), [
                (*one[:3], f"{one.whole:.4g}", f"{one.without:.4g}") for one in of_budget
            ])  # fmt: skip
        columns = ("policy", "requirement", "value", "interval", "margin", "shown at", "verdict",
                   "runs to decide")  # fmt: skip
        if judged := [_row(n, *one) for n, own in self.verdicts.items() for one in own.items()]:
            print_table("requirements", columns, judged)


def _rate(sample: Sample) -> Interval:
    n, rate = sample.effective(sample.values, 0.975), float(sample.values.mean())
    return Interval(rate, *statistics.share_bounds(rate * n, n, 0.975))


def _row(name: str, one: Requirement, of: Finding) -> tuple[str, ...]:
    value, low, high = (part(x, 4) for x in of[:3])
    shown = min(math.floor(1e4 * of.shown), 9999) / 100.0  # no more than is reached, which is < 1
    return (name, str(one), value, f"{low} to {high}", f"{of.margin:+.3g}", f"{shown:.2f} %",
            of.verdict, "-" if of.decides is None else f"{of.decides}")  # fmt: skip


def _effect(one: Effect | None) -> tuple[str, str]:
    return ("-", "-") if one is None else (one.of, _cell(Interval(one.value, one.low, one.high)))


def _cell(one: Interval) -> str:
    return "-" if math.isnan(one.value) else "{} ({} to {})".format(*map(part, one))
