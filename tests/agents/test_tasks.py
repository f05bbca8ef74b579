"""Every task with the controllers, and with Stable-Baselines3."""

import json
from pathlib import Path

import pytest
from stable_baselines3 import PPO, SAC

from rbgym.agents import controllers
from rbgym.agents.evaluation import evaluate, task_of
from rbgym.agents.sb3 import make_sb3_env
from rbgym.registration import ENVIRONMENTS

SOLVED_BY = {"TopSwingUp-v0": "swing_up", "SteadyPrecession-v0": "lqr"}
DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_classical_controller_solves_what_doing_nothing_does_not(env_id):
    solved = evaluate(SOLVED_BY.get(env_id, "pd"), env_id, episodes=64)
    idle = evaluate("idle", env_id, episodes=64)
    assert solved.success_rate == 1.0, solved.by_category
    assert idle.success_rate <= 0.05
    assert solved.mean_return > idle.mean_return
    assert list(solved.by_category) == list(task_of(env_id).categories)
    told = json.loads((DOCS / "solved.json").read_text("utf-8"))[env_id]
    assert told[SOLVED_BY.get(env_id, "pd")]["success"] == 1.0


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
@pytest.mark.parametrize("algo", [PPO, SAC])
def test_ppo_and_sac_take_a_step(env_id, algo):
    env = make_sb3_env(env_id, 4, seed=0)
    policy = "MultiInputPolicy" if env_id == "AttitudeReach-v0" else "MlpPolicy"
    extra = {"n_steps": 8, "batch_size": 16} if algo is PPO else {"learning_starts": 8}
    model = algo(policy, env, policy_kwargs={"net_arch": [8]}, device="cpu", **extra)
    model.learn(32)
    assert model.num_timesteps >= 32
    env.close()


# Of |error of attitude| + |error of rate| over the first eight starts of each test set.
TEST_SETS = {
    "RigidTop-v0": 23.6877192548,
    "TopSwingUp-v0": 26.4035157626,
    "SteadyPrecession-v0": 21.1453152977,
    "AttitudeSlew-v0": 16.6870206763,
    "AttitudeTracking-v0": 3.3950417227,
    "Detumble-v0": 6.9182156292,
    "IntermediateAxis-v0": 2.408009923,
    "AttitudeReach-v0": 5.6063359885,
}


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_test_set_is_what_it_was(env_id):
    """Who changes a start changes the task: results no longer compare, and it needs a new id."""
    first = evaluate("idle", env_id, episodes=8, max_episode_steps=1)
    total = first.attitude_error[0].sum() + first.rate_error[0].sum()
    assert total == pytest.approx(TEST_SETS[env_id], abs=1e-9)


def test_a_law_for_another_goal_is_refused():
    import gymnasium as gym

    for name in ("swing_up", "lqr"):
        with pytest.raises(ValueError, match="env must be"):
            controllers.make(name, gym.make("AttitudeSlew-v0"))
