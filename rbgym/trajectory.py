"""`simulate` moves one rigid body; a `Trajectory` records its motion."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rbgym import integrators, invariants
from rbgym.arguments import count, finite, flag, positive, quietly, unit
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch, IntegrationError
from rbgym.integrators.rkn4 import RKN4
from rbgym.potentials import CircularOrbit, GravityGradient, KeplerOrbit, NoPotential, Potential
from rbgym.quaternion import Array, conjugate, multiply, rotate

_NORM = "quaternion_norm"
Torque = ArrayLike | Callable[..., ArrayLike] | None
Force = ArrayLike | Callable[[float, Array, Array, Array, Array], ArrayLike] | None


@dataclass(frozen=True)
class Trajectory:
    """A recorded motion, n + 1 instants.

    time (n+1,) [s]; quaternion (n+1, 4) body to world; angular_velocity (n+1, 3) [rad/s, body];
    angular_momentum (n+1, 3) [kg m^2/s, world]; energy (n+1,) [J], kinetic plus potential.
    largest_correction: largest rotation [rad] of an energy projection, also of one of `exact` that
    was too large to be made; redone: number of steps that needed the robust solver. conserved:
    names of the `errors` whose quantity the exact motion conserves, so that they are errors of the
    integrator. position [m] and velocity [m/s] (n+1, 3)
    of the centre of mass, world axes, if simulated; the energy then includes its kinetic energy.
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
        """Error (n+1,) of each invariant at each instant: energy, angular_momentum and
        vertical_momentum, relative unless the reference is zero, and quaternion_norm. An energy
        that begins near zero is relative to the largest kinetic energy of the rotation."""
        scale = None
        if self.body is not None:
            omega = self.angular_velocity
            largest = float(np.max(np.sum(omega @ self.body.inertia * omega, axis=1)) / 2.0)
            scale = largest if abs(self.energy[0]) < 1e-6 * largest else None
        return {
            "energy": invariants.relative_energy_error(self.energy, scale),
            "angular_momentum": invariants.momentum_error(self.angular_momentum),
            "vertical_momentum": invariants.vertical_momentum_error(self.angular_momentum),
            _NORM: invariants.norm_error(self.quaternion),
        }

    def drift(self) -> dict[str, dict[str, float]]:
        """Largest and final value of each of the `errors`, as {"max": ..., "final": ...}."""
        errors = self.errors()
        return {name: {"max": float(e.max()), "final": float(e[-1])} for name, e in errors.items()}


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

    body: turns about the point that its inertia refers to. quaternion: (4,) unit, body to world.
    angular_velocity: (3,) [rad/s], body axes. torque [N m, body axes], constant over each step:
    None, (3,), (steps, 3), or a callable (t, quaternion, angular_velocity) -> (3,), with which the
    order is one. rotor_momentum: (3,) [kg m^2/s], constant, body axes. record_every: steps between
    two recorded instants; the last one is always recorded. projection: see `rbgym.Batch`; "rkn4"
    has none.

    position [m], velocity [m/s], force [N], (3,), world axes: with any of them, the centre of mass
    moves too and the body turns about it. Mandre's Runge-Kutta-Nystroem scheme solves both motions
    as one system: integrator="rkn4" (with no option but renormalise_every), no potential, no
    rotors. force and torque may be callables (t, position, velocity, quaternion, angular_velocity)
    -> (3,), evaluated at each of the four stages of a step, so that the motion is of order four;
    a torque for each step is refused.

    Raises ValueError for bad arguments and IntegrationError if a step cannot be solved. Warns if
    the scheme loses the spin of a slender heavy top in steps of dt.
    """
    dt, projection = positive("dt", dt), flag("projection", projection)
    steps, record_every = count("steps", steps), count("record_every", record_every)
    body, record = checked_body(body), integrators.get(integrator)
    instants = [*range(0, steps, record_every), steps]
    q = unit("quaternion", quaternion)
    omega = finite("angular_velocity", angular_velocity, (3,))
    if position is velocity is force is None:
        batch = Batch(body, record, potential, projection=projection)
        batch.set_state(q, omega, rotor_momentum=rotor_momentum)
        batch.warn_of_spin(dt)
        found = _turn(batch, dt, instants, torque)
        conserved = _conserved(batch.potential, torque)
        found["largest_correction"] = float(batch.largest_correction[0])
        found["redone"] = int(batch.redone[0])
    else:
        body = body.about(body.center_of_mass)
        p, v = _vector("position", position), _vector("velocity", velocity)
        flight = _Flight(body, _flight_scheme(record, potential, rotor_momentum), force, torque)
        found = flight.run(dt, instants, p, v, q / np.linalg.norm(q), omega)
        conserved = _conserved(NoPotential(), torque)
        if force is not None:
            conserved = tuple(name for name in conserved if name != "energy")
    return Trajectory(time=dt * np.array(instants), body=body, conserved=conserved, **found)


def checked_body(body: RigidBody) -> RigidBody:
    """The body; ValueError if it is not a RigidBody."""
    if not isinstance(body, RigidBody):
        raise ValueError(f"body must be a rbgym.RigidBody, got {body!r}")
    return body


def _vector(name: str, given: ArrayLike | None) -> Array:
    return np.zeros(3) if given is None else finite(name, given, (3,))


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
        case KeplerOrbit():
            return (_NORM,)
    return ("energy", "vertical_momentum", _NORM)  # V depends on the vertical alone


def _turn(batch: Batch, dt: float, instants: list[int], torque: Torque) -> dict[str, Any]:
    """`Batch.measure` after these numbers of steps, under a torque constant over each step."""
    law = torque if callable(torque) else None
    given: Any = np.zeros(3) if torque is None or law else torque
    table = finite("torque", given, (3,), (instants[-1], 3))
    if held := law is None and table.ndim == 1:
        batch.set_torque(table)
    records = [batch.measure()]
    for first, last in itertools.pairwise(instants):
        at_once = last - first if held else 1
        for step in range(first, last, at_once):
            if law is not None:
                now = batch.measure()
                u = law(step * dt, now["quaternion"][0], now["angular_velocity"][0])
                batch.set_torque(finite("torque", u, (3,)))
            elif not held:
                batch.set_torque(table[step])
            batch.advance(dt, at_once)
        if batch.failed[0]:
            turn = math.hypot(*batch.measure()["angular_velocity"][0]) * dt
            raise IntegrationError(
                f"{batch.integrator.name} could not solve a step of {dt} s, a turn of |omega| dt = "
                f"{turn:.3g} rad, between t = {first * dt} and {last * dt} s: use a smaller dt"
            )
        records.append(batch.measure())
    return {name: np.concatenate([r[name] for r in records]) for name in records[0]}


def _flight_scheme(record: integrators.Integrator, potential: Any, rotor: Any) -> RKN4:
    """The scheme; ValueError if it, the potential or rotors do not support translation."""
    scheme = record.scheme
    plain = potential is rotor is None
    if plain and isinstance(scheme, RKN4) and scheme == RKN4(scheme.renormalise_every):
        return scheme
    raise ValueError(
        "integrator must be 'rkn4', with no option but renormalise_every, and potential and "
        "rotor_momentum must be None, where position, velocity or force is given, "
        f"got {record.name!r}, {potential!r} and {rotor!r}"
    )


class _Flight:
    """Linear and angular motion in one system, Mandre (2008), sections 5, 6 and 7.5: y = (p, q).
    Forces and torques depend on position and attitude of their stage:

        p'' = F(t, p, p', q, omega)/m,
        q'' = q' q* q' + (1/2) q o J^-1 (tau(t, p, p', q, omega) - omega x J omega), omega = 2 q* q'
    """

    def __init__(self, body: RigidBody, scheme: RKN4, force: Force, torque: Torque) -> None:
        self.body, self.renormalise_every = body, scheme.renormalise_every
        self.force, self.torque = _as_function("force", force), _as_function("torque", torque)
        self.J_inv = np.linalg.inv(body.inertia)

    @quietly
    def run(
        self, h: float, instants: list[int], p: Array, v: Array, q: Array, omega: Array
    ) -> dict[str, Any]:
        """Position, attitude, their rates, momentum and energy after these numbers of steps."""
        y, dy = _state(p, v, q, omega)
        rows = [(y, dy)]
        for step in range(1, instants[-1] + 1):
            y, dy = self._step((step - 1) * h, y, dy, h)
            if not np.isfinite([*y, *dy]).all():
                raise IntegrationError(f"the motion is not finite at t = {step * h} s")
            q, every = y[3:], self.renormalise_every
            if every and step % every == 0:
                q = q / np.linalg.norm(q)
            y, dy = _state(y[:3], dy[:3], q, _rates(y, dy))
            if step == instants[len(rows)]:
                rows.append((y, dy))
        y, dy = (np.array(column) for column in zip(*rows, strict=True))
        v, omega = dy[:, :3], _rates(y, dy)
        momentum = omega @ self.body.inertia
        energy = 0.5 * (self.body.mass * np.sum(v * v, axis=1) + np.sum(omega * momentum, axis=1))
        if not np.isfinite(energy).all():
            raise IntegrationError("the energy of the motion is beyond the largest float")
        q = y[:, 3:] / np.linalg.norm(y[:, 3:], axis=1, keepdims=True)
        found = {"position": y[:, :3], "velocity": v, "quaternion": q, "angular_velocity": omega}
        return found | {"angular_momentum": rotate(q, momentum), "energy": energy}

    def _step(self, t: float, y: Array, dy: Array, h: float) -> tuple[Array, Array]:
        k1 = self._acceleration(t, y, dy)
        middle = y + 0.5 * h * dy + 0.125 * h * h * k1
        k2 = self._acceleration(t + 0.5 * h, middle, dy + 0.5 * h * k1)
        k3 = self._acceleration(t + 0.5 * h, middle, dy + 0.5 * h * k2)
        k4 = self._acceleration(t + h, y + h * dy + 0.5 * h * h * k3, dy + h * k3)
        y_1 = y + h * dy + h * h / 6 * (k1 + k2 + k3)
        return y_1, dy + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def _acceleration(self, t: float, y: Array, dy: Array) -> Array:
        q, dq, omega = y[3:], dy[3:], _rates(y, dy)
        now = t, y[:3], dy[:3], q / np.linalg.norm(q), omega
        F, tau = self.force(*now), self.torque(*now)
        turning = self.J_inv @ (tau - np.cross(omega, self.body.inertia @ omega))
        bend = multiply(multiply(dq, conjugate(q)), dq)
        return np.concatenate([F / self.body.mass, bend + 0.5 * multiply(q, [0.0, *turning])])


def _as_function(name: str, given: Any) -> Callable[..., Array]:
    """A force or torque, given as a callable or a constant, as a function of time and state."""
    if callable(given):
        return lambda *now: finite(name, given(*now), (3,))
    held = _vector(name, given)
    return lambda *now: held


def _state(p: Array, v: Array, q: Array, omega: Array) -> tuple[Array, Array]:
    return np.concatenate([p, q]), np.concatenate([v, 0.5 * multiply(q, [0.0, *omega])])


def _rates(y: Array, dy: Array) -> Array:
    """omega = 2 q* q'."""
    return np.asarray(2.0 * multiply(conjugate(y[..., 3:]), dy[..., 3:])[..., 1:])
