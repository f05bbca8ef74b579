"""Tests, and what they start: no windows on a screen, one thread for each, slow ones first.

Tests whose name begins with a line of long.txt are marked `long`: `make test-long` runs them.
"""

import os
from pathlib import Path

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
# The workers of a run keep all cores busy. Threads of linear algebra beside them wait for one
# another by spinning: the exponential of a 3 x 3 matrix takes a hundred times as long.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

LONG = tuple(Path(__file__).with_name("long.txt").read_text().splitlines())


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """At the end of a run, no worker then waits for another that has just begun a slow test."""
    for item in items:
        if item.nodeid.startswith(LONG):
            item.add_marker("long")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def threads_afterwards():
    """A test may set the number of threads; the next one finds the old one."""
    import rbgym

    kept = rbgym.get_num_threads()
    yield
    rbgym.set_num_threads(kept)
