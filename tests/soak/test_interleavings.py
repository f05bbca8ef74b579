"""Thousands of random calls on every task in every mode; `make soak` runs it."""

import pytest
from gymnasium.vector import AutoresetMode

import rbgym
from fuzzing.wandering import MOVES, Wanderer
from rbgym.registration import ENVIRONMENTS

CALLS = 4000
# Tasks of which something else is kept as well: noise, a delay line, bodies of each episode.
HOOKS = {
    "AttitudeSlew-v1": {
        "sensor": {"attitude": 1e-3, "rate": 5e-4, "rate_bias": 1e-3},
        "randomization": {"inertia": 0.2, "torque": 0.1},
        "disturbance": {"white_noise": 1e-3},
        "reward": {"closeness": 1.0, "change": 0.1, "progress": 0.1},
    }
}


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize("env_id", list(ENVIRONMENTS))
def test_thousands_of_calls_keep_lanes_environments_of_their_own(env_id, mode):
    threads = rbgym.get_num_threads()
    try:
        wanderer = Wanderer(env_id, mode, seed=2, **HOOKS.get(env_id, {}))
        wanderer.wander(CALLS)
    finally:
        rbgym.set_num_threads(threads)
    assert set(wanderer.moves) == set(MOVES)
