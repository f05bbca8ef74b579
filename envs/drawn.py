"""What both kinds of environment have in order to be drawn: a render mode, a rate, a viewer."""

from typing import Any

import gymnasium as gym
from numpy.typing import NDArray

from rbgym.envs.arguments import named

MODES = ("human", "rgb_array")
LEAST, MOST = 10, 60  # frames per second


class Drawn:
    """An environment that draws its lanes when it is asked to."""

    metadata: dict[str, Any]
    render_mode: str | None
    _episodes: Any
    _viewer: Any = None

    def _set_mode(self, render_mode: str | None, dt: float) -> None:
        """The mode; shown in its own time, unless the control period dt [s] is too short or long
        to be watched so."""
        if render_mode is not None:
            named("render_mode", render_mode, MODES, " or None")
        self.render_mode = render_mode
        rate = round(min(max(1.0 / max(dt, 1.0 / MOST), LEAST), MOST))
        self.metadata = {**self.metadata, "render_fps": rate}

    def _frames(self) -> tuple[Any, ...] | None:
        """Pictures of the lanes; or None, and a window shows them."""
        if self.render_mode is None:
            gym.logger.warn(
                "render() draws nothing without a render_mode: give one to the env, "
                'e.g. gym.make(id, render_mode="rgb_array")'
            )
            return None
        if not self._episodes.started:
            raise gym.error.ResetNeeded("call reset() before render()")
        if self._viewer is None:
            # Not before something is drawn: training need not load it.
            from rbgym.envs.rendering.viewer import Viewer

            self._viewer = Viewer()
        if self.render_mode == "human":
            self._viewer.show(self, self.metadata["render_fps"])
            return None
        return self._viewer.frames(self)  # type: ignore[no-any-return]

    def _forget(self, lanes: NDArray[Any]) -> None:
        """Drop the paths that pictures show of episodes that are over."""
        if self._viewer is not None:
            self._viewer.forget(lanes.tolist())

    def _close_viewer(self) -> None:
        if self._viewer is not None:
            self._viewer.close()
