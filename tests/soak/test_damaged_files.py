"""What a training leaves behind, each file damaged in hundreds of ways; `make soak` runs it.

RBGYM_SOAK_DAMAGES changes how often. Others each time; an error tells the seed.
"""

import os
import random
import time

import pytest

pytest.importorskip("cma")

import damaged_runs

COUNT = int(os.environ.get("RBGYM_SOAK_DAMAGES", "500"))
SLOW = 10  # a file whose reading trains takes so much longer


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return damaged_runs.make_runs(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize(("of", "name", "read"), damaged_runs.READ)
def test_a_damaged_file_is_read_or_refused_and_left_as_it_is(runs, tmp_path, of, name, read):
    start = time.time_ns()
    for seed in range(start, start + COUNT // (SLOW if name == "checkpoint.zip" else 1)):
        try:
            damaged_runs.attack(runs, of, name, read, random.Random(seed), tmp_path / "work")
        except Exception as error:
            error.add_note(f"the damage was that of random.Random({seed})")
            raise
