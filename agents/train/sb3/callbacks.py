"""What happens beside the learning: a bar at the terminal, looks at the test set, checkpoints."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from rbgym.agents.policies.trained import TrainedPolicy
from rbgym.agents.terminal import Counter
from rbgym.agents.train import run
from rbgym.agents.train.sb3 import checkpoints


class BetweenRollouts(BaseCallback):
    """Shows how far a training is, runs the policy on the test set every so many env steps and at
    the end, and saves a checkpoint every so many.

    Stable-Baselines3's own bar is updated at every step: with 128 lanes that took half of the time.
    Draws from no generator that the training uses. every: env steps between two checkpoints, and
    between two looks at the test set, 0 for none. put_policy: called after each look.
    """

    def __init__(
        self,
        config: dict[str, Any],
        checkpoint: Path,
        every: tuple[int, int],
        count: Counter,
        report: Callable[[str], None],
        put_policy: Callable[[], None],
    ) -> None:
        super().__init__()
        self.put_policy = put_policy
        self.config, self.checkpoint, self.count, self.report = config, checkpoint, count, report
        self.checkpoint_every, self.judge_every = every

    def _on_training_start(self) -> None:
        self.told = told_of(self.model)
        self.saved = self.num_timesteps
        self.started = time.perf_counter() - self.told["wall_time"]

    def _on_rollout_start(self) -> None:
        self._judge_after(self.judge_every)
        if self.num_timesteps - self.saved >= self.checkpoint_every:
            self._save()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        self.count(self.num_timesteps, self.config["timesteps"], last_mean_return(self.model))

    def _on_training_end(self) -> None:
        self._judge_after(1)
        self.logger.dump(self.num_timesteps)
        self._save()

    def _save(self) -> None:
        self.told["wall_time"] = time.perf_counter() - self.started
        checkpoints.save(self.checkpoint, self.model)
        self.saved = self.num_timesteps

    def _judge_after(self, steps: int) -> None:
        """Judge, if so many steps have passed since it was done last."""
        start, before = time.perf_counter(), self.told["judgements"]
        last = before[-1]["timesteps"] if before else 0
        if not self.judge_every or self.num_timesteps < last + steps:
            return
        seconds = round(start - self.started - self.told["judging_time"], 3)
        policy = TrainedPolicy.of(self.model)
        before.append(run.judged(policy, self.config, self.num_timesteps, seconds))
        self.told["judging_time"] += time.perf_counter() - start
        steps = self.config["timesteps"]
        self.report(f"step {self.num_timesteps:,} of {steps:,}: {run.said(before[-1])}")
        for name in ("success_rate", "mean_return"):
            self.logger.record(f"eval/{name}", before[-1][name])
        self.put_policy()


def told_of(model: BaseAlgorithm) -> dict[str, Any]:
    """What is kept in a model, and so in its checkpoints: seconds of training and of judging, those
    before an interruption included, and judgements."""
    nothing: dict[str, Any] = {"wall_time": 0.0, "judging_time": 0.0, "judgements": []}
    return vars(model).setdefault("told", nothing)


def results_of(model: BaseAlgorithm) -> dict[str, Any]:
    """What results.json tells of a training; its wall time is without the judging."""
    told = told_of(model)
    return {
        "timesteps": model.num_timesteps,
        **told,
        "wall_time": told["wall_time"] - told["judging_time"],
        "last_mean_return": last_mean_return(model),
    }


def last_mean_return(model: Any) -> float | None:
    """Mean return of the last episodes; None before the first ends."""
    episodes = model.ep_info_buffer
    return float(sum(e["r"] for e in episodes) / len(episodes)) if episodes else None
