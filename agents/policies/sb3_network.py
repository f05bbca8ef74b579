"""The network of a policy that Stable-Baselines3 or sb3-contrib trained, as plain arrays."""

from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.distributions import (
    DiagGaussianDistribution,
    StateDependentNoiseDistribution,
)
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from rbgym.agents.policies.forward import OUTPUTS

ACTIVATIONS: dict[type[nn.Module], str] = {nn.Tanh: "tanh", nn.ReLU: "relu", nn.ELU: "elu"}


def arrays_of(model: Any, normalizer: VecNormalize | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The deterministic policy of a model, as `rbgym.agents.policies.network_of` takes it.

    normalizer: what observations pass before. Raises ValueError for a policy that is neither kind
    of network, and for one of other spaces than boxes of observations and actions in +-1.
    """
    if not isinstance(normalizer, VecNormalize | None):
        raise ValueError(f"normalizer must be a VecNormalize or Normalizer, got {normalizer!r}")
    modules, output, extractor = _actor(model)
    if not isinstance(extractor, FlattenExtractor | CombinedExtractor):
        raise ValueError(
            "model must have a FlattenExtractor or CombinedExtractor, got "
            f"{type(extractor).__name__}"
        )
    seen, box = model.observation_space, model.action_space
    parts = list(seen.values()) if isinstance(seen, spaces.Dict) else [seen]
    if not all(isinstance(part, spaces.Box) and len(part.shape) == 1 for part in parts):
        raise ValueError(f"model must have observations (width,) or a dict of them, got {seen}")
    if not (np.all(box.low == -1.0) and np.all(box.high == 1.0)):
        raise ValueError(f"model must have actions in [-1, 1], got {box}")
    linear, kinds = modules[::2], {type(module) for module in modules[1::2]}
    if not all(isinstance(one, nn.Linear) for one in linear) or not kinds <= ACTIVATIONS.keys():
        raise ValueError(f"model must alternate linear layers and activations, got {modules}")
    if len(kinds) > 1:
        raise ValueError(f"model must have one kind of activation, got {modules}")
    activation = ACTIVATIONS[kinds.pop()] if kinds else "tanh"
    arrays: dict[str, Any] = {}
    config: dict[str, Any] = {"activation": activation, "output": output}
    for n, one in enumerate(linear):
        arrays |= {f"layers.{n}.weight": _array(one.weight), f"layers.{n}.bias": _array(one.bias)}
    if (lstm := getattr(model.policy, "lstm_actor", None)) is not None:
        config["cells"] = lstm.num_layers
        for k in range(lstm.num_layers):
            names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            of_input, of_output, bias, other = (
                _array(getattr(lstm, f"{name}_l{k}")) for name in names
            )
            arrays |= {f"cells.{k}.input": of_input, f"cells.{k}.output": of_output,
                       f"cells.{k}.bias": bias + other}  # fmt: skip
    if normalizer is not None and normalizer.norm_obs:
        of_normalizer, config["normalizer"] = _statistics(normalizer)
        arrays |= of_normalizer
    return arrays, config


def _actor(model: Any) -> tuple[list[nn.Module], str, nn.Module]:
    """Modules that a deterministic action passes, the output's name, and the features' extractor
    before them."""
    policy: Any = getattr(model, "policy", None)
    if hasattr(policy, "mlp_extractor"):  # PPO and its like
        known = DiagGaussianDistribution | StateDependentNoiseDistribution
        if not isinstance(policy.action_dist, known):
            raise ValueError(
                f"model must have a Gaussian policy, got {type(policy.action_dist).__name__}"
            )
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
        return modules, "tanh" if policy.squash_output else "clip", policy.pi_features_extractor
    actor: Any = getattr(policy, "actor", None)
    if hasattr(actor, "latent_pi"):  # SAC and TQC
        first, *bounded = actor.mu if isinstance(actor.mu, nn.Sequential) else [actor.mu]
        output = "gsde" if bounded else "tanh"
        if bounded and bounded[0].max_val != OUTPUTS[output][0]:
            raise ValueError(f"model must have the usual clip_mean, got {bounded[0].max_val}")
        return [*actor.latent_pi, first], output, actor.features_extractor
    if isinstance(getattr(actor, "mu", None), nn.Sequential):  # TD3 and DDPG
        *modules, squash = actor.mu
        if not isinstance(squash, nn.Tanh):
            raise ValueError(f"model must squash its actions by tanh, got {squash}")
        return modules, "tanh", actor.features_extractor
    raise ValueError(f"model must be a PPO, SAC, TD3 or like them, got {type(model).__name__}")


def _statistics(normalizer: VecNormalize) -> tuple[dict[str, Any], dict[str, float]]:
    """Arrays and bounds of a normaliser; of a dict of goals in the order of the names."""
    moments = normalizer.obs_rms
    if not isinstance(moments, dict):
        parts = [moments]
    elif moments.keys() == set(normalizer.observation_space):  # type: ignore[call-overload]
        parts = [moments[key] for key in sorted(moments)]
    else:
        raise ValueError(
            f"normalizer must be for every part of the observation, got {sorted(moments)}"
        )
    arrays = {"normalizer.mean": np.concatenate([part.mean for part in parts]),
              "normalizer.variance": np.concatenate([part.var for part in parts])}  # fmt: skip
    return arrays, {"clip": normalizer.clip_obs, "epsilon": normalizer.epsilon}


def _array(parameter: Any) -> Any:
    return parameter.detach().cpu().numpy().copy()
