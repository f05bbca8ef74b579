"""Steps of an environment as operations of PyTorch."""

import copy

import gymnasium as gym
import numpy as np
import pytest
import torch

from rbgym.agents.controllers import Acquiring
from rbgym.agents.policies.memory import Attitude, Integral, Trend
from rbgym.agents.train import DifferentiableEnv

STEPS = 100
# The torque depends on the attitude; the scheme has a memory.
PUSHED = {"orbit": {"altitude": 4e5}, "disturbance": {"residual_dipole": (9e3, 5e3, 0.0)},
          "integrator": "dir_em", "dt": 0.05}  # fmt: skip
EXACT = {"noise": 0.0, "bias": 0.0}
LOST = {"sensor": {"gyro": {"bias": 0.0, "angle_walk": 0.0, "rate_walk": 0.0},
                   "coarse_sun": EXACT, "magnetometer": EXACT},
        "torque_scale": 0.05, "dt": 0.1}  # fmt: skip


def policy_of(env):
    torch.manual_seed(0)
    width = env.env.single_observation_space.shape[0] + (env.memory.width if env.memory else 0)
    channels = env.env.single_action_space.shape[0]
    layers = torch.nn.Linear(width, 8), torch.nn.Tanh(), torch.nn.Linear(8, channels)
    return torch.nn.Sequential(*layers).double()


def earned(env, policy):
    """The mean reward of an episode, each step of which depends on all before it."""
    observation, total = env.reset(seed=0).double(), 0.0
    for _ in range(STEPS):
        stepped = env.step(policy(observation))
        observation, total = stepped.observation, total + stepped.reward.mean()
    return total / STEPS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "kwargs", "memory"),
    [("RigidTop-v0", {}, Integral(1, edge=0.05, share=0.2)), ("RigidTop-v0", {}, Trend(2, 5, 0.3)),
     ("IntermediateAxis-v0", PUSHED, None), ("DetumbleToPoint-v0", LOST, Attitude)],
)  # fmt: skip
def test_the_gradient_through_a_hundred_steps_is_that_of_differences(env_id, kwargs, memory):
    lanes = gym.make_vec(env_id, num_envs=4, **kwargs)
    memory = Attitude(Acquiring.for_env(lanes)) if memory is Attitude else memory
    env = DifferentiableEnv(lanes, memory)
    policy = policy_of(env)
    earned(env, policy).backward()
    assert not env.ended.any()  # the differences would jump
    for parameter in (policy[0].weight, policy[2].bias):
        direction = torch.sign(parameter.grad)
        along, step = float((parameter.grad * direction).sum()), 1e-4
        ends = []
        for e in (step, -step, 2 * step, -2 * step):
            with torch.no_grad():
                parameter += e * direction
                ends.append(float(earned(env, policy)))
                parameter -= e * direction
        near, far = (ends[0] - ends[1]) / (2 * step), (ends[2] - ends[3]) / (4 * step)
        assert along == pytest.approx((4 * near - far) / 3, rel=1e-6)
    earned(env, policy).backward()  # a reset lets go of the steps before


def test_an_ended_episode_passes_no_gradient_on():
    env = DifferentiableEnv(gym.make_vec("RigidTop-v0", num_envs=2, max_episode_steps=2))
    observation = env.reset(seed=0)
    actions = [torch.zeros(2, 3, requires_grad=True) for _ in range(4)]
    stepped = [env.step(action) for action in actions]
    assert [bool(step.ended.all()) for step in stepped] == [False, True, False, False]
    stepped[3].reward.sum().backward()  # the third step began the next episode
    assert all(one.grad is None or not one.grad.any() for one in actions[:2])
    assert actions[3].grad.any()
    assert observation.dtype == torch.float32


def test_a_step_that_cannot_be_solved_ends_its_episode_and_passes_no_gradient_on():
    env = DifferentiableEnv(gym.make_vec("RigidTop-v0", num_envs=2))
    env.env.reset(seed=0)
    state = env.env.unwrapped.get_state()
    state["rows"][1, 5:8] = 1e30  # momentum, by which the body turns too far in a step
    env.env.unwrapped.set_state(state)
    for ended in ([False, True], [False, False]):  # the second begins the next one
        actions = torch.zeros(2, 3, requires_grad=True)
        stepped = env.step(actions)
        assert stepped.ended.tolist() == ended
        stepped.reward.sum().backward()
        assert actions.grad[0].any()
        assert torch.isfinite(actions.grad).all()
        assert not (any(ended) and actions.grad[1].any())
        env.detach()


@pytest.mark.parametrize("mode", ["NEXT_STEP", "DISABLED"])
def test_an_episode_that_the_user_begins_has_the_gradient_of_any_other(mode):
    """The first step after a reset by hand: of lanes at the start, under way and at the end."""
    found = []
    for before in (0, 1, 2):
        how = {"autoreset_mode": gym.vector.AutoresetMode[mode], "max_episode_steps": 2}
        lanes = gym.make_vec("RigidTop-v0", 2, **how)
        env, actions = DifferentiableEnv(lanes), torch.zeros(2, 3, requires_grad=True)
        env.reset(seed=0)
        for _ in range(before):
            env.step(actions)
        given = torch.full((2, 3), 0.2, requires_grad=True)
        lanes.reset(seed=5, options={"reset_mask": np.ones(2, bool)})
        env.step(given).reward.sum().backward()
        found.append(given.grad)
        assert actions.grad is None or not actions.grad.any()
    assert found[0].all()
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_lanes_that_restart_leave_the_others_and_their_memory_as_they_are():
    env = DifferentiableEnv(gym.make_vec("RigidTop-v0", 3, max_episode_steps=1), Trend(2, 5, 0.3))
    env.reset(seed=0)
    actions = torch.ones(3, 3, requires_grad=True)
    (seen := env.step(actions).observation).sum().backward()
    held, lanes = env.remembered, [False, True, False]
    again = env.restart(torch.tensor(lanes), seen)
    assert env.ended.tolist() == [True, False, True]
    for one, before in ((again, seen), (env.remembered, held)):
        assert (one != before).any(dim=1).tolist() == lanes
    env.step(actions).observation.sum().backward()  # not through the steps before


def test_a_copy_differentiates_as_the_original_does():
    env = DifferentiableEnv(gym.make_vec("RigidTop-v0", num_envs=4))
    env.reset(seed=0)
    env.step(torch.zeros(4, 3))
    copied, actions = copy.deepcopy(env), torch.full((4, 3), 0.3)
    env.step(actions)  # not what the copy is to find
    again, found = copy.deepcopy(copied), []
    for one in (copied, again):
        given = actions.clone().requires_grad_()
        one.step(given).observation.sum().backward()
        found.append(given.grad)
    assert found[0].abs().min() > 0
    assert torch.equal(*found)


@pytest.mark.interpreted
def test_what_has_no_gradient_is_refused():
    mode, top = gym.vector.AutoresetMode.SAME_STEP, gym.make_vec("RigidTop-v0", 2)
    for env, message in (
        (gym.make_vec("RigidTop-v0", 2, autoreset_mode=mode), "NEXT_STEP or DISABLED"),
        (gym.wrappers.vector.TransformReward(top, lambda reward: 10.0 * reward), "unwrapped, got"),
        (gym.make("RigidTop-v0"), "vector environment of rbgym"),
    ):
        with pytest.raises(ValueError, match=message):
            DifferentiableEnv(env)
    message = r"actions must be a tensor of float32 or float64 of shape \(2, 3\)"
    for actions in (torch.zeros(3), torch.zeros(2, 3, dtype=torch.int64), np.zeros((2, 3))):
        with pytest.raises(ValueError, match=message):
            DifferentiableEnv(top).step(actions)
    top.reset()
    with pytest.raises(ValueError, match=r"detach\(\)"):
        top.step(torch.zeros(2, 3, requires_grad=True))
