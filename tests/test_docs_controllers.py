"""The pages of the controllers are those of their docstrings and results."""

import importlib.util
import json
from pathlib import Path

import pytest

from rbgym.agents import controllers
from rbgym.registration import ENVIRONMENTS

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate_controllers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_of_the_controllers_are_current(generate, capsys):
    assert generate.main(check=True) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("PAGE", "94.1&nbsp;%", "94.2&nbsp;%"), ("EQUATIONS", "frequency=10.0", "frequency=10.5")],
)
def test_a_page_with_another_result_or_law_fails_the_check(
    generate, name, old, new, tmp_path, monkeypatch, capsys
):
    text = getattr(generate, name).read_text("utf-8")
    assert old in text
    page = tmp_path / "copy.md"
    page.write_text(text.replace(old, new), "utf-8")
    monkeypatch.setattr(generate, name, page)
    assert generate.main(check=True) == 1
    assert "is not current" in capsys.readouterr().out
    assert generate.main(check=False) == 0
    assert page.read_text("utf-8") == text


def test_every_controller_has_its_laws_with_a_source_and_results(generate):
    assert list(generate.LAWS) == controllers.names()
    solved = json.loads((DOCS / "solved.json").read_text("utf-8"))
    assert list(solved) == list(ENVIRONMENTS)
    for name, classes in generate.LAWS.items():
        # What plans takes too long for all tasks; its results are on docs/derivatives.md.
        assert name in controllers.PLANNERS or any(name in found for found in solved.values())
        assert name == "idle" or all("Source: " in cls.__doc__ for cls in classes)
    assert all("Source: " in cls.__doc__ for cls in generate.ALLOCATIONS)
