"""Simulate one rigid body."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np
from numpy.typing import ArrayLike

from rbgym import integrators, invariants
from rbgym.arguments import count, finite, flag, positive, unit
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch, IntegrationError
from rbgym.potentials import CircularOrbit, GravityGradient, NoPotential, Potential
from rbgym.quaternion import Array

_UNIT = 1e-6  # how far from unit length a quaternion given by a user may be
_NORM = "quaternion_norm"
Torque = ArrayLike | Callable[[float, Array, Array], ArrayLike] | None


@dataclass(frozen=True)
class Trajectory:
    """A recorded motion, n + 1 instants.

    time (n+1,) [s]; quaternion (n+1, 4) body to world; angular_velocity (n+1, 3) [rad/s, body];
    angular_momentum (n+1, 3) [kg m^2/s, world]; energy (n+1,) [J], kinetic plus potential.
    largest_correction: largest rotation [rad] of the energy projection; redone: steps that
    needed the robust solver. body: what moved, None where it is not known. conserved: which of the
    `errors` are of invariants of the exact motion, and so an integrator's; the others tell how far
    torques moved the body's own.
    """

    time: Array
    quaternion: Array = field(repr=False)
    angular_velocity: Array = field(repr=False)
    angular_momentum: Array = field(repr=False)
    energy: Array = field(repr=False)
    largest_correction: float = 0.0
    redone: int = 0
    body: RigidBody | None = field(default=None, repr=False)
    conserved: tuple[str, ...] = ("energy", "angular_momentum", "vertical_momentum", _NORM)

    def errors(self) -> dict[str, Array]:
        """Error (n+1,) of each invariant at each instant, 0 at the start but for round-off.

        Keys: energy, angular_momentum, vertical_momentum, quaternion_norm. The first three are
        relative where there is something to relate to.
        """
        return {
            "energy": invariants.relative_energy_error(self.energy),
            "angular_momentum": invariants.momentum_error(self.angular_momentum),
            "vertical_momentum": invariants.vertical_momentum_error(self.angular_momentum),
            _NORM: invariants.norm_error(self.quaternion),
        }

    def drift(self) -> dict[str, dict[str, float]]:
        """Max and final value of each of the `errors`: each {"max", "final"}."""
        errors = self.errors()
        return {name: {"max": float(e.max()), "final": float(e[-1])} for name, e in errors.items()}

    def _repr_html_(self) -> str:
        # By its name: an import statement would make compiled code depend on the page's source.
        return str(import_module("rbgym.html").trajectory(self))


def simulate(
    body: RigidBody,
    *,
    integrator: str | integrators.Integrator = integrators.DEFAULT,
    dt: float,
    steps: int,
    quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    potential: Potential | None = None,
    torque: Torque = None,
    rotor_momentum: ArrayLike | None = None,
    record_every: int = 1,
    projection: bool = True,
) -> Trajectory:
    """Trajectory of one body over `steps` steps of `dt` seconds.

    quaternion: (4,) unit, body to world. angular_velocity: (3,) [rad/s], body axes.
    torque [N m, body axes], held over each step: None, (3,), (steps, 3), or a callable
    (t, quaternion, angular_velocity) -> (3,). rotor_momentum: (3,), constant, body axes.
    record_every: steps between two recorded instants; the last step is always recorded.
    projection: see `rbgym.Batch`.

    Raises ValueError for bad arguments and IntegrationError if a step cannot be solved.
    """
    dt = positive("dt", dt)
    steps, record_every = count("steps", steps), count("record_every", record_every)
    batch = Batch(
        checked_body(body), integrator, potential, projection=flag("projection", projection)
    )
    batch.set_state(
        unit("quaternion", quaternion, 4, _UNIT),
        finite("angular_velocity", angular_velocity, (3,)),
        rotor_momentum=None
        if rotor_momentum is None
        else finite("rotor_momentum", rotor_momentum, (3,)),
    )
    instants = [*range(0, steps, record_every), steps]
    records = [batch.measure()]
    if callable(torque):
        drive: Callable[[int, int], None] = _Feedback(batch, dt, torque)
    else:
        drive = _Schedule(batch, dt, steps, torque)
    for first, last in itertools.pairwise(instants):
        drive(first, last)
        if batch.failed[0]:
            raise IntegrationError(
                f"{batch.integrator.name} could not solve a step of {dt} s between "
                f"t = {first * dt} and {last * dt} s: use a smaller dt"
            )
        records.append(batch.measure())
    return Trajectory(
        time=dt * np.array(instants),
        largest_correction=float(batch.largest_correction[0]),
        redone=int(batch.redone[0]),
        body=body,
        conserved=_conserved(batch.potential, torque),
        **{name: np.concatenate([r[name] for r in records]) for name in records[0]},
    )


def _conserved(potential: Potential, torque: Torque) -> tuple[str, ...]:
    if callable(torque) or (torque is not None and np.any(torque)):
        return (_NORM,)
    match potential:
        case NoPotential():
            return Trajectory.conserved
        case GravityGradient(_, (x, y, _)) if x or y:
            return ("energy", _NORM)
        case CircularOrbit():
            return ("energy", _NORM)
    return ("energy", "vertical_momentum", _NORM)  # V depends on the vertical alone


class _Schedule:
    """Advance under a torque known in advance."""

    def __init__(self, batch: Batch, dt: float, steps: int, torque: ArrayLike | None) -> None:
        values = finite("torque", (0.0, 0.0, 0.0) if torque is None else torque, (3,), (steps, 3))
        self.batch, self.dt, self.values = batch, dt, values
        if values.ndim == 1:
            batch.set_torque(values)

    def __call__(self, first: int, last: int) -> None:
        if self.values.ndim == 1:
            self.batch.advance(self.dt, last - first)
            return
        for u in self.values[first:last]:
            self.batch.set_torque(u)
            self.batch.advance(self.dt)


class _Feedback:
    """Advance under a torque that a function of time and state returns."""

    def __init__(self, batch: Batch, dt: float, law: Callable[..., ArrayLike]) -> None:
        self.batch, self.dt, self.law = batch, dt, law

    def __call__(self, first: int, last: int) -> None:
        for step in range(first, last):
            now = self.batch.measure()
            u = self.law(step * self.dt, now["quaternion"][0], now["angular_velocity"][0])
            self.batch.set_torque(finite("torque", u, (3,)))
            self.batch.advance(self.dt)


def checked_body(body: RigidBody) -> RigidBody:
    """The body, or a ValueError unless it is one."""
    if not isinstance(body, RigidBody):
        raise ValueError(f"body must be a rbgym.RigidBody, got {body!r}")
    return body
