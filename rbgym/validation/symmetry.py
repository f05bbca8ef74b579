"""Symmetries: time reversal as declared, and turns of the world, which no scheme must notice."""

import numpy as np

from rbgym.engine.batch import Batch
from rbgym.integrators import Integrator
from rbgym.quaternion import Array, angle_between, from_rotation_vector, multiply
from rbgym.validation.cases import NO_TORQUE, Case
from rbgym.validation.claims import Claim, above, below

RETURNS = 1e-11  # rad and relative, after a hundred steps
MISSES = 1e-9
EQUIVARIANT = 1e-11
STEPS = 50


def symmetry(record: Integrator, case: Case) -> list[Claim]:
    """Claims on time reversal, under a held torque, and on a turned world."""
    back, turned = there_and_back(record, case), turned_world(record, case)
    name, kind = record.name, case.kind
    reversal = (
        below(name, kind, "time reversal", "returns", back, RETURNS)
        if record.symmetric
        else above(name, kind, "time reversal", "misses", back, MISSES)
    )
    return [reversal, below(name, kind, "turned world", "same motion", turned, EQUIVARIANT)]


def there_and_back(record: Integrator, case: Case) -> float:
    """Distance from its start of a body after fifty steps and fifty steps of length -dt."""
    batch = _started(record, case, case.quaternion)
    before = batch.measure()
    batch.advance(_dt(record, case), STEPS)
    batch.advance(-_dt(record, case), STEPS)
    return _distance(batch, before["quaternion"][0], before["angular_velocity"][0])


def turned_world(record: Integrator, case: Case) -> float:
    """Distance between a motion and the same one in a world turned about, or under, its field."""
    turn = from_rotation_vector([0.0, 0.0, 1.1] if case.potential else [0.4, -0.7, 1.1])
    batch = _started(record, case, case.quaternion)
    other = _started(record, case, multiply(turn, np.array(case.quaternion)))
    for b in (batch, other):
        b.advance(_dt(record, case), STEPS)
    now = batch.measure()
    return _distance(other, multiply(turn, now["quaternion"][0]), now["angular_velocity"][0])


def _dt(record: Integrator, case: Case) -> float:
    return case.dt * (0.1 if record.order == 1 else 1.0)


def _started(record: Integrator, case: Case, quaternion: Array | tuple[float, ...]) -> Batch:
    batch = Batch(case.body, record, case.potential, projection=False)
    batch.set_state(quaternion, case.omega)
    batch.set_torque(case.torque if "torque" in record.supports else NO_TORQUE)
    return batch


def _distance(batch: Batch, quaternion: Array, omega: Array) -> float:
    if batch.failed[0]:
        return float("nan")
    now = batch.measure()
    rates = np.linalg.norm(now["angular_velocity"][0] - omega) / np.linalg.norm(omega)
    return float(angle_between(now["quaternion"][0], quaternion) + rates)
