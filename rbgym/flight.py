"""Linear and angular motion of a free body in one system, Mandre (2008), sections 5, 6 and 7.5.

The centre of mass and the attitude are advanced by the same Runge-Kutta-Nystroem stages, so that
forces see the attitude of their stage and torques the position of theirs:

    p'' = F(t, p, p', q, omega)/m,
    q'' = q' q* q' + (1/2) q o J^-1 (tau(t, p, p', q, omega) - omega x J omega), omega = 2 q* q'.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from rbgym.arguments import count, finite, positive, quietly, unit
from rbgym.body import RigidBody
from rbgym.engine.batch import IntegrationError
from rbgym.quaternion import Array, conjugate, multiply, rotate
from rbgym.simulate import checked_body

Law: TypeAlias = Callable[[float, Array, Array, Array, Array], ArrayLike]

_UNIT = 1e-6


@dataclass(frozen=True)
class Flight:
    """A recorded flight, n + 1 instants.

    time (n+1,) [s]; position (n+1, 3) [m] and velocity (n+1, 3) [m/s] of the centre of mass, world
    axes; quaternion (n+1, 4) body to world; angular_velocity (n+1, 3) [rad/s, body];
    angular_momentum (n+1, 3) [kg m^2/s], about the centre of mass, world axes.
    """

    time: Array
    position: Array = field(repr=False)
    velocity: Array = field(repr=False)
    quaternion: Array = field(repr=False)
    angular_velocity: Array = field(repr=False)
    angular_momentum: Array = field(repr=False)


def simulate_flight(
    body: RigidBody,
    *,
    dt: float,
    steps: int,
    position: ArrayLike = (0.0, 0.0, 0.0),
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    force: Law | None = None,
    torque: Law | None = None,
    renormalise_every: int = 1,
    record_every: int = 1,
) -> Flight:
    """Flight of a body of mass `body.mass` over `steps` steps of `dt` seconds, of order four.

    body: its inertia is about the centre of mass. position, velocity: (3,), world axes.
    quaternion: (4,) unit, body to world. angular_velocity: (3,), body axes [rad/s].
    force, torque: functions of (t, position, velocity, quaternion, angular_velocity) that return
    the force on the centre of mass, world axes [N], and the torque, body axes [N m]; they are
    called four times a step. renormalise_every: steps between two normalisations of the
    quaternion, 0 for never. record_every: steps between two recorded instants.

    Raises ValueError for bad arguments, and IntegrationError where the motion is no longer finite.
    """
    h, steps = positive("dt", dt), count("steps", steps)
    record_every = count("record_every", record_every)
    if not (isinstance(renormalise_every, int | np.integer) and renormalise_every == 0):
        count("renormalise_every", renormalise_every)
    p, v = finite("position", position, (3,)), finite("velocity", velocity, (3,))
    omega, q = (
        finite("angular_velocity", angular_velocity, (3,)),
        unit("quaternion", quaternion, 4, _UNIT),
    )
    q = q / np.linalg.norm(q)
    motion = _Motion(checked_body(body), force, torque)
    dq = 0.5 * multiply(q, _pure(omega))
    state, rate = np.concatenate([p, q]), np.concatenate([v, dq])
    records = [(0.0, state, rate)]
    for step in range(1, steps + 1):
        with np.errstate(over="ignore", invalid="ignore"):  # it is told below
            state, rate = _rkn4(motion, (step - 1) * h, state, rate, h)
        if not (np.all(np.isfinite(state)) and np.all(np.isfinite(rate))):
            raise IntegrationError(f"the motion is not finite at t = {step * h} s")
        if renormalise_every and step % renormalise_every == 0:
            state, rate = _renormalised(state, rate)
        if step % record_every == 0 or step == steps:
            records.append((step * h, state, rate))
    flight = _flight(body, records)
    if not np.isfinite(flight.angular_momentum).all():
        raise IntegrationError("the angular momentum is beyond the largest float")
    return flight


class _Motion:
    """The accelerations (p'', q'')."""

    def __init__(self, body: RigidBody, force: Law | None, torque: Law | None) -> None:
        for name, law in (("force", force), ("torque", torque)):
            if law is not None and not callable(law):
                raise ValueError(f"{name} must be None or callable, got {law!r}")
        self.J, self.mass, self.force, self.torque = body.inertia, body.mass, force, torque
        self.errors = np.geterr()  # those of the user, for laws that are theirs
        self.J_inv = np.linalg.inv(body.inertia)

    def __call__(self, t: float, state: Array, rate: Array) -> Array:
        p, q, v, dq = state[:3], state[3:], rate[:3], rate[3:]
        omega = 2.0 * multiply(conjugate(q), dq)[1:]
        given = (t, p, v, q / np.linalg.norm(q), omega)
        F, tau = self._given("force", self.force, given), self._given("torque", self.torque, given)
        turning = self.J_inv @ (tau - np.cross(omega, self.J @ omega))
        bend = multiply(multiply(dq, conjugate(q)), dq)
        return np.concatenate([F / self.mass, bend + 0.5 * multiply(q, _pure(turning))])

    def _given(self, name: str, law: Law | None, given: tuple[Any, ...]) -> Array:
        if law is None:
            return np.zeros(3)
        with np.errstate(**self.errors):
            return finite(f"what {name} returns", law(*given), (3,))


def _rkn4(motion: _Motion, t: float, y: Array, dy: Array, h: float) -> tuple[Array, Array]:
    k1 = motion(t, y, dy)
    middle = y + 0.5 * h * dy + 0.125 * h * h * k1
    k2 = motion(t + 0.5 * h, middle, dy + 0.5 * h * k1)
    k3 = motion(t + 0.5 * h, middle, dy + 0.5 * h * k2)
    k4 = motion(t + h, y + h * dy + 0.5 * h * h * k3, dy + h * k3)
    return y + h * dy + h * h / 6 * (k1 + k2 + k3), dy + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@quietly
def _renormalised(state: Array, rate: Array) -> tuple[Array, Array]:
    """The quaternion at unit length, at the same angular velocity 2 q* q'."""
    q, dq = state[3:], rate[3:]
    omega = multiply(conjugate(q), dq)[1:]
    q = q / np.linalg.norm(q)
    return np.concatenate([state[:3], q]), np.concatenate([rate[:3], multiply(q, _pure(omega))])


@quietly
def _flight(body: RigidBody, records: list[tuple[float, Array, Array]]) -> Flight:
    states, rates = (np.array([record[k] for record in records]) for k in (1, 2))
    raw = states[:, 3:]
    omega = 2.0 * multiply(conjugate(raw), rates[:, 3:])[:, 1:]
    q = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    return Flight(
        time=np.array([record[0] for record in records]),
        position=states[:, :3],
        velocity=rates[:, :3],
        quaternion=q,
        angular_velocity=omega,
        angular_momentum=rotate(q, omega @ body.inertia),
    )


def _pure(v: Array) -> Array:
    return np.concatenate([[0.0], v])
