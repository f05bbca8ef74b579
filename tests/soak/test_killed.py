"""SIGKILL at random moments of all that writes files, and of trainings; `make soak` runs it."""

import multiprocessing
import os
import random
import signal
import time
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("stable_baselines3")

import writers
from rbgym.agents.train import train

KILLS = 20
SMALL = {"n_envs": 8, "normalize": True, "batch_size": 64}
OFF_POLICY = {**SMALL, "learning_starts": 200, "buffer_size": 2000}
# Of each algorithm: what it saves, how often it is killed, and its arguments.
TRAININGS = {
    "ppo": ("checkpoint.zip", 10, {
        "timesteps": 80_000, "changes": {**SMALL, "n_steps": 32, "n_epochs": 2},
        "checkpoint_every": 1000, "evaluate_every": 20_000,
    }),
    "sac": ("checkpoint.zip", 10, {
        "timesteps": 16_000, "changes": OFF_POLICY, "checkpoint_every": 200, "evaluate_every": 4000,
    }),
}  # fmt: skip


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
def test_a_killed_writer_leaves_a_whole_file(name, tmp_path, context):
    folder, draw, writing = tmp_path / "out", random.Random(name), tmp_path / "writing"
    folder.mkdir()

    def written(turn):
        child = context.Process(target=writers.once, args=(name, str(folder), turn))
        child.start()
        child.join()
        assert child.exitcode == 0
        return contents(folder)

    whole = [written(turn) for turn in (0, 1)]
    left = 0
    for _ in range(KILLS):
        child = context.Process(target=writers.forever, args=(name, str(folder)))
        writing.unlink(missing_ok=True)
        killed_soon(child, draw, writing.exists)
        for file, content in contents(folder).items():
            assert content in [one[file] for one in whole], f"{file} is neither of the two"
        left += len(list(folder.glob(".*.tmp")))
    assert written(1) == whole[1]
    print(f"\n{name}: {KILLS} kills, {left} of them in the midst of writing")


@pytest.mark.parametrize("algo", list(TRAININGS))
def test_a_training_killed_at_any_moment_ends_as_one_that_ran_through(tmp_path, algo, context):
    name, kills, arguments = TRAININGS[algo]
    arguments = {"env_id": "RigidTop-v0", "algo": algo, "progress": False, **arguments}
    whole, killed, draw = tmp_path / "whole", tmp_path / "killed", random.Random(algo)
    train(**arguments, out=str(whole))
    seen = {0}  # times of saving

    def saved_again():
        if (killed / name).exists():
            seen.add((killed / name).stat().st_mtime_ns)
        return len(seen) > count

    for _ in range(kills):
        count = len(seen) + draw.randint(0, 2)
        child = context.Process(target=train, kwargs=arguments | {"out": str(killed)})
        killed_soon(child, draw, saved_again)
    assert train(**arguments, out=str(killed)).resumed_from > 0
    np.testing.assert_equal(*(load_file(one / "policy.safetensors") for one in (whole, killed)))
