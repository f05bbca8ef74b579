"""The scene of a body that is simulated by itself, without an environment."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym.body import RigidBody
from rbgym.envs.rendering import colors
from rbgym.envs.rendering.scene import Caption, Curve, Part, Scene, Vector, arrows_from, axes_of
from rbgym.envs.rendering.solids import solid_of, sphere
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array, rotate


def scene_of_motion(
    body: RigidBody,
    quaternion: ArrayLike,
    angular_velocity: ArrayLike,
    *,
    potential: Any = None,
    rate_limit: float | None = None,
    caption: Caption | None = None,
    trace: ArrayLike | None = None,
    polhode: ArrayLike | None = None,
    traced: ArrayLike = (0.0, 0.0, 1.0),
) -> Scene:
    """The scene of one instant of a motion.

    quaternion (4,), body to world; angular_velocity (3,) [rad/s, body axes]. rate_limit: rate that
    is drawn as the longest arrow, default the present one. trace: (k, 4), earlier attitudes; the
    path of the body axis `traced` is drawn. polhode: (k, 3), angular velocities [rad/s, body axes].
    Of either, fewer than two are no path, and nothing is drawn.
    """
    q, omega = np.asarray(quaternion, float), np.asarray(angular_velocity, float)
    part = Part("body", solid_of(body, potential), quaternion=q)
    reach, limit = part.mesh.radius, rate_limit or float(np.linalg.norm(omega))
    most = limit * float(body.moments.max())
    momentum = rotate(q, body.inertia @ omega)
    vectors = (
        Vector("angular velocity", rotate(q, omega), "rad/s", colors.ANGULAR_VELOCITY, limit),
        Vector("angular momentum", momentum, "kg m²/s", colors.ANGULAR_MOMENTUM, most),
    )
    curves: tuple[Curve, ...] = ()
    if trace is not None and len(np.asarray(trace)) > 1:
        curves = (Curve("trace", axis_path(part, trace, traced), colors.TRACE),)
    path = None
    if polhode is not None and len(np.asarray(polhode)) > 1:
        path = on_ellipsoid(part, polhode)
    standing = isinstance(potential, HeavyTop)
    return Scene(
        body=part,
        caption=caption or Caption("", "", 0.0, 0.0),
        axes=axes_of(part, colors.AXES, 0.2 * reach),
        parts=(Part("pivot", sphere(0.03 * reach, colors.INK)),) if standing else (),
        vectors=vectors,
        arrows=arrows_from(part, vectors, reach),
        curves=curves,
        polhode=path,
        center=np.array([0.0, 0.0, 0.4 * reach if standing else 0.0]),
        radius=1.55 * reach,
        floor=0.0 if standing else None,
    )


def axis_path(part: Part, quaternions: ArrayLike, axis: ArrayLike) -> Array:
    """Where the end of a body axis was at these attitudes (k, 4), a little off the body."""
    axis = np.asarray(axis, float)
    end = 1.2 * part.scale * part.mesh.exit_of(axis)[0] * axis
    return part.position + rotate(
        quaternions, np.broadcast_to(end, (*np.shape(quaternions)[:-1], 3))
    )


def on_ellipsoid(part: Part, rates: ArrayLike) -> Array:
    """Angular velocities (k, 3) as points [m], body axes, the longest at the end of its arrow."""
    rates = np.asarray(rates, float)
    sizes = np.linalg.norm(rates, axis=1)
    most = float(sizes.max()) or 1.0
    return np.asarray(1.1 * part.mesh.radius / most * rates)
