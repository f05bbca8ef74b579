"""Declared orders and symmetry, measured against another formulation of the motion."""

import numpy as np
import pytest

import textbook as tb
from rbgym import Batch, HeavyTop, RigidBody, integrators
from rbgym.quaternion import angle_between
from textbook_cases import OMEGA, TENSOR, Q

pytestmark = pytest.mark.interpreted

TOP = tb.Top(1.7, [0.3, -0.5, 0.8])
HELD = np.array([0.5, -0.3, 0.4])
WHEELS = (0.3, -0.6, 0.8)
COUNTS = np.array([40, 80, 160])  # steps over one second

SYMMETRIC = [name for name in integrators.names() if integrators.get(name).symmetric]
NOT_SYMMETRIC = [name for name in integrators.names() if not integrators.get(name).symmetric]


def started(name, potential, rotors):
    """A driven asymmetric body at its start, in gravity or not; nothing projects its energy."""
    top = HeavyTop(TOP.mgl, tuple(TOP.axis)) if potential else None
    batch = Batch(RigidBody(TENSOR), name, top, projection=False)
    batch.set_state(Q, OMEGA, rotor_momentum=rotors)
    batch.set_torque(HELD)
    return batch


def state(batch):
    assert not batch.failed.any()
    now = batch.measure()
    return now["quaternion"][0], now["angular_velocity"][0]


def distance(a, b):
    """Angle between the attitudes plus the difference of the rates."""
    return angle_between(a[0], b[0]) + np.linalg.norm(a[1] - b[1])


def slope(name, potential, rotors):
    reference = tb.euler_reference(TENSOR, Q, OMEGA, 1.0, TOP if potential else None, HELD, rotors)
    errors = []
    for n in COUNTS:
        batch = started(name, potential, rotors)
        batch.advance(1.0 / n, int(n))
        errors.append(distance(state(batch), reference))
    return -np.polyfit(np.log(COUNTS), np.log(errors), 1)[0]


def rotors_of(name):
    """Those of a gyrostat where a scheme takes them; tests/validation measures all without."""
    return WHEELS if "rotors" in integrators.get(name).supports else None


@pytest.mark.parametrize("potential", [True, False], ids=["gravity", "free"])
@pytest.mark.parametrize("name", [*integrators.names(), "exact:4"])
def test_measured_order_under_torque_is_the_declared_one(name, potential):
    order = integrators.get(name).order
    assert slope(name, potential, rotors_of(name)) == pytest.approx(order, abs=0.1)


def there_and_back(name, potential, rotors):
    """How far from its start a body ends after fifty steps and fifty steps of length -h."""
    batch = started(name, potential, rotors)
    start = state(batch)
    batch.advance(0.05, 50)
    assert distance(state(batch), start) > 0.1
    batch.advance(-0.05, 50)
    return distance(state(batch), start)


@pytest.mark.parametrize("potential", [True, False], ids=["gravity", "free"])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_scheme_declared_symmetric_returns_to_its_start_when_time_is_reversed(name, potential):
    assert there_and_back(name, potential, rotors_of(name)) < 1e-12


@pytest.mark.parametrize("name", NOT_SYMMETRIC)
def test_scheme_not_declared_symmetric_misses_its_start_when_time_is_reversed(name):
    assert there_and_back(name, True, None) > 1e-9
