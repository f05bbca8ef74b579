"""Train the policies that the package ships, and compare them with the best law: docs/training.md.

python docs/studies/train_every_task.py [ID ...] [--condition behind] [--seeds 5]
python docs/studies/train_every_task.py --judge [ID ...]  # what is shipped, anew

Each task is trained with its recipe, `rbgym train ID`: with the true state, and for the conditions
of its card. Of several seeds the median is shipped, in the order of success, then return, on 1,000
fresh starts, which no training has seen. There the better of two laws flies too, and intervals say
how sure the differences are, but not what these choices add; a policy that succeeds less often than
the law, beyond its interval, is not shipped. In a condition for which none was trained, --judge
flies the policy of the true state, if it can read the observation.

The runs go to runs/pretrained; a run that was interrupted goes on, one that is finished is not
trained again. Writes agents/pretrained, docs/learning.json and docs/pictures/learning.svg, all of
it or the entries of some tasks. `make train-all` trains all of them.
"""

import argparse
import json
import shlex
import shutil
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces.utils import flatdim

from rbgym.agents import controllers, load
from rbgym.agents.cases import starts_of
from rbgym.agents.judge import plots
from rbgym.agents.judge.card import Condition, conditions_of
from rbgym.agents.judge.episodes import PlayedEpisodes, play_from, readable_in
from rbgym.agents.judge.evaluation import Evaluation, summary
from rbgym.agents.judge.statistics import differences
from rbgym.agents.policies import trained
from rbgym.agents.policies.memory import KINDS
from rbgym.agents.policies.trained import TrainedPolicy, write
from rbgym.agents.run_folder import RunFolder, write_json
from rbgym.agents.train import auto, load_policy, train
from rbgym.agents.train.run import Job
from rbgym.plot import style
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parents[1]
LEARNED, SHELF = DOCS / "learning.json", DOCS.parent / "agents" / "pretrained"
RUNS = Path("runs") / "pretrained"
TRUE = "true"  # the state is known
FRESH = 1000  # starts
_LOOK = 64  # starts on which laws are compared
_KEPT = ("success_rate", "success_interval", "mean_return", "settling_time", "effort")


def condition_of(env_id: str, name: str) -> Condition:
    """The condition of that name."""
    return Condition({}, {}) if name == TRUE else conditions_of(env_id, {})[name]


def flown(policy: Any, env_id: str, where: Condition, starts: Any = None) -> PlayedEpisodes:
    """Episodes of a policy or a law from starts of a condition, the fresh ones by default."""
    chosen = starts_of(env_id, FRESH, "fresh", seed=1) if starts is None else starts
    return play_from(chosen, policy, env_id, where.env_kwargs, where.estimating)


def best_law(env_id: str, where: Condition) -> tuple[str, PlayedEpisodes]:
    """The law that has the most success, then return: the better of two on the fresh starts."""
    with closing(gym.make(env_id, **where.trained_in)) as env:
        laws = [law for law in controllers.for_env(env) if law != "idle"]
    looks = starts_of(env_id, _LOOK, "validation")
    found = {law: rank(flown(law, env_id, where, looks)) for law in laws}
    first = sorted(found, key=lambda law: found[law])[-2:]
    played = {law: flown(law, env_id, where) for law in first}
    best = max(played, key=lambda law: rank(played[law]))
    return best, played[best]


def rank(played: PlayedEpisodes) -> tuple[float, float]:
    """Success, then return."""
    return float(played.success.mean()), float(played.returns.mean())


def learn(env_id: str, name: str, seeds: range) -> dict[int, dict[str, Any]]:
    """Train with each seed; results by seed. Runs of the true state have no condition's name."""
    found = {}
    for seed in seeds:
        kwargs = condition_of(env_id, name).trained_in
        run = RunFolder(run_of(env_id, name, seed))
        if not run.results.exists():
            train(env_id, out=run.path, seed=seed, env_kwargs=kwargs, report=print)
        found[seed] = run.read_results()
    return found


def run_of(env_id: str, name: str, seed: int) -> Path:
    """The folder of a run."""
    return RUNS / (f"{env_id}-{seed}" if name == TRUE else f"{env_id}-{name}-{seed}")


def entry(env_id: str, name: str, results: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """The results of the trainings of a task in a condition, whose median is published."""
    where = condition_of(env_id, name)
    policies = {seed: load_policy_of(env_id, name, seed) for seed in results}
    played = {seed: flown(policy, env_id, where) for seed, policy in policies.items()}
    ranked = sorted(played, key=lambda seed: rank(played[seed]))
    chosen = ranked[len(ranked) // 2]
    found, policy = results[chosen], policies[chosen]
    law, of_law = best_law(env_id, where)
    command = ["rbgym", "train", env_id, "--seed", str(chosen)]
    if policy.config["algo"] == auto.ALGORITHM:  # what is not as the recipe says
        recipe = auto.recipe(Job(env_id, "auto", "."))
        for key, value in policy.config["hyperparameters"].items():
            if value != recipe.get(key):
                command += ["--set", f"{key}={json.dumps(value)}"]
    else:  # presets change
        command += ["--timesteps", str(found["timesteps"])]
    if policy.config["init_from"]:
        command += ["--init-from", policy.config["init_from"]]
    for key, value in policy.config["env_kwargs"].items():
        command += ["--env-arg", f"{key}={json.dumps(value)}"]
    rates = {seed: rank(one)[0] for seed, one in played.items()}
    folder = SHELF / env_id if name == TRUE else SHELF / env_id / name
    loaded = f'"{env_id}"' if name == TRUE else f'"{env_id}", "{name}"'
    published = publish(policy, folder, (shlex.join(command), loaded), rates, where)
    along = found["judgements"]
    return {
        "curve": [[e["timesteps"], round(e["mean_return"], 3)] for e in along],
        "algo": policy.config["algo"],
        "steps": found["timesteps"],
        "seconds": round(float(found["wall_time"]), 1),
        "seconds_to_threshold": found["time_to_threshold"],
        "git": policy.config["git"],
        "idle_return": round(float(flown("idle", env_id, where).returns.mean()), 1),
        "seeds": {str(seed): list(rank(one)) for seed, one in played.items()},
        "success": published.success_rate,
        "return": round(published.mean_return, 1),
        **beside_law(played[chosen], [played[s] for s in ranked], law, of_law),
    }


def beside_law(
    chosen: PlayedEpisodes, every: list[PlayedEpisodes], law: str, of_law: PlayedEpisodes
) -> dict[str, Any]:
    """Figures of a policy and of the law; and how much more all seeds have than the law."""
    merits, others = summary(chosen).as_dict(), summary(of_law).as_dict()
    return {
        "policy": {key: merits[key] for key in _KEPT},
        "law": law,
        "of_law": {key: others[key] for key in _KEPT},
        "differences": {k: list(v) for k, v in differences(every, [of_law]).items()},
    }


def load_policy_of(env_id: str, name: str, seed: int) -> TrainedPolicy:
    """The policy of a run."""
    return load_policy(RunFolder(run_of(env_id, name, seed)))


def publish(
    policy: TrainedPolicy,
    folder: Path,
    calls: tuple[str, str],
    rates: Mapping[int, float],
    where: Condition,
) -> Evaluation:
    """Measure a policy on the test set, and write it without what training needs, as laid out on a
    model hub: weights, how to build the network, and a model card. calls: the command that trains
    it, and the arguments of `load`. rates: success by seed, of which this one is the median."""
    config = policy.config
    found = summary(flown(policy, config["env_id"], where, starts_of(config["env_id"])))
    folder.mkdir(parents=True, exist_ok=True)
    content = {**config, "command": calls[0], "results": found.as_dict()}
    content["training"] = {k: v for k, v in config["training"].items() if k != "judgements"}
    if len(rates) > 1:
        content["training"]["of_seeds"] = {str(seed): rate for seed, rate in rates.items()}
    (folder / "README.md").write_text(model_card(content, calls[1]), "utf-8")
    with closing(gym.make(config["env_id"], **config["env_kwargs"])) as env:
        spaces = env.observation_space, env.action_space
    write(folder, policy.network, spaces, content)
    return found


def model_card(config: Mapping[str, Any], loaded: str) -> str:
    """The README of a published policy. config: the content of its policy.json. loaded: the
    arguments of `load`."""
    results, training, versions = config["results"], config["training"], config["versions"]
    low, high = (100 * bound for bound in results["success_interval"])
    success = f"{100 * results['success_rate']:.1f} % (95 % interval {low:.1f} - {high:.1f} %)"
    by_category = ", ".join(f"{k} {100 * v:.1f} %" for k, v in results["by_category"].items())
    settling = results["settling_time"]
    settled = "-" if settling is None else f"{settling:.3g} s"
    error = results["final_error"]
    final = "" if error is None else f"| median attitude error at the end | {error:.3g}° |\n"
    threshold = training["time_to_threshold"]
    reached = "was not reached" if threshold is None else f"took {threshold:.1f} s"
    env_id, algo = config["env_id"], config["algo"].upper().replace("_", "-")
    rates = training.get("of_seeds", {})
    spread = ", ".join(f"{100 * rate:.1f} %" for rate in rates.values())
    seeds = f", the median of {len(rates)} whose success is {spread}" if rates else ""
    kwargs = f", **{config['env_kwargs']!r}" if config["env_kwargs"] else ""
    memory = ""
    if any(config["network"].get(name) for name in KINDS):
        memory = "It has a memory: pass `state`, and `episode_start`, to the next `predict`.\n\n"
    where = ", behind sensors, an estimator and a delay" if '"behind"' in loaded else ""
    return f"""---
library_name: rbgym
tags: [reinforcement-learning, attitude-control, {env_id}]
license: mit
---

# {algo} on {env_id}

```python
import gymnasium as gym
import rbgym.agents

policy = rbgym.agents.load({loaded})
env = gym.make("{env_id}"{kwargs})
observation, info = env.reset(seed=0)
action, state = policy.predict(observation)
```

{memory}On the {results["episodes"]} start states of the task's test set{where}:

| | |
| --- | --- |
| success | {success} |
| by category | {by_category} |
| return | {results["mean_return"]:.1f} ± {results["std_return"]:.1f} |
{final}| median settling time | {settled} |

Trained with `{config["command"]}`: {training["timesteps"]:,} environment steps in
{training["wall_time"]:.0f} s, seed {config["seed"]}{seeds}; a success rate of 95 % on the
validation set {reached}.
Made with {", ".join(f"{name} {number}" for name, number in versions.items())}.

`policy.safetensors` holds the weights, `policy.json` how to build the network and its
hyperparameters. Neither holds anything that is executed on loading.
"""


def judged_again(env_id: str, name: str, known: dict[str, Any]) -> dict[str, Any] | None:
    """The present entry of a shipped policy and the law on the fresh starts. None if the policy
    of this condition is not shipped, or no policy can fly in it."""
    where, own = condition_of(env_id, name), name == TRUE or name in trained.conditions(env_id)
    if known and not own and "trained_in" not in known:
        return None
    policy = load(env_id, *([name] if own and name != TRUE else []))
    widths = [flatdim(one) for one in readable_in(env_id, where.env_kwargs)]
    if flatdim(policy.observation_space) not in widths:
        return None
    played, (law, of_law) = flown(policy, env_id, where), best_law(env_id, where)
    entry = beside_law(played, [played], law, of_law)
    return known | entry if own else {"trained_in": TRUE, "algo": policy.config["algo"], **entry}


def loses(one: dict[str, Any]) -> bool:
    """Whether a policy succeeds less often than the law, beyond the law's interval."""
    return bool(one["policy"]["success_rate"] < one["of_law"]["success_interval"][0])


@style.context()
def draw(learned: dict[str, dict[str, object]]) -> None:
    """One panel for each task; the dashed line is doing nothing."""
    lines = -(-len(learned) // 5)
    figure = style.picture(12.0, 2.4 * lines)
    axes = figure.subplots(lines, 5)
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
    parser.add_argument("--condition", action="append", help="default: true and all of the task")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--judge", action="store_true", help="train nothing")
    asked = parser.parse_args()
    shelf = trained.names()
    for env_id in asked.ids or [*(shelf if asked.judge else ENVIRONMENTS)]:
        for name in asked.condition or [TRUE, *conditions_of(env_id, {})]:
            own = json.loads(LEARNED.read_text("utf-8")).get(env_id, {})
            known = own if name == TRUE else own.get("conditions", {}).get(name, {})
            if asked.judge:
                one = judged_again(env_id, name, known)
            else:
                one = entry(env_id, name, learn(env_id, name, range(asked.seeds)))
            if one is None:
                continue
            print(env_id, name, {k: v for k, v in one.items() if k != "curve"}, flush=True)
            learned = json.loads(LEARNED.read_text("utf-8"))  # others may write meanwhile
            place, one["shipped"] = learned.setdefault(env_id, {}), not loses(one)
            if not one["shipped"] and "trained_in" not in one:
                print(f"{env_id} {name} loses to a law, and is not shipped", flush=True)
                shutil.rmtree(SHELF / env_id / ("." if name == TRUE else name), ignore_errors=True)
            if name == TRUE:
                place |= one
            else:
                place.setdefault("conditions", {})[name] = one
            ordered = {one: learned[one] for one in ENVIRONMENTS if one in learned}
            write_json(LEARNED, ordered)
    draw({k: v for k, v in json.loads(LEARNED.read_text("utf-8")).items() if "curve" in v})


if __name__ == "__main__":
    main()
