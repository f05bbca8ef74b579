"""A trained policy laid out as on a model hub: weights, how to build the network, a model card."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rbgym.agents.judge.evaluation import Evaluation, evaluate
from rbgym.agents.policies import trained
from rbgym.agents.run_folder import RunFolder, replacing, write_json
from rbgym.agents.train import load_policy

# Of policy.json, what the model card says.
_TOLD = ("env_id", "env_kwargs", "algo", "seed", "training", "versions")


def publish(run: Path, folder: Path, command: str) -> Evaluation:
    """Measure a finished run on the test set, and write its policy without what training needs.

    run: the run's folder. folder: policy.safetensors, policy.json and README.md go here.
    command: what trained it. Raises ValueError if the run is not finished.
    """
    policy = load_policy(RunFolder(run))
    config = policy.config
    if missing := [name for name in _TOLD if name not in config]:
        raise ValueError(f"{str(run / trained.CONFIG)!r} must tell {list(_TOLD)}, lacks {missing}")
    found = evaluate(policy, config["env_id"], **config["env_kwargs"])
    folder.mkdir(parents=True, exist_ok=True)
    content = {**config, "command": command, "results": found.as_dict()}
    content["training"] = {k: v for k, v in config["training"].items() if k != "judgements"}
    # All are written before the first takes its place: weights go with their own policy.json.
    with replacing(folder / trained.WEIGHTS) as weights:
        shutil.copyfile(run / trained.WEIGHTS, weights)
        with replacing(folder / "README.md") as card:
            card.write_text(model_card(content), "utf-8")
            write_json(folder / trained.CONFIG, content)
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
