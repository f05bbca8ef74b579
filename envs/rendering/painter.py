"""Draws scenes with pygame, from far to near, at twice the size, and then smooths them."""

import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled, Error
from numpy.typing import ArrayLike, NDArray

from rbgym.arguments import count, finite
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.camera import BELOW, WALL, Camera
from rbgym.envs.rendering.colors import Color, mixed
from rbgym.envs.rendering.instant import Trail, scenes_of
from rbgym.envs.rendering.scene import Arrow, BodyPart, Caption, Curve, Scene
from rbgym.quaternion import Array

Frame = NDArray[np.uint8]
_FINE = 2  # pixels of the canvas per pixel of the picture
SIZE = (480, 480)
MOST_LANES = 64  # lanes of a vector env that are drawn
_LEAST = 0.45  # of the usual size: smaller pictures have no text


def load_pygame() -> Any:
    """pygame, imported without its greeting; DependencyNotInstalled if it is missing."""
    try:
        with contextlib.redirect_stdout(None):  # which pygame prints
            import pygame
            import pygame.font
    except ModuleNotFoundError as missing:
        raise DependencyNotInstalled("pictures need pip install 'rbgym[render]'") from missing
    return pygame


class Canvas:
    """A surface for one picture, (width, height) [pixels], without a display; lengths in pixels."""

    def __init__(self, size: tuple[int, int], above: Color, below: Color) -> None:
        self.pygame = load_pygame()
        self.size = size
        self._picture = self.pygame.Surface(size, 0, 32)
        self._fine = self.pygame.Surface((_FINE * size[0], _FINE * size[1]), 0, 32)
        self._ground = self._fine.copy()
        for y, share in enumerate(np.linspace(0.0, 1.0, _FINE * size[1])):
            color = mixed(below, share, above)
            self.pygame.draw.line(self._ground, color, (0, y), (_FINE * size[0], y))
        self._word = functools.lru_cache(512)(self._written)

    def _written(self, text: str, height: float, color: Color) -> Any:
        """The picture of a text. A font is not kept: another env that closes may quit pygame."""
        self.pygame.font.init()  # may be called again
        return self.pygame.font.Font(None, _FINE * round(height)).render(text, True, color)

    def clear(self) -> None:
        self._fine.blit(self._ground, (0, 0))

    def polygons(self, corners: Sequence[Array] | Array, fills: ArrayLike) -> None:
        """Draw filled polygons, (k, 2) pixels each, in one colour (3,) or one for each (n, 3)."""
        colors = np.broadcast_to(fills, (len(corners), 3)).tolist()
        for points, color in zip(corners, colors, strict=True):
            self.pygame.draw.polygon(self._fine, color, (_FINE * points).tolist())

    def lines(self, segments: Array, color: Color, width: float) -> None:
        thick = max(round(_FINE * width), 1)
        for start, end in (_FINE * segments).tolist():
            self.pygame.draw.line(self._fine, color, start, end, thick)

    def path(self, points: Array, color: Color, width: float) -> None:
        """Draw a line through points (n, 2) with rounded corners."""
        thick, fine = max(round(_FINE * width), 1), (_FINE * points).tolist()
        self.pygame.draw.lines(self._fine, color, False, fine, thick)
        if thick > 2:
            for point in fine:
                self.pygame.draw.circle(self._fine, color, point, thick / 2)

    def disc(self, point: Array, radius: float, color: Color) -> None:
        self.pygame.draw.circle(self._fine, color, (_FINE * point).tolist(), _FINE * radius)

    def word(
        self, text: str, place: tuple[float, float], height: float, color: Color, align: float = 0.0
    ) -> None:
        """Write text; `place`: its upper left corner, for align 1 its right one, 1/2 its middle."""
        picture = self._word(text, height, color)
        left = _FINE * place[0] - align * picture.get_width()
        self._fine.blit(picture, (round(left), round(_FINE * place[1])))

    def badge(self, text: str, right: float, top: float, height: int, fill: Color) -> None:
        """Draw text on a coloured ground, its upper right corner at (right, top)."""
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
        """The finished picture, (height, width, 3) uint8."""
        self.pygame.transform.smoothscale(self._fine, self.size, self._picture)
        return np.ascontiguousarray(self.pygame.surfarray.array3d(self._picture).swapaxes(0, 1))


class Painter:
    """Draws scenes of one size, (width, height) [pixels]."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        finite("size", size, (2,))
        self.size = count("size", size[0]), count("size", size[1])
        self.canvas = Canvas(self.size, colors.ABOVE, colors.BELOW)
        self.unit = min(size) / 480

    def paint(self, scene: Scene) -> Frame:
        """The picture, (height, width, 3) uint8."""
        camera = Camera.of(scene.framing, self.size)
        self.canvas.clear()
        if scene.framing.floor is not None:
            self._floor(scene.body, camera, scene.framing.floor)
        for layer, _, what in camera.in_order(scene):
            if isinstance(what, Arrow):
                self._arrow(what, camera)
            elif isinstance(what, Curve):
                self._curve(what, camera, seen_through=layer == BELOW)
            elif what.name in ("station", "pivot"):
                self._ball(what, camera)
            elif what.name == "goal":
                self.canvas.polygons(camera.side_of(what).corners, colors.GHOST)
            elif layer == WALL:
                self._wall(what, scene, camera)
            else:
                solid = camera.side_of(what)
                self.canvas.polygons(solid.corners, solid.fills)
                self.canvas.lines(solid.edges, colors.OUTLINE, self.unit)
        if scene.goal is not None:
            self.canvas.lines(camera.side_of(scene.goal).edges, colors.GOAL, 1.5 * self.unit)
        if self.unit >= _LEAST:
            for axis in scene.axes:
                ((x, y),) = camera.project((axis.tail + 1.35 * axis.shaft)[None])[0]
                place = x, y - 7 * self.unit
                self.canvas.word(axis.name, place, 19 * self.unit, colors.AXES, align=0.5)
            self._caption(scene.caption)
            self._legend(scene)
            self._world(camera)
        return self.canvas.frame()

    def _wall(self, part: BodyPart, scene: Scene, camera: Camera) -> None:
        solid = camera.side_of(part)
        self.canvas.polygons(solid.corners, colors.WALL)
        self.canvas.lines(solid.edges, colors.FAINT, self.unit)
        for curve in scene.curves:
            if curve.name == "mast":
                flat = curve.points * (1.0, 1.0, 0.0) + (0.0, 0.0, part.position[2])
                self.canvas.path(camera.project(flat)[0], colors.SHADOW, 3.0 * self.unit)

    def _ball(self, part: BodyPart, camera: Camera) -> None:
        """Draw a sphere, shaded in rings from its rim to the brightest point."""
        (middle,), (depth,) = camera.project(part.position[None])
        if depth <= camera.near:
            return
        radius = camera.scale * part.mesh.radius * part.scale / depth
        color: Color = tuple(part.mesh.colors[0].tolist())
        self.canvas.disc(middle, radius + self.unit, colors.OUTLINE)
        for share in np.linspace(0.0, 1.0, 40):
            place = middle + 0.42 * share * radius * np.array([-0.6, -0.75])
            fill = mixed(colors.WHITE, 0.55 * share, mixed(color, 0.8, colors.INK))
            self.canvas.disc(place, radius * (1.0 - share), fill)

    def _floor(self, body: BodyPart, camera: Camera, height: float) -> None:
        """Draw two discs with the shadow of the body under light from above."""
        turn = np.linspace(0.0, 2 * np.pi, 97)
        ring = body.mesh.radius * np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])
        for size, color in ((1.15, colors.FLOOR), (0.6, colors.FLOOR_INNER)):
            self.canvas.polygons([camera.project(size * ring + (0.0, 0.0, height))[0]], color)
        fallen = body.vertices * (1.0, 1.0, 0.0) + (0.0, 0.0, height)
        self.canvas.polygons(camera.project(fallen)[0][body.mesh.faces], colors.SHADOW)

    def _arrow(self, arrow: Arrow, camera: Camera) -> None:
        ends = np.stack([arrow.tail, arrow.tail + arrow.shaft])
        if not camera.runs(ends):
            return
        tail, tip = camera.project(ends)[0]
        width = (1.6 if arrow.is_axis else 4.0) * self.unit
        length = float(np.hypot(*(tip - tail)))
        if length < 1.0:
            self.canvas.disc(tip, width, arrow.color)
            return
        along = (tip - tail) / length
        across = np.array([-along[1], along[0]])
        head = min((6.0 if arrow.is_axis else 13.0) * self.unit, length)
        neck, side, wing = tip - head * along, 0.5 * width * across, 0.42 * head * across
        shaft = np.array([tail - side, neck - side, neck + side, tail + side])
        self.canvas.polygons([shaft, np.array([neck - wing, tip, neck + wing])], arrow.color)

    def _curve(self, curve: Curve, camera: Camera, seen_through: bool) -> None:
        pixels, width = camera.project(curve.points)[0], 2.0 * self.unit
        color = mixed(curve.color, 0.45, colors.WALL) if seen_through else curve.color
        if curve.dashed:
            self.canvas.lines(dashes(pixels, 7.0 * self.unit), color, width)
        else:
            self.canvas.path(pixels, color, 2 * width if curve.name == "mast" else width)

    def _caption(self, caption: Caption) -> None:
        left, top, unit = 14 * self.unit, 12 * self.unit, self.unit
        self.canvas.word(caption.task, (left, top), 25 * unit, colors.INK)
        for number, line in enumerate(lines_of(caption)):
            below = top + (24 + 17 * number) * unit
            self.canvas.word(line, (left, below), 19 * unit, colors.FAINT)
        if caption.success:
            right = self.size[0] - left
            self.canvas.badge("success", right, top, round(19 * unit), colors.GOAL)

    def _legend(self, scene: Scene) -> None:
        entries, unit = list(entries_of(scene)), self.unit
        top = self.size[1] - 12 * unit - 17 * unit * len(entries)
        for text, color in entries:
            self.canvas.mark((14 * unit, top + 2 * unit), 9 * unit, color)
            self.canvas.word(text, (29.3 * unit, top), 19 * unit, colors.INK)
            top += 17 * unit

    def _world(self, camera: Camera) -> None:
        """Draw the world's axes in the lower right corner."""
        unit = self.unit
        corner = np.array(self.size) - 44 * unit
        for name, axis in zip("xyz", camera.axes[:2].T * (1.0, -1.0), strict=True):
            line = np.array([corner, corner + 24 * unit * axis])
            self.canvas.path(line, colors.FAINT, 1.2 * unit)
            x, y = corner + 33 * unit * axis
            self.canvas.word(name, (x, y - 7 * unit), 17 * unit, colors.FAINT, align=0.5)


def lines_of(caption: Caption) -> Iterator[str]:
    yield " · ".join(filter(None, (caption.integrator, f"t = {caption.time:.2f} s")))
    off = []
    if caption.attitude_error is not None:
        off.append(f"{np.degrees(caption.attitude_error):.1f}°")
    if caption.rate_error is not None:
        off.append(f"{figures(caption.rate_error if caption.rate_error > 1e-6 else 0.0)} rad/s")
    if off:
        yield "off by " + ", ".join(off)
    yield from caption.notes


def entries_of(scene: Scene) -> Iterator[tuple[str, Color]]:
    for vector in scene.vectors:
        # A vector that is tiny relative to its limit is shown as zero.
        size = vector.size if vector.size > 1e-6 * vector.limit else 0.0
        yield f"{vector.name} {figures(size)} {vector.unit}", vector.color
    curves = {curve.name for curve in scene.curves}
    if "trace" in curves:
        yield "path", colors.TRACE
    if scene.goal is not None or "goal" in curves:
        yield "goal", colors.GOAL
    if "forbidden" in curves:
        yield "keep out", colors.FORBIDDEN


def figures(value: float) -> str:
    """The value with three significant digits, with an exponent only below 1e-3."""
    return f"{value:.3g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.1e}"


def dashes(points: Array, length: float) -> Array:
    """Dashes (k, 2, 2), about `length` pixels long, of a line through points (n, 2)."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    count = max(round(along[-1] / length) // 2, 1)
    at = np.linspace(0.0, along[-1], 2 * count + 1)[: 2 * count]
    ends = np.stack([np.interp(at, along, points[:, k]) for k in (0, 1)], axis=1)
    return np.asarray(ends.reshape(count, 2, 2))


class Viewer:
    """Draws the lanes of an env. A copy has the same trails, but no surfaces or window."""

    def __init__(self) -> None:
        self.trails: dict[int, Trail] = {}
        self._painter: Painter | None = None
        self._clock: Any = None  # of a window, where there is one

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_painter": None, "_clock": None}

    def frames(self, env: Any) -> tuple[Frame, ...]:
        """A picture, (height, width, 3) uint8, of each lane, up to MOST_LANES of them."""
        lanes = min(env.episodes.size, MOST_LANES)
        if self._painter is None:
            edge = SIZE[0] if lanes == 1 else 320 if lanes <= 4 else 240 if lanes <= 16 else 160
            self._painter = Painter((edge, edge))
        trails = {lane: self.trails.setdefault(lane, Trail()) for lane in range(lanes)}
        return tuple(map(self._painter.paint, scenes_of(env, trails)))

    def show(self, env: Any, rate: int) -> None:
        """Draw the lanes in a window, and wait to keep `rate` pictures a second. pygame has one
        window at a time. Raises Gymnasium's Error without a screen."""
        picture = np.ascontiguousarray(tiled(self.frames(env)).swapaxes(0, 1))
        pygame = load_pygame()
        if self._clock is None or not pygame.display.get_init():
            try:
                pygame.display.init()
                # Without a screen SDL may draw into memory, unless it was told to.
                if pygame.display.get_driver() == "offscreen" != os.environ.get("SDL_VIDEODRIVER"):
                    pygame.display.quit()
                    raise pygame.error("SDL finds none")
                pygame.display.set_caption("rbgym")
                pygame.display.set_mode(picture.shape[:2])
            except pygame.error as problem:
                raise Error(
                    f"render_mode='human' needs a screen ({problem}); 'rgb_array' needs none"
                ) from problem
            self._clock = pygame.time.Clock()
        if pygame.display.get_surface().get_size() != picture.shape[:2]:  # another env's
            pygame.display.set_mode(picture.shape[:2])
        pygame.surfarray.blit_array(pygame.display.get_surface(), picture)
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(rate)

    def forget(self, lanes: list[int]) -> None:
        """Drop the trails of lanes that were reset, which may look like the same episode."""
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
