"""Train the policies that the package ships: agents/pretrained, and the curves in docs/tasks.md.

python docs/studies/train_every_task.py [ID ...]

The runs go to runs/pretrained; a run that was interrupted goes on, one that is finished is not
trained again. Writes docs/learning.json and docs/pictures/learning.svg, all of it or the entries of
some tasks. `make train-all` trains all of them.
"""

import argparse
import json
import shlex
from pathlib import Path

import numpy as np
from publishing import publish

from rbgym.agents.judge import plots
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.train import train
from rbgym.agents.train.evolution.evolving import evolve
from rbgym.plot import style
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parents[1]
LEARNED, SHELF = DOCS / "learning.json", DOCS.parent / "agents" / "pretrained"
RUNS = Path("runs") / "pretrained"
# PPO, but where something else was found to learn more.
ALGORITHM = {
    "TopSwingUp-v0": "cma_es",
    "MagneticDetumble-v0": "cma_es",
    "ScalableSpin-v0": "sac",
}


def learn(env_id: str) -> dict[str, object]:
    """Train, publish, and judge the policy and doing nothing on the test set."""
    algo = ALGORITHM.get(env_id, "ppo")
    if algo == "cma_es":
        done = evolve(env_id, out=RUNS / env_id, report=print)
    else:
        done = train(env_id, algo, out=RUNS / env_id, report=print)
    command = shlex.join(["rbgym", "train", env_id, "--algo", algo])
    found = publish(done.folder.path, SHELF / env_id, command)
    idle = evaluate("idle", env_id)
    judged = done.results["judgements"]
    return {
        "curve": [[e["timesteps"], round(e["mean_return"], 3)] for e in judged],
        "success_curve": [[e["timesteps"], e["success_rate"]] for e in judged],
        "algo": algo,
        "steps": done.results["timesteps"],
        "seconds": round(float(done.results["wall_time"]), 1),
        "seconds_to_threshold": done.results["time_to_threshold"],
        "replay_buffer_bytes": done.results["replay_buffer_bytes"],
        "success": found.success_rate,
        "return": round(found.mean_return, 1),
        "idle_return": round(idle.mean_return, 1),
    }


@style.styled
def draw(learned: dict[str, dict[str, object]]) -> None:
    """One panel for each task; the dashed line is doing nothing."""
    figure = style.picture(12.0, 7.5)
    axes = figure.subplots(3, 5)
    for ax in axes.flat:
        ax.set_visible(False)
    for ax, (env_id, one) in zip(axes.flat, learned.items(), strict=False):
        ax.set_visible(True)
        steps, returns = np.array(one["curve"]).T
        ax.plot(steps / 1000, returns, **style.line(0))
        ax.axhline(one["idle_return"], linewidth=1.0, **style.line(1))
        ax.set_title(f"{env_id}, {str(one['algo']).upper()}", fontsize="small")
    figure.supxlabel("environment steps [thousands]")
    figure.supylabel("mean return on the test set (CMA-ES: on its own 64 starts)")
    plots.save(figure, DOCS / "pictures" / "learning.svg")


def main() -> None:
    """Train on each task, and write the figures and the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ids", nargs="*", metavar="ID")
    wanted = parser.parse_args().ids or list(ENVIRONMENTS)
    kept = json.loads(LEARNED.read_text("utf-8"))
    learned = {env_id: kept[env_id] for env_id in ENVIRONMENTS if env_id in kept}
    for env_id in wanted:
        learned[env_id] = learn(env_id)
        shown = {k: v for k, v in learned[env_id].items() if "curve" not in k}
        print(env_id, shown, flush=True)
        ordered = {env_id: learned[env_id] for env_id in ENVIRONMENTS if env_id in learned}
        LEARNED.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    draw(learned)


if __name__ == "__main__":
    main()
