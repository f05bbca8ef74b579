"""Windows of tests, and of what they start, are opened on no screen; long tests come first."""

import os

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """At the end of a run, no worker then waits for another that has just begun a long one."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
