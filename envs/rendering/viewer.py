"""What an environment keeps in order to be drawn: painters, trails, perhaps a window."""

from typing import Any

import numpy as np

from rbgym.envs.rendering.canvas import Frame
from rbgym.envs.rendering.painter import SIZE, Painter
from rbgym.envs.rendering.reading import Reading
from rbgym.envs.rendering.tasks import scene_of
from rbgym.envs.rendering.trail import Trail
from rbgym.envs.rendering.window import Window

MOST_LANES = 64  # of a vector env that are drawn


class Viewer:
    """Draws the lanes of an env. A copy of it, as deepcopy and pickle make, has the same trails
    and neither surfaces nor a window."""

    def __init__(self) -> None:
        self.trails: dict[int, Trail] = {}
        self._painters: dict[tuple[int, int], Painter] = {}
        self._window: Window | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"trails": self.trails}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.trails = state["trails"]

    def frames(self, env: Any) -> tuple[Frame, ...]:
        """A picture, (height, width, 3), of each lane, up to MOST_LANES of them."""
        lanes = min(env.episodes.size, MOST_LANES)
        painter, reading = self._painter(edge(lanes)), Reading.of(env.episodes)
        return tuple(
            painter.paint(scene_of(env, lane, self._trail(lane), reading)) for lane in range(lanes)
        )

    def show(self, env: Any, rate: int) -> None:
        """Draw the lanes in a window, and wait until the time of the frame is over."""
        frames = self.frames(env)
        if self._window is None:
            self._window = Window()
        self._window.show(tiled(frames), rate)

    def forget(self, lanes: list[int]) -> None:
        """Drop the trails of lanes that were reset: the same seed may begin otherwise, or be drawn
        first at a later time, which a trail by itself would take for the same episode."""
        for lane in lanes:
            self.trails.pop(lane, None)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def _painter(self, edge: int) -> Painter:
        size = edge, edge
        if size not in self._painters:
            self._painters[size] = Painter(size)
        return self._painters[size]

    def _trail(self, lane: int) -> Trail:
        return self.trails.setdefault(lane, Trail())


def edge(lanes: int) -> int:
    """Width and height [pixels] of the picture of one of so many lanes."""
    return SIZE[0] if lanes == 1 else 320 if lanes <= 4 else 240 if lanes <= 16 else 160


def tiled(frames: tuple[Frame, ...]) -> Frame:
    """The pictures side by side, in rows of a square or nearly so."""
    columns = int(np.ceil(np.sqrt(len(frames))))
    rows = -(-len(frames) // columns)
    height, width, _ = frames[0].shape
    whole = np.full((rows * height, columns * width, 3), 255, np.uint8)
    for k, frame in enumerate(frames):
        row, column = divmod(k, columns)
        whole[row * height :, column * width :][:height, :width] = frame
    return whole
