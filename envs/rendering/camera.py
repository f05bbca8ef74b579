"""A perspective camera, which projects a scene and orders its items for drawing. The faces of a
convex solid that look to the camera cannot hide one another; an item that leaves the body through a
face, or is fixed to it, is in front of the body if that face looks to the camera."""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.envs.rendering.scene import Arrow, BodyPart, Curve, Framing, Scene
from rbgym.quaternion import Array

_FIELD = math.radians(26.0)  # field of view, along the shorter side
_HIGH = 0.475  # fraction of the picture's height above the centre of the scene
_NEAR = 0.05  # near plane, as a fraction of the distance to the centre
_ASIDE = 4.0  # largest distance from the middle, in longer edges of the picture
_LIGHT = np.array([-0.5, 0.75, -0.55]) / np.linalg.norm([0.5, 0.75, 0.55])  # right, up, forward
_DARKEST = 0.68  # brightness of a face that the light does not meet

# Layers, drawn in this order.
WALL, BELOW, BEHIND, BODY, BEFORE = range(5)
_FIXED = {"wall": WALL, "goal": BEHIND, "pivot": BEFORE}


class Solid(NamedTuple):
    """The visible side of a convex solid. corners: (m, 3, 2) pixels of faces. fills: (m, 3)
    colours. edges: (k, 2, 2) pixels of the outline and of sharp edges."""

    corners: Array
    fills: NDArray[np.int64]
    edges: Array


class Item(NamedTuple):
    """An object to be drawn, with its layer and depth [m]."""

    layer: int
    depth: float
    what: BodyPart | Arrow | Curve


class Camera:
    """A camera at `eye` (3,) [m] that looks at `center` (3,) [m], with the world's z axis upwards.
    size: (width, height) [pixels]. axes: unit vectors to the right, upwards and forwards. scale:
    pixels per tangent of the angle from the view axis. near: least depth [m] that is drawn. middle:
    pixel of `center`, above the legend."""

    def __init__(self, eye: Array, center: Array, size: tuple[int, int]) -> None:
        self.eye, self.size = eye, size
        forward = center - eye
        distance = np.linalg.norm(forward)
        forward = forward / distance
        right = np.cross(forward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        self.axes = np.stack([right, np.cross(right, forward), forward])
        self.scale = min(size) / 2 / math.tan(_FIELD / 2)
        self.near = _NEAR * float(distance)
        self.middle = np.array([0.5, _HIGH]) * size

    @classmethod
    def of(cls, framing: Framing, size: tuple[int, int]) -> "Camera":
        """The camera whose picture just holds the sphere of the framing."""
        center, radius, _, (azimuth, elevation) = framing
        flat = math.cos(elevation)
        towards = (flat * math.cos(azimuth), flat * math.sin(azimuth), math.sin(elevation))
        # The height above the middle limits the sphere; below there is a little more room.
        away = radius / math.sin(math.atan(2 * _HIGH * math.tan(_FIELD / 2)))
        return cls(center + away * np.array(towards), center, size)

    def depth(self, point: ArrayLike) -> float:
        """Depth of one point (3,) [m]."""
        return float(self.axes[2] @ (np.asarray(point) - self.eye))

    def project(self, points: ArrayLike) -> tuple[Array, Array]:
        """Pixels (n, 2), right and down from the upper left corner, and depths (n,) [m] along the
        view axis, of points (n, 3); a point nearer than `near` gets that depth."""
        seen = (np.asarray(points, dtype=np.float64) - self.eye) @ self.axes.T
        depth = np.maximum(seen[:, 2], self.near)
        return self.middle + self.scale * seen[:, :2] * (1.0, -1.0) / depth[:, None], depth

    def runs(self, points: Array) -> list[Array]:
        """The parts of a line through points (n, 3) that can be drawn, (k, 3) each: beyond the near
        plane and not too far outside the picture."""
        pixels, depths = self.project(points)
        aside = np.abs(pixels - self.middle).max(axis=1)
        drawn = (depths > self.near) & (aside <= _ASIDE * max(self.size))
        runs = np.split(points, np.flatnonzero(np.diff(drawn)) + 1)[0 if drawn[0] else 1 :: 2]
        return [run for run in runs if len(run) > 1]

    def side_of(self, part: BodyPart) -> Solid:
        """The visible side of a part, in pixels."""
        mesh, vertices = part.mesh, part.vertices
        normals = mesh.normals @ part.rotation.T
        front = np.sum(normals * (self.eye - vertices[mesh.faces[:, 0]]), axis=1) > 0
        pixels, depths = self.project(vertices)
        # Faces that reach the near plane are left out.
        front &= (depths[mesh.faces] > self.near).all(axis=1)
        met = np.maximum(normals[front] @ (self.axes.T @ _LIGHT), 0.0)
        bright = _DARKEST + (1.05 - _DARKEST) * met
        fills = np.minimum(mesh.colors[front] * bright[:, None], 255).astype(np.int64)
        ends, meeting, sharp = mesh.edges
        sides = front[meeting]
        drawn = (sharp & sides.any(axis=1)) | (sides[:, 0] != sides[:, 1])
        drawn &= (depths[ends] > self.near).all(axis=1)
        return Solid(pixels[mesh.faces[front]], fills, pixels[ends[drawn]])

    def in_order(self, scene: Scene) -> list[Item]:
        """All items in drawing order, without the floor and the outline of the goal."""
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
        """The curves, cut where they change layers."""
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
