"""Noise is normal, also where it is rare."""

import numpy as np
import pytest
from scipy import stats

from rbgym.envs.random import LARGEST_NORMAL, normal

pytestmark = pytest.mark.interpreted


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
