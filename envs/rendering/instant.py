"""One lane of an environment at one instant, and its scene. A part of a task adds to the picture
by a method `sketch(self, instant)`, which yields shapes of rbgym.envs.rendering.scene."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike

from rbgym.arguments import count
from rbgym.envs.arguments import in_range
from rbgym.envs.episodes import Entries
from rbgym.envs.planning import episodes_of
from rbgym.envs.rendering import colors, scene
from rbgym.envs.rendering.scene import BodyPart, Caption, Curve, Framing, Scene, Shape, Vector
from rbgym.envs.rendering.solids import across_and_along, solid_of, sphere, wall, wheel
from rbgym.envs.rows import EPISODE, SEED
from rbgym.potentials import HeavyTop
from rbgym.potentials.soft_wall import BALANCE, SoftWall
from rbgym.quaternion import Array, from_rotation_vector, multiply, rotate

_AROUND = np.linspace(0.0, 2 * np.pi, 73)
_UPRIGHT = (1.0, 0.0, 0.0, 0.0)
_CLEAR = 0.6  # scale of a body with a wall, so that it does not reach into the wall
_MAST = 1.35  # length of its axis, relative to its radius
# Speed in the picture of a wheel at full speed [rad/s]; faster, it would seem to turn backwards.
_SHOWN = 3.0
_LONGEST = 240  # points of a trail


class Trail:
    """Points (k, 3) [m, world] and rates (k, 3) [rad/s, body] of one lane in the pictures of an
    episode. A new episode or an earlier time empties it; an instant already drawn adds nothing."""

    def __init__(self) -> None:
        self.points = self.rates = np.zeros((0, 3))
        self._episode: tuple[float, ...] = ()
        self._time = self._elapsed = 0.0
        self.turns = np.zeros(1)  # angles of the wheels in the pictures [rad]

    def record(self, episode: tuple[float, ...], time: float, point: Array, rate: Array) -> None:
        """Add an instant. episode: identifies the episode."""
        if episode != self._episode or time < self._time:
            self.__init__()  # type: ignore[misc]
        self._episode, self._elapsed, self._time = episode, time - self._time, time
        if self._elapsed > 0 or len(self.points) == 0:
            self.points = np.concatenate([self.points[1 - _LONGEST :], point[None]])
            self.rates = np.concatenate([self.rates[1 - _LONGEST :], rate[None]])

    def turned(self, speeds: Array) -> Array:
        """Angles of the wheels [rad]; they turn at these speeds [rad/s] since the last instant."""
        self.turns, self._elapsed = self.turns + speeds * self._elapsed, 0.0
        return self.turns


class Instant:
    """One lane at the present instant; lengths in metres, world axes. state, info: as hooks get
    them. body: the solid in the picture; reach: its radius; span: distance of the end of its z axis
    from the origin."""

    def __init__(
        self, env: Any, lane: int, state: Mapping[str, Array], info: Mapping[str, Any], trail: Trail
    ) -> None:
        self.env, self.lane, self.state, self.info, self.trail = env, lane, state, info, trail
        self.task, self.time, q = env.task, float(state["time"]), state["quaternion"]
        walled = isinstance(env.potential, SoftWall)
        mesh = solid_of(env.episodes.batch.bodies[lane], env.potential)
        scale = _CLEAR if walled else float(state.get("scale", 1.0))
        self.body = BodyPart("body", mesh, state.get("position", np.zeros(3)), q, scale)
        self.reach = mesh.radius
        self.span = _MAST * mesh.radius if walled else 1.2 * scale * mesh.exit_of((0, 0, 1))[0]

    def scene(self) -> Scene:
        env, info, shapes = self.env, self.info, list(self._shapes())
        caption = Caption(
            task=env.spec.id if env.spec else type(env).__name__,
            integrator=env.integrator,
            time=self.time,
            attitude_error=float(info["attitude_error"]) if env.goal.angle_off else None,
            rate_error=float(info["rate_error"]),
            success=bool(info["is_success"]),
            notes=tuple(shape for shape in shapes if isinstance(shape, str)),
        )
        framing = Framing(np.zeros(3), 1.6 * self.reach * max(self.body.scale, 1.0))
        return Scene.of(self.body, caption, framing, shapes)

    def _shapes(self) -> Iterator[Shape]:
        env, state, parts = self.env, self.state, self.env.episodes.setup.parts
        q, omega, L = (state[n] for n in ("quaternion", "angular_velocity", "angular_momentum"))
        body = env.episodes.batch.bodies[self.lane]
        yield from scene.motion_of(body, q, omega, L, env.rate_limit)
        if (limit := float(env.torque_limit.max())) > 0:
            yield self.vector("torque", self.info["applied_torque"] * (self.time > 0), "N m", limit)
        yield from self._trace()
        match env.potential:
            case HeavyTop():
                yield from self._stand(hangs=self.task.lowest < -1)
            case SoftWall(_, axis):
                yield from self._wall(np.array(axis))
        for noun in (parts.goal, parts.ends, env.actuator, parts.tally, parts.constraints):
            yield from noun.sketch(self)

    def _trace(self) -> Iterator[Curve]:
        """The trail, after adding this instant: for a body with a position its path outside the
        body; for others the path of the end of the z axis."""
        flies, body = "position" in self.state, self.body
        end = rotate(body.quaternion, np.array([0.0, 0.0, self.span]))
        which = tuple(self.env.episodes.row(n)[self.lane] for n in (SEED, SEED + 1, EPISODE))
        point, rate = body.position if flies else end, self.state["angular_velocity"]
        self.trail.record(which, self.time, point, rate)
        points = self.trail.points
        if flies:
            points = points[np.linalg.norm(points - body.position, axis=1) > 0.75 * self.reach]
        if len(points) > 1:
            yield Curve("trace", points, colors.TRACE)

    # Shapes of potentials are here, because rbgym's physics does not depend on pictures.
    def _stand(self, *, hangs: bool) -> Iterator[Shape]:
        """The pivot of a top, and a floor: below the pivot if the body may hang."""
        reach = self.reach
        yield BodyPart("pivot", sphere(0.03 * reach, colors.INK))
        height, radius, floor = (0.0, 1.55, -1.35) if hangs else (0.45, 1.4, 0.0)
        yield Framing(np.array([0.0, 0.0, height * reach]), radius * reach, floor=floor * reach)

    def _wall(self, axis: Array) -> Iterator[Shape]:
        """The axis that hits the wall, and the wall: a plate where it repels the axis."""
        body, span = self.body, self.span
        along = np.linspace(body.scale * body.mesh.exit_of(axis)[0], span, 13)[:, None]
        yield Curve("mast", rotate(body.quaternion, along * axis), colors.INK)
        yield BodyPart("wall", wall(1.7 * span, 0.03 * span), np.array([0.0, 0.0, BALANCE * span]))
        yield Framing(np.array([0.0, 0.0, -0.1 * self.reach]), 1.6 * self.reach)

    def ghost(
        self, quaternion: ArrayLike = _UPRIGHT, position: ArrayLike = (0, 0, 0), scale: float = 1.0
    ) -> BodyPart:
        """The body at its goal."""
        return BodyPart("goal", self.body.mesh, np.asarray(position), np.asarray(quaternion), scale)

    def ring(self, angle: float) -> Curve:
        """The goal of the end of the z axis: a circle at an angle [rad] from the vertical."""
        return Curve("goal", self.span * circle(angle), colors.GOAL)

    def upright(self, direction: ArrayLike = (0.0, 0.0, 1.0)) -> Curve:
        """The goal of the z axis: along a world direction (3,), by default upright."""
        line = np.outer([0.0, 1.15 * self.span], np.asarray(direction))
        return Curve("goal", line, colors.GOAL, dashed=True)

    def keep_out(self, axis: ArrayLike, direction: ArrayLike, angle: float) -> list[Curve]:
        """A cone of half `angle` [rad] about a world direction (3,), and the excluded body axis."""
        start, reach = self.body.position, 1.3 * self.reach
        rim = start + reach * circle(angle, np.asarray(direction))
        spokes = [np.array([start, rim[k]]) for k in (0, 18, 36, 54)]
        end = start + reach * rotate(self.body.quaternion, np.asarray(axis))
        return [
            Curve("forbidden", rim, colors.FORBIDDEN),
            *(Curve("forbidden", spoke, colors.FORBIDDEN, dashed=True) for spoke in spokes),
            Curve("forbidden", np.array([start, end]), colors.INK),
        ]

    def polhode(self) -> Iterator[Curve]:
        """The path of the angular velocity in body axes; the largest is as long as its arrow."""
        rates = self.trail.rates
        if len(rates) > 1:
            most = float(np.linalg.norm(rates, axis=1).max()) or 1.0
            points = self.body.in_world(1.1 * self.reach / most * rates)
            yield Curve("polhode", points, colors.ANGULAR_VELOCITY)

    def wheels(self, axes: Array, speeds: Array) -> Iterator[BodyPart]:
        """Wheels about body axes (k, 3), outside the body; speeds (k,): relative to the largest."""
        size = 0.24 * self.reach
        for axis, turn in zip(axes, self.trail.turned(_SHOWN * speeds), strict=True):
            outwards = self.body.rotation @ axis
            tail, facing = self.body.exit_of(outwards)
            # Far enough out that the whole wheel is in front of its face.
            cosine = float(outwards @ facing)
            sine = math.sqrt(max(1 - cosine**2, 0.0))
            place = tail + 1.15 * size * (0.175 + sine) / max(cosine, 0.2) * outwards
            spun = multiply(self.body.quaternion, from_rotation_vector(turn * axis))
            mesh = wheel(size, 0.35 * size, tuple(axis.tolist()))
            yield BodyPart("wheel", mesh, place, spun, facing=facing)

    def station(self, behind: float) -> Iterator[BodyPart]:
        """The station that a flyer docks to: a sphere that the docked flyer touches, its centre
        `behind` [m] the dock on the target's x axis. None if the flyer would reach the centre."""
        radius = behind - self.body.mesh.exit_of((-1.0, 0.0, 0.0))[0]
        if radius > 0:
            q = self.state["target_quaternion"]
            centre = np.array(self.task.goal.dock()) - (behind, 0.0, 0.0)
            yield BodyPart("station", sphere(radius), rotate(q, centre), q)

    def framing(self, center: Array, radius: float, seen_from: tuple[float, float]) -> Framing:
        """The view of a sphere from this azimuth and elevation [rad]."""
        return Framing(center, radius, None, seen_from)

    def arrow(self, name: str, value: Array, unit: str, limit: float) -> Vector:
        """A vector (3,) in world axes, drawn longest at its `limit`."""
        return Vector(name, value, unit, colors.FIELD, limit)

    def vector(self, name: str, value: Array, unit: str, limit: float) -> Vector:
        """A vector (3,) of the motion in body axes, drawn longest at its `limit`."""
        color = colors.TORQUE if name == "torque" else colors.FORCE
        return Vector(name, rotate(self.state["quaternion"], value), unit, color, limit)


def circle(angle: float, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Array:
    """A closed circle of unit vectors (73, 3) at an angle [rad] from an axis."""
    ring = math.sin(angle) * np.stack([np.cos(_AROUND), np.sin(_AROUND)], axis=1)
    points = np.column_stack([ring, np.full(len(_AROUND), math.cos(angle))])
    return np.asarray(points @ across_and_along(axis))


def scene_of(env: Any, lane: int = 0, trail: Trail | None = None) -> Scene:
    """The scene of one lane of an rbgym env, wrapped or not; does not change the env. trail: from
    earlier pictures of this lane; without it there is no trace."""
    base, episodes = episodes_of(env)
    lane = int(in_range("lane", count("lane", lane, 0), 0, episodes.size - 1))
    if not episodes.started:
        raise ResetNeeded("call reset() before scene_of()")
    return next(scenes_of(base, {lane: trail or Trail()}))


def scenes_of(env: Any, trails: Mapping[int, Trail]) -> Iterator[Scene]:
    """The scenes of the lanes of an unwrapped env that have trails, which it extends."""
    episodes = env.episodes
    entries = Entries(episodes.rows, replace(episodes.setup, info=("all",)))  # `info` may lack some
    state, info = episodes.state(), entries.of(*episodes.now(entries))
    for lane, trail in trails.items():
        one, known = ({k: v[lane] for k, v in values.items()} for values in (state, info))
        yield Instant(env, lane, one, known, trail).scene()
