"""How goals, ends, actuators and potentials are drawn, and the scene that comes of it.

What a class of yours adds to a picture its method `sketch(self, instant)` yields: shapes of
rbgym.envs.rendering.scene, most of which an `Instant` makes. Without one it adds nothing.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rbgym.envs.actuators.magnetorquers import field_at
from rbgym.envs.actuators.models import Forces, MagneticCoils, ReactionWheels, Scaling
from rbgym.envs.parts.endings import Berth, KeepOut
from rbgym.envs.parts.goals import Axis, Rest, Spin, Target
from rbgym.envs.parts.tallies import Contacts
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.instant import Instant, Trail
from rbgym.envs.rendering.scene import (
    Caption,
    Curve,
    Framing,
    Part,
    Scene,
    Shape,
    Vector,
    motion_of,
    pivot_of,
    polhode_of,
)
from rbgym.envs.rendering.solids import wall
from rbgym.potentials import HeavyTop, NoPotential, SoftWall
from rbgym.quaternion import rotate

# At full speed a wheel is drawn turning this fast [rad/s]: as fast as it really is, it would seem
# to stand still or turn backwards from picture to picture.
_SHOWN = 3.0
# Height of the axis where a soft wall begins to repel: (1.1 + z)^9 = 0.01.
_WALL = 0.01 ** (1 / 9) - 1.1


def scene_of(env: Any, lane: int = 0, trail: Trail | None = None) -> Scene:
    """What is to be seen of one lane of an env of rbgym, single or vector, wrapped or not.

    trail: of the pictures of this lane before; without it there is no trace. Changes nothing in the
    env.
    """
    return next(scenes_of(env, {lane: trail or Trail()}))


def scenes_of(env: Any, trails: Mapping[int, Trail]) -> Iterator[Scene]:
    """The scenes of several lanes, of whose trails they are."""
    env = env.unwrapped
    state, snapshot = env.episodes.state(), env.episodes.snapshot()
    info = {name: snapshot[name] for name in snapshot.names if name != "reward_terms"}
    for lane, trail in trails.items():
        one, known = ({k: v[lane] for k, v in values.items()} for values in (state, info))
        instant = Instant(env, lane, one, known, trail)
        instant.record()
        yield _scene(instant)


def _scene(instant: Instant) -> Scene:
    env, info = instant.env, instant.info
    shapes = [*_motion(instant), *_trace(instant), *_nouns(instant)]
    spec = getattr(env, "spec", None)
    caption = Caption(
        task=spec.id if spec is not None else type(env).__name__,
        integrator=env.integrator,
        time=instant.time,
        energy=float(info["energy"]),
        attitude_error=float(info["attitude_error"]) if asks_attitude(env.goal) else None,
        rate_error=float(info["rate_error"]),
        success=bool(info["is_success"]),
        notes=tuple(shape for shape in shapes if isinstance(shape, str)),
    )
    framing = Framing(np.zeros(3), 1.6 * instant.reach * max(instant.body.scale, 1.0))
    return Scene.of(instant.body, caption, framing, shapes)


def _motion(instant: Instant) -> Iterator[Vector]:
    state, env = instant.state, instant.env
    body = env.episodes.batch.bodies[instant.lane]
    q, omega, momentum = (state[n] for n in ("quaternion", "angular_velocity", "angular_momentum"))
    yield from motion_of(body, q, omega, momentum, env.rate_limit)
    limit = float(env.torque_limit.max())
    if limit > 0:
        torque = instant.info["applied_torque"] * (instant.time > 0)
        yield instant.vector("torque", torque, "N m", limit)


def _trace(instant: Instant) -> Iterator[Curve]:
    points = instant.trail.points
    if instant.flies:  # where it is not within the body
        away = np.linalg.norm(points - instant.body.position, axis=1)
        points = points[away > 0.75 * instant.reach]
    if len(points) > 1:
        yield Curve("trace", points, colors.TRACE)


def _nouns(instant: Instant) -> Iterator[Shape]:
    env, parts = instant.env, instant.env.episodes.setup.parts
    ends = [parts.ends]
    while hasattr(ends[-1], "ends"):
        ends.append(ends[-1].ends)
    for noun in (env.potential, env.goal, *ends, env.actuator, parts.tally):
        ways = (SKETCHES.get(cls) for cls in type(noun).__mro__)
        draw = getattr(type(noun), "sketch", None) or next(filter(None, ways), None)
        if draw is not None:
            yield from draw(noun, instant)


# --- potentials -----------------------------------------------------------------------------


def heavy_top(potential: HeavyTop, instant: Instant) -> Iterable[Shape]:
    """The point that it stands on, and a floor: below it where it may hang."""
    reach, hangs = instant.reach, instant.task.lowest < -1
    yield pivot_of(instant.body)
    if hangs:
        yield Framing(np.zeros(3), 1.55 * reach, floor=-1.35 * reach)
    else:
        yield Framing(np.array([0.0, 0.0, 0.45 * reach]), 1.4 * reach, floor=0.0)


def soft_wall(potential: SoftWall, instant: Instant) -> Iterable[Shape]:
    """The axis that meets the wall, from the body's surface to its end; and the wall: a plate below
    the height at which the end of the axis is thrown back."""
    axis, body, span = np.array(potential.axis), instant.body, instant.span
    along = np.linspace(body.scale * body.mesh.exit_of(axis)[0], span, 13)[:, None]
    yield Curve("mast", rotate(body.quaternion, along * axis), colors.INK)
    yield Part("wall", wall(1.7 * span, 0.03 * span), np.array([0.0, 0.0, _WALL * span]))
    yield Framing(np.array([0.0, 0.0, -0.1 * instant.reach]), 1.6 * instant.reach)


# --- goals and ends -------------------------------------------------------------------------


def asks_attitude(goal: Any) -> bool:
    """Whether one can be off a goal's attitude: what its `has_attitude` says, by default yes."""
    return bool(getattr(goal, "has_attitude", not isinstance(goal, Rest | Spin)))


def target(goal: Target, instant: Instant) -> Iterable[Shape]:
    """The body at the target."""
    yield instant.ghost(instant.state["target_quaternion"])


def axis(goal: Axis, instant: Instant) -> Iterable[Shape]:
    """Where the z axis is to be, and of a body that spins freely the path of its rate."""
    angle = math.atan2(goal.sin_nutation, goal.cos_nutation)
    if angle == goal.precession == goal.spin == 0:
        yield instant.ghost()
    yield instant.ring(angle or instant.task.angle)
    if angle == 0:
        yield instant.upright()
    if goal.spin != 0 and isinstance(instant.env.potential, NoPotential):
        yield from polhode_of(instant.body, instant.trail.rates)


def spin(goal: Spin, instant: Instant) -> Iterable[Shape]:
    """The size at which the momentum about the axis makes the spin that is asked for."""
    wanted, now = float(instant.state["target_spin"]), float(instant.state["angular_velocity"][2])
    yield f"spin {now:.2f} of {wanted:.2f} rad/s"
    if wanted * now > 0:
        body = instant.body
        yield instant.ghost(body.quaternion, body.position, body.scale * math.sqrt(now / wanted))


def rest(goal: Rest, instant: Instant) -> Iterable[Shape]:
    """How slow is slow enough."""
    if math.isfinite(instant.task.rate):
        yield f"goal: below {instant.task.rate:g} rad/s"


def keep_out(ends: KeepOut, instant: Instant) -> Iterable[Shape]:
    """The cone, and the axis that is to stay out of it."""
    yield from instant.keep_out(ends.axis, ends.direction, math.acos(ends.cos_angle))


def berth(ends: Berth, instant: Instant) -> Iterable[Shape]:
    """The station."""
    yield from instant.station(ends.behind)


def contacts(tally: Contacts, instant: Instant) -> Iterable[Shape]:
    """How many."""
    count = int(instant.info["contacts"])
    yield f"{count} contact{'' if count == 1 else 's'}"


# --- actuators ------------------------------------------------------------------------------


def wheels(effector: ReactionWheels, instant: Instant) -> Iterable[Shape]:
    """The wheels, and how much of their momentum they have."""
    share = instant.state["wheel_momentum"] / effector.momentum
    # Of their speed against the body.
    carried = effector.matrix.T @ instant.state["angular_velocity"] * effector.inertia
    turns = instant.trail.turned(_SHOWN * (share - carried / effector.momentum))
    for wheel_axis, turn in zip(effector.matrix.T, turns, strict=True):
        yield instant.wheel(wheel_axis, turn)
    yield "wheels " + ", ".join(f"{100 * one:.0f}" for one in share) + " %"


def coils(effector: MagneticCoils, instant: Instant) -> Iterable[Shape]:
    """The field that they push against."""
    part, (rows, column) = instant.env.episodes.setup.actuator.part.effector, instant.rows
    field = np.array(field_at(part, rows, column, 0.0))
    largest = 2.0 * effector.field
    yield Vector("magnetic field", 1e6 * field, "µT", colors.FIELD, 1e6 * largest)


def forces(effector: Forces, instant: Instant) -> Iterable[Shape]:
    """The force, and how far the dock is, seen from where the station does not hide it."""
    state, place, reach = instant.state, instant.body.position, instant.reach
    force = instant.info["applied_force"] * (instant.time > 0)
    yield instant.vector("force", force, "N", effector.force * instant.env.torque_scale)
    away = float(np.linalg.norm(place))
    yield f"{away:.2f} m from the dock at {np.linalg.norm(state['velocity']):.2f} m/s"
    x, y, z = rotate(state["target_quaternion"], np.array([1.0, 0.0, 0.0])).tolist()
    elevation = math.radians(20.0 if z > -0.3 else -20.0)
    seen_from = math.atan2(y, x) + math.radians(65.0), elevation
    yield Framing(0.5 * place, 0.5 * away + 2.5 * reach, None, seen_from)


def scaling(effector: Scaling, instant: Instant) -> Iterable[Shape]:
    """How large the body is."""
    yield f"size {float(instant.state['scale']):.2f}"


# Of classes that have no method `sketch` of their own.
SKETCHES: dict[type, Any] = {
    HeavyTop: heavy_top,
    SoftWall: soft_wall,
    Target: target,
    Axis: axis,
    Spin: spin,
    Rest: rest,
    KeepOut: keep_out,
    Berth: berth,
    Contacts: contacts,
    ReactionWheels: wheels,
    MagneticCoils: coils,
    Forces: forces,
    Scaling: scaling,
}
