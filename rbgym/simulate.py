"""Simulate one rigid body."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym import integrators, invariants
from rbgym.arguments import count, finite, flag, positive, quietly, unit
from rbgym.body import RigidBody
from rbgym.engine import Batch, IntegrationError
from rbgym.integrators.rkn4 import RKN4
from rbgym.potentials import CircularOrbit, GravityGradient, NoPotential, Potential
from rbgym.quaternion import Array, conjugate, multiply, rotate

_UNIT = 1e-6  # how far from unit length a quaternion given by a user may be
_NORM = "quaternion_norm"
Torque = ArrayLike | Callable[..., ArrayLike] | None
Force = ArrayLike | Callable[[float, Array, Array, Array, Array], ArrayLike] | None


@dataclass(frozen=True)
class Trajectory:
    """A recorded motion, n + 1 instants.

    time (n+1,) [s]; quaternion (n+1, 4) body to world; angular_velocity (n+1, 3) [rad/s, body];
    angular_momentum (n+1, 3) [kg m^2/s, world]; energy (n+1,) [J], kinetic plus potential.
    largest_correction: largest rotation [rad] of the energy projection; redone: steps that
    needed the robust solver. body: what moved, None where it is not known. conserved: which of the
    `errors` are of invariants of the exact motion, and so an integrator's; the others tell how far
    torques moved the body's own. position [m] and velocity [m/s] (n+1, 3) of the centre of mass,
    world axes, where it was simulated too; the energy then has its part of it.
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
    position: Array | None = field(default=None, repr=False)
    velocity: Array | None = field(default=None, repr=False)

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
    position: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    force: Force = None,
    record_every: int = 1,
    projection: bool = True,
) -> Trajectory:
    """Trajectory of one body over `steps` steps of `dt` seconds.

    quaternion: (4,) unit, body to world. angular_velocity: (3,) [rad/s], body axes.
    torque [N m, body axes], held over each step: None, (3,), (steps, 3), or a callable
    (t, quaternion, angular_velocity) -> (3,). rotor_momentum: (3,), constant, body axes.
    record_every: steps between two recorded instants; the last step is always recorded.
    projection: see `rbgym.engine.Batch`.

    position [m], velocity [m/s], force [N]: given one of them, the centre of mass moves too, in one
    system with the attitude, by Mandre's Runge-Kutta-Nystroem scheme: integrator="rkn4" (with no
    option but renormalise_every), no potential, no rotors, an inertia about the centre of mass.
    position, velocity: (3,), world axes, default 0. force, world axes, and torque: None, (3,), or a
    callable (t, position, velocity, quaternion, angular_velocity) -> (3,), evaluated at each of the
    four stages of a step, so that the motion is of order four.

    Raises ValueError for bad arguments and IntegrationError if a step cannot be solved.
    """
    dt = positive("dt", dt)
    steps, record_every = count("steps", steps), count("record_every", record_every)
    body, record = checked_body(body), integrators.get(integrator)
    instants = [*range(0, steps, record_every), steps]
    q = unit("quaternion", quaternion, 4, _UNIT)
    omega = finite("angular_velocity", angular_velocity, (3,))
    rotor = None if rotor_momentum is None else finite("rotor_momentum", rotor_momentum, (3,))
    if position is velocity is force is None:
        batch = Batch(body, record, potential, projection=flag("projection", projection))
        batch.set_state(q, omega, rotor_momentum=rotor)
        found = _recorded(_Turning(batch, dt, steps, torque), instants)
        return Trajectory(
            time=dt * np.array(instants),
            largest_correction=float(batch.largest_correction[0]),
            redone=int(batch.redone[0]),
            body=body,
            conserved=_conserved(batch.potential, torque),
            **found,
        )
    p, v = (
        np.zeros(3) if given is None else finite(name, given, (3,))
        for name, given in (("position", position), ("velocity", velocity))
    )
    flying = _Flying(body, _flight_scheme(record, potential, rotor), dt, force, torque)
    flying.place(p, v, q / np.linalg.norm(q), omega)
    conserved = _conserved(NoPotential(), torque)
    if force is not None:
        conserved = tuple(name for name in conserved if name != "energy")
    found = _recorded(flying, instants)
    return Trajectory(time=dt * np.array(instants), body=body, conserved=conserved, **found)


def _recorded(motion: "_Turning | _Flying", instants: list[int]) -> dict[str, Array]:
    """What is measured at these numbers of steps, by name."""
    records = [motion.measured()]
    for first, last in itertools.pairwise(instants):
        motion.advance(first, last)
        records.append(motion.measured())
    return {name: np.concatenate([r[name] for r in records]) for name in records[0]}


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


class _Turning:
    """A batch of one body, under a torque that is held over each step."""

    def __init__(self, batch: Batch, dt: float, steps: int, torque: Torque) -> None:
        self.batch, self.dt, self.law = batch, dt, torque if callable(torque) else None
        given: Any = np.zeros(3) if torque is None or callable(torque) else torque
        self.table = finite("torque", given, (3,), (steps, 3))
        if self.table.ndim == 1:
            batch.set_torque(self.table)

    def advance(self, first: int, last: int) -> None:
        """Make the steps from number `first` on, up to but without `last`."""
        batch = self.batch
        if self.law is None and self.table.ndim == 1:
            batch.advance(self.dt, last - first)
        else:
            for step in range(first, last):
                batch.set_torque(self._torque(step))
                batch.advance(self.dt)
        if batch.failed[0]:
            raise IntegrationError(
                f"{batch.integrator.name} could not solve a step of {self.dt} s between "
                f"t = {first * self.dt} and {last * self.dt} s: use a smaller dt"
            )

    def _torque(self, step: int) -> Array:
        if self.law is None:
            return np.asarray(self.table[step])
        now = self.batch.measure()
        given = step * self.dt, now["quaternion"][0], now["angular_velocity"][0]
        return finite("torque", self.law(*given), (3,))

    def measured(self) -> dict[str, Array]:
        """Attitude, rates, momentum and energy now, each with a leading axis of one."""
        return self.batch.measure()


def _flight_scheme(record: integrators.Integrator, potential: Any, rotor: Any) -> RKN4:
    """The scheme, or a ValueError where it, the potential or rotors do not go with translation."""
    scheme = record.scheme
    plain = isinstance(scheme, RKN4) and scheme._replace(renormalise_every=1) == RKN4()
    plain = isinstance(scheme, RKN4) and scheme == RKN4(scheme.renormalise_every)
    if plain and potential is rotor is None:
        return scheme
    raise ValueError(
        "integrator must be 'rkn4', with no option but renormalise_every, and potential and "
        "rotor_momentum must be None, where position, velocity or force is given, "
        f"got {record.name!r}, {potential!r} and {rotor!r}"
    )


class _Flying:
    """Linear and angular motion in one system, Mandre (2008), sections 5, 6 and 7.5.

    Forces see the attitude of their stage and torques the position of theirs:

        p'' = F(t, p, p', q, omega)/m,
        q'' = q' q* q' + (1/2) q o J^-1 (tau(t, p, p', q, omega) - omega x J omega), omega = 2 q* q'
    """

    def __init__(
        self, body: RigidBody, scheme: RKN4, dt: float, force: Force, torque: Torque
    ) -> None:
        self.body, self.dt, self.renormalise_every = body, dt, scheme.renormalise_every
        self.force, self.torque = _as_function("force", force), _as_function("torque", torque)
        self.J_inv = np.linalg.inv(body.inertia)

    def place(self, p: Array, v: Array, q: Array, omega: Array) -> None:
        """Start there; the state is y = (p, q), dy its rate."""
        self.y = np.concatenate([p, q])
        self.dy = np.concatenate([v, 0.5 * multiply(q, [0.0, *omega])])

    @quietly
    def advance(self, first: int, last: int) -> None:
        """Make the steps from number `first` on, up to but without `last`."""
        for step in range(first, last):
            self._step(step * self.dt)
            if not np.isfinite([*self.y, *self.dy]).all():
                raise IntegrationError(f"the motion is not finite at t = {(step + 1) * self.dt} s")
            if self.renormalise_every and (step + 1) % self.renormalise_every == 0:
                q = self.y[3:] / np.linalg.norm(self.y[3:])
                self.place(self.y[:3], self.dy[:3], q, self._rates(self.y, self.dy))

    def _step(self, t: float) -> None:
        h, y, dy = self.dt, self.y, self.dy
        k1 = self._acceleration(t, y, dy)
        middle = y + 0.5 * h * dy + 0.125 * h * h * k1
        k2 = self._acceleration(t + 0.5 * h, middle, dy + 0.5 * h * k1)
        k3 = self._acceleration(t + 0.5 * h, middle, dy + 0.5 * h * k2)
        k4 = self._acceleration(t + h, y + h * dy + 0.5 * h * h * k3, dy + h * k3)
        self.y = y + h * dy + h * h / 6 * (k1 + k2 + k3)
        self.dy = dy + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def _acceleration(self, t: float, y: Array, dy: Array) -> Array:
        q, dq, omega = y[3:], dy[3:], self._rates(y, dy)
        now = t, y[:3], dy[:3], q / np.linalg.norm(q), omega
        F, tau = self.force(*now), self.torque(*now)
        turning = self.J_inv @ (tau - np.cross(omega, self.body.inertia @ omega))
        bend = multiply(multiply(dq, conjugate(q)), dq)
        return np.concatenate([F / self.body.mass, bend + 0.5 * multiply(q, [0.0, *turning])])

    @staticmethod
    def _rates(y: Array, dy: Array) -> Array:
        return np.asarray(2.0 * multiply(conjugate(y[3:]), dy[3:])[1:])

    @quietly
    def measured(self) -> dict[str, Array]:
        """The state now, with momentum and energy, each with a leading axis of one."""
        v, omega = self.dy[:3], self._rates(self.y, self.dy)
        momentum, q = self.body.inertia @ omega, self.y[3:] / np.linalg.norm(self.y[3:])
        energy = 0.5 * (self.body.mass * v @ v + omega @ momentum)
        if not np.isfinite(energy):
            raise IntegrationError("the energy of the motion is beyond the largest float")
        now = {"position": self.y[:3], "velocity": v, "quaternion": q, "angular_velocity": omega}
        now |= {"angular_momentum": rotate(q, momentum), "energy": energy}
        return {name: np.array(value)[None] for name, value in now.items()}


def _as_function(name: str, given: Any) -> Callable[..., Array]:
    """A force or torque, given as one or as a constant, as a function of time and state."""
    if callable(given):
        return lambda *now: finite(name, given(*now), (3,))
    held = np.zeros(3) if given is None else finite(name, given, (3,))
    return lambda *now: held


def checked_body(body: RigidBody) -> RigidBody:
    """The body, or a ValueError unless it is one."""
    if not isinstance(body, RigidBody):
        raise ValueError(f"body must be a rbgym.RigidBody, got {body!r}")
    return body
