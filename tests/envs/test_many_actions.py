"""Actions of many lanes, which threads take over as they are: of every kind they act the same."""

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
