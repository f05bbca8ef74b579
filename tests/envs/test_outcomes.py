"""What is given to a step and what it returns belong to the caller: neither is shared."""

import copy

import gymnasium as gym
import numpy as np
import pytest

from checks import arrays_in
from family import many
from refusals import refused_and_unchanged

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


@pytest.mark.parametrize("case", CASES)
def test_what_was_returned_is_never_written_to_and_may_be(case):
    (env, begun), (other, begun_too) = started(**CASES[case]), started(**CASES[case])
    rng, kept, again = np.random.default_rng(5), [begun], [begun_too]
    for k in range(6):
        action = actions_of(rng)
        kept.append(env.step(action))
        again.append(copy.deepcopy(other.step(action)))
        for array in arrays_in(kept[-2]):  # whose user may do with them what he likes
            assert array.flags.writeable
        if k == 3:
            mask = {"reset_mask": np.arange(LANES) % 3 == 0}
            kept.append(env.reset(seed=4, options=mask))
            again.append(copy.deepcopy(other.reset(seed=4, options=mask)))
    np.testing.assert_equal([*arrays_in(kept)], [*arrays_in(again)])
    for array in arrays_in(kept):
        array[...] = 1
    action = actions_of(rng)
    one, two = ([*arrays_in(each.step(action))] for each in (env, other))
    np.testing.assert_equal(one, two)


def read_only(actions):
    actions = actions.copy()
    actions.flags.writeable = False
    return actions


KINDS = {
    "by columns": np.asfortranarray,
    "read only": read_only,
    "doubles": lambda actions: actions.astype(float),
    "swapped": lambda actions: actions.astype(">f4"),
    "a part": lambda actions: np.repeat(actions, 2, axis=0)[::2],
    "lists": np.ndarray.tolist,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
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


PUSHES = {"constant": (1e-3, 0.0, 0.0), "torque": lambda state: np.full((LANES, 3), 2e-3)}


@pytest.mark.parametrize("disturbance", [None, PUSHES])
@pytest.mark.parametrize("kind", [np.asarray, KINDS["doubles"]])
@pytest.mark.parametrize("lane", [0, 7, LANES - 1])
def test_an_action_that_is_not_finite_leaves_all_as_it_was(lane, kind, disturbance):
    (env, _), rng = started(disturbance=disturbance), np.random.default_rng(5)
    env.step(actions_of(rng))
    bad = actions_of(rng)
    bad[lane, 1] = np.nan
    with refused_and_unchanged(env, rf"action must be finite, got \[.*nan.*\] in lane {lane}"):
        env.step(kind(bad))
    env.step(actions_of(rng))


def test_finite_actions_whose_sum_is_infinite_are_taken():
    (env, _), (other, _) = started(), started()
    largest = np.full((LANES, 3), np.finfo(float).max)
    np.testing.assert_equal(env.step(largest), other.step(np.ones((LANES, 3))))
