"""Random calls in random order: a vector environment is its lanes, each alone, to the last bit."""

import pytest
from gymnasium.vector import AutoresetMode

import rbgym
from fuzzing.wandering import MOVES, Wanderer


@pytest.fixture(autouse=True)
def one_thread():
    """Wanderers leave the number of threads as it was."""
    threads = rbgym.get_num_threads()
    yield
    rbgym.set_num_threads(threads)


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize("env_id", ["RigidTop-v0", "AttitudeReach-v0"])
def test_whatever_is_called_in_whatever_order_lanes_are_environments_of_their_own(env_id, mode):
    wanderer = Wanderer(env_id, mode, seed=1)
    wanderer.wander(120)
    assert set(wanderer.moves) == set(MOVES)
