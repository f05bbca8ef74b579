"""How long a mistyped command line takes, from the shell: printed, never a reason to fail."""

import subprocess
import time
from pathlib import Path
from sys import executable

from mistyped import LINES

RBGYM = Path(executable).with_name("rbgym")


def test_mistyped_lines(tmp_path):
    seconds = {}
    for line in LINES:
        begun = time.perf_counter()
        done = subprocess.run([RBGYM, *line.split()], capture_output=True, text=True, cwd=tmp_path)
        seconds[line] = time.perf_counter() - begun
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        print(f"{seconds[line]:.2f} s  {line}")
    print(f"longest {max(seconds.values()):.2f} s of {len(LINES)}")
