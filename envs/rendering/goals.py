"""What is to be seen of goals, and of what is forbidden."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from rbgym.envs.parts.endings import Berth, KeepOut
from rbgym.envs.parts.goals import Axis, Spin, Target
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.scene import Curve, Part
from rbgym.envs.rendering.solids import sphere
from rbgym.envs.rendering.solids import wall as plate
from rbgym.potentials import SoftWall
from rbgym.quaternion import Array, rotate

_AROUND = np.linspace(0.0, 2 * np.pi, 73)
# Height of the axis where a soft wall begins to repel: (1.1 + z)^9 = 0.01.
_WALL = 0.01 ** (1 / 9) - 1.1
CLEAR = 0.6  # scale at which a body with a wall is drawn, so that it does not reach into that
_MAST = 1.35  # length of its axis, as a part of its radius


def ghost(goal: Any, body: Part, state: dict[str, Array]) -> Part | None:
    """The body as it is to be, where the goal says so."""
    if isinstance(goal, Target):
        return Part("goal", body.mesh, quaternion=state["target_quaternion"])
    if isinstance(goal, Axis) and goal.cos_nutation == 1 and goal.precession == goal.spin == 0:
        return Part("goal", body.mesh)
    if isinstance(goal, Spin):
        # The size at which the momentum about the axis makes the spin that is asked for.
        wanted, spin = float(state["target_spin"]), float(state["angular_velocity"][2])
        if wanted * spin > 0:
            return Part("goal", body.mesh, body.position, body.quaternion,
                        body.scale * math.sqrt(spin / wanted))  # fmt: skip
    return None


def curves(env: Any, body: Part, state: dict[str, Array]) -> Iterator[Curve]:
    """Where the body's z axis is to be, and where an axis of it must not be."""
    goal, ends = env.goal, env.episodes.setup.parts.ends
    span = axis_length(env.potential, body)
    if isinstance(goal, Axis):
        angle = math.atan2(goal.sin_nutation, goal.cos_nutation)
        ring = span * circle(angle or env.task.angle)
        yield Curve("goal", ring, colors.GOAL)
        if angle == 0:
            up = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.15 * span]])
            yield Curve("goal", up, colors.GOAL, dashed=True)
    if isinstance(env.potential, SoftWall):
        yield Curve("mast", mast(env.potential, body, span), colors.INK)
    while hasattr(ends, "ends"):
        if isinstance(ends, KeepOut):
            yield from _cone(ends, goal, body, state)
        ends = ends.ends


def _cone(ends: KeepOut, goal: Any, body: Part, state: dict[str, Array]) -> Iterator[Curve]:
    """The rim of a keep-out cone, and the body axis that is to stay out of it."""
    reach, q = 1.3 * body.mesh.radius, state["target_quaternion"]
    axis = np.array(ends.direction)
    axis = rotate(q, axis) if isinstance(goal, Target) else axis
    rim = reach * circle(math.acos(ends.cos_angle), axis)
    yield Curve("forbidden", body.position + rim, colors.FORBIDDEN)
    for k in (0, 18, 36, 54):
        spoke = np.array([body.position, body.position + rim[k]])
        yield Curve("forbidden", spoke, colors.FORBIDDEN, dashed=True)
    end = body.position + reach * rotate(body.quaternion, np.array(ends.axis))
    yield Curve("forbidden", np.array([body.position, end]), colors.INK)


def circle(angle: float, axis: Array | None = None) -> Array:
    """Unit vectors (73, 3) at an angle [rad] from an axis, default upwards; closed."""
    ring = math.sin(angle) * np.stack([np.cos(_AROUND), np.sin(_AROUND)], axis=1)
    points = np.column_stack([ring, np.full(len(_AROUND), math.cos(angle))])
    if axis is None:
        return points
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(axis)))], axis)
    x /= np.linalg.norm(x)
    return np.asarray(points @ np.stack([x, np.cross(axis, x), axis]))


def axis_length(potential: Any, body: Part) -> float:
    """How far from the origin the end of the z axis is drawn [m]."""
    if isinstance(potential, SoftWall):
        return _MAST * body.mesh.radius
    return 1.2 * body.scale * body.mesh.exit_of((0.0, 0.0, 1.0))[0]


def mast(potential: SoftWall, body: Part, span: float) -> Array:
    """The axis that meets the wall, from the body's surface to its end, (k, 3)."""
    axis = np.array(potential.axis)
    start = body.scale * body.mesh.exit_of(axis)[0]
    return rotate(body.quaternion, np.linspace(start, span, 13)[:, None] * axis)


def wall(body: Part) -> Part:
    """The soft wall: a plate below the height at which the end of the axis is thrown back."""
    span = _MAST * body.mesh.radius
    return Part("wall", plate(1.7 * span, 0.03 * span), np.array([0.0, 0.0, _WALL * span]))


def station(ends: Any, body: Part, state: dict[str, Array]) -> Part | None:
    """What a flyer docks to, where there is such a thing: a sphere as large as lets it touch. None
    for a flyer that is so large that it would reach beyond the sphere's middle."""
    while not isinstance(ends, Berth):
        if not hasattr(ends, "ends"):
            return None
        ends = ends.ends
    q = state["target_quaternion"]
    radius = ends.behind - body.mesh.exit_of((-1.0, 0.0, 0.0))[0]
    if radius <= 0:
        return None
    return Part("station", sphere(radius), rotate(q, np.array([-ends.behind, 0.0, 0.0])), q)


def dock_seen_from(state: dict[str, Array]) -> tuple[float, float]:
    """Azimuth and elevation [rad] from which the station does not hide the dock."""
    x, y, z = rotate(state["target_quaternion"], np.array([1.0, 0.0, 0.0])).tolist()
    return math.atan2(y, x) + math.radians(65.0), math.radians(20.0 if z > -0.3 else -20.0)
