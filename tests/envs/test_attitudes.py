"""Attitudes: how they are drawn, shown, compared, and how targets move."""

import math

import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from family import SLEW, at, make, many
from rbgym.envs.parts import starts
from rbgym.quaternion import canonicalized, conjugate, multiply, to_matrix

pytestmark = pytest.mark.interpreted


@pytest.mark.compiled
def test_random_attitudes_are_haar_uniform():
    n = 20_000
    env = many(SLEW, n=n)
    env.reset(seed=5)
    target = env._episodes.state()["target_quaternion"]
    for q in (env.state["quaternion"], target):
        R = to_matrix(q)
        # Means of the entries and of their products under Haar's measure.
        assert np.abs(R.mean(axis=0)).max() < 4 / math.sqrt(3 * n)
        products = np.einsum("nij,nkl->ijkl", R, R) / n
        expected = np.einsum("ik,jl->ijkl", np.eye(3), np.eye(3)) / 3
        assert np.abs(products - expected).max() < 5 / math.sqrt(5 * n)
        # The rotation angle has the density (1 - cos)/pi.
        angle = 2 * np.arccos(np.clip(np.abs(q[:, 0]), 0, 1))
        levels = np.linspace(0.3, math.pi, 10)
        share = np.mean(angle[:, None] < levels, axis=0)
        np.testing.assert_allclose(share, (levels - np.sin(levels)) / math.pi, rtol=0, atol=0.015)
    relative = multiply(conjugate(target), env.state["quaternion"])
    assert abs(np.corrcoef(target[:, 0], relative[:, 0])[0, 1]) < 0.03


@pytest.mark.compiled
def test_an_angle_of_the_start_in_a_range_has_haars_density_there():
    env = many(SLEW, n=8192, initial={"least_angle": 0.5, "angle": 1.5})
    _, info = env.reset(seed=2)
    angle = info["attitude_error"]
    assert 0.5 <= angle.min() < 0.52
    assert 1.48 < angle.max() <= 1.5
    measure = lambda x: x - np.sin(x)  # noqa: E731
    share = (measure(1.0) - measure(0.5)) / (measure(1.5) - measure(0.5))
    assert np.mean(angle < 1.0) == pytest.approx(share, abs=4 * 0.5 / math.sqrt(8192))


@pytest.mark.parametrize(("least", "most"), [(0.0, math.pi), (0.0, 1e-3), (1.5, 3.0), (2.0, 2.0)])
@pytest.mark.parametrize("u", [0.0, 1e-12, 0.3, 0.999, 1 - 2**-53])
def test_an_angle_divides_haars_measure_to_the_last_digits(least, most, u):
    with mpmath.workdps(40):
        low, high = mpmath.mpf(least), mpmath.mpf(most)
        measure = lambda x: x - mpmath.sin(x)  # noqa: E731
        wanted = measure(low) + u * (measure(high) - measure(low))
        angle = mpmath.mpf(starts.haar_angle(least, most, u))
        assert least <= angle <= most
        assert abs(measure(angle) - wanted) <= 1e-15 * angle


FORMS = {
    "quaternion": canonicalized,
    "rotation_matrix": lambda q: to_matrix(q).reshape(-1),
    "rotation_6d": lambda q: to_matrix(q)[:, :2].T.reshape(-1),
    "mrp": lambda q: canonicalized(q)[1:] / (1 + canonicalized(q)[0]),
    "log_error": lambda q: Rotation.from_quat(np.roll(q, -1)).as_rotvec(),
}
ATTITUDES = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 0.6, 0.0, 0.8],
    [-0.1, 0.2, 0.3, math.sqrt(0.86)],
    [math.cos(1e-9), math.sin(1e-9), 0.0, 0.0],
    [1e-12, 0.0, -1.0, 0.0],
]
NADIR = {"reference": "nadir", "orbit": {"altitude": 5e5}}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_the_observation_is_its_definition_and_that_of_minus_q(form):
    env = make(SLEW, observation=form)
    target = np.array([0.5, 0.5, -0.5, 0.5])
    for relative in ATTITUDES:
        q = multiply(target, np.array(relative) / np.linalg.norm(relative))
        seen = [at(env, s * q, target_quaternion=target)[0][:-3] for s in (1, -1)]
        expected = FORMS[form](multiply(conjugate(target), q))
        if abs(relative[0]) > 1e-10:
            np.testing.assert_array_equal(*seen)
            np.testing.assert_allclose(seen[0], expected, rtol=0, atol=2e-7)
        else:  # of a half turn, either of two
            length = np.linalg.norm(seen[0])
            assert length == pytest.approx(np.linalg.norm(expected), abs=1e-6)
        assert env.observation_space.contains(at(env, q, target_quaternion=target)[0])


def test_the_continuous_quaternion_never_jumps():
    env = make("Detumble-v1", observation="quaternion_continuous")
    last, _ = env.reset(seed=0)
    jumps = []
    for _ in range(300):
        seen, *_ = env.step(np.zeros(4))
        jumps.append(np.abs(seen[:4] - last[:4]).max())
        last = seen
    assert max(jumps) < 0.1  # at 0.1 rad/s a component changes by 0.025 at most in 0.5 s
    assert last[0] == pytest.approx(env.state["quaternion"][0], abs=1e-6)


@pytest.mark.parametrize("reward", ["dense", {"attitude": 1.0, "rate": 0.5, "progress": 2.0}])
def test_the_turned_world_gives_the_same_rewards(reward):
    turn = np.array([0.5, 0.1, -0.7, 0.5]) / np.linalg.norm([0.5, 0.1, -0.7, 0.5])
    q, target = np.array([0.6, 0.0, 0.8, 0.0]), np.array([0.8, 0.6, 0.0, 0.0])
    rewards = []
    for w in (np.array([1.0, 0, 0, 0]), turn):
        env = make(SLEW, reward=reward)
        at(env, multiply(w, q), [0.1, -0.2, 0.3], target_quaternion=multiply(w, target))
        rewards.append([env.step(np.array([0.3, -0.8, 0.5]))[1] for _ in range(20)])
    np.testing.assert_allclose(*rewards, rtol=1e-11)


def test_the_targets_rate_is_the_derivative_of_its_attitude():
    env = make("AttitudeTracking-v1", dt=1e-3, substeps=1)
    env.reset(seed=3)
    states = []
    for _ in range(3):
        env.step(np.zeros(3))
        states.append({k: v[0] for k, v in env._episodes.state().items()})
    change = multiply(conjugate(states[0]["target_quaternion"]), states[2]["target_quaternion"])
    rate = 2 * change[1:] * np.sign(change[0]) / 2e-3
    np.testing.assert_allclose(rate, states[1]["target_angular_velocity"], rtol=0, atol=1e-7)


@pytest.mark.parametrize(("env_id", "how"), [("AttitudeTracking-v1", {}), (SLEW, NADIR)])
def test_a_preview_shows_where_the_target_will_be(env_id, how):
    env, plain = (make(env_id, **how, **k) for k in ({"preview": 5.0}, {}))
    seen, _ = env.reset(seed=6)
    plain.reset(seed=6)
    assert seen.shape == (14,)
    q = env.state["quaternion"]
    for _ in range(10):
        plain.step(np.zeros(3))
    then = plain._episodes.state()["target_quaternion"][0]
    assert seen[10:] == pytest.approx(canonicalized(multiply(conjugate(then), q)), abs=1e-6)
