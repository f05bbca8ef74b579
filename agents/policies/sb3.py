"""Algorithms of Stable-Baselines3 and sb3-contrib by name, and the networks of their models."""

import inspect
from typing import Any

import numpy as np
from gymnasium import spaces
from sb3_contrib import TQC, RecurrentPPO
from stable_baselines3 import PPO, SAC
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.distributions import (
    DiagGaussianDistribution,
    StateDependentNoiseDistribution,
)
from stable_baselines3.common.torch_layers import CombinedExtractor, FlattenExtractor
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from rbgym.agents.policies.forward import OUTPUTS
from rbgym.agents.policies.modules import plain, plain_layers, require_unit_box
from rbgym.agents.policies.network import Network, Normalizer, RecurrentNetwork
from rbgym.envs.arguments import named

ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "ppo": PPO, "sac": SAC, "tqc": TQC, "recurrent_ppo": RecurrentPPO
}  # fmt: skip
SCHEDULED = ("learning_rate", "clip_range", "clip_range_vf")  # may be a schedule, like lin_1e-3
# Arguments that `train` sets itself, or whose values are objects, which a file cannot hold.
_OURS = frozenset(
    {"self", "env", "seed", "device", "verbose", "tensorboard_log", "_init_setup_model"}
    | {"action_noise", "replay_buffer_class", "replay_buffer_kwargs"}
    | {"rollout_buffer_class", "rollout_buffer_kwargs"}
)


def parameters(name: str) -> dict[str, inspect.Parameter]:
    """The constructor's arguments that a file can set; ValueError for an unknown algorithm."""
    named("algo", name, ALGORITHMS)
    found = inspect.signature(ALGORITHMS[name]).parameters
    return {key: one for key, one in found.items() if key not in _OURS}


def network_of_model(model: Any, normalizer: Any = None) -> Network | RecurrentNetwork:
    """The deterministic policy of a model. normalizer: a VecNormalize, a Normalizer or None.
    ValueError for neither kind of network, and for an action space other than [-1, 1]."""
    if not isinstance(normalizer, VecNormalize | Normalizer | None):
        raise ValueError(f"normalizer must be a VecNormalize or Normalizer, got {normalizer!r}")
    modules, output, extractor = _actor(model)
    if not isinstance(extractor, FlattenExtractor | CombinedExtractor):
        raise ValueError(f"model must have a Flatten- or CombinedExtractor, got {extractor}")
    seen = model.observation_space
    parts = list(seen.values()) if isinstance(seen, spaces.Dict) else [seen]
    if not all(isinstance(part, spaces.Box) and len(part.shape) == 1 for part in parts):
        raise ValueError(f"model must have observations (width,) or a dict of them, got {seen}")
    require_unit_box(model.action_space)
    layers, activation = plain_layers(modules)
    if isinstance(normalizer, VecNormalize):
        normalizer = _statistics(normalizer) if normalizer.norm_obs else None
    lstm = getattr(model.policy, "lstm_actor", None)
    if lstm is None:
        return Network(layers, activation, output, normalizer)
    cells, names = [], ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    for k in range(lstm.num_layers):
        found = (plain(getattr(lstm, f"{name}_l{k}", None)) for name in names)
        of_input, of_output, bias, other = found
        cells.append((of_input, of_output, bias + other))
    return RecurrentNetwork(tuple(cells), Network(layers, activation, output), normalizer)


def _actor(model: Any) -> tuple[list[nn.Module], str, nn.Module]:
    """The modules of a deterministic action, its name in `OUTPUTS`, and the features extractor."""
    policy: Any = getattr(model, "policy", None)
    if hasattr(policy, "mlp_extractor"):  # PPO and similar
        known = DiagGaussianDistribution | StateDependentNoiseDistribution
        if not isinstance(policy.action_dist, known):
            raise ValueError(f"model must have a Gaussian policy, got {policy.action_dist!r}")
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
        return modules, "tanh" if policy.squash_output else "clip", policy.pi_features_extractor
    actor: Any = getattr(policy, "actor", None)
    if hasattr(actor, "latent_pi"):  # SAC and TQC
        first, *bounded = actor.mu if isinstance(actor.mu, nn.Sequential) else [actor.mu]
        output = "gsde" if bounded else "tanh"
        if bounded and bounded[0].max_val != OUTPUTS[output][0]:
            raise ValueError(f"model must have the usual clip_mean, got {bounded[0].max_val}")
        return [*actor.latent_pi, first], output, actor.features_extractor
    raise ValueError(f"model must be a PPO, SAC or similar, got {type(model).__name__}")


def _statistics(normalizer: VecNormalize) -> Normalizer:
    """Convert a VecNormalize to plain arrays; those of a dict of goals in the order of names."""
    moments = normalizer.obs_rms
    if not isinstance(moments, dict):
        parts = [moments]
    elif moments.keys() == set(normalizer.observation_space):  # type: ignore[call-overload]
        parts = [moments[key] for key in sorted(moments)]
    else:
        raise ValueError(f"normalizer must be for the whole observation, got {sorted(moments)}")
    mean, variance = (np.concatenate([getattr(p, n) for p in parts]) for n in ("mean", "var"))
    return Normalizer(mean, variance, normalizer.clip_obs, normalizer.epsilon)
