"""Plots of evaluations, of cards, and of run folders."""

import json

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from rbgym.agents.judge import plots
from rbgym.agents.judge.episodes import play
from rbgym.agents.judge.evaluation import settling, summary

CONFIG = {"engine": "sb3", "env_id": "RigidTop-v0", "algo": "ppo", "timesteps": 300, "threads": 1}


def run_folder(path, returns, seed=0, **config):
    """A finished run that was judged every 100 steps."""
    path.mkdir()
    judged = [
        {"timesteps": 100 * (k + 1), "success_rate": k / 10, "mean_return": value}
        for k, value in enumerate(returns)
    ]
    (path / "config.json").write_text(json.dumps(CONFIG | {"seed": seed} | config))
    (path / "results.json").write_text(json.dumps({"judgements": judged}))
    return path


def test_runs_that_differ_in_the_seed_alone_make_one_curve_with_a_band(tmp_path):
    returns = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 5.0], [0.0, 1.0, 4.0]])
    same = [run_folder(tmp_path / str(k), row, seed=k) for k, row in enumerate(returns.tolist())]
    wider = run_folder(tmp_path / "wider", [9.0, 9.0, 9.0], hyperparameters={"net_arch": [64]})
    sac = run_folder(tmp_path / "sac", [5.0, 6.0, 7.0], algo="sac")
    (ax,) = plots.learning([*same, wider, str(sac)]).axes
    lines, names = ax.get_legend_handles_labels()
    assert names == ["RigidTop-v0, ppo, 3 seeds", f"RigidTop-v0, ppo, {wider}", "RigidTop-v0, sac"]
    np.testing.assert_array_equal(lines[0].get_xdata(), [100, 200, 300])
    np.testing.assert_array_equal(lines[0].get_ydata(), np.median(returns, axis=0))
    assert len(ax.collections) == 1
    (ax,) = plots.learning({"both": [wider, sac]}).axes
    assert ax.get_legend_handles_labels()[1] == ["both, 2 seeds"]
    (ax,) = plots.learning([sac], "success_rate").axes
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [0.0, 0.1, 0.2])
    assert "success rate" in ax.get_ylabel()


def test_runs_without_evaluations_and_other_folders_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no run folder"):
        plots.learning([tmp_path])
    with pytest.raises(ValueError, match="finished runs"):
        plots.learning({"a": [tmp_path]})
    with pytest.raises(ValueError, match="evaluated while they went on"):
        plots.learning([run_folder(tmp_path / "unjudged", [])])
    unfinished = run_folder(tmp_path / "unfinished", [1.0])
    (unfinished / "results.json").unlink()
    with pytest.raises(ValueError, match="finished runs"):
        plots.learning([unfinished])
    with pytest.raises(ValueError, match="quantity must be"):
        plots.learning([unfinished], "reward")


def test_a_comparison_and_a_card_show_the_episodes_that_were_played(tmp_path):
    played = {name: play(name, "RigidTop-v0", 8) for name in ("pd", "idle")}
    found = {name: summary(one) for name, one in played.items()}
    figure = plots.comparison(found)
    attitude, rate = figure.axes
    assert attitude.get_legend_handles_labels()[1] == ["pd: 100.0 % success", "idle: 0.0 % success"]
    median = rate.get_lines()[0].get_ydata()
    assert median[0] == pytest.approx(np.median(played["pd"].rate_error[0]))
    left, right = plots.card("RigidTop-v0", found).axes
    median = left.get_lines()[0].get_ydata()
    assert median[0] == pytest.approx(np.degrees(np.median(played["pd"].attitude_error[0])))
    pd, idle = (line.get_data() for line in right.get_lines())
    assert pd[1].max() == 100.0
    assert idle[1].max() == 0.0
    np.testing.assert_allclose(pd[0][1:-1], np.sort(settling(played["pd"])))


def test_a_figure_is_saved_whole_in_the_format_of_its_name(tmp_path):
    figure = plots.learning([run_folder(tmp_path / "run", [1.0, 2.0])])
    starts = {"a.png": b"\x89PNG", "a.svg": b"<?xml", "a.pdf": b"%PDF", "a": b"\x89PNG"}
    for name, start in starts.items():
        plots.save(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(ValueError, match="txt"):
        plots.save(figure, tmp_path / "a.txt")
    assert {file.name for file in tmp_path.iterdir()} == {*starts, "run"}
