"""Policies as files that hold data only."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from refusals import refused

pytest.importorskip("stable_baselines3")

import gymnasium as gym
import torch
from safetensors.numpy import load_file, save_file
from scipy.spatial.transform import Rotation
from stable_baselines3.common.vec_env import VecNormalize

import rbgym.agents
from rbgym.agents.cases import starts_of
from rbgym.agents.controllers import Estimating
from rbgym.agents.judge.episodes import as_policy
from rbgym.agents.judge.evaluation import evaluate
from rbgym.agents.policies import Network, trained
from rbgym.agents.policies.memory import Integral, SunDirection, Trend
from rbgym.agents.policies.sb3 import network_of_model
from rbgym.agents.train import presets
from rbgym.agents.train.sb3.adapter import make_sb3_env
from rbgym.agents.train.sb3.training import new_model, normalized

ROUND_OFF = 2e-6  # of float32 sums in another order
SMALL = {"n_envs": 4, "batch_size": 64}
SMALL["policy_kwargs"] = {"net_arch": [16, 8], "activation_fn": "ReLU"}
OFF_POLICY = {**SMALL, "buffer_size": 1000}
CHANGES = {"ppo": SMALL, "sac": OFF_POLICY, "tqc": OFF_POLICY}
CHANGES["recurrent_ppo"] = SMALL | {"policy_kwargs": {"net_arch": [8], "lstm_hidden_size": 8}}
LAYERS = {"net_arch": [16, 8]}
OTHERS = [("ppo", {"policy_kwargs": LAYERS | {"activation_fn": name}}) for name in ("Tanh", "ELU")]
OTHERS += [(algo, {"use_sde": True}) for algo in ("ppo", "sac", "tqc")]


def plain(model):
    return network_of_model(model, model.get_vec_normalize_env())


def saved(folder, algo="ppo", env_id="RigidTop-v0", **changes):
    """An untrained model whose normaliser has seen something, written to the folder."""
    hyperparameters = presets.of_sb3(algo, env_id, None, CHANGES[algo] | changes)
    env = normalized(hyperparameters, make_sb3_env(env_id, 4, 0))
    model = new_model(algo, hyperparameters, env, 3)
    env.reset()
    for _ in range(20):
        env.step(np.full((4, *env.action_space.shape), 0.3, dtype=np.float32))
    told = {"algo": algo, "env_id": env_id, "env_kwargs": {}, "hyperparameters": hyperparameters}
    trained.write(folder, plain(model), spaces_of(env), told)
    return model, env


def spaces_of(env):
    return env.observation_space, env.action_space


def observations(env_id="RigidTop-v0"):
    return gym.make_vec(env_id, num_envs=32).reset(seed=7)[0]


def moved(model):
    """The model with weights that are not the small ones of a beginning."""
    for parameter in model.policy.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    return model


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(("algo", "more"), [*((algo, {}) for algo in CHANGES), *OTHERS])
def test_a_policy_that_was_read_chooses_what_the_model_chose(tmp_path, algo, more, normalize):
    model, env = saved(tmp_path, algo, normalize=normalize, **more)
    trained.write(tmp_path, plain(moved(model)), spaces_of(env), {"algo": algo})
    seen = observations()
    shown = env.normalize_obs(seen) if isinstance(env, VecNormalize) else seen
    expected, state = model.predict(shown, episode_start=np.ones(32, bool), deterministic=True)
    read = rbgym.agents.load(tmp_path)
    actions, own_state = read.predict(seen, episode_start=np.ones(32, bool))
    np.testing.assert_allclose(actions, expected, rtol=0, atol=ROUND_OFF)
    assert (own_state is None) == (state is None)
    assert np.abs(actions).max() > 0.1
    single, _ = read.predict(seen[3], episode_start=np.ones(1, bool))
    np.testing.assert_allclose(single, actions[3], rtol=0, atol=ROUND_OFF)


def test_a_memory_is_handed_on_and_emptied_where_episodes_start(tmp_path):
    changes = {"net_arch": [8], "lstm_hidden_size": 8, "n_lstm_layers": 2}
    model, env = saved(tmp_path, "recurrent_ppo", policy_kwargs=changes)
    trained.write(tmp_path, plain(moved(model)), spaces_of(env), {})
    read, seen = rbgym.agents.load(tmp_path), observations()
    state = own_state = None
    for step in range(4):
        start = np.arange(32) % 3 == step if step else np.ones(32, bool)
        expected, state = model.predict(seen, state, start, deterministic=True)
        actions, own_state = read.predict(seen, own_state, start)
        np.testing.assert_allclose(actions, expected, rtol=0, atol=ROUND_OFF)
        np.testing.assert_allclose(own_state, state, rtol=0, atol=ROUND_OFF)
    with pytest.raises(ValueError, match=r"episode_start must be bools \(32,\), got \[True, "):
        read.predict(seen, own_state, [True] * 3)


@pytest.mark.interpreted
def test_an_integral_holds_against_a_torque_that_stays(tmp_path):
    """u = -K x, with a PD law's gains and with an integral's: the first leaves an error."""
    env = gym.make("AttitudeSlew-v1", disturbance={"constant": (2e-5, -1e-5, 1e-5)})
    remembers, eye = Integral.over(40.0, env.unwrapped.dt, edge=0.02, column=1), np.eye(3)
    columns = np.zeros((3, 1)), -8.0 * eye, -10.0 * eye, -0.3 * eye
    ends = []
    for memory, k in ((None, 7), (remembers, 10)):
        network = Network(((np.hstack(columns)[:, :k], np.zeros(3)),), memory=memory)
        trained.write(tmp_path, network, (env.observation_space, env.action_space), {})
        policy, memory, begins = rbgym.agents.load(tmp_path), None, np.ones(1, bool)
        observation, info = env.reset(seed=0)
        for _ in range(260):
            action, memory = policy.predict(observation, memory, begins)
            observation, *_, info = env.step(action)
            begins = np.zeros(1, bool)
        ends.append(info["attitude_error"])
    assert ends[0] > 3e-4
    assert ends[1] < 3e-6
    again, _ = policy.predict(observation, memory, np.ones(1, bool))  # as in a first step
    np.testing.assert_array_equal(again, policy.predict(observation)[0])
    with pytest.raises(ValueError, match="state must be of shape"):
        policy.predict(np.stack([observation] * 2), memory)
    with pytest.raises(ValueError, match="edge must be at least 1e-18"):
        Integral(1, edge=1e-25, share=0.5)


@pytest.mark.interpreted
def test_a_trend_tells_how_fast_a_column_changes(tmp_path):
    """Of x = a + r k, behind any constant a, it shows r / share; at a start, nothing."""
    read = np.hstack([np.zeros((2, 3)), np.eye(2)]), np.zeros(2)
    spaces = gym.spaces.Box(-9.0, 9.0, (3,)), gym.spaces.Box(-1.0, 1.0, (2,))
    trained.write(tmp_path, Network((read,), memory=Trend(1, 2, 0.25)), spaces, {})
    policy, memory = rbgym.agents.load(tmp_path), None
    rates = np.array([0.01, -0.02])
    for k in range(60):
        action, memory = policy.predict(np.array([9.0, *([3.0, -5.0] + k * rates)]), memory)
        assert k or not action.any()
    np.testing.assert_allclose(action, rates / 0.25, rtol=1e-4)
    again, _ = policy.predict(np.array([9.0, 1.0, 2.0]), memory, np.ones(1, bool))
    assert not again.any()


@pytest.mark.interpreted
def test_gyros_turn_the_direction_of_the_sun_in_the_dark():
    sides, omega, turn = np.array([*np.eye(3), *-np.eye(3)]), np.array([0.3, -0.2, 0.5]), 2e-3
    memory, kept = SunDirection(3, 0, sides, turn, share=0.2), np.zeros((1, 3))
    for k in range(300):
        s = Rotation.from_rotvec(-k * turn * omega).apply([0.6, 0.0, 0.8])
        cells = (20 <= k < 100) * np.maximum(sides @ s, 0.0)
        seen, before = np.concatenate([omega, cells])[None], kept
        read, kept = memory.after(before, seen)
        assert read.any() == (k >= 20)
        assert k < 80 or np.abs(read[0] - s).max() < 1e-6
    again, _ = memory.after(torch.from_numpy(before), torch.from_numpy(seen))
    np.testing.assert_allclose(again.numpy(), read, rtol=1e-15)


def test_a_policy_for_goals_is_read_with_its_spaces(tmp_path):
    how = {"norm_reward": False, "clip_obs": 0.7}
    model, env = saved(tmp_path, env_id="AttitudeReach-v0", normalize=how)
    seen = observations("AttitudeReach-v0")
    read = rbgym.agents.load(tmp_path)
    assert read.observation_space == env.observation_space
    shown = env.normalize_obs(seen)
    assert np.abs(shown["observation"]).max() == np.float32(0.7)
    expected, _ = model.predict(shown, deterministic=True)
    np.testing.assert_allclose(read.predict(seen)[0], expected, rtol=0, atol=ROUND_OFF)
    env.norm_obs = False
    assert plain(model).normalizer is None


def test_a_file_holds_arrays_that_safetensors_reads_and_nothing_of_the_critic(tmp_path):
    saved(tmp_path, "sac", normalize=True)
    names = {f"layers.{n}.{part}" for n in range(3) for part in ("weight", "bias")}
    arrays = load_file(tmp_path / "policy.safetensors")
    assert set(arrays) == names | {"normalizer.mean", "normalizer.variance"}
    network = rbgym.agents.load(tmp_path).network
    np.testing.assert_array_equal(arrays["layers.1.weight"], network.layers[1][0])
    save_file(arrays, tmp_path / "policy.safetensors", {"author": "somebody"})
    read = rbgym.agents.load(tmp_path).network
    np.testing.assert_array_equal(read.parameters(), network.parameters())


def test_a_shipped_policy_plays_and_is_judged_without_a_learning_library():
    code = """
import sys
absent = ("torch", "stable_baselines3", "scipy", "yaml", "rich", "typer")
sys.modules.update(dict.fromkeys(absent))
import gymnasium, rbgym.agents
env = gymnasium.make("AttitudeSlew-v1")
actions, state = rbgym.agents.load("AttitudeSlew-v1").predict(env.reset(seed=0)[0])
assert actions in env.action_space, actions
from rbgym.agents.judge import evaluate
assert evaluate("pretrained", "AttitudeSlew-v1", episodes=4).success_rate == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def altered(folder, **changes):
    content = json.loads((folder / "policy.json").read_text())
    (folder / "policy.json").write_text(json.dumps(content | changes))


OTHER = {"box": {"low": ["-1"], "high": ["1"], "shape": [1], "dtype": "float32"}}
HUGE = {"box": {"dtype": "(100000000,)f8"}}


@refused(
    (lambda folder: altered(folder, format=99), "must be of format 1, got 99"),
    (lambda folder: altered(folder, action_space=OTHER), r"must map .* to .* \(1,\), got 7 to 3"),
    (lambda folder: altered(folder, action_space=HUGE), r"dtype must be one of \['float32', 'floa"),
    (lambda folder: (folder / "policy.json").write_text("{"), "cannot be read as JSON"),
    (lambda folder: (folder / "policy.safetensors").unlink(), "holds no policy"),
)
def test_a_damaged_policy_is_refused(damage, tmp_path):
    saved(tmp_path)
    damage(tmp_path)
    rbgym.agents.load(tmp_path)


@refused(
    ("AttitudeTracking-v1", r"of AttitudeTracking-v1, Box of shape \(10,\).*\(7,\)"),
    ("AttitudeSlew-v1", "was trained for entries or bounds that differ, Box of"),
)
def test_a_policy_for_other_observations_says_what_it_was_trained_for(env_id, tmp_path):
    saved(tmp_path)
    rbgym.agents.load(tmp_path).require(env_id, gym.make(env_id).observation_space)


def test_a_model_is_judged_behind_its_normaliser_which_stays_as_it_is(tmp_path):
    model, env = saved(tmp_path, normalize=True)
    count = env.obs_rms.count
    actions = evaluate(model, episodes=4).played.actions
    assert env.obs_rms.count == count
    starts = starts_of("RigidTop-v0", 4)
    seen, _ = starts.begin(starts.env("RigidTop-v0", {}))
    expected, _ = model.predict(env.normalize_obs(seen), deterministic=True)
    np.testing.assert_allclose(actions[1], expected, rtol=0, atol=1e-6)
    assert not np.allclose(expected, model.predict(seen, deterministic=True)[0], atol=1e-6)
    stars = {"sensor": {"star_tracker": {}}}
    behind = Estimating.for_env(as_policy(model), gym.make("RigidTop-v0", **stars))
    assert behind.policy.network.normalizer is env
    model.set_env(make_sb3_env("RigidTop-v0", 4, 0, **stars))
    assert (behind.of_means, trained.TrainedPolicy.of(model).of_means) == (False, True)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", [trained.WEIGHTS, trained.CONFIG])
@pytest.mark.parametrize("kind", ["device", "pipe", "huge"])
def test_files_that_have_no_end_are_refused_unread(tmp_path, name, kind):
    boxes = [gym.spaces.Box(-1, 1, (n,), np.float32) for n in (7, 3)]
    trained.write(tmp_path, Network.random((7, 3), 0), boxes, {})
    file = tmp_path / name
    file.unlink()
    if kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        with file.open("wb") as sparse:
            sparse.truncate(2**30)
    with pytest.raises(ValueError, match=r"must be a file of at most|is not there"):
        trained.read(tmp_path)
