"""Differences between contenders: known answers, and how often intervals hold what they say."""

import numpy as np
import pytest

from rbgym.agents.judge import statistics
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.judge.statistics import differences, interval

pytestmark = pytest.mark.interpreted


def test_intervals_hold_the_truth_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr(statistics, "_DRAWS", 300)
    rng, held = np.random.default_rng(1), 0
    for _ in range(200):
        found = interval(rng.normal(3.0, 2.0, (1, 60)), np.mean)
        held += found.low <= 3.0 <= found.high
        assert found.low <= found.value <= found.high
    assert 0.88 < held / 200 < 0.99  # 0.95, within three standard deviations and the bootstrap's


def test_seeds_that_differ_widen_an_interval():
    rng = np.random.default_rng(2)
    alike = rng.normal(0.0, 1.0, (5, 200))
    apart = alike + np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    widths = [np.subtract(*interval(one, np.mean)[:0:-1]) for one in (alike, apart)]
    assert widths[1] > 4.0 * widths[0]


def test_a_difference_is_of_the_same_starts_and_nothing_differs_from_itself():
    pd, idle = (evaluate(law, "Detumble-v1", 12).played for law in ("pd", "idle"))
    found = differences([pd], [idle])
    assert found["success"] == (1.0, 1.0, 1.0)
    assert found["improvement"].value == 0.5
    assert found["return"].low > 0.0
    assert "cost" not in found
    same = differences([pd, pd], [pd])
    assert all(one.value == 0.0 and one.low <= 0.0 <= one.high for one in same.values())
