"""The generator of start states is NumPy's Philox; noise is normal, also where it is rare."""

import numpy as np
import pytest
from numba import njit
from scipy import stats

from rbgym.envs.random import LARGEST_NORMAL, normal, numbers


@njit
def _uniforms(seed, episode):
    return numbers(seed, episode, np.uint64(1)), numbers(seed, episode, np.uint64(2))


def test_start_generator_gives_numpys_philox_stream():
    for seed, episode in ((0, 0), (1, 2), (2**64 - 1, 12345), (2**40 + 7, 1)):
        ours = np.concatenate(_uniforms(np.uint64(seed), np.uint64(episode)))
        philox = np.random.Philox(key=np.array([seed, episode], dtype=np.uint64))
        np.testing.assert_array_equal(ours, np.random.Generator(philox).random(8))


@pytest.mark.interpreted
def test_noise_is_normal_out_to_where_one_number_in_three_thousand_lies():
    """Of n numbers n p +- sqrt(n p) lie beyond; of a sum of four uniform ones a sixth of that."""
    n = 120_000
    with np.errstate(over="ignore"):
        found = np.array([normal(7919.0, step, use) for step in range(n // 8) for use in range(8)])
    assert stats.kstest(found, "norm").pvalue > 1e-3
    for sigmas in (2.0, 3.0, 3.5):
        wanted = n * 2.0 * stats.norm.sf(sigmas)
        assert abs((np.abs(found) > sigmas).sum() - wanted) < 4.0 * np.sqrt(wanted), sigmas
    assert np.abs(found).max() < LARGEST_NORMAL
    assert abs(np.corrcoef(found[:-1], found[1:])[0, 1]) < 4.0 / np.sqrt(n)
