"""What a clone and a rollout of actions cost: printed, never a reason to fail. `make bench`."""

import copy
import time

import numpy as np
import pytest

import rbgym
from family import IDS, make


def seconds(work, times=20):
    """Of one call, the best of many short rounds, which others on the machine leave alone."""
    work()
    rounds = []
    for _ in range(100):
        begun = time.perf_counter()
        for _ in range(times):
            work()
        rounds.append((time.perf_counter() - begun) / times)
    return min(rounds)


@pytest.mark.parametrize("env_id", IDS)
def test_the_cost_of_a_clone_and_of_rollouts_in_steps(env_id):
    env, action = make(env_id), np.zeros(make(env_id).action_space.shape, np.float32)
    env.reset(seed=0)
    state, actions = env.get_state(), np.zeros((256, 50, *action.shape))
    step = seconds(lambda: env.step(action))
    clone = seconds(lambda: env.set_state(env.get_state()))
    deep = seconds(lambda: copy.deepcopy(env), 1)
    tried = seconds(lambda: rbgym.rollout_actions(env, state, actions), 1) / actions[..., 0].size
    cloned = f"a clone {clone / step:.1f} steps (copy.deepcopy {deep / step:.0f})"
    print(f"{env_id}: a step {1e6 * step:.0f} us, {cloned}, one rolled out {1e9 * tried:.0f} ns")
    assert clone > 0
