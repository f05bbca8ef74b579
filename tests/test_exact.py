"""The exact motion between kicks: nearer than Runge-Kutta at equal cost, and it conserves."""

from dataclasses import replace
from math import cos, sin

import gymnasium as gym
import numpy as np
import pytest

import rbgym.envs  # noqa: F401
from rbgym import Batch, GravityGradient, HeavyTop, RigidBody, integrators, simulate
from rbgym.integrators import compose
from rbgym.integrators.elliptic import free_rotation
from rbgym.integrators.interface import Body
from rbgym.integrators.splitting import Exact, ExactWhenSymmetric
from rbgym.quaternion import angle_between, normalized
from textbook_splitting import exact_step

pytestmark = pytest.mark.interpreted

TOP, WEIGHT = RigidBody([0.5, 0.7, 0.3]), HeavyTop(5.886)
TILTED, OMEGA = (cos(0.25), sin(0.25), 0.0, 0.0), (1.0, 2.0, 10.0)
ROD = RigidBody.rod(1.0, 1.0).about((0.0, 0.0, -0.5))


def spin_top(name, dt, steps, body=TOP, potential=WEIGHT, **kwargs):
    how = {"quaternion": TILTED, "angular_velocity": OMEGA, "potential": potential, **kwargs}
    return simulate(body, integrator=name, dt=dt, steps=steps, **how)


# A step of exact:4 has three motions and takes less time than six steps of rkn4; one of exact:6 has
# eleven, and takes less than sixteen.
@pytest.mark.compiled
@pytest.mark.parametrize(("name", "cost"), [("exact:4", 6), ("exact:6", 16)])
@pytest.mark.parametrize("torque", [None, (1.0, -2.0, 0.5)], ids=["weight", "weight and torque"])
def test_the_error_at_equal_cost_is_a_tenth_of_that_of_rkn4(name, cost, torque):
    def error(name, steps):
        end = spin_top(name, 0.4 / steps, steps, torque=torque, record_every=steps)
        return angle_between(end.quaternion[-1], exact.quaternion[-1])

    exact = spin_top("exact:6", 0.4 / 640, 640, torque=torque, record_every=640)
    for steps in (4, 8):
        assert error("rkn4", cost * steps) > 10.0 * error(name, steps)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["exact", "exact:4", "exact:6"])
@pytest.mark.parametrize("moments", [(0.5, 0.7, 0.3), (5, 5, 1), (1, 1, 2)])
def test_energy_and_momentum_about_the_direction_are_kept_at_every_step(name, moments):
    body = RigidBody(moments)
    motion = spin_top(name, 0.02, 5000, body)
    assert motion.drift()["energy"]["max"] < 5e-15
    L = motion.angular_momentum
    np.testing.assert_array_equal(L[:, 2], L[0, 2])
    assert 0 < motion.largest_correction < 1e-4
    if moments[0] == moments[1]:
        # Once the squares of the corrections changed it, by 3e-8 with the largest, of order two.
        assert np.abs(motion.angular_velocity[:, 2] / 10.0 - 1.0).max() < 1e-12
    d = np.array([0.6, 0.0, 0.8])
    motion = spin_top(name, 0.02, 2000, body, GravityGradient(0.3, tuple(d)))
    L = motion.angular_momentum
    assert motion.drift()["energy"]["max"] < 5e-15
    assert np.abs((L - L[0]) @ d).max() < 1e-13 * np.linalg.norm(L[0])


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["exact", "exact:4", "exact:6"])
def test_the_momentum_of_a_free_body_is_the_same_numbers(name):
    L = spin_top(name, 0.1, 2000, potential=None).angular_momentum
    np.testing.assert_array_equal(L, np.broadcast_to(L[0], L.shape))


@pytest.mark.compiled
def test_under_a_torque_the_energy_follows_the_work_to_the_order():
    def lack(steps):
        torque = np.array([0.3, -0.2, 0.4])
        motion = spin_top("exact:4", 1.0 / steps, steps, torque=torque)
        power = motion.angular_velocity @ torque
        # Boole's rule on the recorded instants, of an order above that of the scheme.
        weights = np.tile([32.0, 12.0, 32.0, 14.0], steps // 4)
        weights = np.concatenate([[7.0], weights[:-1], [7.0]]) * 2.0 / 45.0 / steps
        return abs(motion.energy[-1] - motion.energy[0] - weights @ power)

    assert np.log2(lack(40) / lack(80)) > 3.7


def test_after_a_torque_the_energy_is_kept_at_the_new_level():
    batch = Batch(TOP, "exact:4", WEIGHT)
    batch.set_state(TILTED, OMEGA)
    batch.set_torque((0.3, -0.2, 0.4))
    batch.advance(0.02, 50)
    batch.set_torque((0.0, 0.0, 0.0))
    batch.advance(0.02)
    level = batch.measure()["energy"][0]
    for _ in range(200):
        batch.advance(0.02)
        assert batch.measure()["energy"][0] == pytest.approx(level, rel=5e-15)


def test_a_batch_without_rotors_takes_up_a_state_with_them():
    made, taken = (Batch(TOP, "exact:4", WEIGHT) for _ in range(2))
    made.set_state(TILTED, OMEGA, rotor_momentum=(0.3, -0.6, 0.8))
    taken.restore(made.full_state())
    for batch in (made, taken):
        batch.advance(0.02, 10)
    np.testing.assert_array_equal(made.full_state(), taken.full_state())


@pytest.mark.compiled
def test_rotors_may_turn_the_body_by_more_than_two_radians_a_step():
    fast, h = np.array([200.0, -300.0, 100.0]), 0.1
    batch = Batch(TOP, "exact")
    batch.set_state(TILTED, OMEGA, rotor_momentum=fast)
    batch.advance(h)
    now = batch.measure()
    q, omega = exact_step(TOP.moments, np.array(TILTED), np.array(OMEGA), h, rotor_momentum=fast)
    assert batch.redone[0] == 0
    assert not batch.failed[0]
    assert angle_between(now["quaternion"][0], q) < 1e-9
    np.testing.assert_allclose(now["angular_velocity"][0], omega, rtol=1e-9)


def test_long_steps_with_rotors_lose_no_energy():
    start = {"angular_velocity": (2, 10, 3), "rotor_momentum": (1e-3, 2e-3, 1e-3)}
    body = RigidBody([1.0, 2.0, 2.5])
    motion = simulate(body, dt=1.0, steps=100, integrator="exact", **start)
    assert motion.drift()["energy"]["max"] < 5e-15


def test_a_sphere_of_any_size_is_projected():
    start = {"angular_velocity": (0.5, 0.3, 2), "quaternion": (0.8, 0.6, 0, 0)}
    for size in (1.0, 1e20):
        how = {"integrator": "exact", "potential": HeavyTop(2.0 * size), **start}
        motion = simulate(RigidBody([size] * 3), dt=0.02, steps=500, **how)
        # The metric of a sphere leaves the turn alone, which nears the level by and by.
        assert motion.drift()["energy"]["max"] < 1e-11


class Own(Exact):
    """A scheme of a user."""


def test_a_scheme_derived_from_the_exact_one_is_composed_of_kicks_for_free_bodies_too():
    record = compose(replace(integrators.get("exact"), name="mine", scheme=Own()), 4)
    torque = (1.0, -2.0, 0.5)
    ends = [
        spin_top(name, 0.4 / steps, steps, potential=None, torque=torque).quaternion[-1]
        for name, steps in ((record, 16), ("exact:4", 200))
    ]
    assert angle_between(*ends) < 1e-7


@pytest.mark.compiled
def test_the_spin_of_a_rod_is_kept_from_any_start():
    rng, size = np.random.default_rng(3), 32
    batch = Batch(ROD, "exact:4", HeavyTop(4.905), size=size)
    omega = np.column_stack([rng.uniform(-3, 3, (size, 2)), np.zeros(size)])
    batch.set_state(normalized(rng.standard_normal((size, 4))), omega)
    batch.advance(0.01, 500)
    assert not batch.failed.any()
    assert np.abs(batch.measure()["angular_velocity"][:, 2]).max() < 1e-6


@pytest.mark.parametrize("moments", [(0.5, 0.5, 0.3), (0.3, 0.3, 0.5), (0.4, 0.4, 0.4)])
@pytest.mark.parametrize(("h", "steps"), [(0.002, 50), (0.02, 20), (0.5, 2)])
@pytest.mark.parametrize(
    ("name", "potential"),
    [("exact", None), ("exact:4", None), ("exact", WEIGHT), ("exact:4", WEIGHT),
     ("exact:4", GravityGradient(0.3, (0.6, 0.0, 0.8)))],
)  # fmt: skip
def test_symmetric_bodies_move_as_they_do_by_the_formulas_for_all(
    moments, h, steps, name, potential
):
    body, size = RigidBody(moments), 64
    rng = np.random.default_rng(2)
    q, omega = normalized(rng.normal(size=(size, 4))), rng.normal(size=(size, 3)) * (1, 2, 5)
    torque = rng.normal(size=(size, 3))
    own, general = (Batch(body, name, potential, size=size, varies=v) for v in (False, True))
    assert type(own.physics.scheme) is not type(general.physics.scheme)
    for batch in (own, general):
        batch.set_state(q, omega)
        batch.set_torque(torque)
        batch.advance(h, steps)
    one, other = own.measure(), general.measure()
    scale = np.linalg.norm(other["angular_velocity"], axis=1).max()
    for name in ("angular_velocity", "angular_momentum", "energy"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-11, atol=1e-11 * scale)
    assert angle_between(one["quaternion"], other["quaternion"]).max() < 1e-11 * scale


def test_a_body_whose_inertia_may_change_is_stepped_by_the_formulas_for_all():
    def scheme(**kwargs):
        return gym.make("RigidTop-v0", **kwargs).unwrapped.episodes.batch.physics.scheme

    assert isinstance(scheme(), ExactWhenSymmetric)
    assert not isinstance(scheme(randomization={"inertia": 0.1}), ExactWhenSymmetric)


def test_a_scheme_of_a_user_steps_symmetric_bodies_too():
    own = replace(integrators.get("exact"), scheme=Own())
    for potential in (None, WEIGHT):
        assert type(Batch(RigidBody([1, 1, 1.5]), own, potential).physics.scheme) is Own


@pytest.mark.parametrize("moments", [(1, 1, 1), (1, 1, 1.98), (1, 1, 0.05)])
def test_a_symmetric_body_may_turn_by_three_radians_a_step(moments):
    scheme, rng = ExactWhenSymmetric(), np.random.default_rng(4)
    J = np.array(moments, float)
    body = Body(tuple(J), tuple(1.0 / J), (0.0, 0.0, 0.0))
    for axis in rng.normal(size=(50, 3)):
        omega = 3.0 * axis / np.linalg.norm(axis)
        turn, near = scheme.motion(body, tuple(J * omega), 1.0)
        assert near
        exact = free_rotation(tuple(J), tuple(J * omega), 1.0)
        np.testing.assert_allclose(turn, exact, rtol=0, atol=5e-15)


def test_a_symmetric_body_does_not_go_on_from_the_state_of_one_whose_inertia_was_drawn():
    drawn = gym.make("RigidTop-v0", randomization={"inertia": 0.3}).unwrapped
    plain = gym.make("RigidTop-v0").unwrapped
    for env in (drawn, plain):
        env.reset(seed=1)
    before = plain.get_state()
    with pytest.raises(ValueError, match=r"rows.* must be finite, \("):
        plain.set_state(drawn.get_state())
    np.testing.assert_array_equal(plain.get_state()["rows"], before["rows"])
