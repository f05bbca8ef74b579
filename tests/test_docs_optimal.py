"""The least times of docs/optimal.json are such, and its page is that of its figures."""

import json

import pytest

pytest.importorskip("stable_baselines3")

from pages import loaded

STUDY = loaded("studies/optimal_slews")
RESULTS = json.loads(STUDY.RESULTS.read_text("utf-8"))


def test_the_page_of_the_optimum_is_that_of_its_results():
    assert set(RESULTS) == {STUDY.HALF_TURN, *STUDY.TASKS}
    assert STUDY.PAGE.read_text("utf-8") == STUDY.current(RESULTS)


def test_the_half_turn_takes_as_long_as_bilimoria_and_wie_say():
    half = RESULTS[STUDY.HALF_TURN]
    for time in (half["least"], half["finer"]):
        assert time == pytest.approx(STUDY.BILIMORIA_WIE, rel=5e-3)
    assert half["least"] < half["eigenaxis"]


@pytest.mark.parametrize("task", STUDY.TASKS)
def test_nothing_is_faster_than_the_optimum(task):
    one = RESULTS[task]
    assert len(one["least"]) == STUDY.EPISODES
    for name in one["settled"]:
        assert STUDY.ahead(one, name) <= 0.0, name
