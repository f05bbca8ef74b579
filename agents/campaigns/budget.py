"""What each source contributes to the figures: the campaign again without it, same numbers."""

from dataclasses import replace
from typing import NamedTuple

from rbgym.agents.campaigns.folder import Campaign


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
    largest of a figure first. Flies the campaign once for each, into its folder."""
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
