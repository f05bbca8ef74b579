"""Neither threads nor processes change a bit, long after everything has been drawn at random."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from checks import same
from fuzzing.digests import digest, elsewhere

SLEW, TOP = "AttitudeSlew-v1", "RigidTop-v0"
# From Python 3.12 on it warns of forks while there are threads; here that is the point.
FORK = pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
forks = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")


@FORK
@forks
def test_a_process_forked_from_one_with_threads_gives_the_same_bits():
    assert digest(TOP, 40, 3) == elsewhere("fork", TOP, 40, 2)


@FORK
@forks
def test_workers_of_an_asynchronous_vector_environment_give_the_bits_of_this_process():
    digest(TOP, 2, threads=2)  # leaves threads behind
    makers = [lambda: gym.make(TOP, max_episode_steps=5, disable_env_checker=True)] * 2
    with_processes = AsyncVectorEnv(makers, context="fork")
    here = SyncVectorEnv(makers)
    try:
        assert same(with_processes.reset(seed=4)[0], here.reset(seed=4)[0])
        rng = np.random.default_rng(0)
        for _ in range(15):
            actions = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
            one, other = with_processes.step(actions), here.step(actions)
            assert same(list(one[:4]), list(other[:4]))
            assert same(one[4]["attitude_error"], other[4]["attitude_error"])
            assert same(one[4]["applied_torque"], other[4]["applied_torque"])
    finally:
        with_processes.close()
        here.close()
