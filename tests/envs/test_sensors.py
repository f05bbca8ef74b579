"""Gyros and a star tracker: their statistics against closed forms, and when they deliver."""

import math

import numpy as np
import pytest

from family import SLEW, at
from family import quick_make as make
from family import quick_many as many
from rbgym.envs.parts.sensors import Instruments
from rbgym.envs.parts.uncertainty import Noisy
from rbgym.quaternion import conjugate, from_rotation_vector, multiply
from refusals import refused

pytestmark = pytest.mark.interpreted

GYRO = {"angle_walk": 1e-3, "rate_walk": 2e-3, "bias": 5e-3}
TRACKER = {"across_boresight": 1e-3, "about_boresight": 1e-2, "boresight": (1, 1, 0),
           "period": 0.5, "slew_rate": 0.2}  # fmt: skip
STILL = [1.0, 0, 0, 0]


def seen_of(env, steps, action=None):
    """Observations of so many steps, (steps, n, 7), the rates in rad/s."""
    action = np.zeros((env.num_envs, 3)) if action is None else action
    seen = np.array([env.step(action)[0] for _ in range(steps)], dtype=float)
    seen[..., 4:] *= env.rate_limit
    return seen


@pytest.mark.compiled
@pytest.mark.parametrize("dt", [0.05, 0.1, 0.4])
def test_angle_and_bias_walk_with_their_densities_whatever_dt_is(dt):
    n, seconds = 3000, 8.0
    env = many(SLEW, n, sensor={"gyro": GYRO}, dt=dt)
    at(env, STILL)
    rates = seen_of(env, round(seconds / dt))[..., 4:]
    angle = dt * rates.sum(axis=0)
    # Of the bias the rows know; of what it adds to the angle the sum of rates.
    bias = env.episodes.batch.rows(env.episodes.rows.sensor_row(), 3)
    v, u, b = (GYRO[name] ** 2 for name in ("angle_walk", "rate_walk", "bias"))
    of_angle = v * seconds + u * seconds**3 / 3 + b * seconds**2
    of_bias = b + u * seconds
    of_both = b * seconds + u * seconds**2 / 2
    # Four standard deviations of a variance of 9,000 numbers.
    near = 4 * math.sqrt(2 / (3 * n))
    assert np.mean(angle**2) == pytest.approx(of_angle, rel=near)
    assert np.mean(bias**2) == pytest.approx(of_bias, rel=near)
    assert np.mean(angle * bias) == pytest.approx(of_both, rel=near * 1.5)


def test_the_gyros_give_the_turn_of_the_control_period_however_the_body_tumbles():
    env = many(SLEW, 4, sensor={"gyro": {}})
    at(env, STILL, [[1.0, 0.5, 0.8], [0.0, 1.2, 0.01], [0, 0, 0], [-0.4, 0.1, -1.5]])
    before = env.state["quaternion"]
    for action in np.random.default_rng(0).uniform(-1, 1, (10, 4, 3)):
        rates = seen_of(env, 1, action)[0, :, 4:]
        after = env.state["quaternion"]
        turned = multiply(before, from_rotation_vector(env.dt * rates))
        assert np.abs(np.abs(np.sum(turned * after, axis=1)) - 1).max() < 1e-13
        before = after
    env = many(SLEW, 1000, sensor={"gyro": {"rate_walk": 0.01}})  # a walk's mean goes half as far
    at(env, STILL)
    rates, bias = seen_of(env, 1)[0, :, 4:], env.parameters["rate_bias"]
    assert np.sum(rates * bias) / np.sum(bias**2) == pytest.approx(0.5, abs=0.025)


def test_the_star_tracker_is_worse_about_its_boresight_in_body_axes():
    n = 1000
    tracker = {**TRACKER, "period": 0.0}
    env = many(SLEW, n, sensor={"star_tracker": tracker})
    env.reset(seed=3)
    errors = []
    for _ in range(3):
        seen = seen_of(env, 1)[0, :, :4]
        state = env.episodes.state()
        truth = multiply(conjugate(state["target_quaternion"]), state["quaternion"])
        error = multiply(conjugate(truth), seen)
        errors.append(2 * np.sign(error[:, :1]) * error[:, 1:])
    across, about = tracker["across_boresight"], tracker["about_boresight"]
    b = np.array([1, 1, 0]) / math.sqrt(2)
    wanted = across**2 * np.eye(3) + (about**2 - across**2) * np.outer(b, b)
    found = np.concatenate(errors)
    near = 4 * math.sqrt(2 / len(found))
    assert found.T @ found / len(found) == pytest.approx(wanted, abs=near * wanted.max())
    aside = found @ np.cross(b, [0, 0, 1])
    assert np.mean(aside**2) == pytest.approx(across**2, rel=near)
    # From sample to sample there is no relation.
    assert abs(np.corrcoef(errors[0][:, 0], errors[1][:, 0])[0, 1]) < 4 / math.sqrt(n)


@pytest.mark.parametrize(("period", "steps"), [(0.5, 5), (0.3, 3)])  # s, of 0.1 s each
def test_between_two_measurements_the_last_attitude_is_held(period, steps):
    env = many(SLEW, 16, sensor={"star_tracker": {**TRACKER, "period": period}})
    first, _ = at(env, STILL, [0.1, 0, 0])
    seen = np.concatenate([first[None, :, :4], seen_of(env, 14)[..., :4]])
    moved = np.abs(np.diff(seen, axis=0)).max(axis=2) > 1e-6
    assert ((np.arange(1, 15) % steps == 0) == moved.T).all()


def test_a_held_attitude_is_one_in_the_world_while_the_target_turns():
    slow = {"star_tracker": {"period": 100.0}}
    env = many("AttitudeTracking-v1", 8, sensor=slow)
    env.reset(seed=1)
    begun = env.state["quaternion"]
    for _ in range(20):
        seen, _, over, _, _ = env.step(np.full((8, 3), 0.05))
        assert not over.any()
    target = env.episodes.state()["target_quaternion"]
    held = multiply(conjugate(target), begun)
    assert np.abs(np.abs(np.sum(held * seen[:, :4], axis=1)) - 1).max() < 1e-6


def test_a_star_tracker_delivers_nothing_above_its_slew_rate_but_where_an_episode_begins():
    env = many(SLEW, 2, sensor={"star_tracker": {**TRACKER, "period": 0.0}})
    first, _ = at(env, STILL, [[0.19, 0, 0], [0.21, 0, 0]])
    seen = np.concatenate([first[None, :, :4], seen_of(env, 6)[..., :4]])
    moved = np.abs(np.diff(seen, axis=0)).max(axis=2) > 1e-6
    assert moved[:, 0].all()
    assert not moved[:, 1].any()
    assert np.abs(first[:, 1:4]).max() < 0.1


def test_a_star_tracker_says_what_is_new_and_nothing_of_what_it_cannot_see():
    tracker = {"star_tracker": {**TRACKER, "latency": 0.2, "flag": True}}
    dies = {"time": (0.95, 0.95), "kinds": ["sensor"]}
    env = many(SLEW, 2, sensor=tracker, faults=dies)
    shown = [at(env, STILL, [[0.01, 0, 0], [0.21, 0, 0]])[0]]
    shown = np.array(shown + [env.step(np.zeros((2, 3)))[0] for _ in range(14)])
    attitude, valid = (shown[..., env.columns[name].place] for name in
                       ("star_tracker", "star_tracker_valid"))  # fmt: skip
    # Each 0.5 s and 0.2 s late, until it dies; one body turns faster than it can follow.
    assert np.flatnonzero(valid[:, 0, 0]).tolist() == [0, 7]
    assert not valid[:, 1].any()
    np.testing.assert_allclose(np.linalg.norm(attitude, axis=2), valid[..., 0], rtol=0, atol=1e-6)
    angle = 2 * np.arctan2(attitude[7, 0, 1], attitude[7, 0, 0])
    assert angle == pytest.approx(0.01 * 0.5, abs=4 * TRACKER["about_boresight"])
    alone = many(SLEW, 2, sensor={"star_tracker": {}}, observation="hidden")
    assert [*alone.columns] == ["star_tracker", "star_tracker_valid"]


@pytest.mark.compiled
def test_gyros_that_count_lose_no_angle():
    q, rates = 1e-3, np.array([[0.00123, 0, 0], [0, -0.0377, 0], [0, 0, 0.5]])
    env = many(SLEW, 3, sensor={"gyro": {"quantisation": q}})
    start, _ = at(env, STILL, rates)
    counts = seen_of(env, 30)[..., 4:] * env.dt / q
    np.testing.assert_allclose(counts, np.round(counts), rtol=0, atol=1e-3)
    angles = np.cumsum(counts, axis=0) * q
    assert np.abs(angles[-1] - 3.0 * rates).max() <= 0.5 * q + 1e-5
    assert len(np.unique(np.round(counts[:, 0, 0]))) == 2  # 0 or 1, an eighth of the time
    np.testing.assert_array_equal(at(env, STILL, rates)[0], start)  # without the last remainder
    tiny = many(SLEW, 3, sensor={"gyro": {"quantisation": 1e-22}})  # more counts than integers
    at(tiny, STILL, rates)
    np.testing.assert_allclose(seen_of(tiny, 3)[-1, :, 4:], rates, rtol=0, atol=1e-7)


@refused(
    ({"gyro": {"angle_walk": -1e-3}}, r"sensor\['gyro'\]\['angle_walk'\] must be in \[0, 1\]"),
    ({"gyro": {"quantisation": 0.3}}, r"\['quantisation'\] must be in \[0, 0.2\], got 0.3"),
    ({"star_tracker": 1e-3}, r"sensor\['star_tracker'\] must be a dict with keys"),
    ({"star_tracker": {"boresight": (0, 0, 0)}}, "must be a vector other than 0"),
    ({"star_tracker": {"boresight": [(1, 0, 0), 3]}}, r"\['boresight'\] must"),
    ({"star_tracker": {"boresight": [(1, 0, 0)] * 5}}, "must be of at most 4 heads"),
    ({"star_tracker": {"flag": 1}}, r"sensor\['star_tracker'\]\['flag'\] must be"),
    ({"star_tracker": {"earth_exclusion": 2.0}}, r"\['earth_exclusion'\] must be in"),
    ({"star_tracker": {"period": math.inf}}, r"\['period'\] must be in"),
    ({"gyro": {}, "attitude": 1e-3}, "sensor must have keys from"),
    ({"gyros": {}}, "did you mean 'gyro'"),
    (Instruments(boresight=(0.0, 0.0, 2.0)), r"\['boresight'\] must have unit length"),
    (Noisy(rate=math.nan), r"sensor\['rate'\] must be in \[0, 1\], got nan"),
    (Noisy(rate_bias=-1.0), r"sensor\['rate_bias'\] must be in \[0, 1\], got -1.0"),
)
def test_wrong_numbers_of_instruments_are_refused(sensor):
    make(SLEW, sensor=sensor)
