"""Converts a policy that RLlib's PPO has trained to one of ours. Does not import Ray."""

from contextlib import closing
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium as gym

from rbgym import __version__
from rbgym.agents.policies import trained
from rbgym.agents.policies.modules import plain_layers, require_unit_box
from rbgym.agents.policies.network import Network, quaternions_of

# Recorded in policy.json: the path of the step count in RLlib's metrics; settings of its config.
STEPS = "env_runners", "num_env_steps_sampled_lifetime"
HYPERPARAMETERS = ("lr", "gamma", "lambda_", "num_epochs", "minibatch_size")


def network_of_module(module: Any) -> Network:
    """The deterministic policy of RLlib's default PPO module: the actor's encoder, and the mean of
    its head. ValueError for any other module, and for an action space other than [-1, 1]."""
    encoder = getattr(getattr(module, "encoder", None), "actor_encoder", None)
    parts = [getattr(part, "net", None) for part in (encoder, getattr(module, "pi", None))]
    if not all(hasattr(part, "mlp") for part in parts):
        raise ValueError(
            "module must be that of RLlib's PPO, of plain layers and with vf_share_layers=False, "
            f"got {type(module).__name__}"
        )
    require_unit_box(module.action_space)
    modules = [layer for part in parts for layer in getattr(part, "mlp", ())]
    layers, activation = plain_layers(modules)
    *hidden, (weight, bias) = layers
    means = slice(module.action_space.shape[0])  # log standard deviations follow
    return Network((*hidden, (weight[means], bias[means])), activation)


def write_policy(folder: str | Path, algorithm: Any, env_id: str) -> None:
    """Write the policy that an RLlib Algorithm has trained on an env, with the arguments in its
    env_config, for `rbgym evaluate`, `card` and `export`. ValueError as for `network_of_module`,
    for an env_id of other spaces, connectors, and an env_config that is not plain data."""
    module, config = algorithm.get_module(), algorithm.config
    network = network_of_module(module)
    for name in ("env_to_module_connector", "module_to_env_connector"):
        if getattr(config, f"_{name}") is not None:  # it could change what the network sees or does
            raise ValueError(f"algorithm must be without {name} of its own")
    own = module.observation_space, module.action_space
    with closing(gym.make(env_id, **config.env_config)) as env:
        spaces = env.observation_space, env.action_space
        if spaces != own:
            raise ValueError(
                f"env_id must have the algorithm's {own}, got {env_id!r} with {spaces}"
            )
        network = replace(network, quaternions=quaternions_of(env))
    content = {
        "env_id": env_id,
        "algo": "ppo",
        "env_kwargs": dict(config.env_config),
        "hyperparameters": {name: getattr(config, name) for name in HYPERPARAMETERS},
        "training": {"timesteps": int(algorithm.metrics.peek(STEPS, default=0))},
        "versions": {"rbgym": __version__, "ray": version("ray")},
    }
    trained.write(folder, network, spaces, content)
