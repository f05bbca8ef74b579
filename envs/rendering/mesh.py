"""Closed surfaces of triangles, and how they are made. Pure NumPy, lengths in metres."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.envs.rendering import colors
from rbgym.envs.rendering.colors import Color
from rbgym.quaternion import Array

Faces = NDArray[np.int64]
Colors = NDArray[np.uint8]


_SHARP = np.cos(np.radians(28.0))  # edges where faces are turned by more are drawn


class Edges(NamedTuple):
    """ends: (k, 2), indices of vertices. faces: (k, 2), the two that meet. sharp: (k,)."""

    ends: NDArray[np.int64]
    faces: NDArray[np.int64]
    sharp: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Mesh:
    """A closed surface of triangles, whose arrays are not to be written to.

    vertices: (n, 3) [m]. faces: (m, 3), indices of vertices. colors: (m, 3) uint8, of each face.
    """

    vertices: Array
    faces: Faces
    colors: Colors

    def __post_init__(self) -> None:
        for array in (self.vertices, self.faces, self.colors):
            array.flags.writeable = False

    @functools.cached_property
    def radius(self) -> float:
        """Distance of the farthest vertex from the origin [m]."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    @functools.cached_property
    def normals(self) -> Array:
        """Outward unit normals of the faces, (m, 3)."""
        a, b, c = np.moveaxis(self.vertices[self.faces], 1, 0)
        normals = np.cross(b - a, c - a)
        return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))

    def exit_of(self, direction: ArrayLike) -> tuple[float, Array]:
        """Distance [m] at which a ray from the origin leaves a convex mesh, and the normal (3,)
        of the face where it does."""
        along = np.maximum(self.normals @ np.asarray(direction, dtype=np.float64), 1e-12)
        distance = self._depths / along
        face = int(np.argmin(np.where(along > 1e-9, distance, np.inf)))
        return max(float(distance[face]), 0.0), self.normals[face]

    @functools.cached_property
    def _depths(self) -> Array:
        """Distance of each face's plane from the origin, (m,)."""
        return np.asarray(np.sum(self.normals * self.vertices[self.faces[:, 0]], axis=1))

    @functools.cached_property
    def edges(self) -> "Edges":
        """Where two faces meet."""
        _, same = np.unique(np.round(self.vertices / self.radius, 9), axis=0, return_inverse=True)
        found: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        for face, corners in enumerate(self.faces.tolist()):
            for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                first, last = sorted((int(same[a]), int(same[b])))
                found.setdefault((first, last), []).append((a, b, face))
        pairs = np.array([(*one[0], one[-1][2]) for one in found.values()])
        ends, faces = pairs[:, :2], pairs[:, 2:]
        lone = faces[:, 0] == faces[:, 1]
        faces[lone, 1] = self._across(ends[lone], faces[lone, 0])
        bend = np.sum(self.normals[faces[:, 0]] * self.normals[faces[:, 1]], axis=1)
        return Edges(ends, faces, bend < _SHARP)

    def _across(self, ends: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
        """Beyond edges that only one face has, as its neighbour is divided otherwise: the face in
        whose plane they lie too, and which is turned most against their own; else their own."""
        height = self.vertices[ends] @ self.normals.T - self._depths
        within = np.all(np.abs(height) < 1e-6 * self.radius, axis=1)
        alike = np.where(within, self.normals[own] @ self.normals.T, 1.0)
        best = np.argmin(alike, axis=1)
        return np.where(alike[np.arange(len(own)), best] < 1.0 - 1e-9, best, own)

    def turned(self, rotation: ArrayLike) -> "Mesh":
        """The same, its vertices turned by a rotation matrix (3, 3)."""
        return Mesh(self.vertices @ np.asarray(rotation).T, self.faces, self.colors)

    def moved(self, by: ArrayLike) -> "Mesh":
        """The same, moved by (3,) [m]."""
        return Mesh(self.vertices + np.asarray(by, dtype=np.float64), self.faces, self.colors)

    def tinted(self, color: Color) -> "Mesh":
        """The same in one colour."""
        same = np.tile(np.array(color, np.uint8), (len(self.faces), 1))
        return Mesh(self.vertices, self.faces, same)


def of_polygons(patches: Sequence[tuple[Array, Color]]) -> Mesh:
    """One mesh of convex polygons (k, 3), each with its colour."""
    vertices, faces, tints, first = [], [], [], 0
    for corners, color in patches:
        fan = [(first, first + k, first + k + 1) for k in range(1, len(corners) - 1)]
        vertices.append(corners)
        faces += fan
        tints += [color] * len(fan)
        first += len(corners)
    return Mesh(np.concatenate(vertices), np.array(faces), np.array(tints, dtype=np.uint8))


def of_revolution(profile: Sequence[tuple[float, float]], sides: int) -> Mesh:
    """What the line through (radius, z), from below to above, sweeps about z; ends are closed."""
    angle = np.linspace(0.0, 2 * np.pi, sides + 1)
    turn = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = [(0.0, profile[0][1]), *profile, (0.0, profile[-1][1])]
    rings = [np.column_stack([r * turn, np.full(sides + 1, z)]) for r, z in points]
    patches = []
    for (low, (r_0, z_0)), (high, (r_1, z_1)) in zip(
        zip(rings[:-1], points[:-1], strict=True), zip(rings[1:], points[1:], strict=True),
        strict=True,
    ):  # fmt: skip
        if (r_0, z_0) == (r_1, z_1):
            continue
        for k in range(sides):
            corners = [low[k], low[k + 1], high[k + 1], high[k]]
            if r_0 == 0.0:
                corners.pop(1)
            if r_1 == 0.0:
                corners.pop()
            light = (4 * k // sides) % 2 == 0
            patches.append((np.array(corners), colors.METAL if light else colors.METAL_DARK))
    return of_polygons(patches)


def aligned(mesh: Mesh, axis: Array) -> Mesh:
    """The mesh with its z axis turned to a unit vector."""
    z = axis / np.linalg.norm(axis)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return mesh.turned(np.stack([x, np.cross(z, x), z], axis=1))
