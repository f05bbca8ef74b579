"""Train the policies that the package ships: agents/pretrained, and the curves in docs/tasks.md.

python docs/studies/train_every_task.py [ID ...]

The runs go to runs/pretrained; a run that was interrupted goes on, one that is finished is not
trained again. Writes docs/learning.json and docs/pictures/learning.svg, all of it or the entries of
some tasks. `make train-all` trains all of them.
"""

import argparse
import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.judge import plots
from rbgym.agents.judge.evaluation import Evaluation, evaluate
from rbgym.agents.policies.trained import CONFIG, WEIGHTS
from rbgym.agents.run_folder import RunFolder, write_json
from rbgym.agents.train import load_policy, train
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


def publish(run: Path, folder: Path, command: str) -> Evaluation:
    """Measure a finished run on the test set, and write its policy without what training needs, as
    laid out on a model hub: weights, how to build the network, and a model card."""
    policy = load_policy(RunFolder(run))
    config = policy.config
    found = evaluate(policy, config["env_id"], **config["env_kwargs"])
    folder.mkdir(parents=True, exist_ok=True)
    content = {**config, "command": command, "results": found.as_dict()}
    content["training"] = {k: v for k, v in config["training"].items() if k != "judgements"}
    shutil.copyfile(run / WEIGHTS, folder / WEIGHTS)
    (folder / "README.md").write_text(model_card(content), "utf-8")
    write_json(folder / CONFIG, content)
    return found


def model_card(config: Mapping[str, Any]) -> str:
    """The README of a published policy. config: the content of its policy.json."""
    results, training, versions = config["results"], config["training"], config["versions"]
    low, high = (100 * bound for bound in results["success_interval"])
    success = f"{100 * results['success_rate']:.1f} % (95 % interval {low:.1f} - {high:.1f} %)"
    by_category = ", ".join(f"{k} {100 * v:.1f} %" for k, v in results["by_category"].items())
    settling = results["settling_time"]
    settled = "-" if settling is None else f"{settling:.3g} s"
    threshold = training["time_to_threshold"]
    reached = "was not reached" if threshold is None else f"took {threshold:.1f} s"
    judged_on = "64 starts of the search" if config["algo"] == "cma_es" else "the test set"
    env_id, algo = config["env_id"], config["algo"].upper().replace("_", "-")
    return f"""---
library_name: rbgym
tags: [reinforcement-learning, attitude-control, {env_id}]
license: mit
---

# {algo} on {env_id}

```python
import gymnasium as gym
import rbgym.agents

policy = rbgym.agents.load("{env_id}")
env = gym.make("{env_id}")
observation, info = env.reset(seed=0)
action, state = policy.predict(observation)
```

On the {results["episodes"]} start states of the task's test set:

| | |
| --- | --- |
| success | {success} |
| by category | {by_category} |
| return | {results["mean_return"]:.1f} ± {results["std_return"]:.1f} |
| median attitude error at the end | {results["final_error"]:.3g}° |
| median settling time | {settled} |

Trained with `{config["command"]}`: {training["timesteps"]:,} environment steps in
{training["wall_time"]:.0f} s, seed {config["seed"]}; a success rate of 95 % on {judged_on}
{reached}. Arguments of the environment: {dict(config["env_kwargs"]) or "the defaults"}.
Made with {", ".join(f"{name} {number}" for name, number in versions.items())}.

`policy.safetensors` holds the weights, `policy.json` how to build the network and its
hyperparameters. Neither holds anything that is executed on loading.
"""


@style.context()
def draw(learned: dict[str, dict[str, object]]) -> None:
    """One panel for each task; the dashed line is doing nothing."""
    figure = style.picture(12.0, 9.5)
    axes = figure.subplots(4, 5)
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
