"""Bodies with formulas of their own move as the others do: symmetric ones with AKW, slow ones."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import rbgym
import rbgym.envs
from rbgym import Batch, HeavyTop, RigidBody, integrators
from rbgym.integrators.cayley import AKW, AKWWhenSymmetric, Cayley, WhenFreeAndSymmetric
from rbgym.integrators.interface import SLOW
from rbgym.integrators.splitting import ExactWhenFreeAndSlow
from rbgym.potentials.interface import AxialTop
from rbgym.quaternion import angle_between, normalized

SIZE = 64
WEIGHTS = [None, HeavyTop(5.886), HeavyTop(-3.0), HeavyTop(0.0)]


def moved(batches, h, steps, rates, torque=1.0):
    """What these batches measure after the same steps from the same random states."""
    rng = np.random.default_rng(5)
    q = normalized(rng.normal(size=(SIZE, 4)))
    omega, u = rng.normal(size=(SIZE, 3)) * rates, torque * rng.normal(size=(SIZE, 3))
    for batch in batches:
        batch.set_state(q, omega)
        batch.set_torque(u)
        batch.advance(h, steps)
    return [batch.measure() for batch in batches]


def assert_alike(one, other, lanes=slice(None), within=1e-11):
    size = np.abs(other["angular_velocity"]).max()
    for name in ("angular_velocity", "angular_momentum", "energy"):
        np.testing.assert_allclose(
            one[name][lanes], other[name][lanes], rtol=within, atol=within * size
        )
    apart = angle_between(one["quaternion"], other["quaternion"])[lanes]
    assert apart.max() < within * size


@pytest.mark.parametrize("moments", [(0.5, 0.5, 0.3), (0.3, 0.3, 0.5), (0.4, 0.4, 0.4)])
@pytest.mark.parametrize(("h", "steps"), [(0.002, 50), (0.02, 20), (0.2, 2)])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", ["akw", "akw_dg"])
def test_symmetric_bodies_move_with_akw_as_they_do_by_the_equation_for_all(
    moments, h, steps, weight, name
):
    own, general = (
        Batch(RigidBody(moments), name, weight, size=SIZE, varies=v) for v in (False, True)
    )
    kind = AKWWhenSymmetric if weight else WhenFreeAndSymmetric
    assert type(own.physics.scheme) is kind
    assert isinstance(general.physics.scheme, Cayley)
    one, other = moved((own, general), h, steps, (1, 2, 5))
    assert not own.failed.any()
    assert_alike(one, other, ~general.failed)


def test_symmetric_bodies_move_with_convected_as_they_do_by_the_equation_for_all():
    batches = [Batch(RigidBody([2, 2, 1]), "convected", size=SIZE, varies=v) for v in (False, True)]
    assert type(batches[0].physics.scheme) is WhenFreeAndSymmetric
    assert_alike(*moved(batches, 0.05, 20, (1, 2, 5)))


def test_a_step_that_is_long_beside_the_swing_follows_the_root_from_a_step_of_no_length():
    """No textbook tells which root: that which small changes of the step lead to, from short ones
    on, which the equation for all finds too; and it conserves."""
    top, weight = RigidBody([0.3, 0.3, 0.1]), HeavyTop(30.0)
    batch = Batch(top, "akw", weight, size=SIZE)
    before, turns = None, []
    for h in np.linspace(0.01, 0.25, 121):
        (end,) = moved([batch], h, 1, (0.5, 0.5, 2), torque=0.0)
        assert not batch.failed.any()
        if before is not None:
            turns.append(angle_between(before, end["quaternion"]))
        before = end["quaternion"]
    assert np.max(turns) < 0.25  # 2 ms more turn the body by no more, so that no root was left


@pytest.mark.parametrize("h", [0.02, 0.15])
def test_a_lagrange_top_keeps_energy_spin_and_vertical_momentum_with_akw(h):
    batch = Batch(RigidBody([0.3, 0.3, 0.1]), "akw", HeavyTop(6.0), size=SIZE)
    (start,) = moved([batch], h, 1, (1, 1, 9), torque=0.0)
    batch.set_torque((0.0, 0.0, 0.0))
    batch.advance(h, 2000)
    end = batch.measure()
    assert not batch.failed.any()
    np.testing.assert_allclose(end["energy"], start["energy"], rtol=1e-12, atol=1e-12)
    L = [m["angular_momentum"][:, 2] for m in (start, end)]
    np.testing.assert_allclose(L[1], L[0], rtol=1e-11, atol=1e-11)
    spin = [m["angular_velocity"][:, 2] for m in (start, end)]
    np.testing.assert_allclose(spin[1], spin[0], rtol=1e-9, atol=1e-9)


class Own(AKW):
    """A scheme of a user."""


def test_what_is_not_quite_such_a_body_is_left_to_the_equation_for_all():
    symmetric, weight = RigidBody([1, 1, 1.5]), HeavyTop(2.0)
    own = replace(integrators.get("akw"), scheme=Own())
    for batch, kind in (
        (Batch(RigidBody([1, 1.0000001, 1.5]), "akw", weight), AKW),
        (Batch(symmetric, "akw", HeavyTop(2.0, (0.6, 0.0, 0.8))), AKW),
        (Batch(symmetric, own, weight), Own),
        (Batch(symmetric, "akw", weight), AKWWhenSymmetric),
    ):
        assert type(batch.physics.scheme) is kind
    batch = Batch(symmetric, "akw", weight)
    batch.set_state((1, 0, 0, 0), (1, 2, 3), rotor_momentum=(0.1, 0, 0))
    assert type(batch.physics.scheme) is AKW
    tops = Batch([symmetric] * 2, "akw", [weight, HeavyTop(2.0, (1.0, 0.0, 0.0))], size=2)
    assert type(tops.physics.potential) is HeavyTop
    assert type(Batch(symmetric, "akw", weight).physics.potential) is AxialTop
    assert type(Batch(symmetric, "akw", weight).potential) is HeavyTop


def test_slow_bodies_move_by_their_formulas_as_by_those_for_all():
    body, h = RigidBody([0.5, 0.7, 0.3]), 0.1
    own, general = (Batch(body, "exact:4", size=SIZE, slow=slow) for slow in (True, False))
    assert type(own.physics.scheme) is ExactWhenFreeAndSlow
    assert type(general.physics.scheme) is not ExactWhenFreeAndSlow
    for rates in (0.0, 0.1 * SLOW / h, SLOW / h / 3**0.5):
        assert_alike(*moved((own, general), h, 20, rates, torque=0.01), within=1e-12)


def test_bodies_that_turn_faster_than_was_expected_move_as_they_should():
    body = RigidBody([0.5, 0.7, 0.3])
    own, general = (Batch(body, "exact:4", size=SIZE, slow=slow) for slow in (True, False))
    assert_alike(*moved((own, general), 0.1, 10, (1, 4, 20)), within=1e-11)
    assert not own.failed.any()


def test_a_batch_counts_the_steps_whose_root_was_followed():
    batch = Batch(RigidBody([0.3, 0.3, 0.1]), "akw", HeavyTop(30.0), size=SIZE)
    moved([batch], 0.2, 3, 0.5)
    assert np.median(batch.redone) == 3
    moved([batch], 0.01, 3, 0.5)
    assert (batch.redone == 0).all()


def test_a_top_on_its_third_axis_is_one_only_where_the_body_has_that_axis():
    for potential in (HeavyTop(2.0, (1.0, 0.0, 0.0)), AxialTop(2.0, (1.0, 0.0, 0.0))):
        assert type(Batch(RigidBody([1, 2, 1.5]), "akw", potential).physics.potential) is HeavyTop


def test_a_state_of_another_kind_of_batch_is_refused():
    body, aslant = RigidBody([1, 2, 1.5]), HeavyTop(2.0, (1.0, 0.0, 0.0))
    one, other = Batch(body, "akw", HeavyTop(2.0)), Batch(body, "akw", aslant)
    for made, taken in ((one, other), (other, one)):
        kept = taken.full_state()
        with pytest.raises(ValueError, match="columns"):
            taken.restore(made.full_state())
        np.testing.assert_array_equal(taken.full_state(), kept)


def test_slow_bodies_go_on_to_the_last_bit_from_the_state_of_one_whose_inertia_was_drawn():
    args = {"id": "AttitudeSlew-v1", "body": RigidBody([2, 2, 1.5])}
    drawn = gym.make(**args, randomization={"inertia": 0.3}).unwrapped
    plain = gym.make(**args).unwrapped
    for env in (drawn, plain):
        env.reset(seed=1)
        env.step(env.action_space.sample())
    state, actions = drawn.get_state(), np.full((1, 5, 3), 0.125)
    _, there = rbgym.rollout_actions(plain, state, actions)
    for action in actions[0]:
        drawn.step(action)
    np.testing.assert_array_equal(there["rows"][0], drawn.get_state()["rows"])


def test_derivatives_are_those_of_the_body_that_a_state_has_brought():
    drawn = gym.make("RigidTop-v0", integrator="akw", randomization={"inertia": 0.3}).unwrapped
    plain = gym.make("RigidTop-v0", integrator="akw").unwrapped
    drawn.reset(seed=1)
    plain.reset(seed=1)
    action = np.full(3, 0.25)
    before = rbgym.linearize(plain, action=action)
    plain.set_state(drawn.get_state())
    after, wanted = (rbgym.linearize(env, action=action) for env in (plain, drawn))
    np.testing.assert_allclose(after.A, wanted.A, rtol=1e-12, atol=1e-12)
    assert np.abs(before.A - after.A).max() > 1e-6


@pytest.mark.parametrize("integrator", ["akw", "rrr", "mkrk_rk4"])
@pytest.mark.parametrize("env_id", ["FreeFlyer-v0", "RigidTop-v0"])
def test_the_state_of_a_body_that_has_failed_can_be_put_back(env_id, integrator):
    env = gym.make(env_id, integrator=integrator, substeps=1).unwrapped
    env.reset(seed=1)
    state = env.get_state()
    state["rows"][5:8] = 1e6  # momentum, by which the body turns too far in a step
    env.set_state(state)
    *_, info = env.step(np.zeros(env.action_space.shape, np.float32))
    assert info["integration_failed"]
    kept = env.get_state()
    assert np.isfinite(kept["rows"]).all()
    env.set_state(kept)
    np.testing.assert_array_equal(env.get_state()["rows"], kept["rows"])
    env.reset()
    assert np.isfinite(env.get_state()["rows"]).all()


def test_the_number_of_threads_applies_to_envs_that_have_been_stepped():
    """Of which a lane is redone."""

    def rows(threads):
        env = gym.make_vec("AttitudeSlew-v1", 600, vectorization_mode="vector_entry_point")
        env.reset(seed=1)
        action = np.full((600, 3), 0.1, np.float32)
        for _ in range(3):
            env.step(action)
        state = env.unwrapped.get_state()
        state["rows"][400, 5:8] *= 500.0
        env.unwrapped.set_state(state)
        rbgym.set_num_threads(threads)
        try:
            env.step(action)
        finally:
            rbgym.set_num_threads(1)
        return env.unwrapped.get_state()["rows"]

    np.testing.assert_array_equal(rows(1), rows(2))
