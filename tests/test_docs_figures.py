"""The figures that pages say in sentences are those of the files that hold them,
and the page of performance is that of its results."""

import json
import re
from unittest.mock import Mock

import numpy as np
import pytest

from pages import ROOT, loaded

README = (ROOT / "README.md").read_text("utf-8")
PERFORMANCE = (ROOT / "docs" / "records" / "performance.md").read_text("utf-8")


def benchmark(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text("utf-8"))


def said(pattern, text):
    """The number that a sentence says."""
    (found,) = re.findall(pattern, " ".join(text.split()))
    return float(found)


def test_the_claims_of_the_readme_are_those_that_were_measured():
    kept = json.loads((ROOT / "docs" / "validation.json").read_text("utf-8"))
    assert said(r"(\d+) claims are \[measured\]", README) == sum(r["claims"] for r in kept["kinds"])
    assert all(row["claims"] == row["kept"] for row in kept["kinds"])
    ends = [c["measured"] for c in kept["external"] if c["integrator"] == "exact:4"]
    assert max(ends) < 1.5 * said(r"published to ([\de-]+) rad", README)


def test_the_speed_that_pages_say_was_measured():
    rows = benchmark("throughput")["steps_per_second"]["1"]
    rate = rows["rbgym RigidTop-v0"]["1024"]["median"] / 1e6
    assert said(r"One core steps (\d+) million heavy tops", README) <= rate
    assert said(r"One core steps ([\d.]+) million heavy tops", PERFORMANCE) <= rate
    told = said(r"learns `RigidTop-v0` in (\d+) seconds", README)
    assert told == round(benchmark("training")["seconds_to_threshold"])


def test_what_a_policy_of_another_engine_is_worth_was_measured():
    study = loaded("studies/fidelity_map")
    runs = study.by_engine(json.loads(study.ENGINE.read_text("utf-8")))
    there, here = study.both(runs["implicitfast 0.02"])[:2]
    told = said(r"and on exact physics in (.*?) % of the ep", README)
    assert (there, here.partition(" (")[0]) == ("100 %", f"{told:g} %")
    assert study.percent([1.0, 0.996]) == "99.8 % (99.6 to 100)"


def test_the_default_of_every_task_is_as_accurate_as_the_page_says():
    study = loaded("studies/accuracy_of_tasks")
    results = json.loads(study.RESULTS.read_text("utf-8"))
    assert study.PAGE.read_text("utf-8") == study.current(results)
    most = said(r"All errors are below ([\de-]+) rad", study.PAGE.read_text("utf-8"))
    for task in study.TASKS:
        own = study.declaration(task)
        assert results[task][f"{own.integrator} x {own.substeps}"]["largest"] < most


def test_what_gradients_through_the_physics_learn_is_that_of_its_figures():
    pytest.importorskip("stable_baselines3")
    study = loaded("studies/gradients_through_physics")
    found = json.loads(study.RESULTS.read_text("utf-8"))
    assert study.PAGE.read_text("utf-8") == study.current(found)
    assert "learn-through-the-physics) in fewer steps" in README
    for runs in found.values():
        assert max(run["success"] for run in runs["ppo"]) > 0.99
        assert all(run["success"] > 0.99 for run in runs["apg"])
        assert runs["apg"][0]["timesteps"] < runs["ppo"][0]["timesteps"]


def test_the_controllers_of_the_readme_are_counted():
    from rbgym.agents import controllers

    laws = set(controllers.names()) - controllers.PLANNERS - {"idle"}
    words = {13: "Thirteen", 14: "Fourteen", 15: "Fifteen"}
    assert f"{words[len(laws)]} classical laws" in README
    assert len(controllers.PLANNERS) == 2
    assert "two that plan slews" in README


def test_what_is_written_by_hand_can_be_read():
    """At most twenty pages and 25,000 words, without code, and without what scripts write and the
    records."""
    docs = ROOT / "docs"
    lists = {"cards", "cli", "laws", "licences", "tasks"}
    by_hand = [page for page in docs.glob("*.md") if page.stem not in lists]
    assert len(by_hand) <= 20
    for page in by_hand:
        opening = page.read_text("utf-8").split("\n## ", 2)[:2]
        assert "\n\nAfter this page you " in opening[0] or page.stem == "index", page
        assert "\n```" in "".join(opening), page
    written = [docs / folder for folder in ("build", "records", "integrators", "tasks")]
    words = 0
    for page in [ROOT / "README.md", *docs.rglob("*.md")]:
        text = page.read_text("utf-8")
        if page.name == "laws.md" or any(folder in page.parents for folder in written):
            continue
        text = re.sub(r"<!-- ([\w-]+):begin -->.*?<!-- \1:end -->", "", text, flags=re.DOTALL)
        words += len(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
    assert 10_000 < words <= 25_000, f"{words} words: shorten a page by as many"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks import page

    return page


def test_the_page_is_that_of_the_results(page, capsys):
    assert page.main(["--check"]) == 0, capsys.readouterr().out
    assert "Not measured" not in page.PAGE.read_text("utf-8")
    assert "diffrax" not in page.tables.tables_physics.cheapest(page.results())


def test_an_engine_that_fails_does_not_agree_and_has_no_error(page):
    from benchmarks.fidelity import BETSCH, agreement, run

    engine = Mock(**{"state.return_value": (np.full(4, np.nan), np.array(BETSCH.omega))})
    assert not agreement(lambda motion, dt: engine)["agrees"]
    assert run(lambda motion, dt: engine, BETSCH, 0.1, 3) == {"blown_up_at": 1}


def test_every_result_is_of_a_whole_run_and_names_no_place_of_a_machine(page):
    found = page.results()
    assert tuple(found) == page.NAMES
    for one in found.values():
        assert not one["quick"]
        assert not re.search(r'"[^"]*(?<!\w)/\w+/[^"]*"', json.dumps(one))
