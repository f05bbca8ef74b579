"""What is given to a step and what it returns belong to the caller: neither is shared."""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest

from family import many

pytestmark = pytest.mark.interpreted

LANES = 21
ALWAYS = {"termination": lambda state: state["time"] > 0.1}
CASES = {
    "plain": {},
    "hooks": ALWAYS | {"observation": lambda state: state["quaternion"]},
    "goals": {"env_id": "AttitudeReach-v0"},
    "the same step": ALWAYS | {"autoreset_mode": gym.vector.AutoresetMode.SAME_STEP},
    "disabled": {"autoreset_mode": gym.vector.AutoresetMode.DISABLED},
}


def started(env_id="RigidTop-v0", **kwargs):
    env = many(env_id, LANES, **kwargs)
    return env, env.reset(seed=3)


def actions_of(rng):
    return rng.uniform(-1.2, 1.2, (LANES, 3)).astype(np.float32)


def arrays_of(value):
    """All arrays of numbers within."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value]
    if not isinstance(value, np.ndarray | dict | tuple | list):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [array for part in parts for array in arrays_of(part)]


@pytest.mark.parametrize("case", CASES)
def test_what_was_returned_is_never_written_to_and_may_be(case):
    (env, begun), (other, begun_too) = started(**CASES[case]), started(**CASES[case])
    rng, kept, again = np.random.default_rng(5), [begun], [begun_too]
    for k in range(6):
        action = actions_of(rng)
        kept.append(env.step(action))
        again.append(copy.deepcopy(other.step(action)))
        for array in arrays_of(kept[-2]):  # whose user may do with them what he likes
            assert array.flags.writeable
        if k == 3:
            mask = {"reset_mask": np.arange(LANES) % 3 == 0}
            kept.append(env.reset(seed=4, options=mask))
            again.append(copy.deepcopy(other.reset(seed=4, options=mask)))
    np.testing.assert_equal(arrays_of(kept), arrays_of(again))
    for array in arrays_of(kept):
        array[...] = 1
    action = actions_of(rng)
    one, two = arrays_of(env.step(action)), arrays_of(other.step(action))
    np.testing.assert_equal(one, two)


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


def a_part(actions):
    return np.repeat(actions, 2, axis=0)[::2]


@pytest.mark.parametrize("kind", [fortran, read_only, doubles, swapped, a_part, np.ndarray.tolist])
def test_actions_of_every_kind_do_the_same_and_may_be_changed_afterwards(kind):
    (plain, _), (other, _), rng = started(), started(), np.random.default_rng(5)
    for _ in range(3):
        for change in (kind, np.array):  # of one kind after the other
            action = actions_of(rng)
            given = change(action)
            one, two = plain.step(action), other.step(given)
            np.testing.assert_equal(one, two)
            if isinstance(given, list) or given.flags.writeable:
                given[0] = [np.nan] * 3
    one, two = plain.get_state(), other.get_state()
    np.testing.assert_array_equal(one["rows"], two["rows"])


@pytest.mark.parametrize("kind", [np.asarray, doubles])
@pytest.mark.parametrize("lane", [0, 7, LANES - 1])
def test_an_action_that_is_not_finite_leaves_all_as_it_was(lane, kind):
    (env, _), rng = started(), np.random.default_rng(5)
    env.step(actions_of(rng))
    before, bad = env.get_state(), actions_of(rng)
    bad[lane, 1] = np.nan
    with pytest.raises(ValueError, match=rf"action must be finite, got \[.*nan.*\] in lane {lane}"):
        env.step(kind(bad))
    np.testing.assert_equal(env.get_state(), before)
    env.step(actions_of(rng))


def test_finite_actions_whose_sum_is_infinite_are_taken():
    (env, _), (other, _) = started(), started()
    largest = np.full((LANES, 3), np.finfo(float).max)
    np.testing.assert_equal(env.step(largest), other.step(np.ones((LANES, 3))))


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_as_the_env_does(clone):
    (env, _), rng = started(), np.random.default_rng(5)
    env.step(actions_of(rng))
    other = clone(env)
    for _ in range(3):
        action = actions_of(rng)
        np.testing.assert_equal(env.step(action), other.step(action))


def weight(state, action):
    return action.astype(float) @ np.array([1.0, 10.0, 100.0])


def test_a_reward_that_is_a_function_is_given_the_actions_of_its_step():
    (env, _), rng = started(reward=weight), np.random.default_rng(5)
    for _ in range(3):
        given = actions_of(rng)
        _, rewards, *_ = env.step(given)
        begun = env.episodes.at_start()
        expected = weight({}, np.clip(given, -1, 1))
        np.testing.assert_array_equal(rewards, np.where(begun, 0.0, expected))
