"""What derivatives cost beside the steps themselves. Prints; passes whatever it is."""

import time

import gymnasium as gym
import numpy as np
import pytest
import torch

import rbgym
from rbgym.agents.train import DifferentiableEnv

LANES, STEPS = 256, 64


def least(function, times=5):
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begun)
    return min(taken)


@pytest.mark.parametrize(("scheme", "potential"), [("akw", None), ("exact:4", rbgym.HeavyTop(3.0))])
def test_a_jacobian_beside_a_step(scheme, potential):
    batch = rbgym.Batch(rbgym.RigidBody([6.0, 8.0, 3.0]), scheme, potential, size=1024)
    batch.set_state(np.tile([1.0, 0.0, 0.0, 0.0], (1024, 1)), (1.0, 2.0, 3.0))
    batch.set_torque((1.0, -2.0, 0.5))
    batch.advance(0.01)
    for of in (("state",), ("state", "torque")):
        batch.jacobian(0.01, of=of)
        step, whole = (
            least(lambda: batch.advance(0.01)),
            least(lambda o=of: batch.jacobian(0.01, of=o)),
        )
        print(f"\n{scheme}, derivatives along {of}: {whole / step:.1f} steps")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("task", ["RigidTop-v0", "AttitudeSlew-v1"])
def test_a_rollout_with_gradients_beside_one_without(task, threads):
    torch.set_num_threads(1)
    rbgym.set_num_threads(threads)
    made = gym.make_vec(task, num_envs=LANES)
    env = DifferentiableEnv(made)
    width = made.single_observation_space.shape[0]
    # The network that policies of Stable-Baselines3 have by default.
    hidden = torch.nn.Linear(width, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh()
    policy = torch.nn.Sequential(*hidden, torch.nn.Linear(64, 3))

    def plain():
        with torch.no_grad():
            observation, _ = made.reset(seed=0)
            for _ in range(STEPS):
                observation, *_ = made.step(policy(torch.from_numpy(observation)).numpy())

    def forward():
        observation, total = env.reset(seed=0), 0.0
        for _ in range(STEPS):
            stepped = env.step(policy(observation))
            observation, total = stepped.observation, total + stepped.reward.mean()
        return total

    try:
        forward().backward()
        without, with_gradients = least(plain), least(lambda: forward().backward())
    finally:
        rbgym.set_num_threads(1)
    print(
        f"\n{task}, {LANES} lanes, {STEPS} steps, threads: {threads}: "
        f"{with_gradients / without:.1f} times the rollout without"
    )
