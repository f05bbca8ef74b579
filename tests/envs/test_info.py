"""`info` is a plain dictionary: floats, bools and arrays of NumPy."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from family import IDS, make, many

pytestmark = pytest.mark.interpreted

COMMON = {"attitude_error", "rate_error", "applied_torque", "integration_failed", "is_success"}


def stepped(count, env_id="RigidTop-v0", **kwargs):
    """The info of a step: of one env, or of `count` as a vector."""
    made = many(env_id, count, **kwargs) if count else make(env_id, **kwargs)
    made.reset(seed=3)
    made.action_space.seed(3)
    return made.step(made.action_space.sample())[4]


@pytest.mark.parametrize("env_id", IDS)
def test_a_single_env_tells_numbers_and_vectors(env_id):
    info = stepped(None, env_id)
    assert type(info) is dict
    assert info.keys() >= COMMON
    told = {name.partition("_")[0] for name in info} & {"cost", "keep", "fault"}
    assert told == ({"cost", "keep"} if env_id == "KeepOutSlew-v0" else set())  # which has a cone
    for name, value in info.items():
        assert type(value) in {float, bool, np.ndarray}, name
        assert np.shape(value) == () or value.flags.c_contiguous


@pytest.mark.parametrize("count", [3, 9])
@pytest.mark.parametrize("randomization", [None, {"torque": 0.2}])
def test_a_vector_env_tells_of_each_lane_what_it_would_tell_alone(count, randomization):
    kwargs = {"randomization": randomization, "reward": {"closeness": 1.0, "effort": 0.1}}
    vec = many("AttitudeSlew-v1", count, **kwargs)
    lanes = [make("AttitudeSlew-v1", **kwargs) for _ in range(count)]
    infos = [vec.reset(seed=3)[1]]
    alone = [[env.reset(seed=3 + i)[1] for i, env in enumerate(lanes)]]
    action = np.full((count, 3), 0.7)
    infos.append(vec.step(action)[4])
    alone.append([env.step(action[0])[4] for env in lanes])
    for told, each in zip(infos, alone, strict=True):
        assert type(told) is dict
        assert {name for name in told if name[0] != "_"} == each[0].keys()
        for name in each[0]:
            np.testing.assert_array_equal(told[name], [one[name] for one in each])
            assert told[f"_{name}"].all()
    assert (infos[1]["reward_effort"] != 0).all()


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
    env = many("AttitudeSlew-v1", 3, autoreset_mode=AutoresetMode.SAME_STEP, max_episode_steps=2)
    twin = many("AttitudeSlew-v1", 3)
    for one in (env, twin):
        one.reset(seed=3)
    for _ in range(2):
        info, expected = (one.step(np.ones((3, 3)))[4] for one in (env, twin))
    for name, value in expected.items():
        np.testing.assert_array_equal(info["final_info"][name], value)
    assert (info["applied_torque"] == 0).all()
    assert info["_final_info"].all()
