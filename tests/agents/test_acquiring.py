"""An attitude from nothing, and the supervisor that flies by it."""

import gymnasium as gym
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from rbgym.agents import controllers
from rbgym.agents.controllers.acquiring import Acquiring, corrected, triad
from rbgym.agents.controllers.sun import off_sun
from rbgym.agents.controllers.supervising import DETUMBLE, FIND_SUN, POINT
from rbgym.agents.export.source import _parts
from rbgym.agents.policies import Attitude
from rbgym.quaternion import conjugate, from_rotation_vector, multiply, normalized, rotate_inverse
from rbgym.quaternion import rotate as turned

LANES = 500
GYRO = {"angle_walk": 1e-4, "rate_walk": 1e-6, "bias": 1e-3}
SENSOR = {
    "gyro": GYRO,
    "coarse_sun": {"noise": 0.01},
    "magnetometer": {"noise": 1e-7},
    "ephemeris": {},
}
_NONE = {"noise": 0, "bias": 0}
EXACT = {"gyro": {"angle_walk": 0, "rate_walk": 0, "bias": 0}, "coarse_sun": _NONE,
         "magnetometer": _NONE, "ephemeris": {}}  # fmt: skip
PYRAMIDS = [(x, y, z) for x in (-0.6, 0.6) for y in (-0.48, 0.48) for z in (-0.64, 0.64)]
TRACKER = {"across_boresight": 1e-4, "about_boresight": 1e-3, "period": 2.0, "latency": 2.0,
           "sun_exclusion": 0.1, "earth_exclusion": 0.01}  # fmt: skip


def tracked(lsb=1e-6, **tracker):
    """Arguments for a star tracker beside the rest; what is compiled for them is the same."""
    gyro = {**GYRO, "quantisation": lsb}
    return {"sensor": {**SENSOR, "gyro": gyro, "star_tracker": {**TRACKER, **tracker}}}


# What differs from 500 tip-offs with up to 5 degrees/s.
CONDITIONS = {
    "tumbling": {},
    "eclipse": {},
    "at rest": {"initial": {"least_rate": 0.0, "rate": 0.0}},
    "a poor magnetometer": {"sensor": {**SENSOR, "magnetometer": {"noise": 2e-6}}},
    "eight cells askew": {"sensor": {**SENSOR, "coarse_sun": {"noise": 0.01, "normals": PYRAMIDS}}},
    "a fine Sun sensor": {"sensor": {**SENSOR, "sun_sensor": {"noise": 1e-3}}},
    "sensors that are not alike": {"randomization": {"noise": 0.2}},
    "a late star tracker": tracked(),
    "a star tracker that is later than ten readings": tracked(period=12.0, latency=11.0),
    "a star tracker that the Sun blinds": tracked(sun_exclusion=1.2),
    "gyros that count": tracked(lsb=2e-3),
}


def many(n=LANES, **kwargs):
    kwargs = {"sensor": SENSOR, "max_episode_steps": -1, "orbit": {"model": "igrf"}} | kwargs
    unbiased = {name: {"bias": 0.0} for name in ("coarse_sun", "magnetometer")}  # not the task's
    kwargs["sensor"] = {n: one and unbiased.get(n, {}) | one for n, one in kwargs["sensor"].items()}
    return gym.make_vec("DetumbleToPoint-v0", num_envs=n, **kwargs).unwrapped


def squares(env, fix):
    """Normalised squared errors of turn and bias, (n,), and the turns (n, 3) [rad]. What gyros have
    not shown yet is uniform within half a count."""
    uncounted = env.episodes.setup.parts.sensor.quantisation**2 / 12
    off = multiply(conjugate(fix.attitude), env.episodes.state()["quaternion"])
    turn = 2 * np.where(off[:, :1] < 0, -1, 1) * off[:, 1:]
    bias = env.episodes.batch.rows(env.episodes.rows.sensor_row(), 3)
    x = np.concatenate([turn, bias - fix.bias], axis=1)
    P = fix.covariance + uncounted * np.diag([1, 1, 1, 0, 0, 0])
    return np.einsum("ni,nij,nj->n", x, np.linalg.pinv(P), x), turn


def drifting(env, steps):
    """What the filter holds to be true after each step of a free motion."""
    seen, _ = env.reset(seed=3)
    filtering, fix = Acquiring.for_env(env), None
    for step in range(steps):
        if step:
            seen, *_ = env.step(np.zeros(env.action_space.shape, np.float32))
        fix = filtering.estimate(seen.astype(float), fix, None)
        yield fix


@pytest.mark.parametrize("condition", CONDITIONS)
def test_errors_are_as_large_as_the_filter_says(condition):
    env, dark = many(**CONDITIONS[condition]), condition == "eclipse"
    was_lit, steps = np.zeros(LANES, dtype=bool), 900 if dark else 240
    for step, fix in enumerate(drifting(env, steps)):
        lit = np.any(fix.sun != 0, axis=1)
        was_lit |= lit
        if step - steps in (-220, -180, -120, -60, -1):
            looked_at = fix.known & ~lit & was_lit if dark else fix.known
            square, turn = (one[looked_at] for one in squares(env, fix))
            assert len(square) > (50 if dark else 250)
            assert abs(square.mean() - 6) < 4 * np.sqrt(12 / len(square))
            assert np.sqrt(np.mean(turn**2)) < np.radians(1.0)
    if dark:
        assert not fix.known[~was_lit].any()  # of the field alone there is no attitude


@pytest.mark.interpreted
def test_a_star_tracker_gives_the_first_attitude_unless_it_is_blind_and_one_that_is_lost():
    env = many(64, **tracked(latency=0.0))
    filtering = Acquiring.for_env(env)
    seen = env.reset(seed=2)[0].astype(float)
    seen[:, filtering.sun] = 0.0  # nothing else tells an attitude
    fix = filtering.estimate(seen, None, None)
    assert np.array_equal(fix.known, seen[:, env.columns["star_tracker_valid"].first] == 1)
    assert 10 < fix.known.sum() < 60  # the Earth hides the stars from the rest
    assert np.linalg.norm(squares(env, fix)[1], axis=1)[fix.known].max() < 5e-3
    anew = filtering._fixed(fix._replace(known=~fix.known, doubt=fix.doubt + 9), seen, fix.known)
    assert not anew.doubt[fix.known].any()
    lost = fix._replace(attitude=multiply(fix.attitude, from_rotation_vector([0.3, 0.0, 0.0])))
    again = filtering.estimate(seen, lost, np.zeros(64, dtype=bool))
    assert np.linalg.norm(squares(env, again)[1], axis=1)[fix.known].max() < 5e-3


@pytest.mark.interpreted
def test_each_lane_has_its_own_late_star_tracker_and_its_own_beginning():
    env = many(8, **tracked(period=4.0, latency=3.0))
    filtering, both, alone = Acquiring.for_env(env), None, None
    seen = [env.reset(seed=3)[0].astype(float)]
    seen += [env.step(np.zeros(env.action_space.shape))[0].astype(float) for _ in range(12)]
    seen[6:] = seen[:7]  # as if all of it began anew
    for k, rows in enumerate(seen):
        begins = np.array([k == 6, False] * 4)
        both = filtering.estimate(rows, both, begins)
        alone = filtering.estimate(rows[:1], None if k == 6 else alone, None)
        for whole, one in zip(both[:-1], alone[:-1], strict=True):
            np.testing.assert_allclose(whole[0], one[0], rtol=0, atol=1e-12)
    assert both.known.any()


def test_triad_finds_the_rotation_that_both_directions_have_gone_through():
    rng = np.random.default_rng(0)
    q, (r, s) = normalized(rng.normal(size=(200, 4))), rng.normal(size=(2, 200, 3))
    found = triad(rotate_inverse(q, r), 3.0 * rotate_inverse(q, s), r, s)
    for one, two, a, b in zip(found, q, r, s, strict=True):
        known = Rotation.from_quat(two, scalar_first=True).inv()
        fitted, _ = Rotation.align_vectors([a, b], known.apply([a, b]))
        assert (fitted * Rotation.from_quat(one, scalar_first=True).inv()).magnitude() < 1e-7


def test_a_correction_is_the_least_squares_estimate_of_prior_and_reading():
    rng = np.random.default_rng(1)
    q, r = normalized(rng.normal(size=(1, 4))), rng.normal(size=(1, 3))
    root, off = 1e-4 * rng.normal(size=(6, 6)), 1e-4 * rng.normal(size=(1, 3))
    P, variance = (root @ root.T)[None], 1e-8
    v = rotate_inverse(multiply(q, from_rotation_vector(off)), r)
    after, bias, left, stray = corrected(q, np.zeros((1, 3)), P, v, r, variance, np.array([True]))
    # d/dx of what is read where the attitude is turned by x, by differences.
    step = 1e-6 * np.eye(3)
    ahead, back = (rotate_inverse(multiply(q, from_rotation_vector(s * step)), np.tile(r, (3, 1)))
                   for s in (1, -1))  # fmt: skip
    H = np.hstack([(ahead - back).T / 2e-6, np.zeros((3, 3))])
    information = np.linalg.inv(P[0]) + H.T @ H / variance
    x = np.linalg.solve(information, H.T @ (v - rotate_inverse(q, r))[0] / variance)
    np.testing.assert_allclose(left[0], np.linalg.inv(information), rtol=1e-5, atol=1e-13)
    np.testing.assert_allclose(bias[0], x[3:], rtol=1e-3, atol=1e-9)
    turn = 2 * multiply(conjugate(q), after)[0, 1:]
    np.testing.assert_allclose(turn, x[:3], rtol=1e-3, atol=1e-9)
    assert not stray[0]


def test_readings_that_do_not_fit_correct_nothing_and_after_ten_it_begins_anew():
    env = many(4, initial={"rate": 0.0, "least_rate": 0.0})
    *_, fix = drifting(env, 60)
    lane, row = int(np.argmax(fix.known)), env.reset(seed=3)[0].astype(float)
    filtering = Acquiring.for_env(env)
    row[:, env.columns["magnetic_field"].place] *= -1.0  # the magnetometer is mounted upside down
    held = fix.attitude[lane]
    for n in range(9):
        fix = filtering.estimate(row, fix, None)
        assert fix.known[lane]
        assert fix.doubt[lane] == n + 1
        assert abs(fix.attitude[lane] @ held) > 1 - 1e-3
    assert not filtering.estimate(row, fix, None).known[lane]


@pytest.mark.interpreted
def test_a_network_reads_how_the_body_is_turned_from_its_target_once_that_is_known():
    env = many(16, sensor=EXACT)
    memory, held = Attitude(Acquiring.for_env(env)), None
    (seen, _), still = env.reset(seed=1), np.zeros(env.action_space.shape, np.float32)
    for step in range(9):
        seen = env.step(still)[0] if step else seen
        read, held = memory.append(seen, held, None)
        target = seen[:, env.columns["target_quaternion"].place]
        aimed = multiply(conjugate(target), env.episodes.state()["quaternion"])
        known, shown = held[:, -2] > 0, read[:, seen.shape[1] :]
        assert np.abs(np.sum(shown[:, :4] * aimed, axis=1))[known].min() > 1 - 1e-6
        assert not shown[~known, :4].any()
    assert 0 < known.sum() < 16
    field, fix = env.columns["magnetic_field"].place, memory.filter.estimate(seen, None, None)
    seen[:, field] = fix.sun + 0.1  # at most 10 degrees from the Sun
    assert not memory.filter.estimate(seen, None, None).known.any()
    with pytest.raises(ValueError, match="filter must have the place of the target_quaternion"):
        Attitude(Acquiring.for_env(many(1, **tracked())))


def test_turned_to_the_sun_the_axis_of_the_panels_points_there():
    sun = np.random.default_rng(2).normal(size=(100, 3))
    sun /= np.linalg.norm(sun, axis=1, keepdims=True)
    # The attitude wanted, seen from the body, is the inverse of that relative to it.
    np.testing.assert_allclose(turned(conjugate(off_sun(sun)), [0, 0, 1]), sun, rtol=0, atol=1e-9)
    assert off_sun(np.array([[0, 0, -1.0]]))[0].tolist() == [0, 1, 0, 0]
    assert off_sun(np.zeros((1, 3)))[0].tolist() == [1, 0, 0, 0]


def test_a_supervisor_detumbles_finds_the_sun_and_points_one_after_the_other():
    env = gym.make_vec("DetumbleToPoint-v0", num_envs=32, difficulty="medium").unwrapped
    supervisor = controllers.make("supervisor", env, calm=np.radians(1.0))
    seen, _ = env.reset(seed=1)
    memory, modes, over = None, [], np.zeros(32, dtype=bool)
    while not over.any():
        actions, memory = supervisor.predict(seen, memory)
        modes.append(memory.mode)
        seen, _, terminated, over, info = env.step(actions)
        assert not terminated.any()
    modes = np.array(modes)
    assert set(np.unique(modes)) == {DETUMBLE, FIND_SUN, POINT}
    begin = [np.argmax(modes == mode, axis=0) for mode in (DETUMBLE, FIND_SUN, POINT)]
    assert (np.diff(begin, axis=0) >= 0).all()
    assert info["is_success"].mean() > 0.95
    # Constant errors of cells and magnetometer are in what the filter says of itself.
    turn, P = squares(env, memory.fix)[1], memory.fix.covariance[:, :3, :3]
    assert 1.0 < np.mean(np.einsum("ni,nij,nj->n", turn, np.linalg.inv(P), turn)) < 6.0


@pytest.mark.interpreted
def test_a_supervisor_detumbles_what_is_fast_again_and_turns_to_the_sun_what_is_lost():
    env = many(1)
    law, seen = controllers.make("supervisor", env), env.reset(seed=1)[0].astype(float)
    seen[:, law.filter.sun] = 0.0  # so that no attitude is known
    assert law.calm == pytest.approx(0.03 / env.body.moments.max() / 8.0)  # three wheels of 0.03
    for speed, mode in ((2.9, FIND_SUN), (3.1, DETUMBLE)):
        seen[0, :3] = speed * law.calm / env.rate_limit, 0.0, 0.0
        watch = law.predict(seen)[1]._replace(mode=np.array([POINT]))
        assert law.predict(seen, watch, np.zeros(1, bool))[1].mode == mode


def test_what_shows_too_little_for_an_attitude_is_refused():
    watching = controllers.make("supervisor", many(1, **tracked()))
    with pytest.raises(ValueError, match="supervisor without a star tracker to be written as C"):
        _parts(watching, 0)
    env = many(1, sensor={"magnetometer": None, "ephemeris": None})
    with pytest.raises(ValueError, match=r"env must show gyros.*'field_reference'.* are missing"):
        controllers.make("supervisor", env)
    late = {"delay": {"seconds": 0.5}, "wheels": {}, "magnetorquers": {}}
    with pytest.raises(ValueError, match="at most a third of a control period"):
        controllers.make("supervisor", gym.make("DetumbleToPoint-v0", actuator=late))
    with pytest.raises(ValueError, match=r"env must have wheels with coils"):
        controllers.make("supervisor", gym.make("AttitudeSlew-v1"))
