"""What a control period of each law costs. Prints; passes whatever it is."""

import time

import gymnasium as gym
import pytest

from rbgym.agents import controllers

LANES, PERIODS = 64, 20


@pytest.mark.parametrize("task", ["AttitudeReach-v0", "AttitudeSlew-v1"])
def test_a_control_period_of_each_law(task):
    env = gym.make_vec(task, num_envs=LANES)
    for name in [*controllers.for_env(env), *sorted(controllers.PLANNERS)]:
        law, memory, taken = controllers.make(name, env), None, []
        law.predict(env.reset(seed=0)[0])  # compiles
        observations, _ = env.reset(seed=0)
        for _ in range(PERIODS):
            begun = time.perf_counter()
            actions, memory = law.predict(observations, memory)
            taken.append(1e3 * (time.perf_counter() - begun))
            observations, *_ = env.step(actions)
        first, rest = taken[0], sorted(taken[1:])
        print(
            f"\n{task}, {LANES} lanes, {name}: {first:.3g} ms, then {rest[len(rest) // 2]:.3g} ms"
        )
