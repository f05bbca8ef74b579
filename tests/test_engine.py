"""The batch: bodies are independent, states continue, faults are told and touch nothing else."""

import numpy as np
import pytest

import rbgym
import textbook as tb
import textbook_krysl as krysl
from rbgym import Batch, HeavyTop, IntegrationError, RigidBody, integrators, simulate, threads
from rbgym import rows as layout
from rbgym.potentials.interface import AxialTop
from rbgym.quaternion import angle_between, multiply, normalized, rotate, to_matrix
from schemes import COMPILED, each
from textbook_cases import OMEGA, TENSOR, Q

ALL = pytest.mark.parametrize("name", each([*integrators.names(), *integrators.KICKED]))
IMPLICIT = [name for name in integrators.names() if not integrators.get(name).explicit]
AXIS = (0.6, 0.0, 0.8)


def crowd(size, seed=3):
    """Different bodies, tops, starts and torques."""
    rng = np.random.default_rng(seed)
    bodies = [RigidBody.box(m, s) for m, s in zip(*random_boxes(rng, size), strict=True)]
    tops = [HeavyTop(float(mgl)) for mgl in rng.uniform(0.1, 2, size)]
    q = normalized(rng.standard_normal((size, 4)))
    return bodies, tops, q, rng.standard_normal((size, 3)), rng.standard_normal((size, 3))


def random_boxes(rng, size):
    return rng.uniform(5, 20, size), rng.uniform(1, 2, (size, 3))


def batch_of(name, lanes, bodies, tops, q, omega, u):
    batch = Batch([bodies[i] for i in lanes], name, [tops[i] for i in lanes], size=len(lanes))
    batch.set_state(q[lanes], omega[lanes])
    batch.set_torque(u[lanes])
    return batch


@ALL
def test_single_body_equals_its_lane_of_a_batch_of_different_bodies_bit_for_bit(name):
    everyone = crowd(21)
    together = batch_of(name, list(range(21)), *everyone)
    together.advance(0.05, 40)
    assert not together.failed.any()
    soon = together.full_state()
    together.advance(1.5, 3)  # of which most schemes leave some to the thorough code, or fail
    for i in (0, 3, 7, 8, 13, 20):
        alone = batch_of(name, [i], *everyone)
        alone.advance(0.05, 40)
        assert np.array_equal(alone.full_state()[0], soon[i])
        alone.advance(1.5, 3)
        assert np.array_equal(alone.full_state()[0], together.full_state()[i])
        assert alone.failed[0] == together.failed[i]


@pytest.mark.usefixtures("threads_afterwards")
@pytest.mark.parametrize("name", COMPILED)
def test_result_does_not_depend_on_the_number_of_threads(name, monkeypatch):
    everyone, states = crowd(200), []
    for number in (1, 2, 3):
        rbgym.set_num_threads(number)
        batch = batch_of(name, list(range(200)), *everyone)
        batch.advance(0.05, 20)
        batch.advance(1.5, 3)
        states.append(batch.full_state())
        # All in one range only the first time.
        monkeypatch.setitem(threads.over_ranges.__kwdefaults__, "fewest", 4)
    assert np.array_equal(states[0], states[1])
    assert np.array_equal(states[0], states[2])


@ALL
def test_one_call_of_many_steps_equals_many_calls_of_one(name):
    everyone = crowd(21)
    once, often = (batch_of(name, list(range(21)), *everyone) for _ in range(2))
    for h, steps in ((0.05, 30), (1.5, 3)):
        once.advance(h, steps)
        for _ in range(steps):
            often.advance(h)
        assert np.array_equal(once.full_state(), often.full_state())
        assert np.array_equal(once.failed, often.failed)


def test_lanes_beyond_the_last_body_stay_at_rest_and_unseen():
    batch = Batch(RigidBody([6, 8, 3]), size=np.uint8(3))
    batch.set_state(Q, OMEGA)
    batch.advance(0.1, 100)
    padding = batch.buffer.reshape(batch.block_rows, layout.LANES)[:, 3:]
    assert np.array_equal(padding[layout.Q], np.ones(5))
    assert not padding[layout.Q + 1 : layout.ROTOR + 3].any()
    assert len(batch.failed) == len(batch.redone) == len(batch.full_state()) == 3
    assert batch.measure()["energy"].shape == (3,)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", integrators.names())
def test_full_tensor_moves_as_the_principal_body_that_is_mounted_turned(name):
    turned = RigidBody(TENSOR)
    mount, B = turned.principal_quaternion, to_matrix(turned.principal_quaternion)
    u = np.array([0.3, -0.2, 0.5])

    def moved(body, q, omega, u, axis):
        start = {"quaternion": q, "angular_velocity": omega, "potential": HeavyTop(1.7, axis)}
        return simulate(body, dt=0.05, steps=100, integrator=name, torque=u, **start)

    full, turn = moved(turned, Q, OMEGA, u, AXIS), (B.T @ OMEGA, B.T @ u, tuple(B.T @ AXIS))
    plain = moved(RigidBody(turned.moments), multiply(Q, mount), *turn)
    assert angle_between(multiply(full.quaternion, mount), plain.quaternion).max() < 1e-12
    assert np.abs(full.angular_velocity @ B - plain.angular_velocity).max() < 1e-12
    assert np.abs(full.angular_momentum - plain.angular_momentum).max() < 1e-12


def test_measure_returns_the_state_that_was_set():
    batch = Batch(RigidBody(TENSOR))
    batch.set_state(Q, OMEGA, rotor_momentum=(0.3, -0.6, 0.8))
    now = batch.measure()
    assert angle_between(now["quaternion"][0], Q) < 1e-15
    assert np.abs(now["angular_velocity"][0] - OMEGA).max() < 1e-14
    expected = rotate(Q, TENSOR @ OMEGA + [0.3, -0.6, 0.8])
    assert np.abs(now["angular_momentum"][0] - expected).max() < 1e-14
    assert now["energy"][0] == pytest.approx(0.5 * OMEGA @ TENSOR @ OMEGA, rel=1e-14)
    batch.set_state(Q, angular_momentum=expected, rotor_momentum=np.array([0.3, -0.6, 0.8]))
    assert np.abs(batch.measure()["angular_velocity"][0] - OMEGA).max() < 1e-14


@ALL
def test_restored_state_continues_bit_for_bit(name):
    everyone = crowd(5)
    batch = batch_of(name, list(range(5)), *everyone)
    batch.advance(0.05, 7)
    kept = batch.full_state()
    batch.advance(0.05, 20)
    end = batch.full_state()
    other = batch_of(name, list(range(5)), *everyone)
    other.restore(kept)
    other.advance(0.05, 20)
    assert np.array_equal(other.full_state(), end)
    batch.restore(kept[[2]], np.array([2]))
    assert np.array_equal(batch.full_state()[2], kept[2])
    assert np.array_equal(batch.full_state()[[0, 1, 3, 4]], end[[0, 1, 3, 4]])


@pytest.mark.parametrize("name", each(IMPLICIT))
def test_unsolvable_step_fails_its_lane_alone_and_keeps_its_last_good_state(name):
    everyone = crowd(11)
    everyone[3][4] = (3e5, -5e5, 4e5)
    batch, calm = (batch_of(name, list(range(11)), *everyone) for _ in range(2))
    calm.set_state((1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0), lanes=[4])
    good = batch.full_state()[4]
    for _ in range(15):
        batch.advance(0.05)
        calm.advance(0.05)
        good = good if batch.failed[4] else batch.full_state()[4]
    others = [i for i in range(11) if i != 4]
    assert batch.failed[4]
    assert not batch.failed[others].any()
    assert np.array_equal(batch.full_state()[4], good)
    assert np.array_equal(batch.full_state()[others], calm.full_state()[others])
    batch.set_state((1.0, 0.0, 0.0, 0.0), OMEGA, lanes=[4])
    batch.advance(0.05)
    assert not batch.failed.any()


@ALL
def test_step_that_leaves_the_finite_numbers_fails_and_keeps_the_state(name):
    batch = Batch(RigidBody([6, 8, 3]), name)
    batch.set_state(Q, (1e150, 2e150, -1e150))
    before = batch.full_state()
    batch.advance(10.0)
    assert batch.failed[0]
    assert np.array_equal(batch.full_state(), before)


@pytest.mark.parametrize("name", each(IMPLICIT))
def test_simulate_raises_when_a_step_cannot_be_solved(name):
    start = {"integrator": name, "angular_velocity": (10.0, 20.0, 20.0)}
    with pytest.raises(IntegrationError, match="smaller dt"):
        simulate(RigidBody([6, 8, 3]), dt=1000.0, steps=3, **start)


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("name", "twin"),
    [("quat_em", tb.quat_em_step), ("akw", krysl.akw_step), ("imidm", krysl.imidm_step)],
)
@pytest.mark.parametrize("angle", [1.0, 2.0, 2.5])
def test_large_step_is_solved_and_equals_the_textbook(name, twin, angle):
    moments, omega = np.array([6.0, 8.0, 3.0]), np.array([10.0, 20.0, 20.0])
    h = angle / 30.0
    batch = Batch(RigidBody(moments), name, projection=False)
    batch.set_state(Q, omega)
    batch.advance(h)
    assert not batch.failed[0]
    q, omega_1 = twin(moments, Q, omega, h)
    assert angle_between(batch.measure()["quaternion"][0], q) < 1e-13
    assert np.abs(batch.measure()["angular_velocity"][0] - omega_1).max() < 1e-12


@pytest.mark.interpreted
@pytest.mark.parametrize("name", ["rkn4", "forward_euler", "mkrk_rk4"])
def test_a_step_to_an_infinite_energy_is_refused_though_momentum_and_rates_are_finite(name):
    # From rest, by a radian or two, to 1e204 kg m^2/s and 1e104 rad/s.
    body, u, h = RigidBody([1e100, 1.2e100, 0.9e100]), [1.7e308, 0.0, 0.0], 1.4e-104
    batch = Batch(body, name, size=2)
    batch.set_torque([u, [1e250, 0.0, 0.0]])
    before = batch.full_state()
    batch.advance(h)
    assert list(batch.failed) == [True, False]
    np.testing.assert_array_equal(batch.full_state()[0], before[0])
    assert np.isfinite(batch.measure()["energy"]).all()
    with pytest.raises(IntegrationError):
        simulate(body, integrator=name, dt=h, steps=1, torque=u)


# Those of first order pump energy in until a step is no longer one; the discrete Moser-Veselov
# equation has no solution at such steps.
SHORT_STEPS = ("quat_vi", "pdmv")
LONG_STEPS = [n for n in IMPLICIT if integrators.get(n).symmetric and n not in SHORT_STEPS]


@pytest.mark.parametrize("name", each(SHORT_STEPS))
def test_a_step_beyond_what_the_discrete_equation_has_a_solution_for_is_refused(name):
    batch = Batch(RigidBody([2.0, 2.0, 2.0]), name, size=2)
    batch.set_state((1.0, 0.0, 0.0, 0.0), [(0.9, 0.0, 0.0), (1.6, 0.0, 0.0)])
    before = batch.full_state()
    batch.advance(1.0)
    assert list(batch.failed) == [False, True]
    np.testing.assert_array_equal(batch.full_state()[1], before[1])
    with pytest.raises(IntegrationError, match=r"a turn of \|omega\| dt = 3\.2 rad, between"):
        simulate(batch.bodies[1], integrator=name, dt=2.0, steps=1, angular_velocity=(1.6, 0, 0))


@pytest.mark.parametrize("name", each(LONG_STEPS))
def test_steps_of_two_and_a_half_radians_are_solved_for_random_bodies(name):
    rng = np.random.default_rng(8)
    size, steps = (256, 50) if name in COMPILED else (32, 5)
    bodies = [RigidBody.box(m, s) for m, s in zip(*random_boxes(rng, size), strict=True)]
    directions = rng.standard_normal((size, 3))
    batch = Batch(bodies, name, size=size)
    omega = 2.5 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    batch.set_state(normalized(rng.standard_normal((size, 4))), omega)
    batch.advance(1.0, steps)
    assert not batch.failed.any()


@pytest.mark.parametrize("lanes", [[-1], [3], [True, False, False], [0.0], [1, 1]])
def test_lanes_that_do_not_exist_or_repeat_are_refused(lanes):
    batch = Batch(RigidBody([6.0, 8.0, 3.0]), size=3)
    before = batch.full_state()
    with pytest.raises(ValueError, match="lanes must be different integers from 0 to 2"):
        batch.set_state((0.0, 1.0, 0.0, 0.0), (1.0, 2.0, 3.0), lanes=lanes)
    assert np.array_equal(batch.full_state(), before)


def test_a_state_of_another_kind_of_batch_is_refused():
    body, aslant = RigidBody([1, 2, 1.5]), HeavyTop(2.0, (1.0, 0.0, 0.0))
    one, other = Batch(body, "akw", HeavyTop(2.0)), Batch(body, "akw", aslant)
    for made, taken in ((one, other), (other, one)):
        kept = taken.full_state()
        with pytest.raises(ValueError, match=r"state must be .* of shape \(1, "):
            taken.restore(made.full_state())
        np.testing.assert_array_equal(taken.full_state(), kept)


def test_a_top_has_the_formulas_of_one_on_its_third_axis_where_all_bodies_have_that_axis():
    symmetric, weight, aside = RigidBody([1, 1, 1.5]), HeavyTop(2.0), HeavyTop(2.0, (1.0, 0.0, 0.0))
    for bodies, tops, kind in (
        ([symmetric], [weight], AxialTop),
        ([symmetric], [HeavyTop(2.0, (0.6, 0.0, 0.8))], HeavyTop),
        ([symmetric] * 2, [weight, aside], HeavyTop),
        ([RigidBody([1, 2, 1.5])], [aside], HeavyTop),
        ([RigidBody([1, 2, 1.5])], [AxialTop(*aside)], HeavyTop),
    ):
        batch = Batch(bodies, "akw", tops, size=len(bodies))
        assert type(batch.physics.potential) is kind
    assert type(Batch(symmetric, "akw", weight).potential) is HeavyTop


def test_rows_are_copies_in_a_batch_of_any_size():
    for size in (1, 8, 9):
        batch = Batch(RigidBody([6.0, 8.0, 3.0]), size=size)
        batch.rows(0, 4)[:] = 7.0
        assert not (batch.rows(0, 4) == 7.0).any()
