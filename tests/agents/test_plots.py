"""Plots of evaluations and of cards."""

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from rbgym.agents.judge import plots
from rbgym.agents.judge.evaluation import evaluate, settling


def test_a_comparison_and_a_card_show_the_episodes_that_were_played(tmp_path):
    found = {name: evaluate(name, "RigidTop-v0", 8) for name in ("pd", "idle")}
    played = found["pd"].played
    figure = plots.comparison(found)
    attitude, rate = figure.axes
    assert attitude.get_legend_handles_labels()[1] == ["pd: 100.0 % success", "idle: 0.0 % success"]
    median = rate.get_lines()[0].get_ydata()
    assert median[0] == pytest.approx(np.median(played.rate_error[0]))
    left, right = plots.card("RigidTop-v0", found).axes
    median = left.get_lines()[0].get_ydata()
    assert median[0] == pytest.approx(np.degrees(np.median(played.attitude_error[0])))
    pd, idle = (line.get_data() for line in right.get_lines())
    assert pd[1].max() == 100.0
    assert idle[1].max() == 0.0
    np.testing.assert_allclose(pd[0][1:-1], np.sort(settling(played)))
