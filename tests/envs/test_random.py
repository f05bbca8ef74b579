"""The generator of start states is NumPy's Philox."""

import numpy as np
from numba import njit

from rbgym.envs.random import numbers


@njit
def _uniforms(seed, episode):
    return numbers(seed, episode, np.uint64(1)), numbers(seed, episode, np.uint64(2))


def test_start_generator_gives_numpys_philox_stream():
    for seed, episode in ((0, 0), (1, 2), (2**64 - 1, 12345), (2**40 + 7, 1)):
        ours = np.concatenate(_uniforms(np.uint64(seed), np.uint64(episode)))
        philox = np.random.Philox(key=np.array([seed, episode], dtype=np.uint64))
        np.testing.assert_array_equal(ours, np.random.Generator(philox).random(8))
