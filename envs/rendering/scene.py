"""A scene: the picture of one body at one instant as plain data, in world axes and metres, z up.
Quaternions (w, x, y, z) map body to world."""

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbgym.body import RigidBody
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.colors import Color
from rbgym.envs.rendering.solids import Mesh
from rbgym.quaternion import Array, rotate, to_matrix


@dataclass(frozen=True, eq=False)
class BodyPart:
    """A solid with its pose: a vertex v of the mesh is at position + scale R(quaternion) v. name:
    "body", "goal", "wheel", "pivot", "station" or "wall". facing: (3,), for a part on the outside
    of the body, the outward normal of its face, which decides the drawing order."""

    name: str
    mesh: Mesh
    position: Array = field(default_factory=lambda: np.zeros(3))
    quaternion: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    scale: float = 1.0
    facing: Array | None = None

    @functools.cached_property
    def rotation(self) -> Array:
        return to_matrix(self.quaternion)

    @functools.cached_property
    def vertices(self) -> Array:
        """Vertices in the world, (n, 3)."""
        return self.in_world(self.mesh.vertices)

    def in_world(self, points: ArrayLike) -> Array:
        """Points (..., 3) in the mesh's axes, transformed to the world."""
        return np.asarray(self.position + self.scale * (np.asarray(points) @ self.rotation.T))

    def exit_of(self, direction: Array) -> tuple[Array, Array]:
        """Where a ray (3,) from the origin of a convex solid leaves it, and the normal there."""
        distance, normal = self.mesh.exit_of(self.rotation.T @ direction)
        return self.position + self.scale * distance * direction, self.rotation @ normal

    def arrow(self, name: str, shaft: Array, color: Color, *, is_axis: bool = False) -> "Arrow":
        """An arrow that leaves a convex solid through its surface."""
        tail, facing = self.exit_of(shaft / np.linalg.norm(shaft))
        return Arrow(name, tail, shaft, color, facing, is_axis)


class Arrow(NamedTuple):
    """An arrow from `tail` (3,) to tail + shaft (3,); facing: as in `BodyPart`, of the face that it
    leaves the body through; is_axis: an axis of the body, not a vector of its motion."""

    name: str
    tail: Array
    shaft: Array
    color: Color
    facing: Array
    is_axis: bool


class Vector(NamedTuple):
    """A vector of the motion: value (3,) in `unit`, drawn longest at `limit`."""

    name: str
    value: Array
    unit: str
    color: Color
    limit: float

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.value))


class Curve(NamedTuple):
    """A line through points (k, 3). name: "trace", "polhode", "goal", "forbidden" or "mast"."""

    name: str
    points: Array
    color: Color
    dashed: bool = False


class Framing(NamedTuple):
    """The view: a sphere about `center` (3,) that holds the scene; the height of a floor, or None;
    azimuth, from the x axis towards y, and elevation [rad] of the camera."""

    center: Array
    radius: float
    floor: float | None = None
    seen_from: tuple[float, float] = (math.radians(-58.0), math.radians(20.0))


@dataclass(frozen=True)
class Caption:
    """The text of the picture. task, integrator: names. time [s]. attitude_error [rad], rate_error
    [rad/s]: from the goal, or None. success: or None. notes: further short lines."""

    task: str
    integrator: str
    time: float
    attitude_error: float | None = None
    rate_error: float | None = None
    success: bool | None = None
    notes: tuple[str, ...] = ()


Shape = BodyPart | Vector | Curve | Framing | str  # a str is a note of the caption


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """All objects of a picture. goal: a ghost of the body. parts: wheels, pivot, station, wall.
    vectors: angular velocity, momentum, torque, force, field. curves: the trace of the body's z
    axis, or of a flyer's centre; the polhode, goals and bounds, the mast of a wall."""

    body: BodyPart
    caption: Caption
    framing: Framing
    goal: BodyPart | None = None
    parts: tuple[BodyPart, ...] = ()
    vectors: tuple[Vector, ...] = ()
    curves: tuple[Curve, ...] = ()

    @classmethod
    def of(
        cls, body: BodyPart, caption: Caption, framing: Framing, shapes: Iterable[Shape]
    ) -> "Scene":
        """The scene of a body and shapes; the last framing counts."""
        found = list(shapes)
        parts = [one for one in found if isinstance(one, BodyPart)]
        return cls(
            body=body,
            caption=caption,
            framing=[framing, *(one for one in found if isinstance(one, Framing))][-1],
            goal=next((part for part in parts if part.name == "goal"), None),
            parts=tuple(part for part in parts if part.name != "goal"),
            vectors=tuple(one for one in found if isinstance(one, Vector)),
            curves=tuple(one for one in found if isinstance(one, Curve)),
        )

    @functools.cached_property
    def axes(self) -> tuple[Arrow, ...]:
        """The body's x, y and z axes, from its surface outwards."""
        return tuple(
            self.body.arrow(name, 0.2 * self.body.mesh.radius * axis, colors.AXES, is_axis=True)
            for name, axis in zip("xyz", self.body.rotation.T, strict=True)
        )

    @functools.cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """Arrows from the body's surface for the vectors that are long enough to be drawn."""
        reach = self.body.mesh.radius
        drawn = [(one, drawn_length(one.size, one.limit, reach)) for one in self.vectors]
        return tuple(
            self.body.arrow(one.name, length / one.size * one.value, one.color)
            for one, length in drawn
            if length > 0.02 * reach
        )


def drawn_length(size: float, limit: float, reach: float) -> float:
    """Length [m] at which a vector is drawn: reach sqrt(size / limit), at most `reach`."""
    return reach * math.sqrt(min(size / limit, 1.0)) if size > 0 and limit > 0 else 0.0


def motion_of(
    body: RigidBody, quaternion: Array, rate: Array, momentum: Array, limit: float
) -> Iterator[Vector]:
    """The angular velocity, from `rate` (3,) [rad/s, body], and momentum (3,) [kg m^2/s, world];
    limit: of the angular velocity [rad/s]."""
    most, turned = limit * float(body.moments.max()), rotate(quaternion, rate)
    yield Vector("angular velocity", turned, "rad/s", colors.ANGULAR_VELOCITY, limit)
    yield Vector("angular momentum", momentum, "kg m²/s", colors.ANGULAR_MOMENTUM, most)
