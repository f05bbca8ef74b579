"""A surface of pygame to draw on, at twice the size of the picture, and then smoothed."""

import contextlib
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import ArrayLike, NDArray

from rbgym.envs.rendering.colors import Color, mixed
from rbgym.quaternion import Array

Frame = NDArray[np.uint8]
_FINE = 2  # pixels of the canvas for one of the picture


def load_pygame() -> Any:
    """pygame, imported quietly; DependencyNotInstalled where there is none."""
    try:
        with contextlib.redirect_stdout(None):  # it greets
            import pygame
            import pygame.font
    except ModuleNotFoundError as missing:
        raise DependencyNotInstalled(
            "rendering needs pygame: pip install 'rbgym[render]'"
        ) from missing
    return pygame


class Canvas:
    """Where polygons, lines and words of one picture are drawn; no display is needed.

    size: (width, height) of the picture [pixels]; all lengths below are in these.
    """

    def __init__(self, size: tuple[int, int], above: Color, below: Color) -> None:
        self.pygame = load_pygame()
        if not self.pygame.font.get_init():
            self.pygame.font.init()
        self.size = size
        self._picture = self.pygame.Surface(size, 0, 32)
        self._fine = self.pygame.Surface((_FINE * size[0], _FINE * size[1]), 0, 32)
        self._ground = self._fine.copy()
        for y, share in enumerate(np.linspace(0.0, 1.0, _FINE * size[1])):
            color = mixed(below, share, above)
            self.pygame.draw.line(self._ground, color, (0, y), (_FINE * size[0], y))
        self._font = functools.cache(lambda height: self.pygame.font.Font(None, _FINE * height))
        self._word = functools.lru_cache(512)(
            lambda text, height, color: self._font(height).render(text, True, color)
        )

    def clear(self) -> None:
        """Nothing but the background."""
        self._fine.blit(self._ground, (0, 0))

    def polygons(self, corners: Sequence[Array] | Array, fills: ArrayLike) -> None:
        """Filled polygons, (k, 2) pixels each, in one colour (3,) or one for each (n, 3)."""
        colors = np.broadcast_to(fills, (len(corners), 3)).tolist()
        for points, color in zip(corners, colors, strict=True):
            self.pygame.draw.polygon(self._fine, color, (_FINE * points).tolist())

    def lines(self, segments: Array, color: Color, width: float) -> None:
        """Straight lines (n, 2, 2)."""
        thick = max(round(_FINE * width), 1)
        for start, end in (_FINE * segments).tolist():
            self.pygame.draw.line(self._fine, color, start, end, thick)

    def path(self, points: Array, color: Color, width: float) -> None:
        """A line through points (n, 2), its corners rounded."""
        thick, fine = max(round(_FINE * width), 1), (_FINE * points).tolist()
        self.pygame.draw.lines(self._fine, color, False, fine, thick)
        if thick > 2:
            for point in fine:
                self.pygame.draw.circle(self._fine, color, point, thick / 2)

    def disc(self, point: Array, radius: float, color: Color) -> None:
        self.pygame.draw.circle(self._fine, color, (_FINE * point).tolist(), _FINE * radius)

    def word(
        self, text: str, place: tuple[float, float], height: int, color: Color, align: float = 0.0
    ) -> None:
        """Write from `place`, its upper left corner, on; with align = 1 up to it, 1/2 about it."""
        picture = self._word(text, height, color)
        left = _FINE * place[0] - align * picture.get_width()
        self._fine.blit(picture, (round(left), round(_FINE * place[1])))

    def badge(self, text: str, right: float, top: float, height: int, fill: Color) -> None:
        """A word on a coloured ground, its upper right corner at (right, top)."""
        picture, pad = self._word(text, height, (255, 255, 255)), 0.8 * height
        width, tall = picture.get_width() + 2 * pad, picture.get_height() + pad
        left = _FINE * right - width
        ground = (round(left), round(_FINE * top), round(width), round(tall))
        self.pygame.draw.rect(self._fine, fill, ground, border_radius=round(tall / 3))
        self._fine.blit(picture, (round(left + pad), round(_FINE * top + 0.55 * pad)))

    def mark(self, place: tuple[float, float], size: float, color: Color) -> None:
        square = [round(_FINE * value) for value in (*place, size, size)]
        self.pygame.draw.rect(self._fine, color, square, border_radius=round(_FINE * size / 4))

    def frame(self) -> Frame:
        """The picture of what was drawn, (height, width, 3)."""
        self.pygame.transform.smoothscale(self._fine, self.size, self._picture)
        picture = self.pygame.surfarray.array3d(self._picture)
        return np.ascontiguousarray(picture.swapaxes(0, 1))
