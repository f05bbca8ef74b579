"""Training that can be killed at any moment."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from safetensors.numpy import load_file
from stable_baselines3 import PPO

import rbgym.agents
from damaged_runs import InterruptAt
from rbgym.agents.policies.sb3 import network_of_model
from rbgym.agents.run_folder import RunFolder
from rbgym.agents.train import load_policy, make_sb3_env, presets, train
from rbgym.agents.train.run import put_policy, rank
from rbgym.agents.train.sb3.training import load_checkpoint
from rbgym.envs.parts.sensors import Instruments
from refusals import refused

SMALL = {
    "recurrent_ppo": {"n_envs": 4, "n_timesteps": 512, "n_steps": 16, "batch_size": 64,
                      "policy_kwargs": {"net_arch": [8], "lstm_hidden_size": 8}},
    "ppo": {"n_envs": 8, "n_timesteps": 1024, "n_steps": 16, "batch_size": 64, "n_epochs": 2},
    "sac": {"n_envs": 4, "n_timesteps": 400, "learning_starts": 100, "batch_size": 32,
            "buffer_size": 1000},
}  # fmt: skip


def small_train(out, algo="ppo", normalize=False, **kwargs):
    usual = {"progress": False, "checkpoint_every": 128, "evaluate_every": 0}
    changes = SMALL.get(algo, {}) | {"normalize": normalize}
    return train("RigidTop-v0", algo, out=out, **(usual | {"changes": changes} | kwargs))


def tensors(folder: RunFolder) -> dict[str, np.ndarray]:
    return load_file(folder.path / "policy.safetensors")


def test_a_finished_run_is_whole_and_no_other_is_trained_in_its_folder_unless_overwritten(tmp_path):
    first = small_train(tmp_path, progress=True, seed=np.int64(0))
    assert first.resumed_from == 0
    config = json.loads(first.folder.config.read_text())
    assert config["hyperparameters"]["n_envs"] == 8
    assert config["seed"] == 0
    assert {"rbgym", "torch", "python"} <= config["versions"].keys()
    assert json.loads(first.folder.results.read_text()) == first.results
    assert first.results["timesteps"] == 1024
    assert first.results["wall_time"] > 0
    assert list(first.folder.tensorboard.glob("events.*"))
    assert load_policy(first.folder).config["training"] == first.results
    stamp = first.folder.model.stat().st_mtime_ns
    again = small_train(tmp_path, resume=None)
    assert again.resumed_from is None
    assert again.results == first.results
    with pytest.raises(ValueError, match=r"holds another run \(seed 0 -> 1\)"):
        small_train(tmp_path, seed=1)
    first.folder.config.write_text('{"seed": 0}')
    with pytest.raises(ValueError, match=r"config\.json' must be of a run, got one without env_id"):
        small_train(tmp_path, resume=False)
    first.folder.config.unlink()  # as in a folder of something else
    with pytest.raises(ValueError, match=r"no config\.json, so its results\.json, policy\.json"):
        small_train(tmp_path)
    assert first.folder.results.exists()
    assert first.folder.model.stat().st_mtime_ns == stamp
    assert small_train(tmp_path, resume=False).resumed_from == 0
    assert first.folder.model.stat().st_mtime_ns != stamp


@pytest.mark.parametrize("algo", ["ppo", "sac", "recurrent_ppo"])
def test_an_interrupted_run_ends_with_the_weights_of_one_that_ran_through(tmp_path, algo):
    steps = SMALL[algo]["n_timesteps"]
    same = {"normalize": True, "evaluate_every": 256}
    whole = small_train(tmp_path / "whole", algo, **same)
    with pytest.raises(KeyboardInterrupt):
        small_train(tmp_path / "cut", algo, callbacks=[InterruptAt(steps * 3 // 4)], **same)
    folder = RunFolder(tmp_path / "cut")
    assert folder.checkpoint.exists()
    assert not folder.model.exists()
    assert rbgym.agents.load(folder.path).config["training"]["timesteps"] < steps  # as of a look
    said: list[str] = []
    resumed = small_train(tmp_path / "cut", algo, report=said.append, **same)
    assert steps // 2 <= resumed.resumed_from <= steps * 3 // 4
    assert said[0] == f"resuming {folder.path} from step {resumed.resumed_from}"
    assert resumed.results["timesteps"] == whole.results["timesteps"]
    assert resumed.results["last_mean_return"] == whole.results["last_mean_return"]
    np.testing.assert_equal(tensors(whole.folder), tensors(resumed.folder))
    assert any(name.startswith("normalizer.") for name in tensors(whole.folder))
    found, again = whole.results["judgements"], resumed.results["judgements"]
    assert len(found) > 1
    clocks_off = [[{**entry, "seconds": 0} for entry in entries] for entries in (found, again)]
    assert clocks_off[0] == clocks_off[1]


def test_judging_a_policy_does_not_change_what_is_learned(tmp_path):
    judged = small_train(tmp_path / "judged", normalize=True, evaluate_every=128)
    runs = judged, small_train(tmp_path / "alone", normalize=True)
    last = [PPO.load(one.folder.model).get_parameters()["policy"] for one in runs]
    assert all(torch.equal(last[0][name], value) for name, value in last[1].items())
    assert judged.results["judging_time"] > 0
    looks = [*map(rank, judged.results["judgements"])]
    assert looks[judged.results["kept"]] == max(looks) > min(looks)
    assert runs[1].results["judgements"] == []


def test_a_killed_process_leaves_a_checkpoint_that_resumes(tmp_path):
    start = "from rbgym.agents.commands.cli import main; main()"
    command = [sys.executable, "-P", "-c", start, "train"]
    command += ["RigidTop-v0", "--algo", "ppo", "--out", str(tmp_path), "--no-progress"]
    command += ["--timesteps", "5000000"]
    process = subprocess.Popen([*command, "--checkpoint-every", "1"])
    checkpoint, deadline = tmp_path / "checkpoint.zip", time.monotonic() + 300
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    env = make_sb3_env("RigidTop-v0", presets.of_sb3("ppo", "RigidTop-v0")["n_envs"])
    assert load_checkpoint(checkpoint, PPO, env).num_timesteps > 0
    assert not (tmp_path / "results.json").exists()


def test_numbers_of_yaml_and_of_its_zoo_are_read():
    assert presets.read_yaml("1e-3") == 1e-3
    assert presets.read_yaml("[2.5E+3, lin_1e-3, e3, 012]") == [2500.0, "lin_1e-3", "e3", 12]
    assert presets.of_sb3("ppo", "RigidTop-v0", None, {"n_timesteps": 1e6})["n_timesteps"] == 10**6
    for text in ("a: 1\na: 2", "a: &x [*x]"):
        with pytest.raises(ValueError, match=r"twice|recursive"):
            presets.read_yaml(text)


def test_a_file_of_hyperparameters_needs_its_steps_and_policy_alone(tmp_path):
    file = tmp_path / "h.yml"

    def found(text, **changes):
        file.write_text(f"default: {{{text}}}")
        return presets.of_sb3("ppo", "RigidTop-v0", file, changes)

    whole = {"n_envs": 1, "policy": "MlpPolicy", "n_timesteps": 64}
    assert found("policy: MlpPolicy, n_timesteps: 64") == whole
    assert found("policy: MlpPolicy", n_timesteps=64) == whole
    with pytest.raises(ValueError, match=r"h\.yml' must have \['n_timesteps'\] for RigidTop-v0"):
        found("policy: MlpPolicy")
    with pytest.raises(ValueError, match=r"h\.yml' must have \['policy'\] for RigidTop-v0"):
        found("n_timesteps: 64")


def test_a_finished_run_goes_on_where_more_steps_are_asked_for(tmp_path):
    folder = small_train(tmp_path, timesteps=1024, evaluate_every=512).folder
    policy, whole, said = tensors(folder), folder.checkpoint.read_bytes(), list[str]()
    folder.checkpoint.write_bytes(whole[:-1000])
    with pytest.raises(ValueError, match="is not a checkpoint"):
        small_train(tmp_path, timesteps=2000, evaluate_every=512)
    assert small_train(tmp_path, timesteps=1024).resumed_from is None  # nothing is lost
    folder.checkpoint.write_bytes(whole)
    folder.policy.unlink()
    assert small_train(tmp_path, timesteps=1024).resumed_from == 1024
    np.testing.assert_equal(tensors(folder), policy)
    longer = small_train(tmp_path, timesteps=2000, evaluate_every=512, report=said.append)
    assert longer.resumed_from == 1024
    assert longer.results["timesteps"] == 2048  # whole rollouts
    assert said[-1].startswith("step 2,048 of 2,048: ")
    looks = [entry["timesteps"] for entry in longer.results["judgements"]]
    assert looks == [512, 1024, 1536, 2048]
    with pytest.raises(ValueError, match=r"another run \(timesteps 2000 -> 1024\)"):
        small_train(tmp_path, timesteps=1024)
    assert small_train(tmp_path, timesteps=2000).resumed_from is None
    config = json.loads(folder.config.read_text())
    with pytest.raises(ValueError, match="another training has taken over"):
        put_policy(folder, config, {}, None, (None, None))
    folder.config.write_text(json.dumps(config | {"versions": {"rbgym": "0.0"}}))
    with pytest.raises(ValueError, match=r"has a checkpoint of rbgym '0\.0': use that"):
        small_train(tmp_path, timesteps=3000)
    assert folder.results.exists()


def test_a_training_that_goes_on_without_looks_ends_with_its_last_policy(tmp_path):
    small_train(tmp_path, timesteps=512, evaluate_every=256)
    folder = small_train(tmp_path, timesteps=1024).folder
    last = network_of_model(PPO.load(folder.model), None)
    np.testing.assert_equal(load_policy(folder).network.parameters(), last.parameters())


def test_a_normaliser_of_rewards_alone_is_saved_and_resumed(tmp_path):
    rewards = {"normalize": {"norm_obs": False}}
    whole = small_train(tmp_path / "whole", **rewards)
    with pytest.raises(KeyboardInterrupt):
        small_train(tmp_path / "cut", callbacks=[InterruptAt(640)], **rewards)
    resumed = small_train(tmp_path / "cut", **rewards)
    np.testing.assert_equal(tensors(whole.folder), tensors(resumed.folder))
    assert (tmp_path / "cut" / "vecnormalize.pkl").exists()


@refused(
    ({"algo": "dqn"}, "algo must be one of"),
    ({"changes": {"n_stepz": 8}}, "hyperparameters must have .* did you mean 'n_steps'"),
    ({"changes": {"policy_kwargs": {"net_arc": [8]}}}, "ppo are refused: .*net_arc"),
    ({"changes": {"policy_kwargs": "print(1)"}}, "policy_kwargs must be a mapping"),
    ({"changes": {"learning_rate": "exp_1"}}, "learning_rate must be a positive number or lin"),
    ({"changes": {"target_kl": "high"}}, "target_kl must be"),
    ({"out": "runs/x", "init_from": "runs/x"}, "out must be another folder than init_from"),
    ({"changes": {"gamma": "high"}}, r"gamma must be in \[0, 1\], got 'high'"),
    ({"changes": {"n_epochs": "no"}}, "n_epochs must be a positive integer, got 'no'"),
    ({"changes": {"normalize": {"norm_ob": True}}}, "did you mean 'norm_obs'"),
    ({"env_kwargs": {"reward": lambda *args: 0}}, "must be plain data"),
    ({"env_kwargs": {"sensor": Instruments()}}, "plain data, as JSON has it: sensor is"),
    ({"checkpoint_every": "x"}, "checkpoint_every must be an integer from 0 up, got 'x'"),
    ({"evaluate_every": 1.5}, "evaluate_every must be an integer from 0 up, got 1.5"),
    ({"callbacks": [3]}, "callbacks must be a list of Stable-Baselines3's callbacks"),
    ({"changes": [1]}, r"changes must be a dict of hyperparameters, got \[1\]"),
    ({"changes": {"clip_range": -1}}, r"clip_range must be in \[0, inf\], got -1"),
    ({"changes": {"normalize": {"gamma": "x"}}}, r"normalize\['gamma'\] must be in \[0, 1\]"),
    ({"hyperparameters": 3}, "hyperparameters must be a path, got 3"),
    ({"out": __file__}, "out must be a folder, got the file"),
    ({"out": ""}, "out must name a folder, got ''"),
    ({"out": Path()}, r"out must name a folder, got '\.'"),
    ({"resume": 0}, "resume must be True or False, got 0"),
    ({"timestep": 100}, "arguments must have keys from .*'timestep'; did you mean 'timesteps'"),
    ({"changes": {"policy_kwargs": {"net_arch": [64, {"pi": [8]}]}}}, "ppo are refused"),
    ({"seed": 2**32}, r"seed must be from 0 to 2\*\*32 - 1"),
    ({"seed": "0"}, "seed must be an integer from 0 up, got '0'"),
)
def test_bad_arguments_leave_no_folder(given, tmp_path):
    try:
        small_train(**{"out": tmp_path / "run"} | given)
    finally:
        assert not (tmp_path / "run").exists()


def test_a_folder_without_a_finished_run_has_no_policy_and_is_begun_anew(tmp_path):
    with pytest.raises(ValueError, match="no policy, or none yet"):
        load_policy(RunFolder(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        small_train(tmp_path, callbacks=[InterruptAt(64)])
    with pytest.raises(ValueError, match="not finished; the same rbgym train command continues it"):
        load_policy(RunFolder(tmp_path))
    assert small_train(tmp_path).resumed_from == 0  # there was no checkpoint
