"""What RLlib's PPO trains becomes a policy of ours: with modules that are built as RLlib's are,
without Ray. tests/clients has Ray's own."""

from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import rbgym.agents
from rbgym.agents.judge import evaluate
from rbgym.agents.judge.episodes import contenders
from rbgym.agents.policies import rllib
from refusals import refused

pytestmark = pytest.mark.interpreted


def perceptron(*modules):
    return SimpleNamespace(net=SimpleNamespace(mlp=nn.Sequential(*modules)))


def module_of(env_id="RigidTop-v0", activation=nn.Tanh, *, deviations=True):
    """As RLlib's default module of PPO: its head gives means, and the deviations too."""
    env = gym.make(env_id)
    width, channels = env.observation_space.shape[0], env.action_space.shape[0]
    hidden = nn.Linear(width, 8), activation(), nn.Linear(8, 8), activation()
    return SimpleNamespace(
        encoder=SimpleNamespace(actor_encoder=perceptron(*hidden)),
        pi=perceptron(nn.Linear(8, channels * (1 + deviations))),
        action_space=env.action_space,
        observation_space=env.observation_space,
    )


def means(module, observations):
    """What the module commands, by torch."""
    passed = module.encoder.actor_encoder.net.mlp(torch.from_numpy(observations))
    answer = module.pi.net.mlp(passed).detach().numpy()
    return np.clip(answer[:, : module.action_space.shape[0]], -1.0, 1.0)


def algorithm_of(module, **env_kwargs):
    given = dict.fromkeys(rllib.HYPERPARAMETERS, 1)
    given |= dict.fromkeys(("_env_to_module_connector", "_module_to_env_connector"))
    config = SimpleNamespace(env_config=env_kwargs, **given)
    metrics = SimpleNamespace(peek=lambda key, default: default)  # as before the first training
    return SimpleNamespace(config=config, metrics=metrics, get_module=lambda: module)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.ELU])
@pytest.mark.parametrize("deviations", [True, False])
def test_the_network_of_a_module_commands_its_means(activation, deviations):
    module = module_of(activation=activation, deviations=deviations)
    network = rllib.network_of_module(module)
    seen = np.random.default_rng(5).normal(size=(50, network.width)).astype(np.float32)
    np.testing.assert_allclose(network.predict(seen)[0], means(module, seen), rtol=0, atol=2e-6)


def test_a_policy_folder_is_judged_as_those_of_our_own_trainings(tmp_path, monkeypatch):
    monkeypatch.setattr(rllib, "version", lambda name: "2.60.0")
    module, folder = module_of(), tmp_path / "cluster"
    algorithm = algorithm_of(module, max_episode_steps=5)
    rllib.write_policy(str(folder), algorithm, "rbgym:RigidTop-v0")
    policy = rbgym.agents.load(folder)
    assert policy.network.quaternions == (0,)
    assert policy.config["training"] == {"timesteps": 0}
    env_id, (found,) = contenders([str(folder)])
    assert (env_id, found.env_kwargs) == ("rbgym:RigidTop-v0", {"max_episode_steps": 5})
    assert evaluate(found.policy, env_id, 2, **found.env_kwargs).success_rate == 0.0


@refused(
    ("RigidTop-v0", {"encoder": perceptron()}, "must be that of RLlib's PPO"),
    ("RigidTop-v0", {"action_space": gym.spaces.Box(-2, 2)}, r"must have actions in \[-1, 1\]"),
    ("RigidTop-v0", {"_env_to_module_connector": print}, "must be without env_to_module_connector"),
    ("RigidTop-v0", {"_module_to_env_connector": print}, "must be without module_to_env_connector"),
    ("RigidTop-v0", {"env_config": {"substeps": np.int64(1)}}, r"\(RLlib's env_config\) must be"),
    ("FreeFlyer-v0", {}, r"(?s)env_id must have .*\(7,\).* got 'FreeFlyer-v0' with .*\(13,\)"),
)
def test_a_refused_algorithm_leaves_the_folder_as_it_is(env_id, changes, tmp_path, monkeypatch):
    monkeypatch.setattr(rllib, "version", lambda name: "2.60.0")
    algorithm = algorithm_of(module_of())
    for part in algorithm.config, algorithm.get_module():
        vars(part).update(changes)
    try:
        rllib.write_policy(tmp_path / "cluster", algorithm, env_id)
    finally:
        assert not (tmp_path / "cluster").exists()
