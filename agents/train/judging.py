"""Policies judged on the fixed test set while they are trained."""

import time
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from rbgym.agents.judge.cases import TEST_SEEDS
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.policies.trained import TrainedPolicy

# Success rate on the test set from which a task counts as learned.
THRESHOLD = 0.95


class JudgingCallback(BaseCallback):
    """Runs the policy on the test set every so many env steps, between rollouts, and at the end.

    Keeps what it found in `model.judgements`, the seconds that it took in `model.judging_time`:
    both are saved with the model. Draws from no generator that the training uses.
    """

    def __init__(
        self, env_id: str, env_kwargs: dict[str, Any], every: int, episodes: int = len(TEST_SEEDS)
    ) -> None:
        super().__init__()
        self.env_id, self.env_kwargs, self.every, self.episodes = (
            env_id,
            env_kwargs,
            every,
            episodes,
        )
        self.started = 0.0

    def _on_training_start(self) -> None:
        self.started = time.perf_counter() - float(getattr(self.model, "wall_time", 0.0))

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self._last() + self.every:
            self._judge()

    def _on_training_end(self) -> None:
        if self.num_timesteps > self._last():
            self._judge()

    def _on_step(self) -> bool:
        return True

    def _last(self) -> int:
        done = judgements(self.model)
        return int(done[-1]["timesteps"]) if done else 0

    def _judge(self) -> None:
        begun = time.perf_counter()
        policy = TrainedPolicy.of(self.model)
        found = evaluate(policy, self.env_id, self.episodes, **self.env_kwargs)
        before = judging_time(self.model)
        entry = {
            "timesteps": self.num_timesteps,
            "seconds": round(begun - self.started - before, 3),
            "success_rate": found.success_rate,
            "mean_return": found.mean_return,
        }
        self.model.judgements = [*judgements(self.model), entry]  # type: ignore[attr-defined]
        spent = before + time.perf_counter() - begun
        self.model.judging_time = spent  # type: ignore[attr-defined]
        self.logger.record("eval/success_rate", found.success_rate)
        self.logger.record("eval/mean_return", found.mean_return)


def judgements(model: Any) -> list[dict[str, Any]]:
    """What was found so far: timesteps, seconds of training, success_rate, mean_return."""
    return list(getattr(model, "judgements", ()))


def judging_time(model: Any) -> float:
    """Seconds that the judging of a model took."""
    return float(getattr(model, "judging_time", 0.0))


def time_to_threshold(model: Any) -> float | None:
    """Seconds of training, without judging, until the first success rate of THRESHOLD; or None."""
    reached = (e["seconds"] for e in judgements(model) if e["success_rate"] >= THRESHOLD)
    return next(reached, None)
