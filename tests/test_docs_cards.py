"""The pages of the cards, of the studies and of the controllers are those of their figures."""

import json
import re

import pytest

from pages import DOCS, loaded

pytest.importorskip("stable_baselines3")

from rbgym.agents import controllers
from rbgym.agents.policies import trained
from rbgym.registration import ENVIRONMENTS


@pytest.fixture(scope="module")
def generate():
    return loaded("generate_cards")


@pytest.fixture(scope="module")
def cards(generate):
    return json.loads(generate.CARDS.read_text("utf-8"))


def test_the_page_of_the_cards_has_every_environment_and_is_current(generate, cards):
    assert set(cards) == set(ENVIRONMENTS)
    page = generate.PAGE.read_text("utf-8")
    assert page == generate.page(cards)
    for env_id in ENVIRONMENTS:
        assert (DOCS / "pictures" / "cards" / f"{env_id}.png").is_file()
        assert (env_id in trained.names()) == ("shipped" in "".join(cards[env_id]["rows"]))


def test_a_card_says_where_learning_loses(generate, cards):
    said = {env_id: generate.section(env_id, card) for env_id, card in cards.items()}
    for env_id, card in cards.items():
        rows = [row["merits"]["all"] for row in card["rows"].values() if not row["origin"]]
        best = max(rows, key=lambda merits: merits["success_rate"])
        trained = [r["merits"]["all"]["success_rate"] for r in card["rows"].values() if r["origin"]]
        assert ("there is no trained policy" in said[env_id].lower()) == (not trained)
        loses = bool(trained) and max(trained) < best["success_interval"][0]
        assert ("Learning loses here" in said[env_id]) == loses
    for rate, low, often in (0.9, 0.8, "more often than"), (0.9, 0.6, "as often as"):
        merits = {"success_rate": rate, "success_interval": (low, 1.0), "settling_time": None}
        learned = {"merits": {"all": merits}, "origin": {"algo": "ppo"}}
        law = {"merits": {"all": merits | {"success_rate": 0.7}}, "origin": {}}
        assert f" {often} the" in generate.verdict({"rows": {"ppo": learned, "pd": law}})


def test_no_shipped_policy_succeeds_less_often_than_the_best_law(cards):
    learned = json.loads((DOCS / "learning.json").read_text("utf-8"))
    told = (DOCS / "tasks.md").read_text("utf-8")
    assert sorted(name for name, one in learned.items() if one["shipped"]) == trained.names()
    for env_id, one in learned.items():
        conditions = one.get("conditions", {})
        for it in (one, *conditions.values()):
            no_less = it["policy"]["success_rate"] >= it["of_law"]["success_interval"][0]
            assert it["shipped"] == no_less
        if one["shipped"]:
            rows = cards[env_id]["rows"]
            (own,) = (r["merits"]["all"]["success_rate"] for r in rows.values() if r["origin"])
            assert own == one["success"]
            idle = rows["idle"]["merits"]["all"]["mean_return"]
            assert re.search(rf"/{env_id}.* doing nothing {idle:.0f} \|", told)
            seeds = {seed: rate for seed, (rate, _) in one["seeds"].items()}
            assert trained.load(env_id).config["training"].get("of_seeds", seeds) == seeds
            trained_here = [k for k, it in conditions.items() if "trained_in" not in it]
            shipped = [k for k in trained_here if conditions[k]["shipped"]]
            assert sorted(shipped) == trained.conditions(env_id)


def test_the_study_has_the_table_of_its_results_and_shows_where_the_physics_decides():
    study = loaded("studies/fidelity_map")
    every, told = study.found(), study.PAGE.read_text("utf-8")
    assert told == study.page(told, every, json.loads(study.ENGINE.read_text("utf-8")))

    def fell(scheme):
        runs = [every["policies"][f"{scheme} {seed}"] for seed in study.SEEDS]
        return min(run["own"]["success"] - run["truth"]["success"] for run in runs)

    assert fell("backward_euler") > 0.9
    assert all(abs(fell(scheme)) < 0.05 for scheme in ("rkn4", "exact:4"))
    strong = [cell for name, cell in every["cells"].items() if name.endswith(" 1 every step")]
    assert all(cell["truth"]["success"] == 1.0 for cell in strong)
    old = loaded("studies/integrators_and_learning")
    runs = json.loads(old.RESULTS.read_text("utf-8")).values()
    assert sorted(run["truth"]["success"] for run in runs) == [255 / 256] + [1.0] * 17


def test_the_page_of_the_optimum_is_that_of_its_results_and_of_bilimoria_and_wie():
    study = loaded("studies/optimal_slews")
    results = json.loads(study.RESULTS.read_text("utf-8"))
    assert study.PAGE.read_text("utf-8") == study.current(results)
    half = results[study.HALF_TURN]
    assert half["eigenaxis"] > half["least"] == pytest.approx(study.BILIMORIA_WIE, rel=5e-3)


def test_the_table_of_results_in_the_readme_is_that_of_the_cards(generate, cards):
    assert generate.README.read_text("utf-8") == generate.readme(cards)
    for card in cards.values():
        # Rows stand in the order of their ranks.
        assert list(generate.ranks(card)) == list(card["rows"])
    found = {env_id for env_id, card in cards.items() if generate.ranks(card, "behind")}
    assert len(found) == 9
    for env_id in found:
        assert "Behind sensors, an estimator" in generate.section(env_id, cards[env_id])


def test_every_controller_has_its_laws_with_a_source_and_results():
    generate = loaded("generate_controllers")
    assert list(generate.LAWS) == controllers.names()
    solved = json.loads((DOCS / "solved.json").read_text("utf-8"))
    assert list(solved) == list(ENVIRONMENTS)
    for name, classes in generate.LAWS.items():
        # What plans takes too long for all tasks; its results are on docs/derivatives.md.
        assert name in controllers.PLANNERS or any(name in found for found in solved.values())
        assert name == "idle" or all("Source: " in cls.__doc__ for cls in classes)
    assert [*map(generate.digits, (16.5, 0.326, 1870.0))] == ["16.5", "0.326", "1870"]
    assert all("Source: " in cls.__doc__ for cls in generate.ALLOCATIONS)
