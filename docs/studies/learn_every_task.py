"""PPO (or SAC) with its default hyperparameters on every task: the curves in docs/tasks.md.

python docs/studies/learn_every_task.py [ID ...]

Writes docs/learning.json and docs/pictures/learning.svg, all of it or the entries of some tasks.
About a quarter of an hour on two cores.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from rbgym.agents import presets
from rbgym.agents.evaluation import evaluate
from rbgym.agents.training import load_policy, train
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parents[1]
LEARNED = DOCS / "learning.json"
# Episodes of thousands of steps, of which each changes little: better learned from again and again.
ALGORITHM = {"MagneticDetumble-v0": "sac"}


class Curve(BaseCallback):
    """Mean return of the last hundred episodes, after each rollout."""

    def __init__(self) -> None:
        super().__init__()
        self.points: list[tuple[int, float]] = []

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        episodes = self.model.ep_info_buffer or ()
        if episodes:
            mean = float(np.mean([episode["r"] for episode in episodes]))
            self.points.append((self.num_timesteps, round(mean, 3)))


def learn(env_id: str) -> dict[str, object]:
    """Train, keep the curve, and judge the policy and doing nothing on the test set."""
    curve, algo = Curve(), ALGORITHM.get(env_id, "ppo")
    with tempfile.TemporaryDirectory() as folder:
        done = train(env_id, algo, out=folder, callbacks=[curve], progress=False)
        policy = evaluate(load_policy(done.folder), env_id)
    idle = evaluate("idle", env_id)
    return {
        "curve": curve.points,
        "algo": algo,
        "steps": presets.load(algo, env_id)["n_timesteps"],
        "seconds": round(float(done.results["wall_time"]), 1),
        "success": policy.success_rate,
        "return": round(policy.mean_return, 1),
        "idle_return": round(idle.mean_return, 1),
    }


def draw(learned: dict[str, dict[str, object]]) -> None:
    """One panel for each task; the dashed line is doing nothing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 7.5), layout="constrained")
    axes = figure.subplots(3, 5)
    for ax in axes.flat:
        ax.set_visible(False)
    for ax, (env_id, one) in zip(axes.flat, learned.items(), strict=False):
        ax.set_visible(True)
        steps, returns = np.array(one["curve"]).T
        ax.plot(steps / 1000, returns, color="#08306b")
        ax.axhline(one["idle_return"], color="#d95f02", linestyle="--", linewidth=1.0)
        ax.set_title(env_id, fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.3)
    figure.supxlabel("environment steps [thousands]")
    figure.supylabel("mean return of an episode")
    figure.savefig(DOCS / "pictures" / "learning.svg")


def main() -> None:
    """Train on each task, and write the figures and the picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ids", nargs="*", metavar="ID")
    wanted = parser.parse_args().ids or list(ENVIRONMENTS)
    kept = json.loads(LEARNED.read_text("utf-8"))
    learned = {env_id: kept[env_id] for env_id in ENVIRONMENTS if env_id in kept}
    for env_id in wanted:
        learned[env_id] = learn(env_id)
        shown = {k: v for k, v in learned[env_id].items() if k != "curve"}
        print(env_id, shown, flush=True)
        LEARNED.write_text(json.dumps(learned, indent=1) + "\n", encoding="utf-8")
    draw(learned)


if __name__ == "__main__":
    main()
