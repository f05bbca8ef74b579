"""What an env runner of RLlib steps, and what is made of the policy."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("ray")

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

from rbgym.agents.judge.cases import TEST_SEEDS
from rbgym.agents.policies import trained
from rbgym.agents.train.rllib import settings
from rbgym.agents.train.rllib.lanes import check_env, lane_seeds
from rbgym.envs.tasks.top import RigidTopVectorEnv

LANES, HORIZON = 3, 6


@pytest.fixture(scope="module")
def runner(nodes):
    hyperparameters = settings.hyperparameters("RigidTop-v0") | {"num_envs_per_env_runner": LANES}
    run = {
        "env_id": "RigidTop-v0",
        "env_kwargs": {"max_episode_steps": HORIZON},
        "seed": 3,
        "hyperparameters": hyperparameters,
    }
    config = settings.algorithm_config(run, 1, 0)
    made = SingleAgentEnvRunner(config=config, worker_index=1)
    yield made
    made.stop()


def test_an_env_runner_steps_the_native_lanes(runner):
    env = runner.env.unwrapped
    assert type(env) is RigidTopVectorEnv
    assert env.num_envs == LANES
    assert env.metadata["autoreset_mode"] is gym.vector.AutoresetMode.NEXT_STEP


def test_the_episodes_of_an_env_runner_are_those_of_the_single_environment(runner):
    """Observations, actions and rewards side by side: a step off would show in every one."""
    episodes = runner.sample(num_timesteps=LANES * HORIZON * 2, force_reset=True)
    seeds = lane_seeds(runner._seed, LANES)
    first, second = episodes[:LANES], episodes[LANES : 2 * LANES]
    assert all(e.is_truncated or e.is_terminated for e in first)
    env = gym.make("RigidTop-v0", max_episode_steps=HORIZON)
    matched = 0
    for seed in seeds:
        start, _ = env.reset(seed=seed)
        for _ in range(2):
            (episode,) = (
                e for e in [*first, *second] if np.array_equal(e.get_observations(0), start)
            )
            assert_same_episode(env, episode)
            matched += 1
            start, _ = env.reset()
    assert matched == 2 * LANES
    env.close()


def assert_same_episode(env, episode) -> None:
    observations, actions = episode.get_observations(), episode.get_actions()
    assert len(observations) == len(actions) + 1
    for k, action in enumerate(actions):
        seen, reward, terminated, truncated, _ = env.step(np.clip(action, -1, 1))
        np.testing.assert_array_equal(seen, observations[k + 1])
        assert reward == episode.get_rewards(k)
        assert (terminated or truncated) == (k == len(actions) - 1)
    assert terminated == episode.is_terminated


def test_neighbouring_env_runners_share_no_seed_with_each_other_or_the_test_set():
    drawn = [seed for runner in range(20) for seed in lane_seeds(7 + runner, 64)]
    assert len(set(drawn)) == 20 * 64
    assert min(drawn) > max(TEST_SEEDS)
    assert lane_seeds(7, 64) == drawn[:64]


def test_a_restarted_env_runner_does_not_repeat_the_episodes_of_the_lost_one(monkeypatch):
    monkeypatch.setattr("rbgym.agents.train.rllib.lanes._restarted", lambda: True)
    assert not set(lane_seeds(7, 64)) & set(lane_seeds(7, 64))


def test_the_policy_in_numpy_acts_as_the_module_that_was_trained(runner, tmp_path):
    with torch.no_grad():  # else every action is well within the limits
        runner.module.pi.net.mlp[-1].weight *= 10
    env = runner.env
    spaces = env.single_observation_space, env.single_action_space
    trained.write(tmp_path, settings.network_of(runner.module, "tanh"), spaces, {"algo": "ppo"})
    observations = np.random.default_rng(0).normal(size=(64, 7)).astype(np.float32)
    with torch.no_grad():
        out = runner.module.forward_inference({Columns.OBS: torch.from_numpy(observations)})
    mean = out[Columns.ACTION_DIST_INPUTS][:, :3].numpy()
    actions, _ = trained.read(tmp_path).predict(observations)
    assert (np.abs(mean) > 1).any()
    np.testing.assert_allclose(actions, np.clip(mean, -1, 1), atol=5e-6)
    assert actions.dtype == np.float32


def test_an_unknown_hyperparameter_is_refused_with_a_near_name():
    with pytest.raises(ValueError, match=r"got 'lamda'; did you mean 'lambda_'\?"):
        settings.hyperparameters("RigidTop-v0", None, {"lr": 1e-3, "lamda": 0.9})


def test_an_env_that_observes_goals_is_refused():
    with pytest.raises(ValueError, match="whose observations are arrays, got 'AttitudeReach-v0'"):
        check_env("AttitudeReach-v0", {})
    with pytest.raises(ValueError, match=r"one of rbgym's environments, got 'CartPole-v1'"):
        check_env("CartPole-v1", {})


def test_a_gymnasium_that_ray_does_not_take_is_named(monkeypatch):
    installed = settings.version
    other = {"gymnasium": "1.4.0"}
    monkeypatch.setattr(settings, "version", lambda name: other.get(name) or installed(name))
    with pytest.raises(ValueError, match=r"needs gymnasium==1\.2\.2, and 1\.4\.0 is installed"):
        settings.check_versions()
