"""A small disk that fills up in the midst of a training; `make soak` runs it.

Skipped where no disk may be mounted.
"""

import json
import subprocess
import sys
import zipfile

import pytest
from safetensors.numpy import load_file

from disks import disk, enlarge

START = [sys.executable, "-P", "-c", "from rbgym.agents.commands.cli import main; main()"]
SMALL = ["n_envs=2", "n_steps=32", "batch_size=32", "n_epochs=1", "normalize=true"]
TRAIN = ["train", "RigidTop-v0", "--timesteps", "3200", "--no-progress", "--checkpoint-every", "64"]
TRAIN += [part for text in SMALL for part in ("--set", text)]


def run(*arguments):
    return subprocess.run([*START, *map(str, arguments)], capture_output=True, text=True)


def assert_all_is_whole(folder):
    for file in folder.rglob("*.json"):
        json.loads(file.read_text())
    for file in folder.rglob("*.zip"):
        assert zipfile.ZipFile(file).testzip() is None
    assert not list(folder.rglob("*.tmp"))


def test_a_training_on_a_disk_that_fills_up_goes_on_each_time_there_is_more_room(tmp_path):
    assert run(*TRAIN, "--out", tmp_path / "whole").returncode == 0
    try:
        mounted = disk(tmp_path / "disk", 16 * 1024)
        folder = mounted.__enter__()
    except PermissionError as error:
        pytest.skip(str(error))
    failures = 0
    try:
        for size in range(16, 4000, 50):
            enlarge(folder, size * 1024)
            done = run(*TRAIN, "--out", folder / "run")
            assert_all_is_whole(folder)
            if done.returncode == 0:
                break
            failures += 1
            assert done.returncode == 2, done.stderr
            told = [line for line in done.stderr.splitlines() if not line.startswith("resuming")]
            assert len(told) == 1, done.stderr
            assert told[0].startswith("rbgym: [Errno 28] No space left on device"), told
        assert done.returncode == 0
        whole, other = (
            load_file(f / "policy.safetensors") for f in (tmp_path / "whole", folder / "run")
        )
        assert failures > 2
        assert all((value == other[name]).all() for name, value in whole.items())
    finally:
        mounted.__exit__(None, None, None)
