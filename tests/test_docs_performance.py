"""The page of performance is that of its results, and what it sums up is summed up right."""

import json
import re

import numpy as np
import pytest

from pages import ROOT


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


@pytest.fixture
def page():
    from benchmarks import page

    return page


def test_the_page_is_that_of_the_results(page, capsys):
    assert page.main(["--check"]) == 0, capsys.readouterr().out
    assert "Not measured" not in page.PAGE.read_text("utf-8")


def test_every_result_is_of_a_whole_run_and_names_no_place_of_a_machine(page):
    found = page.results()
    assert tuple(found) == page.NAMES
    for one in found.values():
        assert not one["quick"]
        assert not re.search(r'"[^"]*(?<!\w)/\w+/[^"]*"', json.dumps(one))


def test_every_engine_of_the_page_follows_the_exact_motion_with_small_steps(page):
    rows = page.results()["fidelity"]["rows"]
    assert len(rows) > 24
    for name, row in rows.items():
        coarse, fine = row["agreement"]["errors"]
        assert fine < 1e-9 or np.log10(coarse / fine) > 0.9, name


def test_the_reference_of_work_and_precision_is_what_others_published():
    from benchmarks import solvers
    from benchmarks.work_precision import CASES

    # Bruels, Cardona & Arnold (2012), their own run with a step of 2e-6; to the digits given.
    top = CASES["heavy top of Brüls et al."]
    q, _ = solvers.reference(top.motion, 0.2)
    published = np.array([-0.70827915, 0.43878109, 0.54572840, 0.08939975])
    assert np.abs(q - published * np.sign(q @ published)).max() < 1e-8
    free = CASES["free body"].motion
    q, omega = solvers.reference(free, 1.0, 200)
    exact, rates = free.exact(1.0)
    assert abs(abs(q @ exact) - 1.0) < 1e-15
    assert np.abs(omega / rates - 1.0).max() < 1e-13
