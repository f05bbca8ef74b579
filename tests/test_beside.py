"""A second process compiles one of two kernels, and nothing depends on it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rbgym import threads
from rbgym.compiled import beside
from test_cache import cache, files, fresh, tree  # noqa: F401, fixtures

# Two small kernels, wanted at once; prints how often each was found on disk, and what they return.
BOTH = """
import json, os, sys
sys.path.insert(0, {tree!r})
import rbgym.small as small
from rbgym.compiled import beside
from rbgym.compiled.record import Record
beside._may_start = lambda: True
rule = small.Rule()
{before}
beside.compile_both((small.ruled, (rule, (1.0, 2.0, 2.0))), (small.threefold, (7.0,)))
results = small.ruled(rule, (1.0, 2.0, 2.0)), small.threefold(7.0)
try:
    os.waitpid(-1, os.WNOHANG)
    left = "a child"
except ChildProcessError:
    left = ""
found = [sum(one.stats.cache_hits.values()) for one in (small.ruled, small.threefold)]
print(json.dumps([found, results, left]))
"""
SAME = "[[3.0, 6.0, 6.0], 21.0]"


@pytest.fixture
def both(tree, cache):  # noqa: F811
    """What BOTH prints, run in a process with this line before."""

    def run(before=""):
        code = BOTH.format(tree=str(tree), before=before)
        done = fresh(cache, code, "-W", "error")
        assert not done.stderr
        return done.stdout.strip()

    return run


def test_the_first_of_two_kernels_is_made_by_a_second_process(both, cache):  # noqa: F811
    assert both() == f'[[1, 0], {SAME}, ""]'
    written = files(cache)
    assert len(written) == 2
    no_process = "beside.subprocess.Popen = None"
    assert both(no_process) == f'[[1, 1], {SAME}, ""]'
    assert files(cache) == written


def test_what_has_a_class_of_the_user_is_made_here_and_the_other_there(both):
    own = """
class Own(Record):
    def made_threefold(self, v):
        return small.scale(3.0, v)

rule = Own()
"""
    assert both(own) == f'[[0, 1], {SAME}, ""]'


def python_that(tmp_path, does):
    """A file of Python's name that does something else."""
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return f"sys.executable = {str(path)!r}"


@pytest.mark.skipif(sys.platform == "win32", reason="scripts of a shell")
@pytest.mark.parametrize("does", ["exit 1", "exec sleep 600", "kill -9 $$"])
def test_a_second_process_that_fails_or_hangs_costs_time_alone(both, tmp_path, does):
    short = "; beside._GRACE = 0.1"
    assert both(python_that(tmp_path, does) + short) == f'[[0, 0], {SAME}, ""]'


@pytest.mark.parametrize(
    "lacking", ["sys.executable = '/no/python'", "beside.pickle.dumps = None", "sys.path.pop(0)"]
)
def test_without_a_second_process_everything_is_made_here(both, lacking):
    assert both(lacking) == f'[[0, 0], {SAME}, ""]'


def test_an_interruption_leaves_no_process(both):
    interrupted = """
def interrupt(*args):
    raise KeyboardInterrupt
beside.compile_for = interrupt
try:
    beside.compile_both((small.ruled, (rule, (1.0, 2.0, 2.0))), (small.threefold, (7.0,)))
except KeyboardInterrupt:
    beside.compile_both = lambda *calls: None
"""
    assert both(interrupted) == f'[[0, 0], {SAME}, ""]'


def test_nothing_is_made_ahead_in_a_debugger(both, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    called = "beside._compile_both = None\nfor one in (small.ruled, small.threefold):\n"
    called += "    one.stats = type('', (), {'cache_hits': {}})"
    assert both(called) == f'[[0, 0], {SAME}, ""]'


@pytest.fixture
def idle(monkeypatch):
    """A machine of two cores that has nothing else to do."""
    monkeypatch.setattr(threads, "cores", lambda: 2)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 0.0, 0.0), raising=False)
    monkeypatch.setattr(beside, "_running", lambda: 1)
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    monkeypatch.setattr(beside.multiprocessing, "parent_process", lambda: None)


def test_a_second_process_is_started_where_a_core_is_idle(idle, monkeypatch):
    assert beside._may_start()
    monkeypatch.delattr(os, "getloadavg")
    assert beside._may_start()


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (threads, "cores", lambda: 1),
        (os, "getloadavg", lambda: (1.6, 0.0, 0.0)),
        (beside, "_running", lambda: 3),
        (sys, "executable", None),
        (sys, "executable", "/opt/simulator/bin/simulator"),
        (beside.multiprocessing, "parent_process", lambda: "the parent"),
    ],
)
def test_none_is_started_without_an_idle_core_or_by_a_worker(idle, monkeypatch, owner, name, value):
    monkeypatch.setattr(owner, name, value, raising=False)
    assert not beside._may_start()


def test_linux_tells_how_many_threads_run():
    assert beside._running() >= (Path("/proc/loadavg").exists())


COLD = """
import sys
from rbgym.compiled import beside
sys.path.insert(0, {tests!r})
beside._may_start = lambda: {ahead}
from fuzzing.digests import digest
print(digest("RigidTop-v0", 60))
from rbgym.envs.kernels import judge
print(sum(judge.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_an_environment_has_the_same_bits_whoever_compiled_its_kernels(tmp_path):
    printed = []
    for ahead in (True, False):
        code = COLD.format(tests=str(Path(__file__).parent), ahead=ahead)
        kept = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / str(ahead))}
        done = subprocess.run(
            [sys.executable, "-c", code], env=kept, check=True, capture_output=True, text=True
        )
        printed.append(done.stdout.split())
    (one, loaded), (other, none) = printed
    assert one == other
    assert (loaded, none) == ("1", "0")
