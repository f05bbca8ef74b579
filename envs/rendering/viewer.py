"""What an environment needs in order to be drawn: painters, trails, perhaps a window."""

from typing import Any

import numpy as np
from gymnasium.error import Error

from rbgym.envs.rendering.instant import Trail, scenes_of
from rbgym.envs.rendering.painter import SIZE, Frame, Painter, load_pygame

MOST_LANES = 64  # of a vector env that are drawn


class Viewer:
    """Draws the lanes of an env. A copy of it, as deepcopy and pickle make, has the same trails
    and neither surfaces nor a window."""

    def __init__(self) -> None:
        self.trails: dict[int, Trail] = {}
        self._painters: dict[int, Painter] = {}
        self._clock: Any = None  # of a window, where there is one

    def __getstate__(self) -> dict[str, Any]:
        return {"trails": self.trails}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.trails = state["trails"]

    def frames(self, env: Any) -> tuple[Frame, ...]:
        """A picture, (height, width, 3), of each lane, up to MOST_LANES of them."""
        lanes = min(env.episodes.size, MOST_LANES)
        edge = SIZE[0] if lanes == 1 else 320 if lanes <= 4 else 240 if lanes <= 16 else 160
        if edge not in self._painters:
            self._painters[edge] = Painter((edge, edge))
        trails = {lane: self.trails.setdefault(lane, Trail()) for lane in range(lanes)}
        return tuple(map(self._painters[edge].paint, scenes_of(env, trails)))

    def show(self, env: Any, rate: int) -> None:
        """Draw the lanes in a window, and wait for its turn, `rate` of them a second. One window at
        a time: pygame has no more. Raises Gymnasium's Error where there is no screen."""
        picture = np.ascontiguousarray(tiled(self.frames(env)).swapaxes(0, 1))
        pygame = load_pygame()
        if self._clock is None or not pygame.display.get_init():
            try:
                pygame.display.init()
                pygame.display.set_caption("rbgym")
                pygame.display.set_mode(picture.shape[:2])
            except pygame.error as problem:
                raise Error(
                    f"render_mode='human' needs a screen ({problem}); 'rgb_array' needs none"
                ) from problem
            self._clock = pygame.time.Clock()
        pygame.surfarray.blit_array(pygame.display.get_surface(), picture)
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(rate)

    def forget(self, lanes: list[int]) -> None:
        """Drop the trails of lanes that were reset: the same seed may begin otherwise, or be drawn
        first at a later time, which a trail by itself would take for the same episode."""
        for lane in lanes:
            self.trails.pop(lane, None)

    def close(self) -> None:
        if self._clock is not None:
            load_pygame().display.quit()
            self._clock = None


def tiled(frames: tuple[Frame, ...]) -> Frame:
    """The pictures side by side, in rows of a square or nearly so."""
    columns = int(np.ceil(np.sqrt(len(frames))))
    rows = -(-len(frames) // columns)
    blank = [np.full_like(frames[0], 255)] * (rows * columns - len(frames))
    height, width, _ = frames[0].shape
    whole = np.reshape([*frames, *blank], (rows, columns, height, width, 3))
    return whole.swapaxes(1, 2).reshape(rows * height, columns * width, 3)
