"""Bodies and starts at the edge of what the equations are made for, with every scheme."""

import numpy as np
import pytest

from rbgym import Batch, RigidBody, SoftWall, integrators, simulate
from rbgym.quaternion import angle_between, from_rotation_vector, multiply, normalized

NAMES = integrators.names()
SECOND_ORDER = [name for name in NAMES if integrators.get(name).order > 1]
Q = normalized([0.6, -0.3, 0.5, 0.4])
OMEGA = np.array([0.9, -0.7, 1.3])
BODIES = {
    "rod": RigidBody([1.0, 1.0, 1e-4]),
    "disc": RigidBody([1.0, 1.0, 2.0]),
    "two equal to round-off": RigidBody([1.0, 1.0 + 1e-15, 0.6]),
    "nearly a sphere": RigidBody([1.0, 1.0 + 1e-12, 1.0 - 1e-12]),
}


def after(name, body, omega, dt=0.01, steps=100, potential=None):
    batch = Batch(body, name, potential, size=1)
    batch.set_state(Q, omega)
    batch.advance(dt, steps)
    return batch


@pytest.mark.parametrize("name", NAMES)
def test_a_free_body_at_rest_stays_where_it_is(name):
    batch = after(name, RigidBody([6.0, 8.0, 3.0]), np.zeros(3))
    now = batch.measure()
    assert not batch.failed[0]
    np.testing.assert_allclose(now["quaternion"][0], Q, atol=1e-15)
    np.testing.assert_array_equal(now["angular_velocity"][0], np.zeros(3))


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_a_sphere_turns_by_rate_times_time(name):
    batch = after(name, RigidBody([2.0, 2.0, 2.0]), OMEGA)
    now = batch.measure()
    assert not batch.failed[0]
    np.testing.assert_allclose(now["angular_velocity"][0], OMEGA, rtol=1e-4)
    expected = multiply(Q, from_rotation_vector(OMEGA))
    assert angle_between(now["quaternion"][0], expected) < 1e-4


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("name", SECOND_ORDER)
def test_a_degenerate_body_moves_or_is_refused_and_is_never_silently_wrong(name, body):
    # A small error of the attitude is a large one of the spin about a rod: shorter steps.
    fine = 50 if body is BODIES["rod"] else 1
    batch = after(name, body, OMEGA, 0.01 / fine, 100 * fine)
    now = batch.measure()
    assert all(np.isfinite(value).all() for value in now.values())
    if batch.failed[0]:  # the modified moments of a rod, series in 1/J^4, need not be positive
        assert name == "pdmv"
        return
    exact = simulate(
        body, integrator="exact", dt=1.0, steps=1, quaternion=Q, angular_velocity=OMEGA
    )
    error = angle_between(now["quaternion"][0], exact.quaternion[-1])
    assert error < 2e-3


@pytest.mark.parametrize("name", NAMES)
def test_a_start_on_the_separatrix_is_integrated(name):
    body = RigidBody([1.0, 2.0, 3.0])
    # |Pi|^2 = 2 T I_2: Omega_1^2 I_1 (I_2 - I_1) = Omega_3^2 I_3 (I_3 - I_2).
    omega = np.array([np.sqrt(1.5), 0.3, np.sqrt(0.5)])
    batch = after(name, body, omega)
    exact = simulate(
        body, integrator="exact", dt=1.0, steps=1, quaternion=Q, angular_velocity=omega
    )
    assert not batch.failed[0]
    error = angle_between(batch.measure()["quaternion"][0], exact.quaternion[-1])
    assert error < (0.05 if integrators.get(name).order == 1 else 2e-3)


@pytest.mark.parametrize("sign", ["printed", "repulsive"])
@pytest.mark.parametrize("name", NAMES)
def test_a_body_at_the_singularity_of_the_wall_stays_finite(name, sign):
    # Hanging straight down, 1.1 + R_33 is 0.1 and the torque's slope 1e10.
    down = from_rotation_vector([np.pi - 1e-3, 0.0, 0.0])
    batch = Batch(RigidBody([2.0, 3.0, 4.5]), name, SoftWall(sign))
    batch.set_state(down, OMEGA)
    batch.advance(0.5, 3)
    # A step that is refused leaves the last good state, with the flag up.
    assert np.isfinite(batch.full_state()).all()


@pytest.mark.parametrize("bad", [(np.nan, 0.0, 0.0), (0.0, np.inf, 0.0), (1.0, 2.0), "much"])
def test_a_torque_law_that_returns_no_three_finite_numbers_is_refused(bad):
    with pytest.raises(ValueError, match="torque"):
        simulate(RigidBody([1, 2, 2.5]), dt=0.1, steps=2, torque=lambda t, q, w: bad)
