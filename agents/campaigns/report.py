"""What a campaign says, as data and as tables at a terminal."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rbgym.agents.campaigns.flight import SUCCESS
from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.campaigns.requirements import MET, Requirement, Verdict
from rbgym.agents.campaigns.statistics import Effect, effects, share_bounds, strongest
from rbgym.agents.judge.statistics import Interval
from rbgym.envs.layers import plain

QUANTILES = 0.5, 0.95, 0.9973
_MOST = 8  # draws that a table shows
_OF_BUDGET = "ape_deg", "rpe_deg", "rate_error_deg_s"


class Contribution(NamedTuple):
    """The quantile of a figure with everything drawn, and with this source at its nominal value."""

    contender: str
    figure: str
    source: str
    quantile: float
    whole: float
    without: float


def contributions(
    campaign: Campaign, p: float = 0.95, jobs: int | None = None, progress: bool = False
) -> list[Contribution]:
    """Those of every source that has a nominal value, on every figure of every contender, the
    largest of a figure first: the campaign is flown again without each, into its folder."""
    found = list[Contribution]()
    for k, source in enumerate(campaign.pilot.spread.sources):
        if source.nominal is None:
            continue
        plan = replace(campaign.plan, without=source.name, impossible="redraw")
        less = Campaign(plan, campaign.folder / "budget" / f"{k:02d}", campaign.runs)
        less.fly(jobs, progress)
        for contender in campaign.columns:
            for figure in campaign.figures:
                both = (one.sample(contender, figure).quantile(p).value for one in (campaign, less))
                found.append(Contribution(contender, figure, source.name, p, *both))
    return sorted(found, key=lambda one: (*one[:2], one.without - one.whole))


@dataclass(frozen=True)
class Report:
    """By contender: figures, quantiles of each and the success rate; differences from the first
    contender in the means of the same runs; verdicts on requirements; effects, strongest first. And
    the budget, if it was flown."""

    campaign: Campaign
    figures: Mapping[str, Mapping[str, Mapping[float, Interval]]]
    differences: Mapping[str, Mapping[str, Interval]]
    verdicts: Mapping[str, Mapping[Requirement, Verdict]]
    effects: Mapping[str, list[Effect]]
    budget: list[Contribution]

    @classmethod
    def of(
        cls, campaign: Campaign, require: Mapping[str, Any], budget: Iterable[Contribution] = ()
    ) -> "Report":
        """Of a campaign that is flown. Raises ValueError for bad requirements."""
        own, figures = campaign.columns, campaign.figures
        wanted = Requirement.read(require, figures)
        for one in wanted:
            one.check(campaign.runs)
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
             | {SUCCESS: {1.0: _rate(campaign, n)}} for n in own},
            {n: {f: one.more_than(samples[first][f]) for f, one in samples[n].items()}
             for n in others},
            {n: {r: r.judge(samples[n][r.figure]) for r in wanted} for n in own},
            {n: effects(own[n], campaign.draws, misses[n]) for n in own},
            [*budget],
        )  # fmt: skip

    @property
    def all_met(self) -> bool:
        """Whether every contender is shown to meet every requirement."""
        return all(v.verdict == MET for own in self.verdicts.values() for v in own.values())

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; None for what is not finite."""
        found = {
            "env_id": self.campaign.plan.env_id, "runs": self.campaign.runs,
            "figures": self.figures, "differences": self.differences,
            "requirements": {n: {str(r): v._asdict() for r, v in own.items()}
                             for n, own in self.verdicts.items()},
            "sensitivity": {n: [one._asdict() for one in own] for n, own in self.effects.items()},
            "budget": [one._asdict() for one in self.budget],
        }  # fmt: skip
        return plain(found)

    def print(self) -> None:
        """Write the tables to the standard output."""
        from rbgym.agents.terminal import print_table

        plan, first = self.campaign.plan, next(iter(self.figures))
        title = f"{plan.env_id}, {self.campaign.runs} runs, errors of the last {plan.window:g} s"
        if shared := self.campaign.pilot.spread.grouped:
            title += f"; {plan.group} runs share {', '.join(shared)}"
        columns = ("policy", "figure", *(f"{100 * p:g} %" for p in QUANTILES))
        print_table(title, columns, [
            (n, f, *map(_cell, found.values()), *[""] * (len(QUANTILES) - len(found)))
            for n, own in self.figures.items() for f, found in own.items()
        ])  # fmt: skip
        for other, found in self.differences.items():
            heading = f"{other} more than {first}, means of the same runs"
            rows = [(figure, _cell(one)) for figure, one in found.items()]
            print_table(heading, ("figure", "difference"), rows)
        for name, of in self.effects.items():
            print_table(f"what drives {name}", ("draw", "tells apart", "by", "drives", "by"), [
                (next(filter(None, pair)).name, *(cell for one in pair for cell in _effect(one)))
                for pair in strongest(of, _MOST)
            ])  # fmt: skip
        if of_budget := [one for one in self.budget if one.figure in _OF_BUDGET]:
            heading = f"budget, {100 * of_budget[0].quantile:g} % of the runs"
            print_table(heading, ("policy", "figure", "source", "with all", "without it"), [
                (*one[:3], f"{one.whole:.4g}", f"{one.without:.4g}") for one in of_budget
            ])  # fmt: skip
        columns = ("policy", "requirement", "value", "interval", "margin", "shown at", "verdict",
                   "runs to decide")  # fmt: skip
        if said := [_row(n, *one) for n, own in self.verdicts.items() for one in own.items()]:
            print_table("requirements", columns, said)


def _rate(campaign: Campaign, contender: str) -> Interval:
    sample = campaign.sample(contender, SUCCESS)
    n, rate = sample.effective(sample.values), float(sample.values.mean())
    return Interval(rate, *share_bounds(rate * n, n, 0.975))


def _row(name: str, one: Requirement, said: Verdict) -> tuple[str, ...]:
    return (name, str(one), f"{said.value:.4g}", f"{said.low:.4g} to {said.high:.4g}",
            f"{said.margin:+.3g}", f"{100 * said.shown:.2f} %", said.verdict,
            "-" if said.decides is None else f"{said.decides}")  # fmt: skip


def _effect(one: Effect | None) -> tuple[str, str]:
    return ("-", "-") if one is None else (one.of, _cell(Interval(one.value, one.low, one.high)))


def _cell(one: Interval) -> str:
    told = f"{one.value:.3g} ({one.low:.3g} to {one.high:.3g})"
    return "-" if math.isnan(one.value) else told
