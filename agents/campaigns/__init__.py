"""Monte Carlo campaigns: dispersed runs by the thousand, requirements, and what drives them.

`campaign` flies one, or goes on with it; `Campaign` is what it leaves in a folder, `Report` what
that says, `Replay` one of its runs again. See docs/campaign.md.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.campaigns.plan import FIGURES, Plan
from rbgym.agents.campaigns.replay import Replay
from rbgym.agents.campaigns.report import Report, Requirement, contributions

__all__ = [
    "FIGURES",
    "Campaign",
    "Plan",
    "Replay",
    "Report",
    "Requirement",
    "campaign",
    "contributions",
]


def campaign(
    env_id: str,
    policies: Any,
    runs: int,
    out: Path | str,
    *,
    spread: Mapping[str, Any] | None = None,
    require: Mapping[str, Any] | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    window: float | None = None,
    estimator: bool = False,
    impossible: str = "refuse",
    group: int | None = None,
    jobs: int | None = None,
    with_budget: bool = False,
    progress: bool = False,
) -> Report:
    """Fly a task `runs` times with every policy, all of them with the same draws, and report.

    policies: names of controllers, folders, "pretrained", or objects with `predict` by name.
    out: folder of the campaign; what is flown there is not flown again. spread: distributions by
    name, require: limits by figure, see docs/campaign.md. env_kwargs: of the nominal env, for all.
    seed: of all draws. window [s]: the last part of a run, of which errors are told; default that
    in which success is. estimator: behind `rbgym.agents.controllers.Estimating`. impossible:
    "redraw" to draw anew what cannot be. group: runs that are flown together, by default 512, or
    32 if they share draws or are long. jobs: processes, default as joblib is configured.
    with_budget: fly once more without each source. Raises ValueError for bad arguments.
    """
    plan = Plan.of(
        env_id, policies, spread=spread, env_kwargs=env_kwargs, seed=seed, window=window,
        estimator=estimator, impossible=impossible, group=group,
    )  # fmt: skip
    flown = Campaign(plan, Path(out), runs)
    for one in Requirement.read(require or {}, flown.figures):
        one.check(flown.runs)
    flown.fly(jobs, progress)
    budget = contributions(flown, jobs=jobs, progress=progress) if with_budget else []
    return Report.of(flown, require or {}, budget)
