"""Solids to be drawn: closed surfaces of triangles [m], counterclockwise seen from outside."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbgym.body import RigidBody
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.colors import Color
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array, Vector

_SHARP = math.cos(math.radians(28.0))  # edges between faces at a larger angle are drawn
_THIN = 0.02  # least edge of a box, relative to its largest, so that plates and rods are visible
_SAME = 1e-6  # relative difference up to which moments count as equal
_G = 9.81  # m/s^2, gives a top's centre of mass from its weight moment
_OF_BODY = colors.METAL, colors.METAL_DARK


@dataclass(frozen=True, eq=False)
class Mesh:
    """A closed surface of triangles: vertices (n, 3) [m], faces (m, 3), colors (m, 3) uint8."""

    vertices: Array
    faces: NDArray[np.int64]
    colors: NDArray[np.uint8]

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

    @functools.cached_property
    def _depths(self) -> Array:
        """Distance of each face's plane from the origin, (m,)."""
        return np.asarray(np.sum(self.normals * self.vertices[self.faces[:, 0]], axis=1))

    def exit_of(self, direction: ArrayLike) -> tuple[float, Array]:
        """Distance [m] where a ray from the origin leaves a convex mesh, and the normal there."""
        along = np.maximum(self.normals @ np.asarray(direction, dtype=np.float64), 1e-12)
        distance = self._depths / along
        face = int(np.argmin(np.where(along > 1e-9, distance, np.inf)))
        return max(float(distance[face]), 0.0), self.normals[face]

    @functools.cached_property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """The edges of a convex mesh: indices of their vertices (k, 2), and of the faces that meet
        there (k, 2); whether they are sharp (k,)."""
        ends = np.stack([self.faces, np.roll(self.faces, -1, axis=1)], axis=2).reshape(-1, 2)
        _, same = np.unique(np.round(self.vertices / self.radius, 9), axis=0, return_inverse=True)
        pairs = np.sort(same.reshape(-1)[ends], axis=1)
        once = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
        ends, own = ends[once], once // 3
        # The other face is the one with the largest turn among those whose plane has the edge. The
        # edge need not be one of its own: neighbouring faces may be divided differently.
        height = self.vertices[ends] @ self.normals.T - self._depths
        within = np.all(np.abs(height) < 1e-6 * self.radius, axis=1)
        alike = np.where(within, self.normals[own] @ self.normals.T, 1.0)
        other = np.argmin(alike, axis=1)
        bend = alike[np.arange(len(own)), other]
        sides = np.stack([own, np.where(bend < 1.0 - 1e-9, other, own)], axis=1)
        return ends, sides, bend < _SHARP

    def turned(self, rotation: ArrayLike) -> "Mesh":
        """The mesh with its vertices turned by a rotation matrix (3, 3)."""
        return replace(self, vertices=self.vertices @ np.asarray(rotation).T)

    def along(self, axis: ArrayLike) -> "Mesh":
        """The mesh with its z axis turned to a vector (3,)."""
        return self.turned(across_and_along(axis).T)

    def moved(self, by: ArrayLike) -> "Mesh":
        """The mesh moved by (3,) [m]."""
        return replace(self, vertices=self.vertices + np.asarray(by, dtype=np.float64))

    def tinted(self, color: Color) -> "Mesh":
        return replace(self, colors=np.tile(np.array(color, np.uint8), (len(self.faces), 1)))


def across_and_along(axis: ArrayLike) -> Array:
    """A right-handed frame, as rows (3, 3), whose third axis is along a vector (3,)."""
    z = np.asarray(axis, dtype=np.float64)
    z = z / np.linalg.norm(z)
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z])


@functools.lru_cache(maxsize=64, typed=True)  # potentials of two classes may be equal
def solid_of(body: RigidBody, potential: Any = None) -> Mesh:
    """The homogeneous solid with the body's mass and moments, in body axes: a cone in a `HeavyTop`,
    a cylinder if exactly two moments are equal, else a box. Thin edges are drawn thicker."""
    if isinstance(potential, HeavyTop):
        return _top_of(body, potential)
    # The inertia about the centre of mass, also if the pivot is elsewhere.
    central = body.about(body.center_of_mass)
    moments, mass = central.moments, central.mass
    for k in range(3):
        across, along = np.delete(moments, k), moments[k]
        equal = np.ptp(across) <= _SAME * across.max()
        if equal and abs(along - across[0]) > _SAME * across.max():
            height = math.sqrt(max(12 * across.mean() - 6 * along, 0.0) / mass)
            mesh = cylinder(math.sqrt(2 * along / mass), height).along(np.eye(3)[k])
            break
    else:
        mesh = box(np.sqrt(np.maximum(6 / mass * (moments.sum() - 2 * moments), 0.0)))
    return mesh.turned(central.principal_rotation).moved(body.center_of_mass)


def _top_of(body: RigidBody, potential: HeavyTop) -> Mesh:
    axis = np.array(potential.axis)
    lever = float(axis @ body.center_of_mass) or potential.mgl / (body.mass * _G)
    axis, lever = axis * math.copysign(1.0, lever), abs(lever)
    height = 4 / 3 * lever  # the centre of mass of a cone is at 3/4 of its height
    spread = math.sqrt(10 / 3 * float(axis @ body.inertia @ axis) / body.mass)
    return cone(spread, height).along(axis)


def box(size: ArrayLike) -> Mesh:
    """A box, size (3,) [m], with sides of a satellite: solar cells across x and y, foil on +z."""
    edges = np.maximum(size, _THIN * np.max(size))
    patches = []
    for normal in range(3):
        u, v = (normal + 1) % 3, (normal + 2) % 3
        for sign in (1.0, -1.0):
            inner = colors.CELL if normal < 2 else colors.FOIL if sign > 0 else colors.WHITE
            for rectangle, color in _panel(edges[u], edges[v], inner):
                corners = np.zeros((4, 3))
                corners[:, normal] = sign * edges[normal] / 2
                corners[:, [u, v]] = rectangle if sign > 0 else rectangle[::-1]
                patches.append((corners, color))
    return of_polygons(patches)


def _panel(width: float, height: float, inner: Color) -> list[tuple[Array, Color]]:
    """Rectangles that tile one face about its middle: a frame around one to four cells."""
    short, long = sorted((width, height))
    rim = 0.07 * short
    cells = int(np.clip(round(long / short), 1, 4)) if inner == colors.CELL else 1
    stops = np.linspace(-long / 2 + rim, long / 2, cells + 1)
    side = short / 2 - rim
    found = [(-short / 2, short / 2, -long / 2, stops[0], colors.METAL)]
    for start, stop in zip(stops[:-1], stops[1:] - rim, strict=True):
        found += [
            (-side, side, start, stop, inner),
            (-short / 2, -side, start, stop, colors.METAL),
            (side, short / 2, start, stop, colors.METAL),
            (-short / 2, short / 2, stop, stop + rim, colors.METAL),
        ]
    turn = 1 if height >= width else -1
    return [
        (np.array([(a, c), (b, c), (b, d), (a, d)])[::turn, ::turn], color)
        for a, b, c, d, color in found
    ]


def cylinder(
    radius: float, height: float, sides: int = 32, tints: tuple[Color, Color] = _OF_BODY
) -> Mesh:
    """A cylinder about z with its middle at the origin, in quarters of two colours."""
    least = _THIN * max(2 * radius, height)
    radius, height = max(radius, least / 2), max(height, least)
    return of_revolution([(radius, -height / 2), (radius, height / 2)], tints, sides)


def cone(radius: float, height: float) -> Mesh:
    """A cone with its tip at the origin and its axis along z, in quarters of two colours."""
    return of_revolution([(0.0, 0.0), (max(radius, _THIN * height), height)])


@functools.lru_cache(maxsize=8)
def sphere(radius: float, color: Color = colors.STATION) -> Mesh:
    """A sphere about the origin, in one colour."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 17)[1:-1]
    middle = [(radius * math.cos(a), radius * math.sin(a)) for a in angles]
    return of_revolution([(0.0, -radius), *middle, (0.0, radius)], (color, color))


@functools.lru_cache(maxsize=32)
def wheel(radius: float, width: float, axis: Vector) -> Mesh:
    """A wheel about the unit vector `axis`, in quarters of two colours that show its spin."""
    return cylinder(radius, width, 24, (colors.FOIL, colors.RIM)).along(axis)


@functools.lru_cache(maxsize=8)
def wall(size: float, thickness: float) -> Mesh:
    """A square plate across z, its upper side through the origin."""
    plate = box((size, size, thickness)).tinted(colors.FAINT)
    return plate.moved((0.0, 0.0, -(plate.vertices[:, 2].max())))


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


def of_revolution(
    profile: Sequence[tuple[float, float]], tints: tuple[Color, Color] = _OF_BODY, sides: int = 32
) -> Mesh:
    """The closed surface that a line through points (radius, z), bottom to top, sweeps about z, in
    quarters of two colours."""
    angle = np.linspace(0.0, 2 * np.pi, sides + 1)
    turn = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    patches = []
    for below, above in pairwise([(0.0, profile[0][1]), *profile, (0.0, profile[-1][1])]):
        if below == above:
            continue
        low, high = (np.column_stack([r * turn, np.full(len(turn), z)]) for r, z in (below, above))
        for k in range(sides):
            corners = [low[k], low[k + 1], high[k + 1], high[k]]
            if below[0] == 0.0:
                corners.pop(1)
            if above[0] == 0.0:
                corners.pop()
            patches.append((np.array(corners), tints[(4 * k // sides) % 2]))
    return of_polygons(patches)
