"""Long episodes of every task in threads and in processes of every kind; `make soak` runs it."""

import multiprocessing

import pytest

from fuzzing.digests import digest, elsewhere
from rbgym.registration import ENVIRONMENTS

STEPS = 500
METHODS = multiprocessing.get_all_start_methods()


@pytest.mark.parametrize("env_id", list(ENVIRONMENTS))
def test_threads_give_the_same_bits_over_long_episodes(env_id):
    assert len({digest(env_id, STEPS, threads) for threads in (1, 2, 3, 5)}) == 1


@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("env_id", ["RigidTop-v0", "ReactionWheelSlew-v1", "AttitudeTracking-v1"])
def test_processes_started_in_any_way_give_the_bits_of_this_one(env_id, method):
    assert digest(env_id, STEPS, 3) == elsewhere(method, env_id, STEPS, 2)
