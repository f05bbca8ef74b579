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
    )


def means(module, observations):
    """What the module commands, by torch."""
    passed = module.encoder.actor_encoder.net.mlp(torch.from_numpy(observations))
    answer = module.pi.net.mlp(passed).detach().numpy()
    return np.clip(answer[:, : module.action_space.shape[0]], -1.0, 1.0)


def algorithm_of(module, **env_kwargs):
    given = dict.fromkeys(rllib.HYPERPARAMETERS, 1)
    config = SimpleNamespace(env_config=env_kwargs, _env_to_module_connector=None, **given)
    metrics = SimpleNamespace(peek=lambda key: 64.0)
    return SimpleNamespace(config=config, metrics=metrics, get_module=lambda: module)


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.ELU])
@pytest.mark.parametrize("deviations", [True, False])
def test_the_network_of_a_module_commands_its_means(activation, deviations):
    module = module_of(activation=activation, deviations=deviations)
    network = rllib.network_of_module(module)
    seen = np.random.default_rng(5).normal(size=(50, network.width)).astype(np.float32)
    np.testing.assert_allclose(network.predict(seen)[0], means(module, seen), atol=2e-6)


def test_modules_of_another_kind_are_refused():
    shared = module_of()
    shared.encoder = SimpleNamespace(encoder=shared.encoder.actor_encoder)
    for other in (shared, nn.Linear(2, 2), None):
        with pytest.raises(ValueError, match="module must be that of RLlib's PPO"):
            rllib.network_of_module(other)
    unbound = module_of()
    unbound.action_space = gym.spaces.Box(-2.0, 2.0, (3,))
    with pytest.raises(ValueError, match=r"must have actions in \[-1, 1\]"):
        rllib.network_of_module(unbound)


def test_a_policy_folder_is_judged_as_those_of_our_own_trainings(tmp_path, monkeypatch):
    monkeypatch.setattr(rllib, "version", lambda name: "2.60.0")
    module, folder = module_of(), tmp_path / "cluster"
    algorithm = algorithm_of(module, max_episode_steps=5)
    rllib.write_policy(folder, algorithm, "rbgym:RigidTop-v0")
    policy = rbgym.agents.load(folder)
    assert policy.network.quaternions == (0,)
    assert policy.config["training"] == {"timesteps": 64}
    env_id, (found,) = contenders([str(folder)])
    assert (env_id, found.env_kwargs) == ("rbgym:RigidTop-v0", {"max_episode_steps": 5})
    assert evaluate(found.policy, env_id, 2, **found.env_kwargs).success_rate == 0.0


def test_an_algorithm_whose_module_does_not_see_the_observations_is_refused(tmp_path):
    algorithm = algorithm_of(module_of())
    algorithm.config._env_to_module_connector = lambda env, spaces, device: None
    with pytest.raises(ValueError, match="must be without an env_to_module_connector"):
        rllib.write_policy(tmp_path / "cluster", algorithm, "RigidTop-v0")
    assert not (tmp_path / "cluster").exists()
