"""A perspective camera: what it sees of a scene, and in what order that is to be drawn. Of
convex solids the faces that look to the camera cannot hide one another; what leaves the body
through a face, or is fixed to it, is before the body where that face looks to the camera."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.envs.rendering.scene import Arrow, BodyPart, Curve, Framing, Scene
from rbgym.quaternion import Array

_FIELD = math.radians(26.0)  # half of it is to either side of the middle
_HIGH = 0.475  # of the picture's height is above the middle of what is seen
_NEAR = 0.05  # of the distance to the middle: what is nearer is not drawn
_ASIDE = 4.0  # of the picture's longer edge, from its middle: what is farther off is not drawn
_LIGHT = np.array([-0.5, 0.75, -0.55]) / np.linalg.norm([0.5, 0.75, 0.55])  # right, up, forward
_DARKEST = 0.68  # brightness of a face that the light does not meet

# Layers, each drawn over those before it.
WALL, BELOW, BEHIND, BODY, BEFORE = range(5)
_FIXED = {"wall": WALL, "goal": BEHIND, "pivot": BEFORE}


class Solid(NamedTuple):
    """The seen side of a convex solid. corners: (m, 3, 2) pixels of faces. fills: (m, 3) colours.
    edges: (k, 2, 2) pixels, of the outline and of sharp edges."""

    corners: Array
    fills: NDArray[np.int64]
    edges: Array


class Item(NamedTuple):
    """Something to be drawn, in a layer, and how far away it is [m]."""

    layer: int
    depth: float
    what: BodyPart | Arrow | Curve


class Camera:
    """A camera at `eye` (3,) [m] that looks at `center` (3,), the world's z axis upwards. size:
    (width, height) [pixels]. field: angle between the nearer edges [rad]. axes: unit vectors to the
    right, upwards and forwards. scale: pixels per unit of the tangent of the angle off the middle.
    near: least depth [m] that is drawn. middle: pixel of `center`, above the words."""

    def __init__(
        self, eye: Array, center: Array, size: tuple[int, int], field: float = _FIELD
    ) -> None:
        self.eye, self.size = eye, size
        forward = center - eye
        distance = np.linalg.norm(forward)
        forward = forward / distance
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        self.axes = np.stack([right, np.cross(right, forward), forward])
        self.scale = min(size) / 2 / math.tan(field / 2)
        self.near = _NEAR * float(distance)
        self.middle = np.array([0.5, _HIGH]) * size

    @classmethod
    def of(cls, framing: Framing, size: tuple[int, int]) -> "Camera":
        """The camera in whose picture what is to be looked at just fits."""
        center, radius, _, (azimuth, elevation) = framing
        flat = math.cos(elevation)
        towards = (flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation))
        # As far as it is high above the middle there is room; below there is a little more.
        away = radius / math.sin(math.atan(2 * _HIGH * math.tan(_FIELD / 2)))
        return cls(center + away * np.array(towards), center, size)

    def depth(self, point: ArrayLike) -> float:
        """Depth of one point (3,) [m]."""
        return float(self.axes[2] @ (np.asarray(point) - self.eye))

    def project(self, points: ArrayLike) -> tuple[Array, Array]:
        """Pixels (n, 2), right and down from the upper left corner, and depths (n,) [m] along the
        line of sight, of points (n, 3); of points before `near`, as if they were there."""
        seen = (np.asarray(points, dtype=np.float64) - self.eye) @ self.axes.T
        depth = np.maximum(seen[:, 2], self.near)
        return self.middle + self.scale * seen[:, :2] * (1.0, -1.0) / depth[:, None], depth

    def runs(self, points: Array) -> list[Array]:
        """The parts of a line through points (n, 3) that can be drawn, (k, 3) each: those before
        the near plane, and no farther aside than some picture widths."""
        pixels, depths = self.project(points)
        aside = np.abs(pixels - self.middle).max(axis=1)
        drawn = (depths > self.near) & (aside <= _ASIDE * max(self.size))
        cuts = np.flatnonzero(np.diff(drawn)) + 1
        runs = np.split(points, cuts)[0 if drawn[0] else 1 :: 2]
        return [run for run in runs if len(run) > 1]

    def side_of(self, part: BodyPart) -> Solid:
        mesh, vertices = part.mesh, part.vertices
        normals = mesh.normals @ part.rotation.T
        front = np.sum(normals * (self.eye - vertices[mesh.faces[:, 0]]), axis=1) > 0
        pixels, depths = self.project(vertices)
        # A face that comes too near is left out.
        front &= (depths[mesh.faces] > self.near).all(axis=1)
        met = np.maximum(normals[front] @ (self.axes.T @ _LIGHT), 0.0)
        bright = _DARKEST + (1.05 - _DARKEST) * met
        fills = np.minimum(mesh.colors[front] * bright[:, None], 255).astype(np.int64)
        edges = mesh.edges
        sides = front[edges.faces]
        drawn = (edges.sharp & sides.any(axis=1)) | (sides[:, 0] != sides[:, 1])
        drawn &= (depths[edges.ends] > self.near).all(axis=1)
        return Solid(pixels[mesh.faces[front]], fills, pixels[edges.ends[drawn]])

    def in_order(self, scene: Scene) -> list[Item]:
        """Everything but the floor and the outline of the goal, what is to be drawn first first."""
        middle, items = self.depth(scene.body.position), [Item(BODY, 0.0, scene.body)]
        for part in (*scene.parts, *([scene.goal] if scene.goal else [])):
            depth = self.depth(part.position)
            layer = self._layer(part.facing, part.position, depth < middle)
            items.append(Item(_FIXED.get(part.name, layer), depth, part))
        for arrow in (*scene.arrows, *scene.axes):
            layer = self._layer(arrow.facing, arrow.tail)
            items.append(Item(layer, self.depth(arrow.tail + arrow.shaft), arrow))
        items += self._lines(scene, middle)
        return sorted(items, key=lambda item: (item.layer, -item.depth))

    def _layer(self, facing: Array | None, place: Array, nearer: bool = False) -> int:
        if facing is not None:
            nearer = float(facing @ (self.eye - place)) > 0
        return BEFORE if nearer else BEHIND

    def _lines(self, scene: Scene, middle: float) -> Iterator[Item]:
        """The curves, cut where they pass from one layer into another."""
        walls = [float(part.position[2]) for part in scene.parts if part.name == "wall"]
        for curve in scene.curves:
            for points in self.runs(curve.points):
                centers = (points[1:] + points[:-1]) / 2
                depths = self.project(centers)[1]
                layers = np.where(depths < middle, BEFORE, BEHIND)
                for height in walls:
                    layers[centers[:, 2] < height] = BELOW
                cuts = [0, *(np.flatnonzero(np.diff(layers)) + 1).tolist(), len(layers)]
                for first, last in itertools.pairwise(cuts):
                    piece = curve._replace(points=points[first : last + 1])
                    yield Item(int(layers[first]), float(depths[first:last].mean()), piece)
