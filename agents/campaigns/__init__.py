"""Monte Carlo campaigns: thousands of dispersed runs, requirements and sensitivities.

`campaign` flies a campaign or continues it; a `Campaign` is its folder, a `Report` its results, a
`Replay` one of its runs, flown again. See docs/campaign.md.
"""

from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from rbgym.agents.campaigns.folder import Campaign
from rbgym.agents.campaigns.plan import FIGURES, Plan
from rbgym.agents.campaigns.replay import Replay
from rbgym.agents.campaigns.report import Report, Requirement, contributions
from rbgym.arguments import flag

__all__ = [
    "FIGURES", "Campaign", "Plan", "Replay", "Report", "Requirement", "campaign", "contributions",
]  # fmt: skip


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
    out: folder of the campaign; runs in it are not flown again. spread: distributions by name,
    require: limits by figure, see docs/campaign.md. env_kwargs: arguments of the nominal env, for
    all policies. seed: of all draws. window [s]: the last part of a run, in which errors count; by
    default as long as success must last. estimator: put `rbgym.agents.controllers.Estimating` in
    front of every policy. impossible: "refuse" draws that are impossible, or "redraw" them. group:
    runs that are flown together, by default 512, or 32 if they share draws or are long. jobs:
    number of processes, by default as joblib is configured. with_budget: fly the campaign again
    without each source. Raises ValueError for bad arguments.
    """
    if not isinstance(out, str | Path) or Path(out).is_file():
        raise ValueError(f"out must be a folder, got {out!r}")
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, Integral) or jobs == 0):
        raise ValueError(f"jobs must be an integer other than 0, got {jobs!r}")
    flag("with_budget", with_budget)
    flag("progress", progress)
    plan = Plan.of(
        env_id, policies, spread=spread, env_kwargs=env_kwargs, seed=seed, window=window,
        estimator=estimator, impossible=impossible, group=group,
    )  # fmt: skip
    flown = Campaign(plan, Path(out), runs)
    Requirement.read(require or {}, flown.pilot.figures, flown.runs, flown.shared)  # raises early
    flown.fly(jobs, progress)
    budget = contributions(flown, jobs=jobs, progress=progress) if with_budget else []
    return Report.of(flown, require or {}, budget)
