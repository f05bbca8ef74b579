"""Where laws fall short: laws and learned policies on harder variants of the tasks.

python docs/studies/challenges.py [NAME ...]   # measure these, or all, and write the page
python docs/studies/challenges.py draw         # write docs/challenges.md from docs/challenges.json

A challenge is a task with other arguments. On it every law that fits is judged, with its own
gains and with the best of those that are tried on other starts, and a learner with five seeds. All
play the test set of the task. The runs go to runs/challenges; what is finished is not trained
again.
"""

import itertools
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rbgym.agents import controllers
from rbgym.agents.cases import shared, starts_of
from rbgym.agents.judge.episodes import Episodes, play_from
from rbgym.agents.judge.evaluation import effort, settling
from rbgym.agents.run_folder import RunFolder, write_json
from rbgym.agents.train import load_policy, train
from rbgym.agents.train.evolution.evolving import evolve

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE, RUNS = DOCS / "challenges.json", DOCS / "challenges.md", Path("runs") / "challenges"
BEGIN, END = "<!-- challenges:begin -->", "<!-- challenges:end -->"
SEEDS = range(5)
RESAMPLES = 2000
TUNED_ON = range(3_000_000, 3_000_128)  # seeds that no training and no test set has
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Challenge:
    """A task with arguments; what learns there, with changes of its hyperparameters; gains of laws
    that are tried."""

    env_id: str
    kwargs: Mapping[str, Any]
    why: str
    algo: str = "cma_es"
    changes: Mapping[str, Any] = field(default_factory=dict)
    gains: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)


SEARCH = {"net_arch": [16], "generations": 800, "population": 32, "episodes": 32}
WALL = {"pd": {"frequency": (3.0, 5.0, 7.0, 10.0, 14.0), "damping": (0.7, 1.0, 1.4)}}
CHALLENGES = {
    "a goal that is held with little to spare": Challenge(
        "SoftWall-v0",
        {"torque_limit": 1.15},
        "At the goal above the soft wall the body is drawn down with 1.12 N m, and with 1.45 N m "
        "on the way there: it needs what it brings from its bounces.",
        changes=SEARCH | {"generations": 250},
        gains=WALL,
    ),
    "a goal that is barely held": Challenge(
        "SoftWall-v0",
        {"torque_limit": 1.12},
        "The same with no torque to spare at the goal.",
        changes=SEARCH | {"generations": 250},
        gains=WALL,
    ),
}


def measured(played: Episodes) -> dict[str, list[float | None]]:
    """Of each episode: success, time to settle [s] if it succeeds, effort [N m s]."""
    times = np.where(played.success, settling(played), np.nan)
    rows = {"success": played.success.astype(float), "time": times, "effort": effort(played)}
    return {
        name: [None if np.isnan(x) else float(f"{x:.4g}") for x in row]
        for name, row in rows.items()
    }


def policies(name: str) -> dict[str, list[Callable[[], Any]]]:
    """What is judged: laws, and the learned of each seed."""
    one = CHALLENGES[name]
    env = gym.make(one.env_id, **one.kwargs)
    rows: dict[str, list[Callable[[], Any]]] = {
        law: [partial(controllers.make, law, env)] for law in controllers.for_env(env)
    }
    for law in one.gains:
        rows[f"{law}, tuned"] = [partial(tuned, name, law)]
    rows[one.algo] = [partial(learned, name, seed) for seed in SEEDS]
    return rows


def tuned(name: str, law: str) -> Any:
    """The law with those of the gains that succeed most often on TUNED_ON, then settle first."""
    one = CHALLENGES[name]
    env, starts = gym.make(one.env_id, **one.kwargs), shared(one.env_id, TUNED_ON)
    tried = [
        controllers.make(law, env, **dict(zip(one.gains[law], values, strict=True)))
        for values in itertools.product(*one.gains[law].values())
    ]

    def worth(policy: Any) -> tuple[float, float]:
        played = play_from(starts, policy, one.env_id, one.kwargs)
        times = settling(played)[played.success]
        return -played.success.mean(), np.median(times) if len(times) else np.inf

    return min(tried, key=worth)


def learned(name: str, seed: int) -> Any:
    """The policy of a seed, trained if it is not there."""
    one, out = CHALLENGES[name], RUNS / f"{name.replace(' ', '_')}-{seed}"
    arguments: dict[str, Any] = {"out": out, "seed": seed, "changes": dict(one.changes)}
    arguments |= {"env_kwargs": dict(one.kwargs), "progress": False}
    if one.algo == "cma_es":
        evolve(one.env_id, **arguments)
    else:
        train(one.env_id, one.algo, evaluate_every=0, **arguments)
    return load_policy(RunFolder(out))


def measure(name: str) -> None:
    """Judge what is missing of a challenge."""
    one = CHALLENGES[name]
    starts, rows = starts_of(one.env_id), {}
    for row, makers in policies(name).items():
        runs = [measured(play_from(starts, make(), one.env_id, one.kwargs)) for make in makers]
        rows[row] = runs
        print(name, row, [f"{np.mean(run['success']):.3f}" for run in runs], flush=True)  # type: ignore[arg-type]
    every = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    every[name] = rows
    write_json(RESULTS, {name: every[name] for name in CHALLENGES if name in every})


# --- the page ---


def middle(values: Values) -> float:
    """Interquartile mean of what is not nan; nan if nothing is."""
    left = np.sort(values[~np.isnan(values)])
    cut = len(left) // 4
    return float(left[cut : len(left) - cut].mean()) if len(left) else float("nan")


def interval(runs: list[dict[str, Any]], figure: str) -> tuple[float, float, float]:
    """A figure of all runs with its 95 % interval, by a bootstrap over runs and starts."""
    table = np.array([run[figure] for run in runs], dtype=np.float64)
    of = np.mean if figure == "success" else middle
    rng = np.random.default_rng(0)
    found = []
    for _ in range(RESAMPLES):
        runs_drawn = rng.integers(len(table), size=(len(table), 1))
        found.append(of(table[runs_drawn, rng.integers(table.shape[1], size=table.shape[1])]))
    with np.errstate(all="ignore"):
        low, high = np.nanpercentile(found, (2.5, 97.5)) if not np.isnan(found).all() else (0, 0)
    return float(of(table)), float(low), float(high)


FIGURES = {
    "success": ("success [%]", 100.0),
    "time": ("settling [s]", 1.0),
    "effort": ("effort [N m s]", 1.0),
}
Found = dict[str, dict[str, tuple[float, float, float]]]


def figures(rows: Mapping[str, Any]) -> Found:
    """Each figure of each row, with its interval."""
    return {row: {name: interval(runs, name) for name in FIGURES} for row, runs in rows.items()}


def wins(found: Found, learner: str) -> list[str]:
    """In what the learner is better than every law, by intervals that do not overlap.

    In time and effort against the laws that succeed as often: their interval is not below the
    learner's; and only if no law succeeds more often.
    """
    own = found[learner]
    laws = {name: one for name, one in found.items() if name not in (learner, "idle")}
    won = []
    if all(one["success"][2] < own["success"][1] for one in laws.values()):
        won.append("success")
    rivals = [one for one in laws.values() if one["success"][2] >= own["success"][1]]
    if rivals and all(one["success"][1] <= own["success"][2] for one in laws.values()):
        won += [
            name
            for name in ("time", "effort")
            if all(own[name][2] < one[name][1] for one in rivals)
        ]
    return won


def cell(figure: tuple[float, float, float], factor: float) -> str:
    """A figure and its interval."""
    if np.isnan(figure[0]):
        return "-"
    value, low, high = (f"{factor * x:.3g}" for x in figure)
    return f"{value} ({low} to {high})"


def section(name: str, rows: Mapping[str, Any]) -> str:
    """One challenge: its arguments, who wins in what, the table."""
    one, found = CHALLENGES[name], figures(rows)
    won, label = wins(found, one.algo), one.algo.upper().replace("_", "-")
    figure = {"success": "success", "time": "settling time", "effort": "effort"}
    said = (
        f"**{label} beats every law in {' and in '.join(figure[w] for w in won)}.**"
        if won
        else f"{label} does not beat every law here."
    )
    order = sorted(found, key=lambda row: (-found[row]["success"][0], found[row]["time"][0]))
    lines = [["", *(head for head, _ in FIGURES.values())], ["---"] * 4]
    for row in order:
        cells = [cell(found[row][name], factor) for name, (_, factor) in FIGURES.items()]
        lines.append(
            [f"{label}, {len(rows[row])} seeds" if row == one.algo else f"`{row}`", *cells]
        )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    arguments = ", ".join(f"{key}={value!r}" for key, value in one.kwargs.items())
    made = f'`gym.make("{one.env_id}"{", " + arguments if arguments else ""})`'
    return f"## {name.capitalize()}\n\n{one.why}\n\n{made}\n\n{said}\n\n{table}\n"


def page(every: Mapping[str, Any]) -> str:
    """docs/challenges.md with its sections made anew."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    sections = [section(name, every[name]) for name in CHALLENGES if name in every]
    return "\n".join([f"{before}{BEGIN}", *sections, f"{END}{rest.split(END)[1]}"])


def main() -> None:
    """Measure what is asked for, and write the page."""
    for name in sys.argv[1:] or CHALLENGES:
        if name != "draw":
            measure(name)
    PAGE.write_text(page(json.loads(RESULTS.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
