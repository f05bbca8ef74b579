"""The least time about an eigenaxis, slews that come near it, and the law that turns past cones."""

import gymnasium as gym
import numpy as np
import pytest

from laws import J, slew
from rbgym.agents import controllers
from rbgym.agents.controllers import BangBang
from rbgym.agents.judge.evaluation import evaluate, settling_times
from rbgym.eigenaxis import eigenaxis_time
from rbgym.envs.satellites import SATELLITES
from rbgym.quaternion import from_rotation_vector, rotate_inverse
from refusals import refused

pytestmark = pytest.mark.interpreted

LIMITS = np.array([0.5, 0.4, 0.3])
SIX = SATELLITES["cubesat-6u"]().body


def turned(axis, time, torque, rate_limit=np.inf, steps=4000):
    """Angle [rad] and rate [rad/s] after the given time about a fixed axis: full torque to half
    time, unless the rate limit is reached, and against it for as long at the end."""
    unit = np.asarray(axis) / np.linalg.norm(axis)
    acceleration = torque / np.linalg.norm(J @ unit)
    angle = rate = 0.0
    fastest = min(0.5 * acceleration * time, rate_limit)
    h = time / steps
    for k in range(steps):
        t = (k + 0.5) * h
        push = 1 if t < fastest / acceleration else -1 if t > time - fastest / acceleration else 0
        angle += h * (rate + 0.5 * h * push * acceleration)
        rate += h * push * acceleration
    return angle, rate


def strongest(axis):
    """The largest torque along J e within the limits, by trying."""
    direction = J @ axis / np.linalg.norm(J @ axis)
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        within = (np.abs(middle * direction) <= LIMITS).all()
        low, high = (middle, high) if within else (low, middle)
    return low


@pytest.mark.parametrize("axis", [(1.0, 0, 0), (0, 0, -2.0), (1.0, 2.0, -3.0), (0.1, -0.2, 0.1)])
@pytest.mark.parametrize("rate_limit", [None, 0.3])
def test_the_least_time_is_that_in_which_full_torque_turns_the_body_so_far(axis, rate_limit):
    unit = np.asarray(axis) / np.linalg.norm(axis)
    just_free = 0.75 * 0.3**2 * np.linalg.norm(J @ unit) / strongest(unit)
    for angle in (0.1, 2.5, just_free):
        time = eigenaxis_time(angle, axis, J, LIMITS, rate_limit)
        reached, rate = turned(axis, time, strongest(unit), rate_limit or np.inf)
        assert reached == pytest.approx(angle, rel=1e-3)
        assert rate == pytest.approx(0.0, abs=1e-3)


def test_the_least_time_is_the_textbook_formula_about_a_principal_axis():
    one = eigenaxis_time(2.0, [0, 3.0, 0], [3.0, 2.0, 1.5], 0.1)
    assert one == pytest.approx(2 * np.sqrt(2.0 * 2.0 / 0.1))
    many = eigenaxis_time([0.0, 1.0], np.eye(3)[:2], [3.0, 2.0, 1.5], LIMITS)
    np.testing.assert_allclose(many, [0.0, 2 * np.sqrt(2.0 / 0.4)])
    many = eigenaxis_time([0.0, 1.0], [0, 0, 1e-200], [3.0, 2.0, 1.5], [1, 1, 0])
    assert many.tolist() == [0.0, np.inf]
    assert np.isfinite(eigenaxis_time(1.0, [0, 1, 0], [3.0, 2.0, 1.5], [1, 1, 0]))


@refused(
    ({"angle": -1.0}, "angle must be finite and not negative, got -1.0"),
    ({"angle": np.nan}, "angle must be finite"),
    ({"axis": [0, 0, 0]}, "axis must be vectors"),
    ({"angle": np.ones(3), "axis": np.eye(3)[:2]}, "angle, axis and rate_limit must have leading"),
    ({"axis": [0, 1]}, "axis must be vectors"),
    ({"axis": [0, np.inf, 0]}, "axis must be vectors"),
    ({"inertia": [1.0, 2.0]}, "inertia must"),
    ({"torque_limit": [1.0, -1.0, 1.0]}, "torque_limit must be"),
    ({"torque_limit": [1.0, 1.0]}, "torque_limit must be"),
    ({"rate_limit": 0.0}, "rate_limit must be positive or None, got 0.0"),
)
def test_arguments_out_of_range_have_no_least_time(changed):
    good = {"angle": 1.0, "axis": [1, 0, 0], "inertia": [3.0, 2.0, 1.5], "torque_limit": 0.1}
    eigenaxis_time(**{**good, **changed})


def angles(attitudes):
    return 2 * np.arcsin(np.minimum(np.linalg.norm(attitudes[..., 1:], axis=-1), 1.0))


def settled(attitudes, rates, dt=0.1):
    """Times [s] from which a slew is within 1 degree and 0.02 rad/s."""
    near = (angles(attitudes) < np.radians(1)) & (np.linalg.norm(rates, axis=-1) < 0.02)
    return settling_times(np.concatenate([0 * near[:1], near]), dt)


@pytest.mark.parametrize("layer", [0.2, 0.5])
def test_slews_about_principal_axes_take_little_more_than_the_least_time(layer):
    turns = np.array([0.5, 1.5, 3.0])
    vectors = np.concatenate([turns[:, None] * axis for axis in np.eye(3)])
    least = eigenaxis_time(np.tile(turns, 3), vectors, SIX.inertia, 0.02)
    # Braking with nine tenths takes 1.03 times as long, and dying out in the layer a few of its h.
    attitudes, rates, actions = slew("bang_bang", vectors, 200, layer=layer)
    times = settled(attitudes, rates)
    assert (times < 1.05 * least + 2.5 * layer).all()
    assert (times > 0.9 * least).all()
    # The longest about each axis: full torque one way, and nine tenths of it the other.
    for n, axis in ((2, 0), (5, 1), (8, 2)):
        pushed, T = actions[:, n, axis], 10 * least[n]
        np.testing.assert_allclose(pushed[: int(0.4 * T)], -1.0, rtol=0, atol=1e-5)
        assert (pushed[int(0.7 * T) : int(0.85 * T)] > 0.7).all()


def test_a_slew_about_any_axis_stays_on_it_and_does_not_pass_the_target():
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(30, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    attitudes, rates, _ = slew("bang_bang", 2.8 * axes, 200)
    v = attitudes[..., 1:] * np.sign(attitudes[..., :1])
    along = np.sum(v * axes, axis=2)
    across = np.linalg.norm(v - along[..., None] * axes, axis=2)
    assert 2 * np.arcsin(across).max() < 0.02
    assert along.min() > -0.01
    least = eigenaxis_time(2.8, axes, SIX.inertia, 0.02)
    times = settled(attitudes, rates)
    assert (times > 0.9 * least).all()
    assert np.median(times / least) < 1.2
    # Where the gyroscopic torque asks for more than half of the limits the body coasts.
    assert (times / least).max() < 2.0


def test_a_slew_coasts_at_its_slew_rate_and_takes_the_least_time_with_that():
    vector = np.array([[2.0, 0.0, 0.0]])
    attitudes, rates, _ = slew("bang_bang", vector, 300, slew_rate=0.2)
    least = eigenaxis_time(2.0, vector, SIX.inertia, 0.02, rate_limit=0.2)
    assert np.abs(rates).max() == pytest.approx(0.2, rel=0.01)
    assert 0.9 * least < settled(attitudes, rates) < 1.05 * least + 1.0


def test_at_the_end_the_torque_dies_out_without_chatter():
    vectors = np.array([[1.0, 0.5, -0.7], [0.02, 0.0, 0.01]])
    attitudes, _, actions = slew("bang_bang", vectors, 200)
    assert angles(attitudes)[-1].max() < 1e-6
    assert np.abs(actions[-20:]).max() < 1e-4
    changes = (np.diff(np.sign(np.round(actions, 3)), axis=0) != 0).sum(axis=0)
    assert changes.max() <= 6


def test_the_switching_curve_is_that_of_constant_braking_beyond_its_layer():
    law = BangBang(SIX, [0.02] * 3, rate_limit=10.0, dt=0.1, braking=1.0, layer=1e-6)
    e, y = np.tile([1.0, 0.0, 0.0], (5, 1)), np.linspace(0.1, 3.0, 5)[:, None]
    noisy = gym.make("AttitudeSlew-v1", sensor={"rate": 1e-4})  # a layer of two control periods
    assert controllers.make("bang_bang", noisy).h == 2.0 * noisy.unwrapped.dt
    a = 0.02 / SIX.inertia[0, 0]
    np.testing.assert_allclose(law.curve(y, e), np.sqrt(2 * a * y), rtol=1e-5)
    # About another axis, braking with what the gyroscopic torque leaves: angle = integral of
    # rate / deceleration.
    e = np.tile(np.array([0.6, 0.0, 0.8]), (1, 1))
    inertia = np.asarray(SIX.inertia)
    a = 0.02 / np.abs(e @ inertia).max()
    c = np.abs(np.cross(e, e @ inertia)).max() / 0.02
    rates = np.linspace(0.0, 0.99 * np.sqrt(0.5 / c), 4001)
    middle = 0.5 * (rates[1:] + rates[:-1])
    angle = np.sum(np.diff(rates) * middle / (a * (1 - c * middle**2)))
    assert law.curve(np.array([[angle]]), e)[0, 0] == pytest.approx(rates[-1], rel=1e-4)


def test_with_wheels_the_slew_reckons_with_the_torque_that_the_wheels_have():
    env = gym.make("ReactionWheelSlew-v1")
    law = controllers.make("bang_bang", env)
    wheels = env.unwrapped.actuator
    rng = np.random.default_rng(0)
    for u in rng.normal(size=(20, 3)):
        within = u / np.abs(law.law.envelope @ u).max()
        # Of the torques of the motors that add up to it, those whose largest is smallest.
        motors = np.linalg.lstsq(wheels.matrix, within, rcond=None)[0]
        null = np.linalg.svd(wheels.matrix)[2][3]
        shifts = np.linspace(-0.01, 0.01, 20_001)[:, None] * null
        assert np.abs(motors + shifts).max(axis=1).min() == pytest.approx(wheels.torque, abs=1e-6)


def panels(hertz):
    """Modes of all three axes, with seven eighths of the inertia."""
    coupling = np.diag(np.sqrt(7.0 * SIX.moments)).tolist()
    return {"actuator": {"flexible": {"coupling": coupling, "frequency": 2 * np.pi * hertz}}}


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "env_id", "kwargs", "seconds"),
    [("pd", "FlexibleSlew-v0", {}, 31), ("bang_bang", "FlexibleSlew-v0", {}, 28),
     ("pd", "AttitudeSlew-v1", panels(0.25), 80), ("lqr", "AttitudeSlew-v1", panels(0.1), 80)],
)  # fmt: skip
def test_flexible_modes_count_as_inertia_of_large_turns(name, env_id, kwargs, seconds):
    found = evaluate(name, env_id, 64, **kwargs, max_episode_steps=300)
    assert found.success_rate == 1.0
    assert found.settling_time < seconds


Z = (0.0, 0.0, 1.0)


@pytest.mark.compiled
def test_it_turns_past_the_cone_in_every_hard_episode_too():
    found = evaluate("detour", "KeepOutSlew-v0", episodes=64, difficulty="hard")
    assert found.success_rate == 1.0


def law_for(*cones):
    env = gym.make("AttitudeSlew-v1", constraints={"keep_out": list(cones)})
    return controllers.make("detour", env), controllers.make("pd", env)


def seen(turn, omega, *directions):
    """An observation of a body that is turned by a rotation vector from its target at the world's
    axes, and of directions in the world."""
    q = from_rotation_vector(np.array(turn))
    shown = [rotate_inverse(q, np.array(d)) for d in directions]
    return np.concatenate([q, omega, *shown])


def cone(direction, half_angle=0.3):
    direction = tuple((np.array(direction) / np.linalg.norm(direction)).tolist())
    return {"axis": Z, "direction": direction, "half_angle": half_angle}


def test_where_no_cone_is_in_the_way_it_is_the_pd_law():
    behind = (0.0, 0.0, -1.0)
    detour, pd = law_for(cone(behind))
    row = seen((1.2, 0.0, 0.0), (0.01, -0.02, 0.005), behind)
    np.testing.assert_array_equal(detour.predict(row)[0], pd.predict(row)[0])


@pytest.mark.parametrize(("off", "side"), [(0.2, 1.0), (-0.2, -1.0), (1e-9, 1.0), (-1e-9, 1.0)])
def test_it_passes_on_the_side_on_which_the_turn_passes_the_middle_or_right_of_it(off, side):
    # Turned by 1.6 rad about x, the boresight comes to z through y-z; the cone is a little off it.
    middle = np.array([off, -np.sin(0.8), np.cos(0.8)])
    middle /= np.linalg.norm(middle)
    detour, pd = law_for(cone(middle))
    row = seen((1.6, 0.0, 0.0), (0.0, 0.0, 0.0), middle)
    assert pd.predict(row)[0][1] == pytest.approx(0.0, abs=1e-9)
    # The boresight moves as omega x z: about +y towards +x, and the cone is on that side.
    assert side * detour.predict(row)[0][1] < -0.1


def test_of_several_cones_the_first_in_the_way_counts():
    first = (0.05, -np.sin(1.4), np.cos(1.4))
    second = (-0.05, -np.sin(0.6), np.cos(0.6))
    far, both = law_for(cone(first, 0.15)), law_for(cone(first, 0.15), cone(second, 0.15))
    turn, still = (1.9, 0.0, 0.0), (0.0, 0.0, 0.0)
    alone = far[0].predict(seen(turn, still, first))[0]
    np.testing.assert_array_equal(both[0].predict(seen(turn, still, first, second))[0], alone)
