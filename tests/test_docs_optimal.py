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


@pytest.mark.parametrize("task", STUDY.TASKS)
def test_the_optimum_hardly_changes_on_a_finer_mesh_and_flies_in_the_environment(task):
    checked = RESULTS[task]["checked"]
    assert list(checked) == [str(episode) for episode in STUDY.CHECKED]
    for check in checked.values():
        assert abs(check["finer"]) < 0.5  # %
        # Of the tolerance. The friction of wheels turns round within an interval of the mesh.
        assert max(check["finer_flown"]) < (1.05 if "Wheel" in task else 1.001)
