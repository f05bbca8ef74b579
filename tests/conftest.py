"""Tests, and what they start: no windows on a screen, one thread for each, slow ones first.

`make test-long` runs the tests marked `long`: those whose name begins with a line of long.txt, and
those that compile a task whose parts other tests compile, see CORE.
"""

import os
import re
from pathlib import Path

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
# The workers of a run keep all cores busy. Threads of linear algebra beside them wait for one
# another by spinning: the exponential of a 3 x 3 matrix takes a hundred times as long.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

# The tasks that `make test` compiles: a top, torque, wheels, a target that moves. What only others
# have, such as coils, is tested as Python there, and as machine code by `make test-long`.
CORE = {"RigidTop-v0", "AttitudeSlew-v1", "ReactionWheelSlew-v1", "AttitudeTracking-v1"}
LONG = tuple(filter(None, Path(__file__).with_name("long.txt").read_text().splitlines()))


try:
    from hypothesis import settings
except ImportError:
    pass
else:  # the same examples in every run, however busy the machine
    settings.register_profile("rbgym", deadline=None, derandomize=True, database=None)
    settings.load_profile("rbgym")


@pytest.hookimpl(tryfirst=True)  # before -m chooses by the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests first, so that none waits at the end; last those whose kernels others compile."""
    from rbgym.registration import ENVIRONMENTS  # imports numpy, which reads the numbers of threads

    others = set(ENVIRONMENTS) - CORE
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        compiles = "compiled" in marks or "interpreted" not in marks
        named = set(re.findall(r"[A-Za-z]+-v\d", item.name.partition("[")[2]))
        if item.nodeid.startswith(LONG) or (compiles and named & others):
            item.add_marker("long")
    fast = "tests/test_interpreted.py"
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None) + (fast in item.nodeid))


@pytest.fixture
def threads_afterwards():
    """A test may set the number of threads; the next one finds the old one."""
    import rbgym

    kept = rbgym.get_num_threads()
    yield
    rbgym.set_num_threads(kept)
