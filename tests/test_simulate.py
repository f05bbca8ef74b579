"""simulate: torques in every form, records, and what it says of bad arguments."""

import numpy as np
import pytest

from rbgym import Batch, RigidBody, integrators, simulate
from rbgym.potentials import CircularOrbit, GravityGradient, HeavyTop, SoftWall
from rbgym.quaternion import normalized

pytestmark = pytest.mark.interpreted

BODY = RigidBody([[2.0, 0.2, -0.1], [0.2, 1.4, 0.15], [-0.1, 0.15, 0.9]])
Q = normalized([0.6, -0.3, 0.5, 0.4])
START = {"quaternion": Q, "angular_velocity": (0.9, -0.7, 1.3)}
SCHEDULE = np.random.default_rng(4).standard_normal((30, 3))


def same(a, b):
    fields = ("time", "quaternion", "angular_velocity", "angular_momentum", "energy")
    return all(np.array_equal(getattr(a, f), getattr(b, f)) for f in fields)


@pytest.mark.parametrize("name", integrators.names())
def test_torque_schedule_equals_the_callable_that_returns_it(name):
    def law(t, quaternion, angular_velocity):
        return SCHEDULE[round(t / 0.05)]

    by_table, by_law = (
        simulate(BODY, integrator=name, dt=0.05, steps=30, torque=torque, **START)
        for torque in (SCHEDULE, law)
    )
    assert same(by_table, by_law)


def test_torque_callable_sees_the_state_at_the_start_of_its_step():
    seen = []

    def law(t, quaternion, angular_velocity):
        seen.append((t, *quaternion, *angular_velocity))
        return -0.5 * angular_velocity

    motion = simulate(BODY, dt=0.05, steps=10, torque=law, **START)
    seen = np.array(seen)
    assert np.array_equal(seen[:, 0], motion.time[:-1])
    assert np.array_equal(seen[:, 1:5], motion.quaternion[:-1])
    assert np.array_equal(seen[:, 5:], motion.angular_velocity[:-1])


def test_records_are_every_kth_instant_and_the_last():
    full, sparse = (
        simulate(BODY, dt=0.05, steps=30, torque=SCHEDULE, record_every=k, **START) for k in (1, 7)
    )
    kept = [0, 7, 14, 21, 28, 30]
    assert np.array_equal(sparse.time, full.time[kept])
    assert np.array_equal(sparse.quaternion, full.quaternion[kept])
    assert full.quaternion.shape == (31, 4)
    assert full.angular_velocity.shape == full.angular_momentum.shape == (31, 3)
    assert full.energy.shape == full.time.shape == (31,)


def test_an_energy_that_begins_at_round_off_is_compared_with_the_motion():
    down = (0.5**0.5, 0.5**0.5, 0.0, 0.0)  # horizontal: the energy is 0 but for rounding
    body, top = RigidBody([2.0, 2.0, 1.0]), HeavyTop(6.0)
    motion = simulate(body, dt=0.01, steps=400, quaternion=down, potential=top)
    kinetic = (motion.angular_velocity**2 @ body.moments).max() / 2
    assert 0.0 < abs(motion.energy[0]) < 1e-14 < 1.0 < kinetic
    expected = np.abs(motion.energy - motion.energy[0]).max() / kinetic
    assert motion.drift()["energy"]["max"] == pytest.approx(expected, rel=1e-12)


def test_a_trajectory_names_its_body_and_its_drift_is_that_of_its_errors():
    run = simulate(BODY, dt=0.05, steps=30, **START)
    assert run.body is BODY
    errors = run.errors()
    relative = np.abs(run.energy / run.energy[0] - 1.0)
    np.testing.assert_allclose(errors["energy"], relative, rtol=0.0, atol=3e-16)
    for name, found in run.drift().items():
        assert found == {"max": errors[name].max(), "final": errors[name][-1]}


@pytest.mark.parametrize(
    ("potential", "torque"),
    [(None, None),
     (None, np.zeros(3)),
     (None, (0.3, -0.2, 0.5)),
     (None, lambda t, q, w: -w),
     (HeavyTop(1.7, (0.36, 0.48, 0.8)), None),
     (HeavyTop(1.7, (0.36, 0.48, 0.8)), (0.3, -0.2, 0.5)),
     (SoftWall("repulsive", (0.36, 0.48, 0.8)), None),
     (GravityGradient(1.5, (0.0, 0.0, -1.0)), None),
     (GravityGradient(1.5, (0.36, 0.48, 0.8)), None),
     (CircularOrbit(0.7, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), None)],
)  # fmt: skip
def test_what_a_trajectory_calls_conserved_is_so_and_nothing_else(potential, torque):
    how = {"integrator": "rkn4", "potential": potential, "torque": torque, **START}
    run = simulate(BODY, dt=4e-3, steps=500, **how)
    for name, found in run.drift().items():
        if name in run.conserved:
            assert found["max"] < 1e-6, name  # a turning direction stands still for a step
        else:
            assert found["max"] > 1e-3, name


@pytest.mark.parametrize(
    ("argument", "state"),
    [("quaternion", {"quaternion": (1.0, 0.0, 0.0)}),
     ("quaternion", {"quaternion": np.tile(Q, (3, 1))}),
     ("angular_momentum", {"angular_velocity": None, "angular_momentum": (0.0, np.nan, 0.0)}),
     ("angular_momentum", {"angular_momentum": (0.0, 0.0, 0.0)}),
     ("rotor_momentum", {"rotor_momentum": (0.0, 0.0)})],
)  # fmt: skip
def test_bad_state_is_a_value_error_that_leaves_the_state_untouched(argument, state):
    batch = Batch(BODY, size=2)
    batch.set_state(Q, (0.9, -0.7, 1.3))
    before = batch.buffer.copy()
    with pytest.raises(ValueError, match=argument):
        batch.set_state(**{"quaternion": Q, "angular_velocity": (1.0, 0.0, 0.0), **state})
    assert np.array_equal(batch.buffer, before)
    with pytest.raises(ValueError, match="torque"):
        batch.set_torque((0.0, np.nan, 0.0))
    assert np.array_equal(batch.buffer, before)
