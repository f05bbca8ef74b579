"""What a campaign says, as data and as tables at a terminal."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rbgym.agents.campaigns.budget import Contribution
from rbgym.agents.campaigns.flight import SUCCESS
from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.campaigns.requirements import MET, Requirement, Verdict
from rbgym.agents.campaigns.sensitivity import Effect, effects
from rbgym.agents.campaigns.statistics import mean_difference, quantile, share_bounds
from rbgym.agents.judge.statistics import Interval
from rbgym.quaternion import Array

_QUANTILES = 0.5, 0.95, 0.9973
_MOST = 8  # draws that a table shows


@dataclass(frozen=True)
class Report:
    """figures: success and quantiles of each contender, by name and quantile. differences: of every
    other contender from the first, in the mean of the runs. verdicts: on requirements. effects: the
    sensitivity, strongest first. budget: contributions, if they were flown."""

    campaign: Campaign
    figures: Mapping[str, Mapping[str, Any]]
    differences: Mapping[str, Mapping[str, Interval]]
    verdicts: Mapping[str, Mapping[Requirement, Verdict]]
    effects: Mapping[str, list[Effect]]
    budget: list[Contribution]

    @classmethod
    def of(
        cls, campaign: Campaign, require: Mapping[str, Any], budget: Iterable[Contribution] = ()
    ) -> "Report":
        """Of a campaign that is flown."""
        own, wanted = campaign.columns, Requirement.read(require, campaign.figures)
        first, *others = own
        names = [SUCCESS, *campaign.figures]
        differences = {
            other: {
                name: mean_difference(campaign.sample(other, name), campaign.sample(first, name))
                for name in names
            }
            for other in others
        }
        return cls(
            campaign,
            {name: _figures(campaign, name) for name in own},
            differences,
            {n: {one: one.judge(campaign.sample(n, one.figure)) for one in wanted} for n in own},
            {n: effects(own[n], campaign.draws, _misses(own[n], wanted)) for n in own},
            [*budget],
        )

    @property
    def all_met(self) -> bool:
        """Whether every contender is shown to meet every requirement."""
        return all(v.verdict == MET for own in self.verdicts.values() for v in own.values())

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "env_id": self.campaign.plan.env_id,
            "runs": self.campaign.runs,
            "figures": self.figures,
            "differences": {n: {k: v._asdict() for k, v in own.items()}
                            for n, own in self.differences.items()},
            "requirements": {n: {str(k): v._asdict() for k, v in own.items()}
                             for n, own in self.verdicts.items()},
            "sensitivity": {n: [one._asdict() for one in own] for n, own in self.effects.items()},
            "budget": [one._asdict() | {"share": one.share._asdict()} for one in self.budget],
        }  # fmt: skip

    def print(self) -> None:
        """Tables, one after the other."""
        from rbgym.agents.terminal import print_table

        plan = self.campaign.plan
        title = f"{plan.env_id}, {self.campaign.runs} runs, the last {plan.window:g} s of each"
        columns = ("policy", "figure", *(f"{100 * p:g} %" for p in _QUANTILES))
        print_table(title, columns, self._figure_rows())
        if self.campaign.grouped:
            names = ", ".join(self.campaign.pilot.spread.grouped)
            print(f"drawn for {plan.group} runs at once: {names}")
        first = next(iter(self.campaign.columns))
        for other, found in self.differences.items():
            rows = [(name, _between(one)) for name, one in found.items()]
            heading = f"{other} more than {first}, mean and 95 % interval of the same runs"
            print_table(heading, ("figure", "difference"), rows)
        for name, own in self.effects.items():
            columns = ("draw", "tells misses of", "by", "drives", "correlation")
            print_table(f"what drives {name}", columns, _effect_rows(own))
        self._print_budget()
        said = [
            self._verdict_row(n, one, verdict)
            for n, own in self.verdicts.items()
            for one, verdict in own.items()
        ]
        if said:
            columns = ("policy", "requirement", "value", "interval", "margin", "shown at")
            print_table("requirements", (*columns, "verdict", "runs to decide"), said)

    def _figure_rows(self) -> Iterable[tuple[str, ...]]:
        for name, own in self.figures.items():
            low, high = own[SUCCESS]["interval"]
            told = f"{own[SUCCESS]['rate']:.4g} ({low:.4g} to {high:.4g})"
            yield name, SUCCESS, told, *[""] * (len(_QUANTILES) - 1)
            for figure in self.campaign.figures:
                yield name, figure, *(_between(Interval(*one)) for one in own[figure].values())

    @staticmethod
    def _verdict_row(name: str, one: Requirement, said: Verdict) -> tuple[str, ...]:
        return (
            name, str(one), f"{said.value:.4g}", f"{said.low:.4g} to {said.high:.4g}",
            f"{said.margin:+.3g}", f"{100 * said.shown:.4g} %", said.verdict,
            "-" if said.decides is None else f"{said.decides}",
        )  # fmt: skip

    def _print_budget(self) -> None:
        from rbgym.agents.terminal import print_table

        shown = ("ape_deg", "rpe_deg", "rate_error_deg_s")
        rows = [
            (one.contender, one.figure, one.source, f"{one.whole:.4g}", f"{one.without:.4g}",
             _between(one.share))
            for one in self.budget if one.figure in shown
        ]  # fmt: skip
        if rows:
            p = 100 * self.budget[0].quantile
            columns = ("policy", "figure", "source", "with all", "without it", "its share")
            print_table(f"budget, {p:g} % of the runs", columns, rows)


def _figures(campaign: Campaign, contender: str) -> dict[str, Any]:
    success = campaign.sample(contender, SUCCESS)
    n, rate = success.effective(success.values), float(success.values.mean())
    found: dict[str, Any] = {
        SUCCESS: {"rate": rate, "interval": share_bounds(rate * n, n, 0.975)},
    }
    for figure in campaign.figures:
        sample = campaign.sample(contender, figure)
        found[figure] = {f"{p:g}": tuple(quantile(sample, p)) for p in _QUANTILES}
    return found


def _misses(
    columns: Mapping[str, Array], wanted: Iterable[Requirement]
) -> dict[str, NDArray[np.bool_]]:
    """Runs that fail, and those that miss a requirement."""
    found = {"failures": ~columns[SUCCESS].astype(np.bool_)}
    of_figures = (one for one in wanted if one.figure != SUCCESS)
    return found | {str(one): one.missed(columns[one.figure]) for one in of_figures}


def strongest(found: list[Effect], most: int) -> list[tuple[Effect | None, Effect | None]]:
    """Of each draw the strongest effect on misses and on figures; the draws in their order."""
    draws = [*dict.fromkeys(one.draw for one in found)][:most]
    first = {(one.draw, one.misses): one for one in reversed(found)}
    return [(first.get((draw, True)), first.get((draw, False))) for draw in draws]


def _effect_rows(found: list[Effect]) -> Iterable[tuple[str, ...]]:
    for pair in strongest(found, _MOST):
        cells = [
            cell for one in pair
            for cell in (("-", "-") if one is None else (one.of, _between(Interval(*one[2:5]))))
        ]  # fmt: skip
        name = next(one.name for one in pair if one is not None)
        yield name, *cells


def _between(one: Interval) -> str:
    if math.isnan(one.value):
        return "-"
    return f"{one.value:.3g} ({one.low:.3g} to {one.high:.3g})"
