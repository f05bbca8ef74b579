"""What is compiled gives what Python works out with NUMBA_DISABLE_JIT=1, for every part of a task.

So tests of which part does what need no compiling: see "interpreted" in CONTRIBUTING.md.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import interpreted_runs
from checks import check_vector_env
from interpreted_runs import CASES, MORE, made, run
from rbgym.compiled.record import Record


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory):
    """What each case gives where nothing is compiled."""
    file = tmp_path_factory.mktemp("interpreted") / "runs.npz"
    command, env = [sys.executable, interpreted_runs.__file__, file], {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run(command, env=os.environ | env, check=True)
    with np.load(file) as runs:
        return dict(runs)


@pytest.mark.parametrize("case", CASES)
def test_compiled_code_gives_what_python_gives(case, interpreted):
    found, wanted = run(case), interpreted[case]
    assert found.shape == wanted.shape
    size = np.maximum(np.abs(wanted).max(axis=0), 1e-6)
    assert (np.abs(found - wanted) / size).max() < 1e-11


@pytest.mark.parametrize("case", list(MORE)[:3])
def test_all_parts_together_are_alike_one_by_one_and_in_a_batch(case):
    env_id, kwargs = MORE[case]
    check_vector_env(env_id, env_kwargs=kwargs, check_pickle=True)


def used_by(value):
    """The classes of a record and of all that it holds."""
    if isinstance(value, tuple):
        yield type(value)
        for item in value:
            yield from used_by(item)


def subclasses(cls):
    for found in cls.__subclasses__():
        if found.__module__.startswith("rbgym."):
            yield found
            yield from subclasses(found)


@pytest.mark.interpreted
def test_every_part_is_in_one_of_the_cases():
    used = {cls for case in CASES for cls in used_by(made(case)._episodes.rows)}
    last = {cls for cls in subclasses(Record) if not list(subclasses(cls))}
    parts = {cls for cls in last if cls.__module__.startswith("rbgym.envs.")}
    assert parts
    assert parts <= used
