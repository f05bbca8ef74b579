"""Two kernels compiled at the same time, one of them by a second process.

Numba compiles under a lock, and most of it is Python: two threads would take turns. The second
process leaves its machine code on disk, where this one finds it. Whatever goes wrong there, this
one finds nothing, and compiles that kernel as well.
"""

import importlib
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from rbgym import threads
from rbgym.compiled.cache import is_kept, is_lacking, said_when_long
from rbgym.compiled.jit import compile_for, types_of

_CODE = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from rbgym.compiled.beside import compile_told
compile_told()
"""
_GRACE = 5.0  # s, beyond twice what this process took for its own kernel


def compile_both(*calls: tuple[Any, tuple[Any, ...]]) -> None:
    """Compile two kernels at once, each for arguments like these.

    Nothing is done where that does not pay, or where one of them need not be compiled.
    """
    if not _may_start():
        return
    wanted = []
    for kernel, args in calls:
        wanted.append((kernel, types_of(args)))
        if not is_lacking(*wanted[-1]):
            return
    kept = [one for one in wanted if is_kept(one[1])]
    if kept:
        here = next(one for one in wanted if one is not kept[0])
        with said_when_long():
            _compile_both(here, kept[0])


def _compile_both(here: tuple[Any, Any], there: tuple[Any, Any]) -> None:
    function, began = there[0].py_func, time.monotonic()
    task = function.__module__, function.__name__, there[1]
    try:
        # Only whole paths: where the others began, it is no longer known.
        told = pickle.dumps(list(filter(os.path.isabs, sys.path))) + pickle.dumps(task)
        # -I: until it is told where, it looks for modules where Python has its own.
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", _CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except Exception:  # no process may be started, or it could not be told
        return
    try:
        with suppress(OSError), child.stdin as pipe:  # type: ignore[union-attr]
            pipe.write(told)
        compile_for(*here)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE + 2.0 * (time.monotonic() - began))
    finally:  # after an interruption, too, nothing is left
        child.kill()
        child.wait()


def compile_told() -> None:
    """Compile the kernel that is told on standard input, and end the process."""
    module, name, signature = pickle.load(sys.stdin.buffer)
    compile_for(getattr(importlib.import_module(module), name), signature)
    os._exit(0)  # to take everything down takes a while


def _may_start() -> bool:
    """Whether a second process can be started, and has a core for itself.

    Workers, as those of a vector environment, have been given the cores already. Of other processes
    that start together the average load tells nothing yet, but what runs now does.
    """
    # Where a program has Python inside, this may be its own name.
    name = Path(sys.executable or "").name.lower()
    is_python = re.fullmatch(r"python[w\d.]*(\.exe)?", name) and not hasattr(sys, "frozen")
    if not is_python or multiprocessing.parent_process() or threads.cores() < 2:
        return False
    cores = os.cpu_count() or 1  # the load is that of the machine, and this process may be in it
    return _load() < cores - 0.5 and _running() <= cores


def _load() -> float:
    """How many processes ran at a time in the last minute; 0 where nobody says."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0.0


def _running() -> int:
    """How many threads run now, as Linux counts them; 0 elsewhere."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        return 0
