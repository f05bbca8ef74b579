"""SIGKILL at random moments of everything that writes files; `make soak` runs it."""

import multiprocessing
import os
import random
import signal
import time
from multiprocessing import forkserver
from pathlib import Path

import pytest

pytest.importorskip("cma")

import damaged_runs
import writers

KILLS = 20


@pytest.fixture(scope="module")
def context():
    """Children are forked from a process that has imported everything: they start at once."""
    server, before = forkserver._forkserver, os.environ.get("PYTHONPATH")
    server._stop()  # that of another test knows nothing of these modules
    os.environ["PYTHONPATH"] = str(Path(writers.__file__).parent)
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["writers", "damaged_runs"])
    yield found
    server._stop()
    os.environ.pop("PYTHONPATH")
    if before is not None:
        os.environ["PYTHONPATH"] = before


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".tmp"}


def killed_soon(child, draw, begun):
    """Start a process, let it begin, and kill it a moment after."""
    child.start()
    end = time.monotonic() + 120
    while not begun() and time.monotonic() < end:
        time.sleep(0.002)
    child.join(draw.uniform(0.0, 0.15))
    assert child.exitcode is None, "it ended by itself"
    child.kill()
    child.join()
    assert child.exitcode == -signal.SIGKILL


@pytest.mark.parametrize("name", list(writers.WRITERS))
def test_a_killed_writer_leaves_a_whole_file_and_the_next_one_clears_up(name, tmp_path, context):
    folder, draw = tmp_path / "out", random.Random(name)
    folder.mkdir()
    whole = []
    for turn in (0, 1):
        child = context.Process(target=writers.once, args=(name, str(folder), turn))
        child.start()
        child.join()
        assert child.exitcode == 0
        whole.append(contents(folder))
    left = 0
    for _ in range(KILLS):
        child = context.Process(target=writers.forever, args=(name, str(folder)))
        (tmp_path / "writing").unlink(missing_ok=True)
        killed_soon(child, draw, (tmp_path / "writing").exists)
        for file, content in contents(folder).items():
            assert content in [one[file] for one in whole], f"{file} is neither of the two"
        left += len(list(folder.glob(".*.tmp")))
    child = context.Process(target=writers.once, args=(name, str(folder), 1))
    child.start()
    child.join()
    assert contents(folder) == whole[1]
    assert not list(folder.glob(".*.tmp"))
    print(f"\n{name}: {KILLS} kills, {left} of them in the midst of writing")


def test_a_search_killed_at_any_moment_ends_as_one_that_ran_through(tmp_path, context):
    draw = random.Random(1)
    changes = damaged_runs.EVOLVED | {"generations": 150}
    arguments = {"out": str(tmp_path / "killed"), "changes": changes, "progress": False}
    whole = damaged_runs.evolve("RigidTop-v0", **arguments | {"out": str(tmp_path / "whole")})
    file, kills = tmp_path / "killed" / "search.pkl", 0
    for _ in range(6):
        child = context.Process(target=damaged_runs.evolve, args=("RigidTop-v0",), kwargs=arguments)
        seen = file.stat().st_ino if file.exists() else 0
        killed_soon(child, draw, lambda: file.exists() and file.stat().st_ino != seen)  # noqa: B023
        kills += 1
    assert kills == 6
    done = damaged_runs.evolve("RigidTop-v0", **arguments)
    assert done.resumed_from == 1
    for name in ("policy.safetensors",):
        assert (done.folder.path / name).read_bytes() == (whole.folder.path / name).read_bytes()
