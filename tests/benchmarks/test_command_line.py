"""How long a mistyped command line takes, from the shell: printed, never a reason to fail."""

import subprocess
import time
from pathlib import Path
from sys import executable

from mistyped import LINES

RBGYM = Path(executable).with_name("rbgym")


def test_mistyped_lines(tmp_path):
    best = dict.fromkeys(LINES, float("inf"))
    for _ in range(3):
        for line in LINES:
            command = [RBGYM, *line.split()]
            begun = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
            best[line] = min(best[line], time.perf_counter() - begun)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    for line, seconds in best.items():
        print(f"{seconds:.2f} s  {line}")
    print(f"longest {max(best.values()):.2f} s of {len(LINES)}, the best of three each")
