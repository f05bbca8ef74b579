"""What `rbgym train ID` learns on every task, beside the law it begins with: docs/training.md.

python docs/studies/recipes.py [ID ...]
python docs/studies/recipes.py --write    # the table alone, from the figures

One seed, into runs/recipes/ID; a training that was interrupted goes on, one that is finished is not
trained again. Success and return of policy and law are those on 1,000 fresh starts, which neither
the training nor the choice of its policy has seen.
"""

import json
import sys
from pathlib import Path
from typing import Any

from rbgym.agents import load
from rbgym.agents.judge import evaluate
from rbgym.agents.run_folder import write_json
from rbgym.agents.train import train

DOCS = Path(__file__).resolve().parents[1]
RESULTS, PAGE, RUNS = DOCS / "recipes.json", DOCS / "training.md", Path("runs") / "recipes"
BEGIN, END = "<!-- recipes:begin -->", "<!-- recipes:end -->"
FRESH = {"episodes": 1000, "split": "fresh", "seed": 1}
_KEPT = ("success_rate", "mean_return", "settling_time", "effort")


def judged(policy: Any, env_id: str) -> dict[str, Any]:
    """What a policy or a law is worth on the fresh starts."""
    found = evaluate(policy, env_id, **FRESH).as_dict()
    return {key: found[key] for key in (*_KEPT, "success_interval")}


def measure(env_id: str) -> dict[str, Any]:
    """Train with the defaults, and judge the policy and its teacher."""
    done = train(env_id, out=RUNS / env_id, report=print)
    found, law = done.results, done.results["teacher"]["law"]
    policy = load(done.folder.path)
    return {
        "law": law,
        "seconds": round(found["wall_time"]),
        "steps": found["timesteps"],
        "git": policy.config["git"],
        "imitated": found["judgements"][0]["success_rate"],
        "policy": judged(policy, env_id),
        "of_law": judged(law, env_id),
    }


def table(results: dict[str, Any]) -> str:
    """A line for each task."""
    lines = [
        "| task | law | its success | imitated | then | return: law | policy | settled [s]: law |"
        " policy | trained [s] |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for env_id, one in results.items():
        law, policy = one["of_law"], one["policy"]
        settled = [
            "-" if x["settling_time"] is None else f"{x['settling_time']:.3g}"
            for x in (law, policy)
        ]
        lines.append(
            f"| {env_id} | `{one['law']}` | {100 * law['success_rate']:.1f} % | "
            f"{100 * one['imitated']:.1f} % | {100 * policy['success_rate']:.1f} % | "
            f"{law['mean_return']:.1f} | {policy['mean_return']:.1f} | {settled[0]} | {settled[1]} "
            f"| {one['seconds']} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure the tasks that are named, or all in the file, and write the table."""
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    if sys.argv[1:] != ["--write"]:
        for env_id in sys.argv[1:] or list(results):
            results[env_id] = measure(env_id)
            print(env_id, results[env_id], flush=True)
            write_json(RESULTS, results)
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
