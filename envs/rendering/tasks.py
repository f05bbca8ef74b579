"""The scene of one lane of an environment."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from rbgym.envs import layout
from rbgym.envs.actuators.effector import APPLIED
from rbgym.envs.actuators.models import Forces, MagneticCoils, ReactionWheels, Scaling
from rbgym.envs.parts.goals import Axis, Rest, Spin, Target
from rbgym.envs.rendering import actuators, colors, goals
from rbgym.envs.rendering.free import on_ellipsoid
from rbgym.envs.rendering.reading import Reading
from rbgym.envs.rendering.scene import Caption, Curve, Part, Scene, Vector, arrows_from, axes_of
from rbgym.envs.rendering.solids import solid_of, sphere
from rbgym.envs.rendering.trail import Trail
from rbgym.potentials import HeavyTop, SoftWall
from rbgym.quaternion import Array, rotate

_Z = np.array([0.0, 0.0, 1.0])


def scene_of(
    env: Any, lane: int = 0, trail: Trail | None = None, reading: Reading | None = None
) -> Scene:
    """What is to be seen of one lane of an env of rbgym, single or vector, wrapped or not.

    trail: of this lane, kept by who draws from call to call; without it there is no trace.
    reading: of this instant, where several lanes are drawn. Changes nothing in the env.
    """
    env = env.unwrapped
    return _View(env, lane, trail, reading or Reading.of(env.episodes)).scene()


class _View:
    """One lane as it is."""

    def __init__(self, env: Any, lane: int, trail: Trail | None, reading: Reading) -> None:
        self.env, self.episodes, self.lane = env, env.episodes, lane
        self.setup, self.effector = self.episodes.setup, env.actuator
        self.trail, self.told = trail or Trail(), reading.told
        self.state = {name: value[lane] for name, value in reading.state.items()}
        self.body, self.potential = self.episodes.batch.bodies[lane], env.potential
        self.time, self.started = float(self.state["time"]), bool(self.state["time"] > 0)
        mesh = solid_of(self.body, self.potential)
        self.part = Part(
            "body",
            mesh,
            self.state.get("position", np.zeros(3)),
            self.state["quaternion"],
            goals.CLEAR
            if isinstance(self.potential, SoftWall)
            else float(self.state.get("scale", 1.0)),
        )
        self.radius = mesh.radius
        self._record()

    def _record(self) -> None:
        """Let the trail know where the body is."""
        row = self.episodes.batch.rows
        which = np.concatenate([row(layout.SEED, 2)[self.lane], row(layout.EPISODE, 1)[self.lane]])
        flies = isinstance(self.effector, Forces)
        now = self.state["quaternion"]
        span = goals.axis_length(self.potential, self.part)
        point = self.part.position if flies else rotate(now, span * _Z)
        turning = isinstance(self.effector, ReactionWheels)
        speed = actuators.shown_speed(self.effector, self.state) if turning else None
        self.trail.record(
            tuple(which.tolist()), self.time, point, self.state["angular_velocity"], speed
        )

    # --- what there is ----------------------------------------------------------------------

    def scene(self) -> Scene:
        center, radius, floor = self._frame()
        vectors = tuple(self._vectors())
        flies = isinstance(self.effector, Forces)
        view = {"seen_from": goals.dock_seen_from(self.state)} if flies else {}
        return Scene(
            body=self.part,
            caption=self._caption(),
            axes=axes_of(self.part, colors.AXES, 0.2 * self.radius),
            goal=self._ghost(),
            parts=tuple(self._parts()),
            vectors=vectors,
            arrows=arrows_from(self.part, vectors, self.radius),
            curves=tuple(self._curves()),
            polhode=on_ellipsoid(self.part, self.trail.rates) if self._is_spun() else None,
            center=center,
            radius=radius,
            floor=floor,
            **view,
        )

    def _is_spun(self) -> bool:
        goal = self.env.goal
        return isinstance(goal, Axis) and goal.spin != 0 and self.potential is None

    def _frame(self) -> tuple[Array, float, float | None]:
        """Center and radius of what matters, and the height of the floor."""
        if isinstance(self.effector, Forces):
            away = float(np.linalg.norm(self.part.position))
            return 0.5 * self.part.position, 0.5 * away + 2.5 * self.radius, None
        if isinstance(self.potential, HeavyTop):
            hangs = self.env.task.lowest < -1
            height = 0.0 if hangs else 0.45 * self.radius
            radius = 1.55 * self.radius if hangs else 1.4 * self.radius
            return height * _Z, radius, -1.35 * self.radius if hangs else 0.0
        if isinstance(self.potential, SoftWall):
            return -0.1 * self.radius * _Z, 1.6 * self.radius, None
        return np.zeros(3), 1.6 * self.radius * max(self.part.scale, 1.0), None

    def _ghost(self) -> Part | None:
        return goals.ghost(self.env.goal, self.part, self.state)

    def _parts(self) -> Iterable[Part]:
        if isinstance(self.effector, ReactionWheels):
            yield from actuators.wheels(self.effector, self.part, self.state, self.trail.turns)
        if isinstance(self.potential, HeavyTop):
            yield Part("pivot", sphere(0.03 * self.radius, colors.INK))
        if isinstance(self.potential, SoftWall):
            yield goals.wall(self.part)
        station = goals.station(self.setup.parts.ends, self.part, self.state)
        if station:
            yield station

    def _curves(self) -> Iterable[Curve]:
        points = self.trail.points
        if isinstance(self.effector, Forces):  # of its centre, where that is not within the body
            away = np.linalg.norm(points - self.part.position, axis=1)
            points = points[away > 0.75 * self.radius]
        if len(points) > 1:
            yield Curve("trace", points, colors.TRACE)
        yield from goals.curves(self.env, self.part, self.state)

    # --- vectors ----------------------------------------------------------------------------

    def _vectors(self) -> Iterable[Vector]:
        q, omega = self.state["quaternion"], self.state["angular_velocity"]
        rate, momentum = self.env.rate_limit, self.state["angular_momentum"]
        most = rate * float(self.body.moments.max())
        yield Vector("angular velocity", rotate(q, omega), "rad/s", colors.ANGULAR_VELOCITY, rate)
        yield Vector("angular momentum", momentum, "kg m²/s", colors.ANGULAR_MOMENTUM, most)
        if not isinstance(self.effector, Scaling):
            torque = rotate(q, self.told["applied_torque"][self.lane] * self.started)
            limit = float(self.env.torque_limit.max())
            yield Vector("torque", torque, "N m", colors.TORQUE, limit)
        if isinstance(self.effector, Forces):
            force = rotate(q, self._force() * self.started)
            full = self.effector.force * self.setup.strength
            yield Vector("force", force, "N", colors.FORCE, full)
        if isinstance(self.effector, MagneticCoils):
            field, largest = actuators.field(self.episodes, self.lane), 2.0 * self.effector.field
            yield Vector("magnetic field", 1e6 * field, "µT", colors.FIELD, 1e6 * largest)

    def _force(self) -> Array:
        batch = self.episodes.batch
        return np.asarray(batch.rows(batch.actuator_row + APPLIED + 3, 3)[self.lane])

    # --- words ------------------------------------------------------------------------------

    def _caption(self) -> Caption:
        goal = self.env.goal
        angle = isinstance(goal, Target | Axis)
        spec = getattr(self.env, "spec", None)
        task = spec.id if spec is not None else type(self.env).__name__
        return Caption(
            task=task,
            integrator=self.env.integrator,
            time=self.time,
            energy=float(self.state["energy"]),
            attitude_error=float(self.told["attitude_error"][self.lane]) if angle else None,
            rate_error=float(self.told["rate_error"][self.lane]),
            success=bool(self.told["is_success"][self.lane]),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterable[str]:
        if isinstance(self.effector, Forces):
            away = float(np.linalg.norm(self.state["position"]))
            yield f"{away:.2f} m from the dock at {np.linalg.norm(self.state['velocity']):.2f} m/s"
        if isinstance(self.env.goal, Spin):
            wanted, spin = self.state["target_spin"], self.state["angular_velocity"][2]
            yield f"spin {spin:.2f} of {float(wanted):.2f} rad/s"
        if isinstance(self.effector, Scaling):
            yield f"size {float(self.state['scale']):.2f}"
        if isinstance(self.effector, ReactionWheels):
            share = self.state["wheel_momentum"] / self.effector.momentum
            yield "wheels " + ", ".join(f"{100 * one:.0f}" for one in share) + " %"
        if self.setup.counts:
            contacts = int(self.episodes.batch.rows(layout.CONTACTS, 1)[self.lane, 0])
            yield f"{contacts} contact{'' if contacts == 1 else 's'}"
        if isinstance(self.env.goal, Rest) and math.isfinite(self.env.task.rate):
            yield f"goal: below {self.env.task.rate:g} rad/s"
