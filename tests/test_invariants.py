"""What each scheme conserves: to the last bit, to round-off, or declared not to."""

from itertools import pairwise

import numpy as np
import pytest

import textbook as tb
import textbook_cases as cases
from rbgym import Batch, HeavyTop, RigidBody, integrators, simulate
from rbgym import rows as layout
from rbgym.quaternion import angle_between, from_rotation_vector, normalized, rotate
from rbgym.validation.cases import CASES
from schemes import COMPILED
from textbook_cases import OMEGA, TENSOR, Q

ASYMMETRIC = RigidBody(TENSOR)
TILTED = HeavyTop(1.7, tuple(np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])))
START = {"quaternion": Q, "angular_velocity": OMEGA}
POTENTIALS = {"none": None, "heavy_top": TILTED}
INVARIANTS = {"none": ("energy", "angular_momentum"), "heavy_top": ("energy", "vertical_momentum")}


@pytest.mark.parametrize("h", [0.05, 0.01])
def test_a_million_steps_keep_momentum_to_the_bit_and_length_and_energy_without_trend(h):
    case = cases.BETSCH_FREE
    start = {"quaternion": case.quaternion, "angular_velocity": case.angular_velocity}
    how = {"dt": h, "steps": 1_000_000, "record_every": 997}
    motion = simulate(RigidBody(case.inertia), **how, **start)
    assert (motion.angular_momentum == motion.angular_momentum[0]).all()
    assert motion.drift()["quaternion_norm"]["max"] < 1e-15
    error = motion.energy / motion.energy[0] - 1
    assert np.abs(error).max() < 5e-15
    assert abs(np.polyfit(motion.time / motion.time[-1], error, 1)[0]) < 1e-15
    assert 0 < motion.largest_correction < 1e-13  # of the projection


KEPT = {n: {"energy", "vertical_momentum"} & {*integrators.get(n).conserves["heavy_top"]}
        for n in integrators.names()}  # fmt: skip
UPRIGHT = RigidBody([2.0, 1.4, 0.9]), HeavyTop(1.7)


@pytest.mark.parametrize(
    ("name", "body", "top"),
    [*((n, *UPRIGHT) for n in KEPT if KEPT[n] and n in COMPILED), ("quat_em", ASYMMETRIC, TILTED)],
)
def test_top_without_control_keeps_what_is_declared_for_a_hundred_thousand_steps(name, body, top):
    how = {"integrator": name, "potential": top, "record_every": 99}
    start = {**START, "angular_velocity": 3 * OMEGA}
    motion = simulate(body, dt=0.05, steps=100_000, **how, **start)
    for invariant in KEPT[name]:
        assert motion.drift()[invariant]["max"] < 1e-13, invariant


WHEELS = (0.4, -0.3, 0.5)


# With rotors where a scheme takes them; tests/validation measures all without.
@pytest.mark.interpreted
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize("name", integrators.names())
def test_exactly_the_declared_invariants_are_conserved(name, potential):
    record = integrators.get(name)
    rotors = WHEELS if "rotors" in record.supports else None
    dt = 0.1 if record.order > 1 else 0.01  # in longer ones those of first order do not survive
    how = {"integrator": name, "potential": POTENTIALS[potential], "projection": False}
    motion = simulate(ASYMMETRIC, dt=dt, steps=200, rotor_momentum=rotors, **how, **START)
    drift = motion.drift()
    assert drift["quaternion_norm"]["max"] < 1e-15
    for invariant in INVARIANTS[potential]:
        projected = record.is_projected(invariant, "heavy_top" if rotors else potential)
        if invariant in record.conserves[potential] and not projected:
            assert drift[invariant]["max"] < 1e-11, invariant
        else:
            assert drift[invariant]["max"] > 1e-9, invariant


@pytest.mark.parametrize("name", integrators.names())
def test_nothing_else_is_declared_than_what_is_measured(name):
    # What is declared of other potentials is measured by tests/validation.
    conserves = integrators.get(name).conserves
    assert set(conserves) == {case.kind for case in CASES}
    for potential in POTENTIALS:
        spin = () if potential == "none" else ("spin",)  # of symmetric bodies, in tests/validation
        assert set(conserves[potential]) <= {*INVARIANTS[potential], *spin}


@pytest.mark.parametrize("name", ["dir_em", "quat_vi", "pdmv"])
def test_rotors_are_refused_where_they_are_not_supported(name):
    batch = Batch(ASYMMETRIC, name)
    before = batch.full_state()
    with pytest.raises(ValueError, match=f"must support 'rotors' for rotor_mom.*{name}.*quat_em"):
        batch.set_state(Q, OMEGA, rotor_momentum=WHEELS)
    np.testing.assert_array_equal(batch.full_state(), before)


NEARLY_SPHERICAL = RigidBody([1.0, 1.0 + 1e-9, 1.0 - 1e-9])
STATIONARY = {
    "spin about the largest moment": (RigidBody([6, 8, 3]), None, (0.0, 7.0, 0.0)),
    "spin about the middle moment": (RigidBody([6, 8, 3]), None, (7.0, 0.0, 0.0)),
    "spin about the smallest moment": (RigidBody([6, 8, 3]), None, (0.0, 0.0, 7.0)),
    "sphere": (RigidBody([2, 2, 2]), None, (3.0, -4.0, 5.0)),
    "moments 1e-9 apart": (NEARLY_SPHERICAL, None, (3.0, -4.0, 5.0)),
    "at rest": (RigidBody([6, 8, 3]), None, (0.0, 0.0, 0.0)),
    "upright rest": (RigidBody([5, 5, 1]), HeavyTop(20.0), (0.0, 0.0, 0.0)),
    "sleeping top": (RigidBody([5, 5, 1]), HeavyTop(20.0), (0.0, 0.0, 50.0)),
    "hanging": (RigidBody([5, 4, 1]), HeavyTop(-20.0), (0.0, 0.0, 0.0)),
}
STEPS = 10_000


@pytest.mark.parametrize("name", ["quat_em", "akw"])
@pytest.mark.parametrize("motion", STATIONARY)
def test_projection_leaves_a_stationary_motion_alone(motion, name):
    body, potential, omega = STATIONARY[motion]
    ends = []
    for projection in (False, True):
        batch = Batch(body, name, potential, projection=projection)
        batch.set_state((1.0, 0.0, 0.0, 0.0), omega)
        batch.advance(0.02, STEPS)
        assert not batch.failed.any()
        ends.append(batch.measure()["quaternion"][0])
    assert angle_between(*ends) < 1e-13
    assert batch.largest_correction[0] < 1e-15


def driven(potential, h, steps, strength, projection):
    """What is measured of four bodies before and after each step, and their held torques."""
    rng = np.random.default_rng(5)
    batch = Batch(ASYMMETRIC, "quat_em", potential, size=4, projection=projection)
    batch.set_state(normalized(rng.standard_normal((4, 4))), rng.standard_normal((4, 3)))
    torque = strength * rng.standard_normal((4, 3))
    batch.set_torque(torque)
    states = [batch.measure()]
    for _ in range(steps):
        batch.advance(h)
        states.append(batch.measure())
    assert not batch.failed.any()
    return states, torque


def halves(before, after):
    """The attitude half-way, and e = tan(theta/4) n in body axes."""
    q0, q1 = before["quaternion"], after["quaternion"]
    q1 = np.where(np.sum(q0 * q1, axis=1, keepdims=True) < 0, -q1, q1)
    q_m = normalized(q0 + q1)
    e = np.stack([tb.G(m) @ b / (m @ b) for m, b in zip(q0 + q1, q1, strict=True)])
    return q_m, e


@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize(("h", "steps", "strength"), [(0.1, 300, 0.03), (0.5, 4, 1.0)])
def test_world_impulse_of_a_held_torque_is_its_full_strength_half_way(
    h, steps, strength, projection
):
    states, torque = driven(None, h, steps, strength, projection)
    for before, after in pairwise(states):
        impulse = after["angular_momentum"] - before["angular_momentum"]
        expected = h * rotate(halves(before, after)[0], torque)
        size = np.linalg.norm(after["angular_momentum"], axis=1, keepdims=True)
        assert np.all(np.abs(impulse - expected) < 1e-14 * size + 1e-14)


@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize("potential", POTENTIALS)
@pytest.mark.parametrize(("h", "steps", "strength"), [(0.1, 300, 0.03), (0.3, 4, 1.0)])
def test_energy_changes_by_the_discrete_work_of_the_held_torque(
    h, steps, strength, potential, projection
):
    states, torque = driven(POTENTIALS[potential], h, steps, strength, projection)
    work = np.zeros(4)
    for before, after in pairwise(states):
        step_work = 4 * np.sum(halves(before, after)[1] * torque, axis=1)
        size = np.abs(after["energy"]) + np.abs(states[0]["energy"]) + 2.0
        assert np.all(np.abs(after["energy"] - before["energy"] - step_work) < 1e-13 * size)
        work += step_work
        change = after["energy"] - states[0]["energy"]
        assert np.all(np.abs(change - work) < 1e-13 * size)


def test_work_of_a_held_torque_over_a_rest_to_rest_turn_comes_back():
    """Accelerate, then brake by the same torque: a spin about one axis ends at rest."""
    batch = Batch(RigidBody([2, 3, 4]))
    batch.set_state(from_rotation_vector([0.3, -0.2, 0.5]), (0.0, 0.0, 0.0))
    for sign in (1.0, -1.0):
        batch.set_torque((0.0, 0.0, 0.4 * sign))
        batch.advance(0.05, 60)
    end = batch.measure()
    assert np.abs(end["angular_velocity"]).max() < 1e-14
    assert abs(end["energy"][0]) < 1e-14
    assert abs(batch.rows(layout.E, 1)[0, 0]) < 1e-14


@pytest.mark.parametrize("potential", [None, HeavyTop(-0.5)], ids=["free", "hanging"])
@pytest.mark.parametrize("name", ["quat_em", "akw"])
def test_projection_leaves_a_body_that_is_damped_to_rest_alone(name, potential):
    """The level keeps the round-off of larger energies: near rest it must not move the body."""
    ends = []
    for projection in (True, False):
        how = {"integrator": name, "potential": potential, "projection": projection, **START}
        damping = lambda t, q, omega: -1.5 * omega  # noqa: E731
        motion = simulate(RigidBody([2, 3, 4]), dt=0.05, steps=4000, torque=damping, **how)
        assert np.abs(motion.angular_velocity[-1]).max() < 1e-9
        ends.append(motion.quaternion[-1])
    assert angle_between(*ends) < 1e-9
