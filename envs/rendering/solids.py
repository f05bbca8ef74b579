"""Solids to be drawn: the one that a body is made of, and some that stand around it.

Pure NumPy. Lengths in metres; every mesh is closed, its faces counterclockwise seen from outside.
"""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.body import RigidBody
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.colors import Color
from rbgym.envs.rendering.mesh import Mesh, aligned, of_polygons, of_revolution
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array, Vector

__all__ = ["Mesh", "arrow", "box", "cone", "cylinder", "solid_of", "sphere", "wall", "wheel"]

_THIN = 0.02  # least edge of a box, as a part of its largest, so that a plate or rod is seen
_SAME = 1e-6  # moments closer than this, relatively, are drawn as equal ones
_G = 9.81  # m/s^2, where a top's weight moment alone says how far its centre of mass is


def solid_of(body: RigidBody, potential: Any = None) -> Mesh:
    """The homogeneous solid that has the body's mass and moments, in body axes.

    A cone on its tip for a body in a `HeavyTop`, as high and wide as centre of mass and inertia
    say; else a box, or a cylinder where just two moments are equal, with the body's principal
    axes. Edges too thin to be seen are drawn thicker.
    """
    return _top_of(body, potential) if isinstance(potential, HeavyTop) else _free_solid(body)


@functools.lru_cache(maxsize=64)
def _free_solid(body: RigidBody) -> Mesh:
    # The inertia about the centre of mass, where the body is pivoted elsewhere.
    central = body.about(body.center_of_mass)
    moments, mass = central.moments, central.mass
    for k in range(3):
        across, along = np.delete(moments, k), moments[k]
        equal = np.ptp(across) <= _SAME * across.max()
        if equal and abs(along - across[0]) > _SAME * across.max():
            height = math.sqrt(max(12 * across.mean() - 6 * along, 0.0) / mass)
            mesh = aligned(cylinder(math.sqrt(2 * along / mass), height), np.eye(3)[k])
            break
    else:
        edges = np.sqrt(np.maximum(6 / mass * (moments.sum() - 2 * moments), 0.0))
        mesh = box(edges)
    return mesh.turned(central.principal_rotation).moved(body.center_of_mass)


@functools.lru_cache(maxsize=64)
def _top_of(body: RigidBody, potential: HeavyTop) -> Mesh:
    axis = np.array(potential.axis)
    lever = float(axis @ body.center_of_mass) or potential.mgl / (body.mass * _G)
    axis, lever = axis * math.copysign(1.0, lever), abs(lever)
    height = 4 / 3 * lever  # the centre of mass of a cone is at 3/4 of its height
    spread = math.sqrt(10 / 3 * float(axis @ body.inertia @ axis) / body.mass)
    return aligned(cone(spread, height), axis)


# --- solids ---------------------------------------------------------------------------------


def box(size: ArrayLike) -> Mesh:
    """A box with full edge lengths (3,), its sides like a satellite's: solar cells on the faces
    across x and y, foil on +z, white on -z."""
    edges = np.maximum(np.asarray(size, dtype=np.float64), _THIN * np.max(np.asarray(size)))
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
    """Rectangles that tile one face about its middle: a frame with one to four cells in it."""
    rim, tall = 0.07 * min(width, height), height >= width
    cells = int(np.clip(round(max(width, height) / min(width, height)), 1, 4))
    if inner != colors.CELL:
        cells = 1
    long, short = (height, width) if tall else (width, height)
    stops = np.linspace(-long / 2 + rim, long / 2, cells + 1)
    found: list[tuple[Array, Color]] = []

    def add(a: float, b: float, c: float, d: float, color: Color) -> None:
        one = np.array([(a, c), (b, c), (b, d), (a, d)])
        found.append((one if tall else one[::-1, ::-1], color))

    side = short / 2 - rim
    add(-short / 2, short / 2, -long / 2, stops[0], colors.METAL)
    for start, stop in zip(stops[:-1], stops[1:] - rim, strict=True):
        add(-side, side, start, stop, inner)
        add(-short / 2, -side, start, stop, colors.METAL)
        add(side, short / 2, start, stop, colors.METAL)
        add(-short / 2, short / 2, stop, stop + rim, colors.METAL)
    return found


def cylinder(radius: float, height: float, sides: int = 32) -> Mesh:
    """A cylinder about z, its middle at the origin, in quarters of two colours."""
    least = _THIN * max(2 * radius, height)
    radius, height = max(radius, least / 2), max(height, least)
    return of_revolution([(radius, -height / 2), (radius, height / 2)], sides)


def cone(radius: float, height: float, sides: int = 32) -> Mesh:
    """A cone with its tip at the origin and its axis along z, in quarters of two colours."""
    return of_revolution([(0.0, 0.0), (max(radius, _THIN * height), height)], sides)


@functools.lru_cache(maxsize=8)
def sphere(radius: float, color: Color = colors.STATION, sides: int = 32) -> Mesh:
    """A ball about the origin, in one colour."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, sides // 2 + 1)
    profile = [(radius * max(math.cos(a), 0.0), radius * math.sin(a)) for a in angles]
    profile[0], profile[-1] = (0.0, -radius), (0.0, radius)
    return of_revolution(profile, sides).tinted(color)


@functools.lru_cache(maxsize=32)
def wheel(radius: float, width: float, axis: Vector = (0.0, 0.0, 1.0)) -> Mesh:
    """A wheel about the unit vector `axis`, in quarters of two colours so that its spin is seen."""
    disc = cylinder(radius, width, 24)
    light = np.all(disc.colors == colors.METAL, axis=1, keepdims=True)
    tints = np.where(light, colors.FOIL, colors.RIM).astype(np.uint8)
    painted = Mesh(disc.vertices, disc.faces, tints)
    return aligned(painted, np.asarray(axis, dtype=np.float64))


def arrow(length: float, width: float, color: Color = colors.TORQUE) -> Mesh:
    """An arrow from the origin along z; its head has three times the shaft's `width` [m]."""
    head = min(4 * width, length)
    neck = length - head
    profile = [(0.0, 0.0), (width / 2, 0.0), (width / 2, neck), (1.5 * width, neck), (0.0, length)]
    return of_revolution(profile, 12).tinted(color)


@functools.lru_cache(maxsize=8)
def wall(size: float, thickness: float, color: Color = colors.FAINT) -> Mesh:
    """A square plate across z, its upper side through the origin."""
    plate = box((size, size, thickness)).tinted(color)
    return plate.moved((0.0, 0.0, -(plate.vertices[:, 2].max())))
