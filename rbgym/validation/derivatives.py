"""The derivatives of an integrator's steps, measured against differences of the steps themselves.

Inputs and outputs are counted in their own sizes: the largest derivative is about one.
"""

from collections.abc import Mapping

import numpy as np

from rbgym import integrators
from rbgym.body import RigidBody
from rbgym.engine.batch import Batch
from rbgym.identification import rotation_vector
from rbgym.integrators import Integrator
from rbgym.potentials import HeavyTop
from rbgym.quaternion import Array, conjugate, from_rotation_vector, multiply
from rbgym.validation.cases import Case, Claim, applicable, below

EXACT = 1e-11
STEPS = 3
# A difference of the eighth order (Fornberg 1988): where it looks, and the weights there.
_SPACING, _WEIGHTS = 5e-3, np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
AWAY = _SPACING * np.array([1, 2, 3, 4, -1, -2, -3, -4])
WEIGHTS = np.concatenate([_WEIGHTS, -_WEIGHTS]) / _SPACING


def jacobian_claims(name: str, kind: str) -> list[Claim]:
    """The claim that a Jacobian tells what every input does to the steps."""
    record = integrators.get(name)
    (case,) = applicable(record, (kind,))
    return [below(name, kind, "derivatives", "of the steps", jacobian_error(record, case), EXACT)]


def jacobian_error(record: Integrator, case: Case) -> float:
    """The largest error of the Jacobian of a few steps, along everything that it can be of."""
    sizes = _sizes(record, case)
    ends = np.array(sizes["state"])
    inputs = np.concatenate(list(sizes.values()))
    n = len(inputs)
    # One body as it is, then for each input one at each distance.
    moved = np.concatenate([np.zeros((1, n)), np.kron(np.diag(inputs), AWAY[:, None])])
    bodies = _started(record, case, sizes, moved)
    bodies.advance(case.dt, STEPS)
    end = bodies.measure()
    turns = rotation_vector(multiply(conjugate(end["quaternion"][:1]), end["quaternion"]))
    off = np.concatenate([turns, end["angular_velocity"]], axis=1)
    slopes = np.einsum("k,ckr->rc", WEIGHTS, off[1:].reshape(n, len(AWAY), 6))
    found = _started(record, case, sizes, moved[:1]).jacobian(case.dt, STEPS, of=tuple(sizes))
    whole = np.concatenate([getattr(found, name)[0] for name in sizes], axis=1) * inputs
    return float((np.abs(whole - slopes) / ends[:, None]).max())


def _sizes(record: Integrator, case: Case) -> dict[str, list[float]]:
    """Of each input, by the names that `Batch.jacobian` has for them."""
    rate, torque = float(np.linalg.norm(case.omega)), float(np.linalg.norm(case.torque_on(record)))
    sizes = {"state": [1.0] * 3 + [rate] * 3}
    if torque > 0.0:
        sizes["torque"] = [torque] * 3
    sizes["inertia"] = list(case.body.moments)
    if isinstance(case.potential, HeavyTop):
        sizes["mgl"] = [case.potential.mgl]
    return sizes


def _started(
    record: Integrator, case: Case, sizes: Mapping[str, list[float]], moved: Array
) -> Batch:
    """Bodies at the start of the case, each with its inputs (n, inputs) moved."""
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
