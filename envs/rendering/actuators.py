"""What is to be seen of actuators: wheels, and the field that magnetorquers push against."""

from collections.abc import Iterator

import numpy as np

from rbgym import layout
from rbgym.envs.actuators.magnetorquers import field_at
from rbgym.envs.actuators.models import ReactionWheels
from rbgym.envs.episodes import Episodes
from rbgym.envs.rendering.scene import Part, surface
from rbgym.envs.rendering.solids import wheel
from rbgym.quaternion import Array, from_rotation_vector, multiply

# At full speed a wheel is drawn turning this fast [rad/s]: as fast as it really is, it would seem
# to stand still or turn backwards from picture to picture.
_SHOWN = 3.0


def shown_speed(effector: ReactionWheels, state: dict[str, Array]) -> Array:
    """How fast each wheel is drawn to turn, against the body [rad/s]."""
    momentum = np.atleast_1d(state["wheel_momentum"])
    speed = momentum / effector.inertia - effector.matrix.T @ state["angular_velocity"]
    return np.asarray(_SHOWN * speed * effector.inertia / effector.momentum)


def wheels(
    effector: ReactionWheels, body: Part, state: dict[str, Array], turns: Array
) -> Iterator[Part]:
    """The wheels, outside the body where their axes leave it. turns [rad]: against the body."""
    size = 0.24 * body.mesh.radius
    if len(turns) == 0:
        turns = np.zeros(effector.matrix.shape[1])
    for axis, turn in zip(effector.matrix.T, turns, strict=True):
        mesh = wheel(size, 0.35 * size, (float(axis[0]), float(axis[1]), float(axis[2])))
        outwards = body.rotation @ axis
        tail, facing = surface(body, outwards)
        # As far out as keeps the whole wheel before the face that it sits on.
        cosine = float(outwards @ facing)
        out = 1.15 * size * (0.175 + (1 - cosine**2) ** 0.5) / max(cosine, 0.2)
        place = tail + out * outwards
        spun = multiply(body.quaternion, from_rotation_vector(turn * axis))
        yield Part("wheel", mesh, place, spun, facing=facing)


def field(episodes: Episodes, lane: int) -> Array:
    """The magnetic field at one lane now [T], world axes, (3,)."""
    batch, effector = episodes.batch, episodes.setup.actuator.part.effector
    block, column = divmod(lane, layout.LANES)
    rows = batch.block_view()[block].reshape(-1)
    return np.array(field_at(effector, rows, column, 0.0))
