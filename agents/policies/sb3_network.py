"""The layers of a policy that Stable-Baselines3 trained."""

from typing import Any

import numpy as np
from stable_baselines3 import PPO, SAC, TD3
from stable_baselines3.common.distributions import DiagGaussianDistribution
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from rbgym.agents.policies.network import Layer
from rbgym.agents.policies.normalizer import Normalizer

_ACTIVATIONS: dict[type[nn.Module], str] = {nn.Tanh: "tanh", nn.ReLU: "relu", nn.ELU: "elu"}


def parts_of(
    model: Any, normalizer: VecNormalize | Normalizer | None
) -> tuple[tuple[Layer, ...], str, str, Normalizer | None]:
    """Layers, activation, output and normaliser of a model; see `Network.from_model`."""
    if not isinstance(normalizer, VecNormalize | Normalizer | None):
        raise ValueError(f"normalizer must be a VecNormalize or Normalizer, got {normalizer!r}")
    modules, output, extractor = _actor(model)
    if not isinstance(extractor, FlattenExtractor | CombinedExtractor):
        raise ValueError(
            "model must have a FlattenExtractor or CombinedExtractor, got "
            f"{type(extractor).__name__}"
        )
    box = model.action_space
    if not (np.all(box.low == -1.0) and np.all(box.high == 1.0)):
        raise ValueError(f"model must have actions in [-1, 1], got {box}")
    linear, between = modules[::2], modules[1::2]
    kinds = {type(module) for module in between}
    if not all(isinstance(module, nn.Linear) for module in linear) or len(kinds - {*_ACTIVATIONS}):
        raise ValueError(f"model must alternate linear layers and activations, got {modules}")
    if len(kinds) > 1:
        raise ValueError(f"model must have one kind of activation, got {modules}")
    activation = _ACTIVATIONS[kinds.pop()] if kinds else "tanh"
    layers = tuple((_array(module.weight), _array(module.bias)) for module in linear)
    return layers, activation, output, _normalizer(normalizer)


def _actor(model: Any) -> tuple[list[nn.Module], str, nn.Module]:
    """What a deterministic action passes: modules, the output's name, and before them the features'
    extractor."""
    policy: Any = getattr(model, "policy", None)
    if isinstance(model, PPO):
        if not isinstance(policy.action_dist, DiagGaussianDistribution):
            raise ValueError(
                f"model must have a Gaussian policy, got {type(policy.action_dist).__name__}"
            )
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
        return modules, "clip", policy.pi_features_extractor
    if isinstance(model, SAC):
        return [*policy.actor.latent_pi, policy.actor.mu], "tanh", policy.actor.features_extractor
    if isinstance(model, TD3):
        *modules, squash = policy.actor.mu
        if not isinstance(squash, nn.Tanh):
            raise ValueError(f"model must squash its actions by tanh, got {squash}")
        return modules, "tanh", policy.actor.features_extractor
    raise ValueError(f"model must be a PPO, SAC or TD3, got {type(model).__name__}")


def _normalizer(given: VecNormalize | Normalizer | None) -> Normalizer | None:
    if given is None or isinstance(given, Normalizer):
        return given
    if not given.norm_obs:
        return None
    moments = given.obs_rms
    if not isinstance(moments, dict):
        return Normalizer(moments.mean, moments.var, given.clip_obs, given.epsilon)
    keys = sorted(moments)
    if keys != sorted(given.observation_space.spaces):  # type: ignore[attr-defined]
        raise ValueError(f"normalizer must be for every part of the observation, got {keys}")
    mean, variance = (np.concatenate([getattr(moments[k], n) for k in keys])
                      for n in ("mean", "var"))  # fmt: skip
    return Normalizer(mean, variance, given.clip_obs, given.epsilon)


def _array(parameter: Any) -> Any:
    return parameter.detach().cpu().numpy()
