"""The cost of derivatives relative to the steps, and a control period of each law. Prints.

python -m benchmarks.slopes
"""

import time

import gymnasium as gym
import numpy as np
import torch

import rbgym
from rbgym.agents import controllers
from rbgym.agents.train import DifferentiableEnv

LANES, STEPS, PERIODS = 256, 64, 20


def least(function, times=5):
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        function()
        taken.append(time.perf_counter() - started)
    return min(taken)


def jacobians(scheme, potential):
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
        print(f"{scheme}, derivatives along {of}: {whole / step:.1f} steps")


def rollouts(task, threads):
    torch.set_num_threads(1)
    rbgym.set_num_threads(threads)
    made = gym.make_vec(task, num_envs=LANES)
    env, width = DifferentiableEnv(made), made.single_observation_space.shape[0]
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

    forward().backward()
    times = least(lambda: forward().backward()) / least(plain)
    print(f"{task}, {LANES} lanes, threads {threads}: {times:.1f} times the rollout without")
    rbgym.set_num_threads(1)


def laws(task):
    env = gym.make_vec(task, num_envs=64)
    for name in [*controllers.for_env(env), *sorted(controllers.PLANNERS)]:
        law, memory, taken = controllers.make(name, env), None, []
        law.predict(env.reset(seed=0)[0])  # compiles
        observations, _ = env.reset(seed=0)
        for _ in range(PERIODS):
            started = time.perf_counter()
            actions, memory = law.predict(observations, memory)
            taken.append(1e3 * (time.perf_counter() - started))
            observations, *_ = env.step(actions)
        print(f"{task}, 64 lanes, {name}: {taken[0]:.3g} ms, then {np.median(taken[1:]):.3g} ms")


if __name__ == "__main__":
    jacobians("akw", None)
    jacobians("exact:4", rbgym.HeavyTop(3.0))
    for of_task in ("RigidTop-v0", "AttitudeSlew-v1"):
        for count in (1, 2):
            rollouts(of_task, count)
    for of_task in ("AttitudeReach-v0", "AttitudeSlew-v1"):
        laws(of_task)
