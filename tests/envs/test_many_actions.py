"""Actions of many lanes, which threads take over as they are: of every kind they act the same."""

import copy
import os
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest

import rbgym

LANES = 1100


def fortran(actions):
    return np.asfortranarray(actions)


def read_only(actions):
    actions = actions.copy()
    actions.flags.writeable = False
    return actions


def doubles(actions):
    return actions.astype(float)


def swapped(actions):
    return actions.astype(">f4")


def started():
    env = gym.make_vec("RigidTop-v0", num_envs=LANES)
    env.reset(seed=3)
    return env


@pytest.fixture
def threads(request):
    rbgym.set_num_threads(request.param)
    yield
    rbgym.set_num_threads(1)


def actions_of(rng):
    return rng.uniform(-1.2, 1.2, (LANES, 3)).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
@pytest.mark.parametrize("kind", [fortran, read_only, doubles, swapped, np.ndarray.tolist])
def test_actions_of_every_kind_do_the_same(kind, threads):
    plain, other, rng = started(), started(), np.random.default_rng(5)
    for _ in range(4):
        given = actions_of(rng)
        for one, two in zip(plain.step(given)[:4], other.step(kind(given))[:4], strict=True):
            np.testing.assert_array_equal(one, two)
        given = actions_of(rng)  # of one kind after the other
        np.testing.assert_array_equal(plain.step(given)[0], other.step(given)[0])
    one, two = plain.unwrapped.get_state(), other.unwrapped.get_state()
    np.testing.assert_array_equal(one["rows"], two["rows"])


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
@pytest.mark.parametrize("kind", [np.asarray, doubles])
@pytest.mark.parametrize("lane", [0, 7, LANES - 1])
def test_one_that_is_not_finite_leaves_all_as_it_was(lane, kind, threads):
    env, rng = started(), np.random.default_rng(5)
    env.step(actions_of(rng))
    before, bad = env.unwrapped.get_state()["rows"], actions_of(rng)
    bad[lane, 1] = np.nan
    with pytest.raises(ValueError, match=rf"action must be finite, got \[.*nan.*\] in lane {lane}"):
        env.step(kind(bad))
    np.testing.assert_array_equal(env.unwrapped.get_state()["rows"], before)
    env.step(actions_of(rng))


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
def test_an_action_is_no_longer_looked_at_after_its_step(threads):
    env, other, rng = started(), started(), np.random.default_rng(5)
    given = actions_of(rng)
    for one in (env, other):
        one.step(given)
    given[:] = np.nan
    following = actions_of(rng)
    np.testing.assert_array_equal(env.step(following)[0], other.step(following.astype(float))[0])


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
def test_a_copy_goes_on_as_the_env_does(threads):
    env, rng = started(), np.random.default_rng(5)
    env.step(actions_of(rng))
    copies = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    for given in (actions_of(rng), actions_of(rng)):
        seen = env.step(given)[0]
        for one in copies:
            np.testing.assert_array_equal(one.step(given)[0], seen)


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
def test_a_reward_that_is_a_function_is_given_the_actions_of_its_step(threads):
    env = gym.make_vec("RigidTop-v0", num_envs=LANES, reward=weight)
    env.reset(seed=3)
    rng = np.random.default_rng(5)
    for _ in range(3):
        given = actions_of(rng)
        _, rewards, *_ = env.step(given)
        expected = weight({}, np.clip(given, -1, 1))
        begun = env.unwrapped.episodes.at_start()
        np.testing.assert_array_equal(rewards, np.where(begun, 0.0, expected))


def weight(state, action):
    return action.astype(float) @ np.array([1.0, 10.0, 100.0])


@pytest.mark.parametrize("threads", [2], indirect=True)
def test_other_threads_in_between_change_nothing(threads):
    few, rng = 600, np.random.default_rng(5)  # stepped range by range by two threads alone
    env, other = (gym.make_vec("RigidTop-v0", num_envs=few) for _ in range(2))
    for one in (env, other):
        one.reset(seed=3)
    for _ in range(3):
        given = actions_of(rng)[:few]
        episodes = env.unwrapped._hold(given)
        rbgym.set_num_threads(1)
        seen = episodes.step().observations
        episodes.ready = True
        rbgym.set_num_threads(2)
        np.testing.assert_array_equal(seen, other.step(given)[0])


INTERPRETED = """
import gymnasium as gym, numpy as np
import rbgym
actions = np.random.default_rng(5).uniform(-1, 1, (1032, 3)).astype(np.float32)
seen = []
for kind in (np.float32, np.float64):
    env = gym.make_vec("RigidTop-v0", num_envs=1032, integrator="akw", substeps=1)
    env.reset(seed=3)
    seen.append(env.step(actions.astype(kind))[0])
assert np.isfinite(seen).all() and (seen[0] == seen[1]).all()
"""


def test_where_nothing_is_compiled_they_do_the_same():
    command = [sys.executable, "-W", "ignore", "-c", INTERPRETED]
    subprocess.run(command, check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
