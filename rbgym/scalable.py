"""The scalable body of Moller & Glocker (2012): seven degrees of freedom, or a rigid body's six.

A point at rho in the reference configuration is at r + s R rho (32): the body moves, turns and
scales uniformly. Its quaternion A has any length, s = |A|^2; with (nu, omega) = 2 A* o A' (37) its
equations of motion (93) are

    m v' = F,                                                     r' = v,
    tr(Theta)/2 nu' = omega.Theta omega/s + S + lambda,           s' = nu,
    Theta omega' = -(nu Theta omega + omega x Theta omega)/s + M,   R^T R' = [omega/s]x.

lambda = 0 for the scalable body. The rigid body is the scalable body with the perfect bilateral
constraint s = 1; lambda = -omega.Theta omega - S (96) is then the scaling force that keeps its
size. The step is energy-consistent; `rbgym.scalable_step` derives it.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from rbgym import invariants
from rbgym.arguments import count, finite, flag, positive, quietly, unit
from rbgym.body import RigidBody
from rbgym.compiled.jit import Entry
from rbgym.engine.batch import IntegrationError
from rbgym.quaternion import Array, conjugate, multiply, normalized, rotate, rotate_inverse
from rbgym.scalable_step import Inertia, advance
from rbgym.trajectory import checked_body

_SHAPES: dict[str, tuple[int, ...]] = {"force": (3,), "scaling_force": (), "moment": (3,)}


class ScalableState(NamedTuple):
    """The state that a load function gets; units as in `ScalableTrajectory`."""

    position: Array
    velocity: Array
    quaternion: Array
    scale: float
    scale_rate: float
    angular_velocity: Array


Law: TypeAlias = Callable[[float, ScalableState], ArrayLike]
Load: TypeAlias = ArrayLike | Law | None


@dataclass(frozen=True)
class ScalableTrajectory:
    """A recorded motion of a scalable body at n + 1 instants.

    time (n+1,) [s]; position (n+1, 3) [m] and velocity (n+1, 3) [m/s] of the centre of mass, world
    axes; quaternion (n+1, 4), unit, body to world; scale s (n+1,), 1 in the reference
    configuration, and scale_rate nu = s' (n+1,) [1/s]: A = sqrt(s) quaternion.
    angular_velocity (n+1, 3) [rad/s, body] is the rotation's, R^T Omega = omega/s (49), not the
    paper's omega. angular_momentum s R Theta omega (n+1, 3) [kg m^2/s], about the centre of mass,
    world axes; energy (n+1,) [J], kinetic (60), with translation.
    multiplier (n,) [N m]: the scaling force lambda of the rigid body, constant over each step, and
    here its mean over the steps between two instants; zero for a body that scales.
    """

    time: Array
    position: Array = field(repr=False)
    velocity: Array = field(repr=False)
    quaternion: Array = field(repr=False)
    scale: Array = field(repr=False)
    scale_rate: Array = field(repr=False)
    angular_velocity: Array = field(repr=False)
    angular_momentum: Array = field(repr=False)
    energy: Array = field(repr=False)
    multiplier: Array = field(repr=False)

    def drift(self) -> dict[str, dict[str, float]]:
        """Max and final drift of each invariant, relative to its start unless that is zero.

        Keys: energy, angular_momentum, velocity, quaternion_norm; each {"max", "final"}. The first
        three are invariants only without loads.
        """
        errors = {
            "energy": invariants.relative_energy_error(self.energy),
            "angular_momentum": invariants.momentum_error(self.angular_momentum),
            "velocity": invariants.momentum_error(self.velocity),
            "quaternion_norm": invariants.norm_error(self.quaternion),
        }
        return {name: {"max": float(e.max()), "final": float(e[-1])} for name, e in errors.items()}


def simulate_scalable(
    body: RigidBody,
    *,
    dt: float,
    steps: int,
    quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    scale: float = 1.0,
    angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    scale_rate: float = 0.0,
    position: ArrayLike = (0.0, 0.0, 0.0),
    velocity: ArrayLike = (0.0, 0.0, 0.0),
    force: Load = None,
    scaling_force: Load = None,
    moment: Load = None,
    rigid: bool = False,
    record_every: int = 1,
) -> ScalableTrajectory:
    """Trajectory of one scalable body over `steps` steps of `dt` seconds, by a scheme of order two.

    body: mass and inertia about the centre of mass in the reference configuration, s = 1.
    quaternion: (4,) unit, body to world. scale: s > 0. angular_velocity: (3,) [rad/s, body], of the
    rotation. scale_rate: s' [1/s]. position, velocity: (3,) [m, m/s], world axes.

    Loads, held over each step: None, a constant, an array with one row for each step, or a function
    of (t, ScalableState), with which the order is one. force F (3,) [N], world axes; scaling_force
    S [N m] and moment M (3,) [N m] as in (75), sums of rho.R^T dF and rho x R^T dF over points rho
    of the reference configuration. S has the power S s'; in world axes the torque is s R M, and its
    impulse in a step h |A_m|^2 R_m M, A_m the mean of A at both ends: with `rigid` slightly less
    than a torque M has in `simulate`.

    rigid: keep s = 1 by the perfect constraint (77). record_every: steps between two recorded
    instants; the last step is always recorded.

    Without loads, energy and angular momentum are constant to round-off; with loads, the energy
    changes by their discrete work F.(r_1 - r_0) + f.(A_1 - A_0), f = (A_0 + A_1) o (S, M).

    Raises ValueError for bad arguments, and IntegrationError if a step has no solution, because dt
    is too long or the scale collapses to zero.
    """
    h, steps = positive("dt", dt), count("steps", steps)
    record_every, rigid = count("record_every", record_every), flag("rigid", rigid)
    start = ScalableState(
        finite("position", position, (3,)),
        finite("velocity", velocity, (3,)),
        normalized(unit("quaternion", quaternion)),
        positive("scale", scale),
        float(finite("scale_rate", scale_rate, ())),
        finite("angular_velocity", angular_velocity, (3,)),
    )
    if rigid and (start.scale != 1.0 or start.scale_rate != 0.0):
        raise ValueError(
            "scale must be 1 and scale_rate 0 with rigid=True, "
            f"got scale {scale!r} and scale_rate {scale_rate!r}"
        )
    model = _ScalableStepper(checked_body(body), h, rigid)
    given = {"force": force, "scaling_force": scaling_force, "moment": moment}
    loads = {name: _check_load(name, load, steps) for name, load in given.items()}
    held = all(isinstance(load, np.ndarray) and len(load) == 1 for load in loads.values())
    row, instants = model.row(start), [*range(0, steps, record_every), steps]
    rows, means = [row.copy()], []
    for first, last in itertools.pairwise(instants):
        at_once, total = last - first if held else 1, 0.0
        for k in range(first, last, at_once):
            total += model.advance(row, model.load(loads, k, row), k, at_once)
        rows.append(row.copy())
        means.append(total / (last - first))
    measured = model.measure(np.array(rows))
    if not np.isfinite(measured["energy"]).all():
        raise IntegrationError("the energy of the motion exceeds the largest float")
    return ScalableTrajectory(time=h * np.array(instants), multiplier=np.array(means), **measured)


def _check_load(name: str, load: Any, steps: int) -> Array | Law:
    """The load: a function, an array (1, n) for all steps, or (steps, n)."""
    if callable(load):
        return cast(Law, load)
    shape = _SHAPES[name]
    rows = finite(name, np.zeros(shape) if load is None else load, shape, (steps, *shape))
    return rows.reshape(-1, *(shape or (1,)))


class _ScalableStepper:
    """Steps a body, whose state is a row of numbers, by steps of one length."""

    def __init__(self, body: RigidBody, h: float, rigid: bool) -> None:
        if np.any(body.center_of_mass):
            raise ValueError(
                "body must have its inertia about the centre of mass: center_of_mass must be 0, "
                f"got {body.center_of_mass.tolist()}; see RigidBody.about"
            )
        self.turn, self.moments, self.h = body.principal_quaternion, body.moments, h
        x, y, z = body.moments.tolist()
        self.inertia = Inertia(body.mass, 0.5 * (x + y + z), (x, y, z))
        self.rigid, self._kernel = rigid, Entry(advance)

    def load(self, loads: dict[str, Array | Law], k: int, row: Array) -> Array:
        """F, S and M (7,) over step k, which starts from this row."""
        found = {}
        for name, load in loads.items():
            if isinstance(load, np.ndarray):
                found[name] = load[k % len(load)]
            else:
                found[name] = finite(name, load(k * self.h, self.state(row)), _SHAPES[name])
        M = rotate_inverse(self.turn, found["moment"])
        return np.hstack([found["force"], found["scaling_force"], M])

    def row(self, state: ScalableState) -> Array:
        r, v, q, s, nu, Omega = state
        q = multiply(q, self.turn)
        L = s * s * rotate(q, self.moments * rotate_inverse(self.turn, Omega))
        return np.concatenate([r, v, q, [s, s * self.inertia.T * nu], L + 0.0])

    @quietly
    def measure(self, rows: Array) -> dict[str, Array]:
        """The fields of a trajectory for rows (n, 15)."""
        r, v, q, s, sigma, L = np.split(rows, (3, 6, 10, 11, 12), axis=1)
        nu, omega = sigma / (s * self.inertia.T), rotate_inverse(q, L) / (s * self.moments)
        energy = self.inertia.mass * v**2 / 2
        form = np.column_stack([self.inertia.T * nu**2, self.moments * omega**2])
        return {
            "position": r,
            "velocity": v,
            "quaternion": multiply(q, conjugate(self.turn)),
            "scale": s[:, 0],
            "scale_rate": nu[:, 0],
            "angular_velocity": rotate(self.turn, omega / s),
            "angular_momentum": L,
            "energy": energy.sum(axis=1) + form.sum(axis=1) / 2,
        }

    def state(self, row: Array) -> ScalableState:
        now = self.measure(row[None].copy())
        return ScalableState(*(now[name][0] for name in ScalableState._fields))

    def advance(self, row: Array, load: Array, first: int, steps: int) -> float:
        """Take steps under one load, starting with number `first`; returns the sum of lambda."""
        done, multiplier = self._kernel.call(row, load, self.inertia, self.h, steps, self.rigid)
        if done < steps:
            last = self.state(row)
            raise IntegrationError(
                f"could not solve a step of {self.h} s at t = {(first + done) * self.h} s, scale "
                f"{last.scale} and scale rate {last.scale_rate} 1/s: use a smaller dt, unless "
                "the scale is collapsing to 0"
            )
        return float(multiplier)
