"""Monte Carlo campaigns: dispersed runs by the thousand, requirements, and what drives them.
`campaign` flies one, `Campaign` is its folder, `Report` what that says, `Replay` a run again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.campaigns.plan import FIGURES, Plan
from rbgym.agents.campaigns.replay import Replay
from rbgym.agents.campaigns.report import Report, Requirement

__all__ = ["FIGURES", "Campaign", "Plan", "Replay", "Report", "Requirement", "campaign"]


def campaign(
    env_id: str,
    policies: Any,
    runs: int,
    out: Path | str,
    *,
    require: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    progress: bool = False,
    **plan: Any,
) -> Report:
    """Fly a task `runs` times with every policy, all of them with the same draws, and report.

    policies: names of controllers, folders, "pretrained", or objects with `predict` by name. out:
    folder of the campaign; what is flown there is not flown again. spread: distributions by name,
    require: limits by figure, see docs/campaign.md. env_kwargs: of the nominal env. seed: of all
    draws. window [s]: the last part of a run, of which errors are told; default that in which
    success is. estimator: behind `rbgym.agents.controllers.Estimating`. impossible: "redraw" to
    draw anew what cannot be. group: runs that are flown together, default 512, or 32 if they share
    draws or are long. jobs: processes, default as joblib is configured. Raises ValueError for bad
    arguments.
    """
    flown = Campaign(Plan.of(env_id, policies, **plan), Path(out), runs)
    for one in Requirement.read(require or {}, flown.figures):
        one.check(flown.runs)
    flown.fly(jobs, progress)
    return Report.of(flown, require or {})
