"""How far a training is, and the bar and the log that show it."""

from pathlib import Path
from typing import NamedTuple

from rbgym.agents.terminal import bar


class Progress(NamedTuple):
    """Env steps and seconds of training so far, and means over the last episodes.

    runners: env runners that are at work.
    """

    timesteps: int = 0
    wall_time: float = 0.0
    last_mean_return: float | None = None
    last_mean_length: float | None = None
    runners: int = 0


class Bar:
    """Shows steps, mean return of the last episodes and remaining time on stderr."""

    def __init__(self, timesteps: int, *, hidden: bool = False) -> None:
        self.bar = bar(refresh=False, remaining=True, hidden=hidden)
        self.task = self.bar.add_task("training", total=timesteps)

    def __enter__(self) -> "Bar":
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

    def __call__(self, at: Progress) -> None:
        """Show what an iteration has come to."""
        mean = at.last_mean_return
        label = "training" if mean is None else f"return {mean:6.1f}"
        self.bar.update(self.task, completed=at.timesteps, description=label, refresh=True)


class Log:
    """Writes a TensorBoard log, with the names that Stable-Baselines3 gives the curves."""

    def __init__(self, path: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(path))

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *error: object) -> None:
        self.writer.close()

    def __call__(self, at: Progress) -> None:
        """Add one point to each curve."""
        curves = {
            "rollout/ep_rew_mean": at.last_mean_return,
            "rollout/ep_len_mean": at.last_mean_length,
            "time/fps": at.timesteps / at.wall_time,
        }
        for name, value in curves.items():
            if value is not None:
                self.writer.add_scalar(name, value, at.timesteps)
