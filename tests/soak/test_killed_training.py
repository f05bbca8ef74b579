"""SIGKILL at ten random moments of a training, for each algorithm; `make soak` runs it."""

import multiprocessing
import random
import signal
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from rbgym.agents.train import train

KILLS = 10
SMALL = {"n_envs": 8, "normalize": True, "batch_size": 64}
PPO = {**SMALL, "n_steps": 32, "n_epochs": 2}
OFF_POLICY = {**SMALL, "learning_starts": 200, "buffer_size": 2000}
CHANGES = {"ppo": PPO, "sac": OFF_POLICY}
STEPS = {"ppo": 80_000, "sac": 16_000}


def arguments(algo, out):
    return {
        "out": str(out),
        "timesteps": STEPS[algo],
        "changes": CHANGES[algo],
        "progress": False,
        "checkpoint_every": STEPS[algo] // 80,
        "evaluate_every": STEPS[algo] // 4,
    }


def wait_for_checkpoints(folder, count):
    """Until so many more were written."""
    file, seen = folder / "checkpoint.zip", set()
    while len(seen) <= count:
        if file.exists():
            seen.add(file.stat().st_ino)
        time.sleep(0.005)


@pytest.mark.parametrize("algo", list(CHANGES))
def test_a_training_killed_ten_times_ends_as_one_that_ran_through(tmp_path, algo):
    # Children are forked from a process that has imported everything, so that they start at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["rbgym.agents.train.sb3.training"])
    train("RigidTop-v0", algo, **arguments(algo, tmp_path / "whole"))
    draw = random.Random(algo)
    task, options = ("RigidTop-v0", algo), arguments(algo, tmp_path / "killed")
    for kill in range(KILLS):
        child = context.Process(target=train, args=task, kwargs=options)
        child.start()
        wait_for_checkpoints(tmp_path / "killed", draw.randint(0, 3))
        child.join(draw.uniform(0.0, 0.1))
        assert child.exitcode is None, f"the training ended before kill {kill}"
        child.kill()
        child.join()
        assert child.exitcode == -signal.SIGKILL
    resumed = train(*task, **options)
    assert resumed.resumed_from > 0
    one, other = (load_file(tmp_path / n / "policy.safetensors") for n in ("whole", "killed"))
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)
