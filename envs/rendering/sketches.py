"""The scene of a lane: its motion, and what its parts add to it.

What a class of yours adds to a picture its method `sketch(self, instant)` yields: shapes of
rbgym.envs.rendering.scene, most of which an `Instant` makes. Without one it adds nothing.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

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
)
from rbgym.envs.rendering.solids import wall
from rbgym.potentials import HeavyTop, SoftWall
from rbgym.quaternion import rotate

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
        attitude_error=float(info["attitude_error"]) if env.goal.angle_off else None,
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
    if type(env.potential) in SKETCHES:
        yield from SKETCHES[type(env.potential)](env.potential, instant)
    for noun in (parts.goal, parts.ends, env.actuator, parts.tally):
        yield from noun.sketch(instant)


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


# Physics knows nothing of pictures; of all else that is drawn, its method `sketch` says how.
SKETCHES: dict[type, Any] = {HeavyTop: heavy_top, SoftWall: soft_wall}
