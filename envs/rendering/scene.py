"""A scene: what is to be drawn of one body at one instant, as plain data.

Pure NumPy. Everything is in world axes and metres, z up, unless said otherwise; a painter needs
nothing else. Quaternions (w, x, y, z) map body to world.
"""

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbgym.envs.rendering.colors import Color
from rbgym.envs.rendering.solids import Mesh
from rbgym.quaternion import Array, to_matrix

_CENTER = np.zeros(3)
_UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Part:
    """A solid with its pose: a vertex v of the mesh is at position + scale R(quaternion) v.

    name: "body", "goal", "wheel", "pivot", "station" or "wall". position: (3,). quaternion: (4,).
    facing: (3,) or None; where the part is fixed to the outside of the body, the outward normal of
    the face it sits on, by which a painter without a depth buffer orders the two.
    """

    name: str
    mesh: Mesh
    position: Array = field(default_factory=lambda: _CENTER)
    quaternion: Array = field(default_factory=lambda: _UPRIGHT)
    scale: float = 1.0
    facing: Array | None = None

    @functools.cached_property
    def rotation(self) -> Array:
        """The rotation matrix (3, 3) of the quaternion."""
        return to_matrix(self.quaternion)

    @functools.cached_property
    def vertices(self) -> Array:
        """Vertices in the world, (n, 3)."""
        return self.in_world(self.mesh.vertices)

    def in_world(self, points: ArrayLike) -> Array:
        """Points (..., 3) of the mesh's own axes, in the world."""
        turned = np.asarray(points) @ self.rotation.T
        return np.asarray(self.position + self.scale * turned)


@dataclass(frozen=True, eq=False)
class Arrow:
    """A vector of the motion, drawn from `tail` (3,) to tail + shaft (3,).

    value: (3,), world axes, in `unit`; the shaft has its direction, and a length that
    `drawn_length` gives. facing: as of a `Part`, of the face of the body that the arrow leaves.
    """

    name: str
    tail: Array
    shaft: Array
    value: Array
    unit: str
    color: Color
    facing: Array | None = None

    @property
    def size(self) -> float:
        """Magnitude of the vector, in its unit."""
        return float(np.linalg.norm(self.value))


class Vector(NamedTuple):
    """A vector of the motion: value (3,), world axes, in `unit`; at `limit` it is drawn longest."""

    name: str
    value: Array
    unit: str
    color: Color
    limit: float

    @property
    def size(self) -> float:
        """Magnitude, in its unit."""
        return float(np.linalg.norm(self.value))


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through points (k, 3). name: "trace", "goal", "forbidden", "dock" or "mast"."""

    name: str
    points: Array
    color: Color
    dashed: bool = False


@dataclass(frozen=True)
class Caption:
    """What is written beside the picture.

    task, integrator: names. time [s]. energy [J], total. energy_error: relative to the start, of a
    body that is left to itself; None where torques act. attitude_error [rad], rate_error [rad/s]:
    from the goal, or None. success: None where there is no goal. notes: further short lines.
    """

    task: str
    integrator: str
    time: float
    energy: float
    energy_error: float | None = None
    attitude_error: float | None = None
    rate_error: float | None = None
    success: bool | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """All that is to be drawn.

    body: the solid. axes: its x, y and z axes, as arrows without a value. goal: the attitude (and
    place, and size) to be reached, as a ghost of the body; None where the goal is no such thing.
    parts: wheels, pivot, station, wall. vectors: angular velocity, momentum, torque, force and
    field; arrows: those of them that are long enough to be drawn. curves: the trace of the body's z
    axis (of a flyer, of its centre), goals and bounds of directions, the mast of a body with a
    wall. polhode: (k, 3), the angular velocity in body axes, drawn in metres about the body's
    centre; or None.
    center (3,), radius: the sphere that holds all that matters. floor: height of a floor, or None.
    seen_from: azimuth, from the x axis towards y, and elevation [rad], of who looks best.
    """

    body: Part
    caption: Caption
    axes: tuple[Arrow, ...] = ()
    goal: Part | None = None
    parts: tuple[Part, ...] = ()
    vectors: tuple[Vector, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    curves: tuple[Curve, ...] = ()
    polhode: Array | None = None
    center: Array = field(default_factory=lambda: _CENTER)
    radius: float = 1.0
    floor: float | None = None
    seen_from: tuple[float, float] = (math.radians(-58.0), math.radians(20.0))


def drawn_length(size: float, limit: float, reach: float) -> float:
    """Length [m] at which a vector is drawn: reach sqrt(size / limit), at most `reach`.

    The square root lets small vectors be seen beside large ones; size and limit in one unit.
    """
    return reach * math.sqrt(min(size / limit, 1.0)) if size > 0 and limit > 0 else 0.0


def arrows_from(part: Part, vectors: Iterable[Vector], reach: float) -> tuple[Arrow, ...]:
    """The arrows of vectors, which leave a convex solid through its surface, at most `reach` [m]
    long; none of those too short to be seen."""
    found = []
    for name, value, unit, color, limit in vectors:
        size = float(np.linalg.norm(value))
        length = drawn_length(size, limit, reach)
        if length > 0.02 * reach:
            tail, facing = surface(part, value / size)
            found.append(Arrow(name, tail, length / size * value, value, unit, color, facing))
    return tuple(found)


def axes_of(part: Part, color: Color, length: float) -> tuple[Arrow, ...]:
    """The x, y and z axes of a convex solid, from its surface outwards, `length` [m] each."""
    found = []
    for name, axis in zip("xyz", part.rotation.T, strict=True):
        tail, facing = surface(part, axis)
        found.append(Arrow(name, tail, length * axis, axis, "", color, facing))
    return tuple(found)


def surface(part: Part, direction: Array) -> tuple[Array, Array]:
    """Where a ray (3,) from the origin of a convex solid leaves it, and the normal there; world."""
    distance, normal = part.mesh.exit_of(part.rotation.T @ direction)
    return part.position + part.scale * distance * direction, part.rotation @ normal
