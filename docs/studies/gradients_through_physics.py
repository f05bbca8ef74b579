"""How soon gradients through the physics learn, compared with PPO: a table of docs/derivatives.md.

python docs/studies/gradients_through_physics.py [TASK ...]
python docs/studies/gradients_through_physics.py --write    # the table alone, from its figures

Each task is learned by both, with the presets and three seeds, one after the other on one thread;
what is compiled is compiled beforehand. Seconds are those of training, without evaluations.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from rbgym.agents.run_folder import write_json
from rbgym.agents.train import train

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE = DOCS / "analytic.json", DOCS / "derivatives.md"
BEGIN, END = "<!-- learned:begin -->", "<!-- learned:end -->"
TASKS = ("RigidTop-v0", "AttitudeSlew-v1", "Detumble-v1", "AttitudeTracking-v1")
ALGORITHMS, SEEDS = ("ppo", "apg"), (0, 1, 2)


def learned(task: str, algo: str, seed: int, **more: Any) -> dict[str, Any]:
    """The time of a training, and its result."""
    with tempfile.TemporaryDirectory() as folder:
        found = train(task, algo, out=folder, seed=seed, progress=False, **more).results
    keys = "timesteps", "wall_time", "time_to_threshold"
    return {key: found[key] for key in keys} | {"success": found["judgements"][-1]["success_rate"]}


def measure(task: str) -> dict[str, Any]:
    """Runs by algorithm, one for each seed."""
    learned(task, "ppo", 0, timesteps=1)
    learned(task, "apg", 0, changes={"iterations": 1})
    found: dict[str, Any] = {algo: [] for algo in ALGORITHMS}
    for seed in SEEDS:
        for algo in ALGORITHMS:
            found[algo].append(learned(task, algo, seed))
            print(task, algo, seed, found[algo][-1], flush=True)
    return found


def table(results: dict[str, Any]) -> str:
    """A line for each task: steps, seconds to 95 % success, those in all, success."""
    heads = ["task", *(f"{algo.upper()}: {what}" for algo in ALGORITHMS for what in
             ("steps", "to 95 % [s]", "in all [s]", "success"))]  # fmt: skip
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for task, found in results.items():
        cells = [task]
        for algo in ALGORITHMS:
            runs = found[algo]
            times = [run["time_to_threshold"] for run in runs]
            to = "-" if None in times else f"{statistics.median(times):.1f}"
            success = sorted(100 * run["success"] for run in runs)
            cells += [
                f"{runs[0]['timesteps']:,}",
                to,
                f"{statistics.median(run['wall_time'] for run in runs):.1f}",
                "100 %" if success[0] > 99.95 else f"{success[0]:.1f} to {success[-1]:.1f} %",
            ]
        lines.append(cells)
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def current(results: dict[str, Any]) -> str:
    """The page with its table replaced."""
    text = PAGE.read_text("utf-8")
    return f"{text.split(BEGIN)[0]}{BEGIN}\n{table(results)}\n{END}{text.split(END)[1]}"


def main(arguments: list[str]) -> None:
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if "--write" not in arguments:
        for task in arguments or TASKS:
            results[task] = measure(task)
            write_json(RESULTS, {task: results[task] for task in TASKS if task in results})
    PAGE.write_text(current(results), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
