"""The estimator in front of a law or policy: consistent, and worth having."""

import math

import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import chi2

import rbgym.agents
from family import SLEW, quick
from laws import flown
from rbgym.agents import controllers
from rbgym.agents.controllers import Estimating
from rbgym.agents.controllers.filtering import StarTracker, right_jacobian
from rbgym.agents.judge.card import SENSORS
from rbgym.agents.policies import Network, TrainedPolicy
from rbgym.envs.parts.sensors import Instruments
from rbgym.quaternion import canonicalized, conjugate, from_rotation_vector, multiply, rotate
from refusals import refused

# Noise that decides where the body points, measured twice a second, and not in a fast slew.
SENSOR = {
    "gyro": {"angle_walk": 1e-3, "rate_walk": 1e-4, "bias": 1e-2},
    "star_tracker": {"across_boresight": 2e-3, "about_boresight": 1e-2, "boresight": (1, 0, 0),
                     "period": 0.5, "slew_rate": 0.2},
}  # fmt: skip
LANES = 500


def many(n=LANES, env_id=SLEW, **kwargs):
    like_a_slew = {k: v for k, v in quick(SLEW).items() if env_id == "AttitudeTracking-v1"}
    kwargs = like_a_slew | quick(env_id, **{"sensor": SENSOR, "max_episode_steps": -1, **kwargs})
    return gym.make_vec(env_id, num_envs=n, **kwargs).unwrapped


def errors(env, belief):
    """Of estimates, (n, 6): the small turn [rad] and the bias [rad/s] that are missing."""
    state = env.episodes.state()
    truth = multiply(conjugate(state["target_quaternion"]), state["quaternion"])
    off = multiply(conjugate(belief.attitude), truth)
    bias = env.episodes.batch.rows(env.episodes.rows.sensor_row(), 3)
    turn = 2 * np.where(off[:, :1] < 0, -1, 1) * off[:, 1:]
    return np.concatenate([turn, bias - belief.bias], axis=1)


def playing(env, filtering, steps):
    """Actions and estimates, before each of so many steps."""
    (seen, _), memory = env.reset(seed=0), None
    for _ in range(steps):
        actions, memory = filtering.predict(seen, memory)
        yield actions, memory[0]
        seen, *_ = env.step(actions)


def estimated(env, filtering, steps):
    """Runs a filter; errors (steps, n, 6) and normalised squared errors (steps, n)."""
    found, squares = [], []
    for _, belief in playing(env, filtering, steps):
        found.append(errors(env, belief))
        inverse = np.linalg.inv(belief.covariance)
        squares.append(np.einsum("ni,nij,nj->n", found[-1], inverse, found[-1]))
    return np.array(found), np.array(squares)


def test_errors_of_slews_are_within_their_chi_square_bounds_and_the_bias_becomes_known():
    env = many()
    found, squares = estimated(env, Estimating.for_env("pd", env), 200)
    # The sum over independent lanes has 6 degrees of freedom each; of so many it is normal.
    spread, means = math.sqrt(2 * 6 / LANES), squares.mean(axis=1)
    assert np.abs(means - 6).max() < 4 * spread  # at each instant: slew, dropout and rest
    assert abs(means.mean() - 6) < 2 * spread  # over time, in which they are related
    bias = np.sqrt(np.mean(found[..., 3:] ** 2, axis=(1, 2)))
    assert bias[0] == pytest.approx(1e-2, rel=0.05)
    assert bias[-1] < 1e-3


@pytest.mark.parametrize("latency", [0.0, 0.1, 0.5])
def test_errors_are_consistent_too_while_the_target_turns_and_the_star_tracker_is_late(latency):
    fast = {**SENSOR["star_tracker"], "slew_rate": 1.0, "latency": latency}
    env = many(300, "AttitudeTracking-v1", sensor={**SENSOR, "star_tracker": fast})
    found, squares = estimated(env, Estimating.for_env("pd", env), 200)
    assert np.abs(squares.mean(axis=1) - 6).max() < 4 * math.sqrt(12 / 300)
    assert np.sqrt(np.mean(found[-1, :, 1:3] ** 2)) < 2e-3  # and it is better than one measurement


@pytest.mark.parametrize(("exchanged", "slew_rate"), [(False, 2.0), (True, 2.0), (False, 0.01)])
def test_with_two_heads_errors_are_consistent_with_the_noise_of_the_one_that_served(
    exchanged, slew_rate
):
    heads = {"boresight": [(1, 0, 0), (0, 0, 1)], "sun_exclusion": 1.2, "earth_exclusion": 0.3,
             "slew_rate": slew_rate, "flag": True}  # fmt: skip
    env = many(sensor={**SENSOR, "star_tracker": {**SENSOR["star_tracker"], **heads}},
               orbit={"altitude": 5e5}, initial={"least_rate": 0.1, "rate": 0.2})  # fmt: skip
    filtering = Estimating.for_env("pd", env)
    if exchanged:
        filtering.tracker.noises = filtering.tracker.noises[::-1]
    means = estimated(env, filtering, 30)[1].mean(axis=1)
    assert (np.abs(means - 6).max() < 4 * math.sqrt(12 / LANES)) != exchanged


def after_gaps(gap, gyro):
    """Normalised squared errors while 64 bodies tumble, a measurement every `gap` seconds."""
    tracker = {"across_boresight": 1e-4, "about_boresight": 1e-3, "period": gap}
    env = many(64, dt=1.0, sensor={"gyro": gyro, "star_tracker": tracker},
               initial={"least_rate": 0.05, "rate": 0.1})  # fmt: skip
    return estimated(env, Estimating.for_env("idle", env), 2 * gap + 50)[1].mean(axis=1)


BOUNDS = chi2.ppf([5e-5, 1.0 - 5e-5], 6 * 64) / 64


@pytest.mark.parametrize(("gap", "rate_walk"), [(300, 5e-5), (1000, 1e-5)])
def test_errors_are_consistent_through_long_gaps_in_which_the_body_tumbles(gap, rate_walk):
    means = after_gaps(gap, {"angle_walk": 1e-4, "rate_walk": rate_walk, "bias": 1e-4})
    assert BOUNDS[0] < means.min()
    assert means.max() < BOUNDS[1]


@pytest.mark.parametrize("gap", [300, 1000])
def test_after_a_gap_in_which_the_attitude_is_lost_it_begins_again_from_the_first_fix(gap):
    means = after_gaps(gap, {"angle_walk": 1e-3, "rate_walk": 1e-4, "bias": 1e-2})
    assert means[gap - 1] > 20.0  # a turn of radians is no small one
    for fixed in (gap, 2 * gap):
        assert BOUNDS[0] < means[fixed] < BOUNDS[1]


@pytest.mark.parametrize(
    "wrong", [{"angle_walk": 7e-4}, {"rate_walk": 1e-5}, {"about_boresight": 7e-3}, {"bias": 7e-3}]
)
def test_a_filter_that_takes_its_sensors_for_better_than_they_are_is_found_out(wrong):
    env = many(300)
    sensor = env.episodes.setup.parts.sensor._replace(**wrong)
    law = controllers.make("pd", env)
    filtering = Estimating(law, sensor, rate_limit=env.rate_limit, dt=env.dt)
    means = estimated(env, filtering, 200)[1].mean(axis=1)
    assert np.abs(means - 6).max() > 4 * math.sqrt(12 / 300)


@pytest.mark.parametrize("law", ["pd", "quaternion_feedback"])
def test_a_law_points_better_behind_the_filter_than_behind_the_measurement(law):
    at_rest = []
    for make in (Estimating.for_env, controllers.make):
        env = many(200)
        info = flown(make(law, env), env, 200)
        at_rest.append(np.sqrt(np.mean(info["attitude_error"] ** 2)))
    assert at_rest[0] < 0.5 * at_rest[1]


def test_bang_bang_does_not_chatter_with_the_noise_of_the_estimate():
    env = many(64, "AttitudeSlew-v1", sensor=SENSORS)
    assert flown(Estimating.for_env("bang_bang", env), env, 200)["is_success"].all()


def test_a_trained_policy_and_a_law_with_a_memory_play_behind_the_filter():
    env = many(32)
    for policy in (rbgym.agents.load(SLEW), "hysteretic"):
        info = flown(Estimating.for_env(policy, env), env, 200)
        assert np.median(info["attitude_error"]) < 0.02


@pytest.mark.interpreted
def test_a_policy_gets_the_rate_at_the_end_of_the_period_of_which_gyros_measure_the_mean():
    env = many(8, sensor={"gyro": {"angle_walk": 1e-6}, "star_tracker": {}})
    for k, (_, belief) in enumerate(playing(env, Estimating.for_env("pd", env), 8)):
        mean, end = (np.abs(one - env.state["angular_velocity"]).max() for one in belief[3:5])
        assert k == 0 or (end < 0.2 * mean and mean > 1e-4)
    still = many(64, sensor={"gyro": {"angle_walk": 1e-3}, "star_tracker": {}})
    *_, (_, belief) = playing(still, Estimating.for_env("idle", still), 3)
    assert (belief.end_rate == belief.rate).mean() > 0.9  # noise is no acceleration


@pytest.mark.interpreted
@pytest.mark.parametrize("trained_on", [{"gyro": {}}, {"star_tracker": {}}, {"rate": 1e-4}])
def test_a_policy_that_was_trained_on_gyros_gets_their_mean(trained_on):
    env, network = many(8, sensor={"gyro": {}, "star_tracker": {}}), Network.random((7, 3), 0)
    config = {"env_id": SLEW, "env_kwargs": {"sensor": trained_on}}
    filtering = Estimating.for_env(TrainedPolicy(network, None, config), env)
    *_, (actions, belief) = playing(env, filtering, 3)
    rate = belief.end_rate if "rate" in trained_on else belief.rate
    shown = np.hstack([canonicalized(belief.attitude), rate / env.rate_limit])
    np.testing.assert_allclose(actions, network.predict(shown)[0], rtol=0, atol=1e-6)
    assert np.abs(belief.rate - belief.end_rate).max() > 1e-5


@pytest.mark.interpreted
def test_what_is_held_is_not_taken_twice():
    env, sizes = many(8), []
    for _, belief in playing(env, Estimating.for_env("idle", env), 11):
        sizes.append(np.trace(belief.covariance[:, :3, :3], axis1=1, axis2=2))
    less = np.diff(sizes, axis=0) < 0
    assert ((np.arange(1, 11) % 5 == 0) == less.T).all()  # every 0.5 s


@pytest.mark.interpreted
@pytest.mark.parametrize("flag", [False, True])
def test_exact_attitudes_of_a_body_at_rest_are_new_though_they_do_not_differ(flag):
    sensor = {"gyro": {"bias": 1e-2}, "star_tracker": {"flag": flag}}
    env = many(8, sensor=sensor, faults={"time": (9, 9), "kinds": ["sensor"]} if flag else None)
    filtering = Estimating.for_env("idle", env)
    assert np.abs(estimated(env, filtering, 20)[0][-1]).max() < 1e-6
    assert filtering.tracker.holds == flag  # what a sensor showed before it failed


@pytest.mark.interpreted
def test_each_lane_is_estimated_by_itself_from_its_own_beginning():
    env = many(4)
    filtering, rng = Estimating.for_env("pd", env), np.random.default_rng(1)
    frames = [env.reset(seed=0)[0]]
    frames += [env.step(rng.uniform(-1, 1, (4, 3)))[0] for _ in range(8)]
    both, alone, memory = None, None, None
    for k, seen in enumerate(frames):
        begins = np.array([False, False, k == 4, False])
        actions, both = filtering.predict(seen, both, begins)
        if k == 4:
            memory = None
        action, memory = filtering.predict(seen[2], memory, np.array([False]))
        np.testing.assert_allclose(actions[2], action, rtol=0, atol=1e-6)
        alone = memory[0]
    for whole, one in zip(both[0][:-1], alone[:-1], strict=True):
        np.testing.assert_allclose(whole[2], one[0], rtol=0, atol=1e-12)


@pytest.mark.interpreted
def test_directions_of_cones_are_shown_in_the_estimated_axes():
    """The star tracker holds its attitude in a fast slew, and the env its cones with it."""
    env, rows = many(4, "KeepOutSlew-v0", sensor=SENSORS), []

    class Turning:
        def predict(self, observation, state=None, **more):
            rows.append(observation)
            return np.full((4, 3), (0.2, 1.0, -0.4)), state

    filtering, memory, (seen, _) = Estimating.for_env(Turning(), env), None, env.reset(seed=1)
    for _ in range(16):
        actions, memory = filtering.predict(seen, memory)
        seen, *_ = env.step(actions)
    column = env.columns["keep_out"].first
    first, last = (rotate(one[:, :4], one[:, column : column + 3]) for one in (rows[0], rows[-1]))
    np.testing.assert_allclose(first, last, rtol=0, atol=5e-3)
    held = rotate(rows[-1][:, :4], seen[:, column : column + 3])
    assert np.linalg.norm(held - first, axis=1).min() > 0.1


@pytest.mark.interpreted
def test_the_jacobian_is_that_of_the_rotation_vector():
    a = np.array([[0.3, -0.2, 0.9], [1e-3, 2e-3, -1e-3], [0.0, 0.0, 0.0], [2.0, 1.0, 0.1]])
    h = 1e-6
    for e, column in zip(np.eye(3), np.moveaxis(right_jacobian(a), 2, 0), strict=True):
        ends = [multiply(conjugate(from_rotation_vector(a)), from_rotation_vector(a + s * h * e))
                for s in (1, -1)]  # fmt: skip
        np.testing.assert_allclose((ends[0] - ends[1])[:, 1:] / h, column, rtol=0, atol=1e-9)


@pytest.mark.interpreted
@refused(
    (SLEW, {"sensor": None}, "sensor must be that of gyros and a star tracker"),
    (SLEW, {"sensor": {"rate": 1e-3}}, "sensor must be that of gyros"),
    (SLEW, {"observation": "mrp"}, "env must show the attitude as a quaternion"),
    ("AttitudeReach-v0", {}, "not in a dict of goals"),
    ("AttitudeTracking-v1", {"preview": 0.5}, "only its rates"),
    (SLEW, {"sensor": {"star_tracker": {"boresight": [(1, 0, 0), (0, 1, 0)]}}}, "'flag': True"),
)
def test_what_the_filter_cannot_do_is_refused(env_id, kwargs):
    Estimating.for_env("idle", many(2, env_id, **kwargs))


@pytest.mark.interpreted
def test_wrong_observations_and_policies_are_refused():
    late = Instruments(latency=0.5, period=0.5)
    filtering = Estimating(controllers.Idle(), late, rate_limit=2.0, dt=0.1)
    assert (filtering.dt, filtering.tracker.late) == (0.1, 5)
    assert StarTracker(Instruments(latency=0.1, period=0.1).suited(0.1, 2.0)).holds  # the first
    shown = np.full((3, 7), 0.5)
    for observation in (shown[0, :6], shown[None], np.full(7, np.nan), np.ones(7)):
        with pytest.raises(ValueError, match="observation must"):
            filtering.predict(observation)
    _, memory = filtering.predict(shown)
    with pytest.raises(ValueError, match="state must be of 2 lanes, got 3"):
        filtering.predict(shown[:2], memory)
    for wrong in (3, (), (None, None)):
        with pytest.raises(ValueError, match="state must be what the last call returned"):
            filtering.predict(shown, wrong)
    with pytest.raises(ValueError, match="policy must have predict"):
        Estimating(None, Instruments(), rate_limit=2.0, dt=0.1)
    with pytest.raises(ValueError, match="env must be an environment of rbgym"):
        Estimating.for_env("pd", None)


@pytest.mark.interpreted
def test_observations_of_few_digits_are_normalised_and_a_bad_one_is_named_by_its_row():
    filtering = Estimating(controllers.Idle(), Instruments(), rate_limit=2.0, dt=1.0)
    shown = np.tile((0.7071, -0.7071, 0.0, 0.0, 0.1, 0.2, 0.3), (1000, 1))
    _, (belief, _) = filtering.predict(shown)
    np.testing.assert_allclose(np.linalg.norm(belief.attitude, axis=1), 1.0, rtol=1e-15)
    _, (flipped, _) = filtering.predict(shown * (-1, -1, -1, -1, 1, 1, 1), (belief, None))
    np.testing.assert_allclose(flipped.rate, shown[:, 4:] * 2.0, rtol=1e-6)
    shown[77, 5] = np.nan
    with pytest.raises(ValueError, match=r"observation must .* nan, 0.3\] in row 77"):
        filtering.predict(shown)
