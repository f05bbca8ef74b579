"""PPO with its default hyperparameters on every task: the curves in docs/tasks.md.

python docs/studies/learn_every_task.py [--timesteps 500000]

Writes docs/learning.json and docs/pictures/learning.svg. About four minutes on two cores.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from rbgym.agents.evaluation import evaluate
from rbgym.agents.training import load_policy, train
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parents[1]


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


def learn(env_id: str, timesteps: int) -> dict[str, object]:
    """Train, keep the curve, and judge the policy and doing nothing on the test set."""
    curve = Curve()
    with tempfile.TemporaryDirectory() as folder:
        done = train(
            env_id, "ppo", out=folder, timesteps=timesteps, callbacks=[curve], progress=False
        )
        policy = evaluate(load_policy(done.folder), env_id)
    idle = evaluate("idle", env_id)
    return {
        "curve": curve.points,
        "seconds": round(float(done.results["wall_time"]), 1),
        "success": policy.success_rate,
        "return": round(policy.mean_return, 1),
        "idle_return": round(idle.mean_return, 1),
    }


def draw(learned: dict[str, dict[str, object]]) -> None:
    """One panel for each task; the dashed line is doing nothing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 5.0), layout="constrained")
    for ax, (env_id, one) in zip(figure.subplots(2, 4).flat, learned.items(), strict=False):
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
    parser.add_argument("--timesteps", type=int, default=500_000)
    timesteps = parser.parse_args().timesteps
    learned = {}
    for env_id in ENVIRONMENTS:
        learned[env_id] = learn(env_id, timesteps)
        shown = {k: v for k, v in learned[env_id].items() if k != "curve"}
        print(env_id, shown, flush=True)
    (DOCS / "learning.json").write_text(json.dumps(learned, indent=1) + "\n", encoding="utf-8")
    draw(learned)


if __name__ == "__main__":
    main()
