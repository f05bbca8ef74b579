"""The bar that shows a training at a terminal."""

from rbgym.agents.terminal import bar


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

    def show(self, timesteps: int, mean_return: float | None) -> None:
        """So many steps are done."""
        label = "training" if mean_return is None else f"return {mean_return:6.1f}"
        self.bar.update(self.task, completed=timesteps, description=label, refresh=True)
