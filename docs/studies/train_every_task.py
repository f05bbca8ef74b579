"""Train the policies that the package ships: agents/pretrained, and the curves in docs/tasks.md.

python docs/studies/train_every_task.py [ID ...]
python docs/studies/train_every_task.py --judge [ID ...]  # train nothing

Tasks of SEEDS are trained with several seeds, and the median is shipped: of the policies in the
order of their success on the test set and on fresh starts together, then of their return. All are
judged on the fresh starts too, as is the law that is the best on the task's card; a policy that
succeeds less often than the law on either is not shipped.

The runs go to runs/pretrained; a run that was interrupted goes on, one that is finished is not
trained again. Writes docs/learning.json and docs/pictures/learning.svg, all of it or the entries of
some tasks. `make train-all` trains all of them.
"""

import argparse
import json
import shlex
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import gymnasium as gym
import numpy as np

from rbgym.agents import load
from rbgym.agents.cases import shared
from rbgym.agents.judge import plots
from rbgym.agents.judge.contenders import own_kwargs
from rbgym.agents.judge.episodes import play_from
from rbgym.agents.judge.evaluation import Evaluation, evaluate
from rbgym.agents.policies.trained import TrainedPolicy, write
from rbgym.agents.train import load_policy, train
from rbgym.plot import style
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parents[1]
LEARNED, SHELF = DOCS / "learning.json", DOCS.parent / "agents" / "pretrained"
RUNS = Path("runs") / "pretrained"
NONE: Mapping[int, float] = MappingProxyType({})
FRESH = range(3_000_000, 3_000_256)  # seeds that no training and no other set has
# PPO, but where something else was found to learn more.
ALGORITHM = {
    "ScalableSpin-v0": "sac",
    "AttitudeSlew-v1": "apg",
    "ReactionWheelSlew-v1": "apg",
    "Detumble-v1": "apg",
}
# Trained with so many seeds, where it takes under a minute; the others with one.
SEEDS = dict.fromkeys(
    ("RigidTop-v0", "IntermediateAxis-v0", "AttitudeReach-v0", "FreeFlyer-v0", "SoftWall-v0",
     "AttitudeSlew-v1", "ReactionWheelSlew-v1", "Detumble-v1"), 5,
)  # fmt: skip


# What is trained for other than the task's reward.
REWARDS = {"SteadyPrecession-v0": {"closeness": 1.0, "success": 1.0}}


def learn(env_id: str) -> dict[str, Any]:
    """Train with each seed, publish the median, and judge it and doing nothing."""
    algo, policies, results = ALGORITHM.get(env_id, "ppo"), {}, {}
    for seed in range(SEEDS.get(env_id, 1)):
        out = RUNS / f"{env_id}-{seed}"
        more = {"reward": REWARDS[env_id]} if env_id in REWARDS else {}
        done = train(env_id, algo, out=out, seed=seed, env_kwargs=more, report=print)
        policy = load_policy(done.folder)
        policies[seed] = replace(policy, config={**policy.config, "env_kwargs": {}})
        results[seed] = done.results
    worth = {seed: judged(policy, env_id) for seed, policy in policies.items()}
    ranked = sorted(worth, key=lambda seed: (sum(worth[seed][:2]), worth[seed][2]))
    chosen = ranked[len(ranked) // 2]
    found = results[chosen]
    command = shlex.join(["rbgym", "train", env_id, "--algo", algo, "--seed", str(chosen)])
    if env_id in REWARDS:
        command += f" --env-arg reward='{json.dumps(REWARDS[env_id])}'"
    rates = {seed: one[0] for seed, one in worth.items()} if len(worth) > 1 else {}
    told, along = publish(policies[chosen], SHELF / env_id, command, rates), found["judgements"]
    return {
        "curve": [[e["timesteps"], round(e["mean_return"], 3)] for e in along],
        "success_curve": [[e["timesteps"], e["success_rate"]] for e in along],
        "algo": algo,
        "steps": found["timesteps"],
        "seconds": round(float(found["wall_time"]), 1),
        "seconds_to_threshold": found["time_to_threshold"],
        "replay_buffer_bytes": found["replay_buffer_bytes"],
        "idle_return": round(evaluate("idle", env_id).mean_return, 1),
        "seeds": {str(seed): list(one[:2]) for seed, one in worth.items()},
        "success": told.success_rate,
        "return": round(told.mean_return, 1),
    }


def judged(policy: Any, env_id: str) -> tuple[float, float, float]:
    """Success on the test set and on fresh starts, and the return on the first."""
    kwargs = own_kwargs(policy, env_id, {}) if isinstance(policy, TrainedPolicy) else {}
    told = evaluate(policy, env_id, **kwargs)
    return told.success_rate, fresh_success(policy, env_id, kwargs), told.mean_return


def fresh_success(policy: Any, env_id: str, kwargs: Mapping[str, Any]) -> float:
    """Success on as many starts as the test set has, of its categories, with other seeds."""
    return float(play_from(shared(env_id, FRESH), policy, env_id, kwargs).success.mean())


def against_the_law(env_id: str) -> dict[str, Any]:
    """What is shipped, and the best law of the task's card, on the test set and on fresh starts."""
    card = json.loads((DOCS / "cards.json").read_text("utf-8"))[env_id]["rows"]
    law = next(name for name, row in card.items() if not row["origin"])
    (own, fresh, _), (of_law, law_fresh, _) = (
        judged(policy, env_id) for policy in (load(env_id), law)
    )
    return {"policy": [own, fresh], "law": law, "law_success": [of_law, law_fresh]}


def publish(
    policy: TrainedPolicy, folder: Path, command: str, rates: Mapping[int, float] = NONE
) -> Evaluation:
    """Measure a policy on the test set, and write it without what training needs, as laid out on a
    model hub: weights, how to build the network, and a model card. rates: success by seed, of
    several of which this one is the median."""
    config = policy.config
    found = evaluate(policy, config["env_id"], **config["env_kwargs"])
    folder.mkdir(parents=True, exist_ok=True)
    content = {**config, "command": command, "results": found.as_dict()}
    content["training"] = {k: v for k, v in config["training"].items() if k != "judgements"}
    if rates:
        content["training"]["of_seeds"] = {str(seed): rate for seed, rate in rates.items()}
    (folder / "README.md").write_text(model_card(content), "utf-8")
    with closing(gym.make(config["env_id"], **config["env_kwargs"])) as env:
        spaces = env.observation_space, env.action_space
    write(folder, policy.network, spaces, content)
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
    env_id, algo = config["env_id"], config["algo"].upper().replace("_", "-")
    rates = training.get("of_seeds", {})
    spread = ", ".join(f"{100 * rate:.1f} %" for rate in rates.values())
    seeds = f", the median of {len(rates)} whose success is {spread}" if rates else ""
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
{training["wall_time"]:.0f} s, seed {config["seed"]}{seeds}; a success rate of 95 % on the
validation set {reached}.
Arguments of the environment: {dict(config["env_kwargs"]) or "the defaults"}.
Made with {", ".join(f"{name} {number}" for name, number in versions.items())}.

`policy.safetensors` holds the weights, `policy.json` how to build the network and its
hyperparameters. Neither holds anything that is executed on loading.
"""


@style.context()
def draw(learned: dict[str, dict[str, object]]) -> None:
    """One panel for each task; the dashed line is doing nothing."""
    figure = style.picture(12.0, 4.8)
    axes = figure.subplots(2, 5)
    for ax in axes.flat:
        ax.set_visible(False)
    for ax, (env_id, one) in zip(axes.flat, learned.items(), strict=False):
        ax.set_visible(True)
        steps, returns = np.array(one["curve"]).reshape(-1, 2).T
        ax.plot(steps / 1000, returns, **style.line(0))
        ax.axhline(one["idle_return"], linewidth=1.0, **style.line(1))
        ax.set_title(f"{env_id}, {str(one['algo']).upper()}", fontsize="small")
    figure.supxlabel("environment steps [thousands]")
    figure.supylabel("mean return at each look")
    plots.save(figure, DOCS / "pictures" / "learning.svg")


def main() -> None:
    """Train on each task, and write the figures and the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--judge", action="store_true", help="train nothing")
    asked = parser.parse_args()
    known = json.loads(LEARNED.read_text("utf-8"))
    for env_id in asked.ids or [*(known if asked.judge else ENVIRONMENTS)]:
        one = known.get(env_id, {})
        if not asked.judge:
            one = learn(env_id)
        one["compared"] = against_the_law(env_id)
        print(env_id, {k: v for k, v in one.items() if "curve" not in k}, flush=True)
        learned = {**json.loads(LEARNED.read_text("utf-8")), env_id: one}  # others may write too
        (own, fresh), (law, law_fresh) = (one["compared"][k] for k in ("policy", "law_success"))
        if own < law or fresh < law_fresh:
            print(f"{env_id} loses to a law, and is taken from the shelf", flush=True)
            shutil.rmtree(SHELF / env_id)
            del learned[env_id]
        ordered = {env_id: learned[env_id] for env_id in ENVIRONMENTS if env_id in learned}
        LEARNED.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    draw(json.loads(LEARNED.read_text("utf-8")))


if __name__ == "__main__":
    main()
