"""One lane of an environment at one instant, as goals, actuators and potentials are drawn from."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.envs.rendering import colors
from rbgym.envs.rendering.scene import Curve, Framing, Part, Vector, polhode_of
from rbgym.envs.rendering.solids import across_and_along, solid_of, sphere, wheel
from rbgym.envs.rows import EPISODE, SEED
from rbgym.potentials import SoftWall
from rbgym.quaternion import Array, from_rotation_vector, multiply, rotate

_AROUND = np.linspace(0.0, 2 * np.pi, 73)
_UPRIGHT = (1.0, 0.0, 0.0, 0.0)
_CLEAR = 0.6  # scale at which a body with a wall is drawn, so that it does not reach into that
_MAST = 1.35  # length of its axis, as a part of its radius
# At full speed a wheel is drawn turning this fast [rad/s]: as fast as it really is, it would seem
# to stand still or turn backwards from picture to picture.
_SHOWN = 3.0


class Trail:
    """Points of one lane at the instants at which it was drawn, in one episode.

    points: (k, 3) [m, world]; rates: (k, 3) [rad/s, body]. A new episode, or an earlier time,
    begins anew; an instant that was drawn before adds nothing, so that the same picture can be had
    twice.
    """

    def __init__(self, longest: int = 240) -> None:
        self.longest = longest
        self.points = self.rates = np.zeros((0, 3))
        self._episode: tuple[float, ...] = ()
        self._time = self._elapsed = 0.0
        self.turns = np.zeros(1)  # how far wheels have been drawn to turn [rad]

    def record(self, episode: tuple[float, ...], time: float, point: Array, rate: Array) -> None:
        """Add an instant. episode: what tells it from others."""
        if episode != self._episode or time < self._time:
            self.__init__(self.longest)  # type: ignore[misc]
        self._episode, self._elapsed, self._time = episode, time - self._time, time
        if self._elapsed > 0 or len(self.points) == 0:
            self.points = np.concatenate([self.points[1 - self.longest :], point[None]])
            self.rates = np.concatenate([self.rates[1 - self.longest :], rate[None]])

    def turned(self, speeds: Array) -> Array:
        """How far wheels have turned [rad], at these speeds [rad/s] since the instant before."""
        self.turns, self._elapsed = self.turns + speeds * self._elapsed, 0.0
        return self.turns


class Instant:
    """One lane as it is now. Lengths in metres, world axes, unless said otherwise.

    state, info: of this lane, as hooks and users get them. body: the solid as it is drawn; reach:
    its radius; span: how far from the origin the end of its z axis is drawn.
    """

    def __init__(
        self, env: Any, lane: int, state: Mapping[str, Array], info: Mapping[str, Any], trail: Trail
    ) -> None:
        self.env, self.lane, self.state, self.info, self.trail = env, lane, state, info, trail
        self.task, self.time, q = env.task, float(state["time"]), state["quaternion"]
        self.flies = "position" in state  # has a place of its own
        walled = isinstance(env.potential, SoftWall)
        mesh = solid_of(env.episodes.batch.bodies[lane], env.potential)
        scale = _CLEAR if walled else float(state.get("scale", 1.0))
        self.body = Part("body", mesh, state.get("position", np.zeros(3)), q, scale)
        self.reach = mesh.radius
        self.span = _MAST * mesh.radius if walled else 1.2 * scale * mesh.exit_of((0, 0, 1))[0]

    def record(self) -> None:
        """Add to the trail: the place of a body that flies, of others the end of the z axis."""
        lane, body = self.lane, self.body
        end = rotate(body.quaternion, np.array([0.0, 0.0, self.span]))
        which = tuple(self.env.episodes.row(n)[lane] for n in (SEED, SEED + 1, EPISODE))
        point = body.position if self.flies else end
        self.trail.record(which, self.time, point, self.state["angular_velocity"])

    # --- shapes -----------------------------------------------------------------------------

    def ghost(
        self, quaternion: ArrayLike = _UPRIGHT, position: ArrayLike = (0, 0, 0), scale: float = 1.0
    ) -> Part:
        """The body as it is to be."""
        return Part("goal", self.body.mesh, np.asarray(position), np.asarray(quaternion), scale)

    def ring(self, angle: float) -> Curve:
        """Where the end of the z axis is to be: at an angle [rad] from the vertical."""
        return Curve("goal", self.span * circle(angle), colors.GOAL)

    def upright(self) -> Curve:
        """Where the z axis is to be: upright."""
        line = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.15 * self.span]])
        return Curve("goal", line, colors.GOAL, dashed=True)

    def keep_out(self, axis: ArrayLike, direction: ArrayLike, angle: float) -> list[Curve]:
        """The rim of a cone of half `angle` [rad] about a direction (3,) of the target's frame, and
        the body axis (3,) that is to stay out of it."""
        start, reach = self.body.position, 1.3 * self.reach
        about = rotate(self.state["target_quaternion"], np.asarray(direction))
        rim = start + reach * circle(angle, about)
        spokes = [np.array([start, rim[k]]) for k in (0, 18, 36, 54)]
        end = start + reach * rotate(self.body.quaternion, np.asarray(axis))
        return [
            Curve("forbidden", rim, colors.FORBIDDEN),
            *(Curve("forbidden", spoke, colors.FORBIDDEN, dashed=True) for spoke in spokes),
            Curve("forbidden", np.array([start, end]), colors.INK),
        ]

    def polhode(self) -> Iterator[Curve]:
        """The path of the angular velocity in the body."""
        return polhode_of(self.body, self.trail.rates)

    def wheels(self, axes: Array, speeds: Array) -> Iterator[Part]:
        """Wheels about body axes (k, 3), outside the body where those leave it; speeds (k,):
        against the body, as parts of the largest."""
        for axis, turn in zip(axes, self.trail.turned(_SHOWN * speeds), strict=True):
            yield self._wheel(axis, turn)

    def _wheel(self, axis: Array, turn: float) -> Part:
        size, outwards = 0.24 * self.reach, self.body.rotation @ axis
        tail, facing = self.body.exit_of(outwards)
        # As far out as keeps the whole wheel before the face that it sits on.
        cosine = float(outwards @ facing)
        sine = math.sqrt(max(1 - cosine**2, 0.0))
        place = tail + 1.15 * size * (0.175 + sine) / max(cosine, 0.2) * outwards
        spun = multiply(self.body.quaternion, from_rotation_vector(turn * axis))
        x, y, z = axis.tolist()
        return Part("wheel", wheel(size, 0.35 * size, (x, y, z)), place, spun, facing=facing)

    def station(self, behind: float) -> Iterator[Part]:
        """What a flyer docks to: a sphere, as large as lets it touch, `behind` the dock on the
        target's x axis. Nothing for a flyer so large that it would reach beyond its middle."""
        radius, q = (
            behind - self.body.mesh.exit_of((-1.0, 0.0, 0.0))[0],
            self.state["target_quaternion"],
        )
        if radius > 0:
            yield Part("station", sphere(radius), rotate(q, np.array([-behind, 0.0, 0.0])), q)

    def framing(self, center: Array, radius: float, seen_from: tuple[float, float]) -> Framing:
        """What is to be seen: a sphere, from this azimuth and elevation [rad]."""
        return Framing(center, radius, None, seen_from)

    def arrow(self, name: str, value: Array, unit: str, limit: float) -> Vector:
        """A vector of the world (3,), at its `limit` drawn longest."""
        return Vector(name, value, unit, colors.FIELD, limit)

    def vector(self, name: str, value: Array, unit: str, limit: float) -> Vector:
        """A vector of the motion in body axes (3,), at its `limit` drawn longest."""
        color = {"torque": colors.TORQUE}.get(name, colors.FORCE)
        return Vector(name, rotate(self.state["quaternion"], value), unit, color, limit)


def circle(angle: float, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Array:
    """Unit vectors (73, 3) at an angle [rad] from an axis; closed."""
    ring = math.sin(angle) * np.stack([np.cos(_AROUND), np.sin(_AROUND)], axis=1)
    points = np.column_stack([ring, np.full(len(_AROUND), math.cos(angle))])
    return np.asarray(points @ across_and_along(axis))
