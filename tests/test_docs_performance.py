"""The page of performance is that of its results, and what it sums up is summed up right."""

import json
import re

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
