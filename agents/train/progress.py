"""A progress bar that does not slow the training down.

Stable-Baselines3's own is updated at every step: with 128 lanes that took half of the time.
"""

import time

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from rbgym.agents.terminal import bar

_INTERVAL = 0.5  # between two updates [s]


class ProgressCallback(BaseCallback):
    """Shows steps, mean return of the last episodes and remaining time on stderr."""

    def __init__(self, timesteps: int) -> None:
        super().__init__()
        self.bar = bar(refresh=False, remaining=True)
        self.task = self.bar.add_task("training", total=timesteps)
        self.shown = 0.0

    def __enter__(self) -> "ProgressCallback":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def _on_step(self) -> bool:
        if time.monotonic() - self.shown > _INTERVAL:
            self._show()
        return True

    def _on_training_end(self) -> None:
        self._show()

    def _show(self) -> None:
        self.shown = time.monotonic()
        self.bar.update(
            self.task, completed=self.num_timesteps, description=_label(self.model), refresh=True
        )


def _label(model: BaseAlgorithm) -> str:
    episodes = model.ep_info_buffer
    if not episodes:
        return "training"
    return f"return {sum(e['r'] for e in episodes) / len(episodes):6.1f}"
