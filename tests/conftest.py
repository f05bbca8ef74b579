"""Tests, and what they start: no windows on a screen, one thread for each, long ones first."""

import os

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
# The workers of a run keep all cores busy. Threads of linear algebra beside them wait for one
# another by spinning: the exponential of a 3 x 3 matrix takes a hundred times as long.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """At the end of a run, no worker then waits for another that has just begun a long one."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def threads_afterwards():
    """A test may set the number of threads; the next one finds the old one."""
    import rbgym

    kept = rbgym.get_num_threads()
    yield
    rbgym.set_num_threads(kept)
