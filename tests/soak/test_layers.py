"""A hundred thousand sets of arguments: each changes what it names, or is refused by name."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import itertools, sys, warnings
warnings.simplefilter("ignore")
import gymnasium as gym
from layers import TASKS, changed, combinations, flat, may_change
plain = {task: flat(gym.make(task, disable_env_checker=True)) for task in TASKS}
for task, given in itertools.islice(combinations(int(sys.argv[1])), int(sys.argv[2])):
    names = changed(task, given, plain[task]) or set()
    assert names <= may_change(given), (task, given, names - may_change(given))
"""


@pytest.mark.parametrize("seed", range(10))
def test_no_combination_changes_what_it_does_not_name(seed):
    """Nothing is stepped, so nothing need be compiled."""
    subprocess.run(
        [sys.executable, "-c", RUN, str(100 + seed), "10000"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[1])},
        check=True,
        timeout=1200,
    )
