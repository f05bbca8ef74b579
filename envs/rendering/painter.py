"""Pictures of scenes, drawn by pygame: from far to near, without a depth buffer."""

import numpy as np

from rbgym.envs.rendering import colors, labels
from rbgym.envs.rendering.camera import Camera
from rbgym.envs.rendering.canvas import Canvas, Frame
from rbgym.envs.rendering.colors import Color
from rbgym.envs.rendering.scene import Arrow, Curve, Part, Scene
from rbgym.envs.rendering.view import BELOW, WALL, Solid, dashes, in_order, seen
from rbgym.quaternion import Array

SIZE = (480, 480)


class Painter:
    """Draws scenes of one size, (width, height) [pixels]."""

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self.canvas = Canvas(size, colors.ABOVE, colors.BELOW)
        self.size = size
        self.unit = min(size) / 480

    def paint(self, scene: Scene, camera: Camera | None = None) -> Frame:
        """The picture, (height, width, 3) uint8. camera: default one that holds the scene."""
        self.draw(scene, camera)
        return self.canvas.frame()

    def draw(self, scene: Scene, camera: Camera | None = None) -> None:
        """Draw on the canvas."""
        camera = camera or Camera.of(scene, self.size)
        self.canvas.clear()
        if scene.floor is not None:
            self._floor(scene, camera, scene.floor)
        for layer, _, what in in_order(scene, camera):
            if isinstance(what, Arrow):
                self._arrow(what, camera)
            elif isinstance(what, Curve):
                self._curve(what, camera, seen_through=layer == BELOW)
            elif what.name == "goal":
                self.canvas.polygons(*_in_one(seen(what, camera), colors.GHOST))
            elif layer == WALL:
                self._wall(what, scene, camera)
            elif what.name in ("station", "pivot"):
                self._ball(what, camera)
            else:
                self._solid(what, camera)
        if scene.goal is not None:
            self._edges(seen(scene.goal, camera), colors.GOAL, 1.5)
        labels.write(self.canvas, scene, camera, self.unit)
        self.canvas.smooth()

    # --- solids -----------------------------------------------------------------------------

    def _solid(self, part: Part, camera: Camera) -> None:
        solid = seen(part, camera)
        self.canvas.polygons(solid.corners, solid.fills)
        self._edges(solid, colors.OUTLINE, 1.0)

    def _edges(self, solid: Solid, color: Color, width: float) -> None:
        self.canvas.lines(solid.edges, [color] * len(solid.edges), width * self.unit)

    def _ball(self, part: Part, camera: Camera) -> None:
        """A sphere, shaded in rings from its rim to where the light meets it."""
        (middle,), (depth,) = camera.project(part.position[None])
        if depth <= camera.near:
            return
        radius = camera.scale * part.mesh.radius * part.scale / depth
        color: Color = tuple(part.mesh.colors[0].tolist())
        self.canvas.disc(middle, radius + self.unit, colors.OUTLINE)
        for share in np.linspace(0.0, 1.0, 40):
            place = middle + 0.42 * share * radius * np.array([-0.6, -0.75])
            fill = colors.mixed(colors.WHITE, 0.55 * share, colors.mixed(color, 0.8, colors.INK))
            self.canvas.disc(place, radius * (1.0 - share), fill)

    def _wall(self, part: Part, scene: Scene, camera: Camera) -> None:
        solid = seen(part, camera)
        self.canvas.polygons(*_in_one(solid, colors.WALL))
        self._edges(solid, colors.FAINT, 1.0)
        for curve in scene.curves:
            if curve.name == "mast":
                flat = curve.points * (1.0, 1.0, 0.0) + (0.0, 0.0, part.position[2])
                self.canvas.path(camera.project(flat)[0], colors.SHADOW, 3.0 * self.unit)

    def _floor(self, scene: Scene, camera: Camera, height: float) -> None:
        """Two discs, and on them the shadow of the body, of light from above."""
        turn = np.linspace(0.0, 2 * np.pi, 97)
        ring = scene.body.mesh.radius * np.column_stack([np.cos(turn), np.sin(turn), 0.0 * turn])
        for size, color in ((1.15, colors.FLOOR), (0.6, colors.FLOOR_INNER)):
            disc = camera.project(size * ring + (0.0, 0.0, height))[0]
            self.canvas.polygons([disc], [color])
        fallen = scene.body.vertices * (1.0, 1.0, 0.0) + (0.0, 0.0, height)
        corners = camera.project(fallen)[0][scene.body.mesh.faces]
        self.canvas.polygons(corners, [colors.SHADOW] * len(corners))

    # --- lines ------------------------------------------------------------------------------

    def _arrow(self, arrow: Arrow, camera: Camera) -> None:
        plain = not arrow.unit  # an axis, which has no magnitude
        ends, _ = camera.cut(np.stack([arrow.tail, arrow.tail + arrow.shaft])[None])
        if len(ends) == 0:
            return
        tail, tip = camera.project(ends[0])[0]
        width = (1.6 if plain else 4.0) * self.unit
        if np.hypot(*(tip - tail)) < 1.0:
            self.canvas.disc(tip, width, arrow.color)
            return
        head = (6.0 if plain else 13.0) * self.unit
        shapes = arrow_shapes(tail, tip, width, head)
        self.canvas.polygons(shapes, [arrow.color] * len(shapes))

    def _curve(self, curve: Curve, camera: Camera, seen_through: bool) -> None:
        pixels, width = camera.project(curve.points)[0], 2.0 * self.unit
        color = colors.mixed(curve.color, 0.45, colors.WALL) if seen_through else curve.color
        if curve.dashed:
            pieces = dashes(pixels, 7.0 * self.unit)
            self.canvas.lines(pieces, [color] * len(pieces), width)
        else:
            self.canvas.path(pixels, color, 2 * width if curve.name == "mast" else width)


def _in_one(solid: Solid, color: Color) -> tuple[Array, list[Color]]:
    return solid.corners, [color] * len(solid.corners)


def arrow_shapes(tail: Array, tip: Array, width: float, head: float) -> tuple[Array, Array]:
    """Shaft (4, 2) and head (3, 2) of a flat arrow between two pixels."""
    along = (tip - tail) / np.hypot(*(tip - tail))
    across = np.array([-along[1], along[0]])
    head = min(head, float(np.hypot(*(tip - tail))))
    neck, side, wing = tip - head * along, 0.5 * width * across, 0.42 * head * across
    shaft = np.array([tail - side, neck - side, neck + side, tail + side])
    return shaft, np.array([neck - wing, tip, neck + wing])
