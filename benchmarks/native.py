"""The C files of this folder, compiled when they are needed by the compiler that there is."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.record import Missing

FOLDER = Path(__file__).resolve().parent
# As fast as it goes without changing what is computed; no -ffast-math.
FLAGS = "-O3", "-march=native", "-fPIC", "-shared"


def compiler() -> str:
    """The C compiler; Missing if there is none."""
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        raise Missing("there is no C compiler")
    return found


def compiler_version() -> str:
    """What the compiler calls itself."""
    told = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=True)
    return told.stdout.splitlines()[0].split("(")[0].strip() + " " + _number()


def _number() -> str:
    told = subprocess.run([compiler(), "-dumpfullversion"], capture_output=True, text=True)
    return told.stdout.strip()


@functools.cache
def built(name: str) -> ctypes.CDLL:
    """The compiled file `name`.c of this folder."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / f"{name}.so"
        source = FOLDER / f"{name}.c"
        command = [compiler(), *FLAGS, str(source), "-o", str(out), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Missing(f"{name}.c could not be compiled: {done.stderr.strip()[-300:]}")
        return ctypes.CDLL(str(out))
