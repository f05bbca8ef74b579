"""Processes that compile the same kernels at once, some killed; `make soak` runs it."""

import os
import random
import subprocess
import sys
import time

ROUNDS = 8
KERNEL = """
from rbgym.compiled.jit import compiled

@compiled
def threefold(x):
    return x + x + x
"""
# Types of arguments in an order of its own; what comes out; how many were loaded.
USE = """
import random, sys
import numpy as np
import small
values = [7.0, 7, 7j, True, np.float32(7), np.int8(7), np.arange(3.0), np.arange(3)]
random.Random(int(sys.argv[1])).shuffle(values)
print("begun", flush=True)
for value in values:
    found = small.threefold(value)
    expected = value * 3
    assert np.array_equal(found, expected), (value, found)
    assert isinstance(found, np.ndarray | complex) or np.iscomplexobj(found) == (value == 7j)
    assert np.asarray(found).dtype.kind == np.asarray(expected).dtype.kind, (value, found)
print("done", sum(small.threefold.stats.cache_hits.values()))
"""


def started(folder, seed):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "code"), "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", USE, str(seed)]
    return subprocess.Popen(
        command, env=environment, cwd=folder, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_processes_that_compile_at_once_are_right_and_leave_code_that_is_right(tmp_path):
    (tmp_path / "small.py").write_text(KERNEL)
    draw, left = random.Random(3), 0
    for number in range(ROUNDS):
        for file in (tmp_path / "code").rglob("*.nbc"):  # some are damaged, some are gone
            kind = draw.randrange(4)
            if kind == 0:
                file.unlink()
            elif kind < 3:
                file.write_bytes(file.read_bytes()[: draw.choice([0, 31, 32, 33, 2000, -1])])
        children = [started(tmp_path, 10 * number + k) for k in range(4)]
        for child in children[:2]:
            child.stdout.readline()
            time.sleep(draw.uniform(0.0, 1.0))
            child.kill()
        for child in children:
            said, error = child.communicate(timeout=300)
            if child in children[2:]:
                assert child.returncode == 0, error
                assert "done" in said
        left += len(list((tmp_path / "code").rglob("*.tmp.*")))
    last = started(tmp_path, 0)
    assert last.communicate(timeout=300)[0].splitlines()[-1] == "done 8"
    print(f"\n{2 * ROUNDS} kills left {left} files that were begun")
