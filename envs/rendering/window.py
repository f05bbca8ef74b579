"""A window on the screen."""

import numpy as np
from gymnasium.error import Error

from rbgym.envs.rendering.canvas import Frame, load_pygame


class Window:
    """Shows pictures of one size, at a frame rate. One at a time: pygame has but one window."""

    def __init__(self) -> None:
        self._pygame = load_pygame()
        self._screen: tuple[int, int] | None = None
        self._clock = self._pygame.time.Clock()

    def show(self, picture: Frame, rate: int) -> None:
        """Show a picture, (height, width, 3), and wait for its turn, `rate` of them a second.

        Raises Gymnasium's Error where there is no screen.
        """
        height, width, _ = picture.shape
        if self._screen != (width, height) or not self._pygame.display.get_init():
            self._open((width, height))
        surface = self._pygame.image.frombuffer(
            np.ascontiguousarray(picture).tobytes(), (width, height), "RGB"
        )
        self._pygame.display.get_surface().blit(surface, (0, 0))
        self._pygame.event.pump()
        self._pygame.display.flip()
        self._clock.tick(rate)

    def _open(self, size: tuple[int, int]) -> None:
        try:
            self._pygame.display.init()
            self._pygame.display.set_caption("rbgym")
            self._pygame.display.set_mode(size)
        except self._pygame.error as problem:
            raise Error(
                f"render_mode='human' needs a screen ({problem}); 'rgb_array' needs none"
            ) from problem
        self._screen = size

    def close(self) -> None:
        """Close the window; the rest of pygame goes on."""
        self._pygame.display.quit()
        self._screen = None
