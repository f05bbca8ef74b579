"""The pages of the controllers are those of their docstrings and results."""

import json

import pytest

from pages import DOCS, loaded
from rbgym.agents import controllers
from rbgym.registration import ENVIRONMENTS


@pytest.fixture(scope="module")
def generate():
    return loaded("generate_controllers")


def test_every_controller_has_its_laws_with_a_source_and_results(generate):
    assert list(generate.LAWS) == controllers.names()
    solved = json.loads((DOCS / "solved.json").read_text("utf-8"))
    assert list(solved) == list(ENVIRONMENTS)
    for name, classes in generate.LAWS.items():
        # What plans takes too long for all tasks; its results are on docs/derivatives.md.
        assert name in controllers.PLANNERS or any(name in found for found in solved.values())
        assert name == "idle" or all("Source: " in cls.__doc__ for cls in classes)
    assert all("Source: " in cls.__doc__ for cls in generate.ALLOCATIONS)
