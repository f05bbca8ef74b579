"""Where feedback is frequent and torque strong, does the integrator change what is learned?

python docs/studies/integrators_and_learning.py [--print]

PPO learns each task on physics of one step a control period by Euler's forward scheme, by a
Runge-Kutta-Nystroem scheme of order 4, and by the conserving `quat_em`; three seeds of each. Every
policy is then judged on the physics that it learned on, and on what comes closest to the truth:
`exact`, 32 steps a control period. Prints the table that docs/records/learning_study.md tells of.
An interrupted study goes on; --print only prints.
"""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.run_folder import RunFolder, write_json
from rbgym.agents.train import load_policy, train

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS / "learning_study.json"
RUNS = Path("runs") / "integrators"
TASKS = ("RigidTop-v0", "IntermediateAxis-v0")
SCHEMES = ("forward_euler", "rkn4", "quat_em")
SEEDS = (0, 1, 2)
TRUTH = {"integrator": "exact", "substeps": 32}


def study(task: str, scheme: str, seed: int) -> dict[str, Any]:
    """Train one policy, and judge it on its own physics and on the truth."""
    own = {"integrator": scheme, "substeps": 1}
    out = RUNS / f"{task}-{scheme}-{seed}"
    train(task, "ppo", out=out, seed=seed, env_kwargs=own, evaluate_every=0, progress=False)
    policy = load_policy(RunFolder(out))
    judged = {"own": evaluate(policy, task, **own), "truth": evaluate(policy, task, **TRUTH)}
    return {
        where: {"success": e.success_rate, "return": e.mean_return, "settling": e.settling_time}
        for where, e in judged.items()
    }


def table(found: dict[str, Any]) -> str:
    """Mean and range of the measurements over the seeds."""
    lines = [
        "| task | trained on | success there | success, exact | return there | return, exact |",
        "|---|---|---|---|---|---|",
    ]
    for task, scheme in itertools.product(TASKS, SCHEMES):
        if all(f"{task} {scheme} {seed}" in found for seed in SEEDS):
            runs = [found[f"{task} {scheme} {seed}"] for seed in SEEDS]
            cells = [
                _range([run[where][what] for run in runs], 100 if what == "success" else 1)
                for what in ("success", "return")
                for where in ("own", "truth")
            ]
            lines.append(f"| {task} | `{scheme}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _range(values: list[float], factor: float) -> str:
    scaled = factor * np.array(values)
    unit = " %" if factor == 100 else ""
    return f"{scaled.mean():.1f}{unit} ({scaled.min():.1f} to {scaled.max():.1f})"


def main() -> None:
    """Run missing trainings, then print the table."""
    found = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    for run in itertools.product(TASKS, SCHEMES, SEEDS):
        name = " ".join(map(str, run))
        if name not in found and "--print" not in sys.argv:
            found[name] = study(*run)
            print(name, found[name], flush=True)
            write_json(RESULTS, found)
    print(table(found))


if __name__ == "__main__":
    main()
