"""`info` is a plain dictionary: floats, bools and arrays of NumPy."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from family import IDS, make, many

pytestmark = pytest.mark.interpreted

COMMON = {"attitude_error", "rate_error", "applied_torque", "integration_failed", "is_success"}
MORE = {"randomization": {"torque": 0.2}, "reward": {"closeness": 1.0, "effort": 0.1}}


def stepped(env, seed):
    env.reset(seed=seed)
    return env.step(np.full(env.action_space.shape, 0.7))[4]


@pytest.mark.parametrize(
    ("env_id", "kwargs"), [*((env_id, {}) for env_id in IDS), ("AttitudeSlew-v1", MORE)]
)
def test_an_env_tells_numbers_and_vectors_and_a_lane_what_it_would_tell_alone(env_id, kwargs):
    # The ninth lane begins the second block.
    info, lanes = stepped(make(env_id, **kwargs), 11), stepped(many(env_id, 9, **kwargs), 3)
    assert type(info) is type(lanes) is dict
    assert info.keys() >= COMMON
    assert info.keys() == {name for name in lanes if name[0] != "_"}
    told = {name.partition("_")[0] for name in info} & {"cost", "keep", "fault"}
    assert told == ({"cost", "keep"} if env_id == "KeepOutSlew-v0" else set())  # which has a cone
    for name, value in info.items():
        assert type(value) in {float, bool, np.ndarray}, name
        assert np.shape(value) == () or value.flags.c_contiguous
        np.testing.assert_array_equal(lanes[name][8], value)
        assert lanes[f"_{name}"].all()


def test_the_next_step_leaves_it_alone():
    env = make("AttitudeSlew-v1")
    env.reset(seed=3)
    action = np.ones(env.action_space.shape)
    info = env.step(action)[4]
    kept, again = copy.deepcopy(info), pickle.loads(pickle.dumps(info))
    env.step(-action)
    env.reset()
    np.testing.assert_equal(info, kept)
    np.testing.assert_equal(info, again)


def test_the_last_info_of_an_episode_is_that_before_the_reset():
    kwargs = {"randomization": {"inertia": 0.2}, "info": ["all", "parameters"]}
    how = {"autoreset_mode": AutoresetMode.SAME_STEP, "max_episode_steps": 2}
    env, twin = many("AttitudeSlew-v1", 3, **how, **kwargs), many("AttitudeSlew-v1", 3, **kwargs)
    for one in (env, twin):
        one.reset(seed=3)
    for _ in range(2):
        info, expected = (one.step(np.ones((3, 3)))[4] for one in (env, twin))
    np.testing.assert_equal(info["final_info"], expected)
    assert (info["applied_torque"] == 0).all()
    assert info["_final_info"].all()
    env.step(np.ones((3, 3)))
    begun = env.reset(options={"reset_mask": np.array([False, True, False])})[1]
    last = env.step(np.ones((3, 3)))[4]["final_info"]
    for told, others in (begun, [0, 2]), (last, [1]):  # zeros, as Gymnasium's vector envs have
        found = told | told.pop("parameters")
        assert not any(value[others].any() for value in found.values())
