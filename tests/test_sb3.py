"""The SB3 adapter against SB3's own DummyVecEnv, and on a native env full of traps."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from gymnasium.vector import AutoresetMode
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv

from checks import same
from goal_line import GoalLine, LazyInfo
from rbgym.agents.train.sb3.adapter import VectorEnvAdapter, make_sb3_env
from rbgym.registration import ENVIRONMENTS

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_stable_baselines_checker_has_nothing_to_say(env_id):
    env, many = gym.make(env_id).unwrapped, gym.make_vec(env_id, 2)
    check_env(env)  # a warning would be an error
    # By this method libraries know goal tasks.
    has_goals = isinstance(env.observation_space, gym.spaces.Dict)
    assert hasattr(env, "compute_reward") == hasattr(many, "compute_reward") == has_goals


@pytest.mark.parametrize("env_id", ["RigidTop-v0", "AttitudeReach-v0"])
def test_the_adapter_and_dummy_vec_env_tell_the_same_story(env_id):
    ours = VectorEnvAdapter(make_sb3_env(env_id, 3, max_episode_steps=7).unwrapped.vector_env)
    assert gym.make_vec(gym.envs.registration.EnvSpec.from_json(ours.spec.to_json())).num_envs == 3
    theirs = DummyVecEnv([lambda: gym.make(env_id, max_episode_steps=7)] * 3)
    ours.action_space.seed(5)
    ours.seed(11), theirs.seed(11)
    assert same(ours.reset(), theirs.reset())
    ended = 0
    for _ in range(20):
        actions = np.stack([ours.action_space.sample() for _ in range(3)])
        a, b = ours.step(actions), theirs.step(actions)
        for mine, reference in zip(a[:3], b[:3], strict=True):
            assert same(mine, reference)
        for mine, reference in zip(a[3], b[3], strict=True):
            assert bool(mine) == ("terminal_observation" in reference)
            if mine:
                ended += 1
                assert mine["TimeLimit.truncated"] == reference["TimeLimit.truncated"]
                assert same(*(i["terminal_observation"] for i in (mine, reference)))
    assert ended >= 6


def test_a_native_env_gives_the_last_observation_of_the_episode_and_the_first_of_the_next():
    env = VectorEnvAdapter(GoalLine(3))
    first = env.reset()
    kept = []
    for _ in range(3):
        obs, rewards, dones, infos = env.step(np.full((3, 1), 0.5))
        kept.append((infos, obs["observation"].copy(), obs["observation"]))
    assert rewards.dtype == np.float32
    assert dones.tolist() == [True, False, False]
    np.testing.assert_array_equal(obs["observation"][:, 0], [0.0, 1.6, 1.7])
    assert infos[0]["terminal_observation"]["observation"] == 1.5
    assert infos[0]["x"] == 1.5
    assert infos[0]["TimeLimit.truncated"] is True
    assert infos[1:] == [{}, {}]
    _, _, dones, infos = env.step(np.full((3, 1), 0.5))
    assert dones.tolist() == [False, True, True]
    assert [info.get("TimeLimit.truncated") for info in infos] == [None, False, False]
    assert kept[2][0][0]["terminal_observation"]["observation"] == 1.5  # and stays
    assert all(np.array_equal(copy, handed_out) for _, copy, handed_out in kept)
    np.testing.assert_array_equal(first["observation"][:, 0], [0.0, 0.1, 0.2])


def test_infos_of_unfinished_lanes_are_not_computed_and_not_shared():
    env = VectorEnvAdapter(GoalLine(3))
    env.reset()
    LazyInfo.reads.clear()
    infos = env.step(np.zeros((3, 1)))[3]
    assert not LazyInfo.reads
    assert len({id(info) for info in infos}) == 3
    env.step(np.zeros((3, 1)))
    env.step(np.zeros((3, 1)))
    assert LazyInfo.reads == {"final_obs": 1, "final_info": 1}


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
def test_an_env_that_does_not_reset_within_the_step_is_refused_with_the_way_out(mode):
    with pytest.raises(ValueError, match=rf"{mode}.*autoreset_mode=AutoresetMode\.SAME_STEP"):
        VectorEnvAdapter(GoalLine(2, mode))


def test_hindsight_rewards_of_a_native_env_come_from_one_call(monkeypatch):
    spec = gym.envs.registration.EnvSpec("GoalLine-v0", vector_entry_point=GoalLine)
    monkeypatch.setitem(gym.registry, spec.id, spec)
    env = make_sb3_env(spec.id, 3)
    achieved, desired = np.zeros((5, 1)), np.ones((5, 1))
    (rewards,) = env.env_method("compute_reward", achieved, desired, [{}] * 5, indices=[0])
    np.testing.assert_array_equal(rewards, -np.ones(5))
    assert env.unwrapped.vector_env.reward_calls == 1


def test_seeds_and_options_are_used_by_one_reset():
    env = VectorEnvAdapter(GoalLine(3))
    assert env.seed(7) == [7, 8, 9]
    with pytest.raises(ValueError, match="seed must be an integer"):
        env.seed(-1)
    env.set_options({"low": 2})
    env.reset()
    assert env.vector_env.last_reset == (7, {"low": 2})
    env.reset()
    assert env.vector_env.last_reset == (None, None)
    env._seeds = [3, None, 4]
    env.reset()
    assert env.vector_env.last_reset == ([3, None, 4], None)
    env.set_options([{"low": 1}, {}, {}])
    with pytest.raises(ValueError, match="options"):
        env.reset()
    env.set_options([{"low": np.arange(2)} for _ in range(3)])  # equal arrays
    env.reset()


def test_two_trainings_have_no_start_in_common():
    first, second = (make_sb3_env("AttitudeSlew-v1", 8, seed=s) for s in (0, 1))
    starts = {tuple(row) for row in first.reset()}
    assert starts.isdisjoint(tuple(row) for row in second.reset())
    PPO("MlpPolicy", first, n_steps=16, batch_size=16, device="cpu", seed=0)  # seeds the env again
    assert starts == {tuple(row) for row in first.reset()}


def test_a_lane_has_its_own_state_and_what_would_change_all_is_refused():
    env = make_sb3_env("RigidTop-v0", 4, seed=0)
    env.reset()
    every = env.unwrapped.vector_env.invariants()["energy"]
    for lane in (1, 3):
        assert env.env_method("invariants", indices=[lane])[0]["energy"] == every[lane]
        assert env.get_attr("state", indices=lane)[0]["quaternion"].shape == (4,)
    assert [one["energy"] for one in env.env_method("invariants")] == every.tolist()
    state = env.env_method("get_state")[0]
    for name in ("get_state", "set_state", "reset"):
        with pytest.raises(ValueError, match=rf"indices=\[1\]: '{name}' is called for all"):
            env.env_method(name, state, indices=[1])


def test_costs_are_told_in_every_step():
    env = make_sb3_env("AttitudeSlew-v1", 2, seed=0, constraints={"command": 0.5})
    env.reset()
    infos = env.step(np.array([[1.0, 1.0, 1.0], [0.1, 0.1, 0.1]], np.float32))[3]
    assert infos == [{"cost": 1.0, "cost_command": 1.0}, {"cost": 0.0, "cost_command": 0.0}]


def test_render_tiles_the_frames_of_all_lanes():
    env = VectorEnvAdapter(GoalLine(3, render_mode="rgb_array"))
    assert [image.shape for image in env.get_images()] == [(4, 6, 3)] * 3
    assert env.render().shape == (8, 12, 3)
    env = make_sb3_env("RigidTop-v0", 2, seed=0, render_mode="rgb_array")
    env.reset()
    assert env.render().shape == (640, 320, 3)
    assert (env.render_mode, env.unwrapped.metadata["render_fps"]) == ("rgb_array", 50)
    with pytest.warns(UserWarning, match="rgb_array"):
        assert VectorEnvAdapter(GoalLine(2)).get_images() == [None, None]
