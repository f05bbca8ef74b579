"""Measures an integrator's declarations in one case: invariants, order, symmetry; and the
derivatives of its steps against differences of the steps. A quantity declared conserved must be
constant, any other must drift. Both are measured with the energy projection off, because it could
hide a false declaration; declared quantities again with it on."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from rbgym.body import RigidBody
from rbgym.engine.batch import Batch, IntegrationError
from rbgym.identification import rotation_vector
from rbgym.integrators import Integrator
from rbgym.integrators.interface import SPIN
from rbgym.potentials import GravityGradient, HeavyTop, SoftWall
from rbgym.quaternion import (
    Array,
    Vector,
    conjugate,
    from_matrix,
    from_rotation_vector,
    multiply,
    to_matrix,
)
from rbgym.validation import fidelity
from rbgym.validation.cases import NO_TORQUE, Case, Claim, above, below, near
from rbgym.validation.fidelity import Motion, Order, State

CONSERVED = 1e-13  # relative, with the projection, for any number of steps
UNIT = 1e-15  # | |q| - 1 |
DRIFTS = 1e-9  # relative: a larger error is not round-off
LACKS = 1e-12  # relative: a smaller error needs no projection
# Relative, with the projection off: constant part, and one unit in the last place for each step.
ROUNDOFF = 1e-14, 2.2e-16
# A first-order scheme needs steps this much shorter: it may gain energy until a step has no
# solution. Schemes of order six take longer steps, or their drift would not exceed round-off.
FIRST_ORDER, SIXTH_ORDER = 0.01, 4.0

TOLERANCE = 0.1  # of an order
COARSEST, FINEST = 20, 1280  # steps over the horizon: doubled from the coarsest on
COARSEST_OF_SIX = 5  # of a composition, whose stages are shorter
ROTORS = 6.0, -12.0, 9.0  # momentum [kg m^2/s], a tenth of that of the free body
FARTHER = 4  # horizons for kicks of order six: after one, few errors are above round-off
REFERENCE_STEPS = 160  # of the reference, in a step of the long runs
EXACT = 2e-12  # rad and relative: only round-off, over a few radians

RETURNS = EQUIVARIANT = 1e-11  # rad or relative, after fifty steps and as many back
MISSES = 1e-9
TURNS = 50  # steps

ENDURANCE = 10_000_000  # steps
TREND = 1e-15  # relative, over the whole run

DERIVED, FEW = 1e-11, 3  # largest error of a Jacobian, scaled to about one; its number of steps
Sizes = Mapping[str, list[float]]
# A difference of the eighth order (Fornberg 1988): its points and weights.
_SPACING, _WEIGHTS = 5e-3, np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
AWAY = _SPACING * np.array([1, 2, 3, 4, -1, -2, -3, -4])
WEIGHTS = np.concatenate([_WEIGHTS, -_WEIGHTS]) / _SPACING


def declared(record: Integrator, case: Case, steps: int) -> list[Claim]:
    """All claims on an integrator in one case, with long runs of `steps` steps."""
    return [*conservation(record, case, steps), *order(record, case), *symmetry(record, case)]


def long_dt(record: Integrator, case: Case) -> float:
    """Step of the long runs [s]."""
    return case.dt * {1: FIRST_ORDER, 6: SIXTH_ORDER}.get(record.order, 1.0)


def conservation(record: Integrator, case: Case, steps: int) -> list[Claim]:
    """Claims on the solver, the quaternion's length and the invariants in one case."""
    of = record.name, case.kind
    delivered, raw = (_drift(record, case, steps, projection) for projection in (True, False))
    unsolved = float(not (delivered and raw))
    norm = delivered.get("quaternion_norm", math.nan)
    claims = [
        below(*of, "unsolved steps", "none", unsolved, 0.0),
        below(*of, "quaternion_norm", "conserved", norm, UNIT),
    ]
    loose = ROUNDOFF[0] + ROUNDOFF[1] * steps
    for quantity in (*case.invariants, *([] if case.potential is None else [SPIN])):
        on, off = delivered.get(quantity, math.nan), raw.get(quantity, math.nan)
        if quantity in record.conserves.get(case.kind, ()):
            # No projection corrects the spin.
            bound = loose if quantity == SPIN else CONSERVED
            claims.append(below(*of, quantity, "conserved", on, bound))
            if record.is_projected(quantity, case.kind):
                claims.append(above(*of, f"{quantity}, unprojected", "drifts", off, LACKS))
            else:
                claims.append(below(*of, f"{quantity}, unprojected", "conserved", off, loose))
        else:
            claims.append(above(*of, f"{quantity}, unprojected", "drifts", off, DRIFTS))
    return claims


def _drift(record: Integrator, case: Case, steps: int, projection: bool) -> dict[str, float]:
    """Largest drift of each invariant; empty if a step could not be solved."""
    dt, both = long_dt(record, case), (case, case.symmetric)
    try:
        run, of_two = (one.run(record, dt, steps, projection=projection) for one in both)
    except IntegrationError:
        return {}
    found = {quantity: values["max"] for quantity, values in run.drift().items()}
    spin, size = of_two.angular_velocity[:, 2], np.linalg.norm(of_two.angular_momentum[0])
    lost = case.symmetric.body.moments[2] * np.abs(spin - spin[0]).max()
    return found | {SPIN: float(lost / size)}  # relative, like other components of the momentum


def endurance(record: Integrator, case: Case, steps: int) -> list[Claim]:
    """Claims that no quantity which the integrator conserves has a trend over a long run. Momentum
    of a free body is compared bit for bit. For others the trend is the slope of a line fitted to
    the error, since a random walk has no trend."""
    of = record.name, case.kind
    try:
        run = case.run(record, long_dt(record, case), steps)
    except IntegrationError:
        return [below(*of, "unsolved steps", "none", 1.0, 0.0)]
    L = run.angular_momentum
    size = float(np.linalg.norm(L[0]))
    claims = []
    for quantity in record.conserves.get(case.kind, ()):
        if quantity == "angular_momentum":
            worst = float(np.linalg.norm(L - L[0], axis=1).max()) / size
            label = f"{quantity} after {steps:,} steps"
            claims.append(below(*of, label, "the same bits", worst, 0.0))
        elif quantity != SPIN:  # the body is not symmetric
            is_energy = quantity == "energy"
            error = run.energy / run.energy[0] - 1.0 if is_energy else (L[:, 2] - L[0, 2]) / size
            trend = abs(float(np.polyfit(run.time / run.time[-1], error, 1)[0]))
            # A random walk of one unit in the last place a step grows as the root of the steps.
            bound = TREND if is_energy else 4.0 * 2.2e-16 * steps**0.5
            label = f"trend of {quantity} over {steps:,} steps"
            claims.append(below(*of, label, "none", trend, bound))
    return claims


def order(record: Integrator, case: Case) -> list[Claim]:
    """Claims on the slopes of both errors; of a free body also without torque and with rotors."""
    is_near = record.by_kicks and record.order == 6
    measured = case._replace(horizon=FARTHER * case.horizon) if is_near else case
    claims = _orders(record, case, "order", record.order, convergence(record, measured))
    if case.potential is None and record.free_order is not None:
        free = convergence(record, case._replace(torque=NO_TORQUE))
        claims += _orders(record, case, "free order", record.free_order, free)
    if case.potential is None and "rotors" in record.supports:
        gyrostat = convergence(record, measured._replace(rotors=ROTORS))
        claims += _orders(record, case, "order with rotors", record.order, gyrostat)
    return claims


def convergence(record: Integrator, case: Case) -> Order:
    """Errors at the case's horizon and their slopes. The number of steps doubles until both errors
    are round-off; steps too long to be solved are left out."""
    errors: list[tuple[int, float, float]] = []
    steps = COARSEST_OF_SIX if record.order == 6 else COARSEST
    while steps <= FINEST and (not errors or max(errors[-1][1:]) > fidelity.FLOOR):
        found = error_after(record, case, steps)
        errors += [(steps, *found)] if found else []
        steps *= 2
    return fidelity.order_of(case.horizon, errors)


def error_after(record: Integrator, case: Case, steps: int) -> tuple[float, float] | None:
    """Errors of attitude [rad] and relative momentum at the horizon; None if unsolved."""
    torque = case.torque_on(record)
    try:
        end = case.run(record, case.horizon / steps, steps, torque=torque, record_every=steps)
    except IntegrationError:
        return None
    R, omega = reference(case, torque)
    last = end.quaternion[-1], end.angular_velocity[-1]
    return fidelity.errors_at(last, (from_matrix(R), omega), case.body.inertia)


def _orders(record: Any, case: Case, quantity: str, declared: float, found: Order) -> list[Claim]:
    of, claims = (record.name, case.kind), []
    for name, slope, errors in (
        ("attitude", found.attitude, found.attitude_errors),
        ("momentum", found.momentum, found.momentum_errors),
    ):
        label = f"{quantity} in {name}"
        if declared == math.inf:
            claims.append(below(*of, label, "exact", max(errors, default=math.nan), EXACT))
        elif record.by_kicks:
            # Where torques are small, a scheme by kicks shows the order of its quadrature.
            bound = declared - TOLERANCE
            claims.append(above(*of, label, f"at least {declared:g}", slope, bound))
        else:
            claims.append(near(*of, label, declared, slope, TOLERANCE))
    return claims


@cache
def reference(case: Case, torque: Vector, finer: int = REFERENCE_STEPS) -> tuple[Array, Array]:
    """Rotation matrix (3, 3) and body rates (3,) at the case's horizon, by Euler's equations and R'
    = R skew(omega) and the classical Runge-Kutta method, without code of the integrators."""
    steps = finer * round(case.horizon / case.dt)
    h, J, rotors = case.horizon / steps, case.body.inertia, np.array(case.rotors)
    inverse, u = np.linalg.inv(J), np.array(torque)
    pull = _body_torque(case.potential, J)

    def rate(y: Array) -> Array:
        # y: R over omega.
        R, omega = y[:3], y[3]
        S = _skew(omega)
        return np.vstack([R @ S, inverse @ (u + pull(R) - S @ (J @ omega + rotors))])

    y = np.vstack([to_matrix(np.array(case.quaternion)), np.array(case.omega)])
    for _ in range(steps):
        k_1 = rate(y)
        k_2 = rate(y + h / 2 * k_1)
        k_3 = rate(y + h / 2 * k_2)
        k_4 = rate(y + h * k_3)
        y = y + h / 6 * (k_1 + 2 * k_2 + 2 * k_3 + k_4)
    return y[:3], y[3]


def _body_torque(potential: Any, J: Array) -> Callable[[Array], Array]:
    """The potential's torque in body axes as a function of R; R[2] is the vertical in body axes."""
    match potential:
        case HeavyTop(mgl, axis):
            arm = -mgl * _skew(np.array(axis))  # the weight acts at the axis, along -R^T e_3
            return lambda R: arm @ R[2]
        case SoftWall(sign, axis):
            sigma = 1.0 if sign == "printed" else -1.0
            e = np.array(axis)

            def bounce(R: Array) -> Array:
                gap = 1.1 + R[2] @ e
                slope = sigma * (-(gap**-2) + 0.01 * gap**-11)
                return np.asarray(-slope * np.cross(e, R[2]))

            return bounce
        case GravityGradient(k, direction):
            d = np.array(direction)
            return lambda R: 3.0 * k * np.cross(R.T @ d, J @ (R.T @ d))
    return lambda R: np.zeros(3)


def _skew(v: Array) -> Array:
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


class SchemeSubject(fidelity.Subject):
    """An integrator in a case, under the case's torque and without projection."""

    def __init__(self, record: Integrator, case: Case) -> None:
        self.record, self.case = record, case
        self.dt = case.dt * (0.1 if record.order == 1 else 1.0)

    @property
    def axis(self) -> Array | None:
        """The vertical, the axis of symmetry of every potential in CASES."""
        return None if self.case.potential is None else np.array([0.0, 0.0, 1.0])

    def start(self) -> State:
        return np.array(self.case.quaternion), np.array(self.case.omega)

    def motions_from(self, state: State, steps: int) -> list[Motion]:
        batch = self._start(state)
        rows = [batch.measure()]
        for _ in range(steps):
            batch.advance(self.dt)
            rows.append(batch.measure())
        table: Any = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        if batch.failed[0]:
            table["quaternion"][-1] = np.nan
        return [Motion(**table, axis=self.axis)]

    def there_and_back(self, steps: int) -> list[State]:
        """Goes back by steps of -dt: a scheme may carry more state than attitude and rates."""
        batch = self._start(self.start())
        batch.advance(self.dt, steps)
        batch.advance(-self.dt, steps)
        now = batch.measure()
        lost = np.nan if batch.failed[0] else 0.0
        return [(now["quaternion"][0], now["angular_velocity"][0] + lost)]

    def _start(self, state: State) -> Batch:
        batch = Batch(self.case.body, self.record, self.case.potential, projection=False)
        batch.set_state(*state)
        batch.set_torque(self.case.torque_on(self.record))
        return batch


def symmetry(record: Integrator, case: Case) -> list[Claim]:
    """Claims on time reversal, under a constant torque, and on a turned world."""
    of, subject = (record.name, case.kind), SchemeSubject(record, case)
    back, turned = fidelity.time_reversal(subject, TURNS), fidelity.equivariance(subject, TURNS)
    claim, said, bound = (
        (below, "returns", RETURNS) if record.symmetric else (above, "misses", MISSES)
    )
    return [
        claim(*of, "time reversal", said, back, bound),
        below(*of, "turned world", "same motion", turned, EQUIVARIANT),
    ]


def jacobian_claim(record: Integrator, case: Case) -> Claim:
    """The claim that the Jacobian of a few steps has their derivatives by every input. Measured is
    the largest error, scaled to size one."""
    sizes = _sizes(record, case)
    ends = np.array(sizes["state"])
    inputs = np.concatenate(list(sizes.values()))
    n = len(inputs)
    # One body without change, then for each input one body at each distance.
    moved = np.concatenate([np.zeros((1, n)), np.kron(np.diag(inputs), AWAY[:, None])])
    bodies = _displaced(record, case, sizes, moved)
    bodies.advance(case.dt, FEW)
    end = bodies.measure()
    turns = rotation_vector(multiply(conjugate(end["quaternion"][:1]), end["quaternion"]))
    off = np.concatenate([turns, end["angular_velocity"]], axis=1)
    slopes = np.einsum("k,ckr->rc", WEIGHTS, off[1:].reshape(n, len(AWAY), 6))
    found = _displaced(record, case, sizes, moved[:1]).jacobian(case.dt, FEW, of=tuple(sizes))
    whole = np.concatenate([getattr(found, name)[0] for name in sizes], axis=1) * inputs
    error = float((np.abs(whole - slopes) / ends[:, None]).max())
    return below(record.name, case.kind, "derivatives", "of the steps", error, DERIVED)


def _sizes(record: Integrator, case: Case) -> Sizes:
    """Typical size of each input, under its name in `Batch.jacobian`."""
    rate, torque = float(np.linalg.norm(case.omega)), float(np.linalg.norm(case.torque_on(record)))
    sizes = {"state": [1.0] * 3 + [rate] * 3}
    if torque > 0.0:
        sizes["torque"] = [torque] * 3
    sizes["inertia"] = list(case.body.moments)
    if isinstance(case.potential, HeavyTop):
        sizes["mgl"] = [case.potential.mgl]
    return sizes


def _displaced(record: Integrator, case: Case, sizes: Sizes, moved: Array) -> Batch:
    """Bodies at the start of the case, with the changes `moved` (n, inputs) of their inputs."""
    parts = np.split(moved, np.cumsum([len(size) for size in sizes.values()])[:-1], axis=1)
    by = dict(zip(sizes, parts, strict=True))
    bodies = [RigidBody(case.body.moments + more) for more in by["inertia"]]
    potential = case.potential
    if "mgl" in by:
        potential = [HeavyTop(case.potential.mgl + more) for more in by["mgl"][:, 0]]
    batch = Batch(bodies, record, potential, size=len(moved))
    turned = multiply(case.quaternion, from_rotation_vector(by["state"][:, :3]))
    batch.set_state(turned, case.omega + by["state"][:, 3:])
    if "torque" in by:
        batch.set_torque(case.torque + by["torque"])
    return batch
