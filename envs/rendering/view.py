"""What a camera sees of solids, and in what order things are to be drawn. Pure NumPy.

All solids are convex: of each, the faces that look to the camera are all that is seen, and cannot
hide one another. Whatever leaves the body through a face, or is fixed to it, lies beyond that
face's plane: it is before the body where the face looks to the camera, else behind it.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rbgym.envs.rendering import colors
from rbgym.envs.rendering.camera import Camera
from rbgym.envs.rendering.scene import Arrow, Curve, Part, Scene
from rbgym.quaternion import Array

# Layers, each drawn over those before it.
WALL, BELOW, BEHIND, BODY, BEFORE = range(5)
_FIXED = {"goal": BEHIND, "pivot": BEFORE}
_LIGHT = np.array([-0.5, 0.75, -0.55]) / np.linalg.norm([0.5, 0.75, 0.55])  # right, up, forward
_DARKEST = 0.68  # brightness of a face that the light does not meet


class Solid(NamedTuple):
    """The seen side of a convex solid.

    corners: (m, 3, 2) pixels of faces. fills: (m, 3) colours, shaded. edges: (k, 2, 2) pixels, of
    the outline and of sharp edges.
    """

    corners: Array
    fills: list[list[int]]
    edges: Array


class Item(NamedTuple):
    """Something to be drawn, in a layer, and how far away it is [m]."""

    layer: int
    depth: float
    what: Part | Arrow | Curve


def seen(part: Part, camera: Camera) -> Solid:
    """The side of a convex solid that the camera sees."""
    mesh, vertices = part.mesh, part.vertices
    normals = mesh.normals @ part.rotation.T
    front = np.sum(normals * (camera.eye - vertices[mesh.faces[:, 0]]), axis=1) > 0
    pixels, depths = camera.project(vertices)
    # A face that comes too near is left out.
    front &= (depths[mesh.faces] > camera.near).all(axis=1)
    met = np.maximum(normals[front] @ (camera.axes.T @ _LIGHT), 0.0)
    bright = _DARKEST + (1.05 - _DARKEST) * met
    fills = np.minimum(mesh.colors[front] * bright[:, None], 255).astype(int)
    edges = mesh.edges
    sides = front[edges.faces]
    drawn = (edges.sharp & sides.any(axis=1)) | (sides[:, 0] != sides[:, 1])
    drawn &= (depths[edges.ends] > camera.near).all(axis=1)
    return Solid(pixels[mesh.faces[front]], fills.tolist(), pixels[edges.ends[drawn]])


def in_order(scene: Scene, camera: Camera) -> list[Item]:
    """Everything but the floor and the outline of the goal, what is to be drawn first first."""
    items = [Item(BODY, 0.0, scene.body), *_items(scene, camera)]
    return sorted(items, key=lambda item: (item.layer, -item.depth))


def _items(scene: Scene, camera: Camera) -> Iterator[Item]:
    middle = camera.depth(scene.body.position)
    wall = None
    for part in (*scene.parts, *([scene.goal] if scene.goal else [])):
        depth = camera.depth(part.position)
        if part.name == "wall":
            wall = float(part.position[2])
            yield Item(WALL, depth, part)
        elif part.name in _FIXED:
            yield Item(_FIXED[part.name], depth, part)
        else:
            yield Item(_side(part.facing, part.position, depth < middle, camera), depth, part)
    for arrow in (*scene.arrows, *scene.axes):
        side = _side(arrow.facing, arrow.tail, True, camera)
        yield Item(side, camera.depth(arrow.tail + arrow.shaft), arrow)
    for curve in (*scene.curves, *_polhode(scene)):
        for points in runs(curve.points, camera):
            piece = Curve(curve.name, points, curve.color, curve.dashed)
            yield from _pieces(piece, wall, middle, camera)


def runs(points: Array, camera: Camera) -> list[Array]:
    """The parts of a line through points (n, 3) that can be drawn, (k, 3) each."""
    segments, kept = camera.cut(np.stack([points[:-1], points[1:]], axis=1))
    if len(kept) == 0:
        return []
    apart = (np.diff(kept) > 1) | (segments[1:, 0] != segments[:-1, 1]).any(axis=1)
    return [
        np.concatenate([part[:, 0], part[-1:, 1]])
        for part in np.split(segments, np.flatnonzero(apart) + 1)
    ]


def _side(facing: Array | None, place: Array, nearer: bool, camera: Camera) -> int:
    if facing is not None:
        nearer = float(facing @ (camera.eye - place)) > 0
    return BEFORE if nearer else BEHIND


def _polhode(scene: Scene) -> Iterator[Curve]:
    if scene.polhode is not None and len(scene.polhode) > 1:
        yield Curve("polhode", scene.body.in_world(scene.polhode), colors.ANGULAR_VELOCITY)


def _pieces(curve: Curve, wall: float | None, middle: float, camera: Camera) -> Iterator[Item]:
    """The curve, cut where it passes from one layer into another."""
    centers = (curve.points[1:] + curve.points[:-1]) / 2
    depths = camera.project(centers)[1]
    layers = np.where(depths < middle, BEFORE, BEHIND)
    if wall is not None:
        layers[centers[:, 2] < wall] = BELOW
    cuts = [0, *(np.flatnonzero(np.diff(layers)) + 1).tolist(), len(layers)]
    for first, last in itertools.pairwise(cuts):
        piece = Curve(curve.name, curve.points[first : last + 1], curve.color, curve.dashed)
        yield Item(int(layers[first]), float(depths[first:last].mean()), piece)


def dashes(points: Array, length: float) -> Array:
    """Every other piece, about `length` pixels long, of a line through points (n, 2); (k, 2, 2)."""
    steps = np.hypot(*np.diff(points, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    count = max(round(along[-1] / length) // 2, 1)
    at = np.linspace(0.0, along[-1], 2 * count + 1)[: 2 * count]
    ends = np.stack([np.interp(at, along, points[:, k]) for k in (0, 1)], axis=1)
    return np.asarray(ends.reshape(count, 2, 2))
