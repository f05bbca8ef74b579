"""Training that can be killed at any moment."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from stable_baselines3.common.callbacks import BaseCallback

from rbgym.agents import presets
from rbgym.agents.run_folder import RunFolder, replacing
from rbgym.agents.training import load_policy, train

SMALL_PPO = {"n_envs": 8, "n_timesteps": 1024, "n_steps": 16, "batch_size": 64, "n_epochs": 2}
SMALL_OFF_POLICY = {"n_envs": 4, "n_timesteps": 400, "learning_starts": 100, "batch_size": 32}


@pytest.fixture(autouse=True)
def small_presets(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"ppo": SMALL_PPO, "sac": SMALL_OFF_POLICY, "td3": SMALL_OFF_POLICY}
    load = presets.load
    monkeypatch.setattr(presets, "load", lambda algo, env: load(algo, env) | small[algo])


class InterruptAt(BaseCallback):
    """What Ctrl-C does, at a chosen step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def _on_step(self) -> bool:
        if self.num_timesteps >= self.step:
            raise KeyboardInterrupt
        return True


def small_train(out, algo="ppo", **kwargs):
    return train(
        "RigidTop-v0", algo, out=out, **({"progress": False, "checkpoint_every": 128} | kwargs)
    )


def weights(folder: RunFolder) -> dict[str, np.ndarray]:
    return {k: v.numpy() for k, v in load_policy(folder).policy.state_dict().items()}


def assert_same_weights(one: RunFolder, other: RunFolder) -> None:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


def test_a_run_leaves_model_log_config_and_results(tmp_path):
    done = small_train(tmp_path / "run", progress=True)
    assert done.resumed_from == 0
    config = json.loads(done.folder.config.read_text())
    assert config["hyperparameters"]["n_envs"] == 8
    assert config["seed"] == 0
    assert {"rbgym", "torch", "python"} <= config["versions"].keys()
    assert json.loads(done.folder.results.read_text()) == done.results
    assert done.results["timesteps"] == 1024
    assert done.results["wall_time"] > 0
    assert list(done.folder.tensorboard.glob("events.*"))
    assert load_policy(done.folder).num_timesteps == 1024


def test_a_finished_run_is_not_trained_again_unless_overwritten(tmp_path):
    first = small_train(tmp_path)
    stamp = first.folder.model.stat().st_mtime_ns
    again = small_train(tmp_path)
    assert again.resumed_from is None
    assert again.results == first.results
    assert first.folder.model.stat().st_mtime_ns == stamp
    assert small_train(tmp_path, resume=False).resumed_from == 0
    assert first.folder.model.stat().st_mtime_ns != stamp


@pytest.mark.parametrize("algo", ["ppo", "sac", "td3"])
def test_an_interrupted_run_ends_with_the_weights_of_one_that_ran_through(tmp_path, algo):
    steps = presets.load(algo, "RigidTop-v0")["n_timesteps"]
    whole = small_train(tmp_path / "whole", algo)
    with pytest.raises(KeyboardInterrupt):
        small_train(tmp_path / "cut", algo, callbacks=[InterruptAt(steps * 3 // 4)])
    folder = RunFolder(tmp_path / "cut")
    assert folder.checkpoint.exists()
    assert not folder.model.exists()
    said: list[str] = []
    resumed = small_train(tmp_path / "cut", algo, report=said.append)
    assert steps // 2 <= resumed.resumed_from <= steps * 3 // 4
    assert said == [f"resuming {folder.path} from step {resumed.resumed_from}"]
    assert resumed.results["timesteps"] == whole.results["timesteps"]
    assert resumed.results["last_mean_return"] == whole.results["last_mean_return"]
    assert_same_weights(whole.folder, resumed.folder)


def test_an_interruption_before_the_first_checkpoint_starts_over(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        small_train(tmp_path, callbacks=[InterruptAt(64)])
    assert small_train(tmp_path).resumed_from == 0


def test_a_killed_process_leaves_a_checkpoint_that_resumes(tmp_path):
    command = [sys.executable, "-P", "-c", "from rbgym.agents.cli import main; main()", "train"]
    command += ["RigidTop-v0", "--out", str(tmp_path), "--no-progress", "--timesteps", "5000000"]
    process = subprocess.Popen([*command, "--checkpoint-every", "1"])
    checkpoint, deadline = tmp_path / "checkpoint.zip", time.monotonic() + 50
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with zipfile.ZipFile(checkpoint) as archive:
        assert archive.testzip() is None
    assert not (tmp_path / "results.json").exists()


def test_another_run_in_the_folder_is_not_touched(tmp_path):
    first = small_train(tmp_path)
    with pytest.raises(ValueError, match=r"holds another run \(seed 0 -> 1\)"):
        small_train(tmp_path, seed=1)
    assert first.folder.results.exists()


def test_an_interrupted_write_keeps_the_old_file(tmp_path):
    file = tmp_path / "file"
    file.write_text("old")

    def write_half() -> None:
        with replacing(file) as temporary:
            temporary.write_text("half of the ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_damaged_checkpoint_is_named(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        small_train(tmp_path, callbacks=[InterruptAt(512)])
    (tmp_path / "checkpoint.zip").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"checkpoint\.zip' is no checkpoint"):
        small_train(tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algo": "dqn"}, "algo must be one of"),
        ({"timesteps": 0}, "timesteps must be a positive integer, got 0"),
        ({"seed": -1}, "seed must be from 0 to"),
        ({"seed": 1_000_000}, "belong to the test set"),
    ],
)
def test_bad_arguments_leave_no_folder(tmp_path, changes, message, monkeypatch):
    monkeypatch.undo()  # the real presets refuse an unknown algorithm
    with pytest.raises(ValueError, match=message):
        small_train(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_finished_run_has_no_policy(tmp_path):
    with pytest.raises(ValueError, match="no run folder"):
        load_policy(RunFolder(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        small_train(tmp_path, callbacks=[InterruptAt(64)])
    with pytest.raises(ValueError, match="not finished"):
        load_policy(RunFolder(tmp_path))
