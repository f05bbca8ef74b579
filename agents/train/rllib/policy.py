"""A policy that RLlib has trained, as a plain network, which acts without Ray."""

from typing import Any

import numpy as np

from rbgym.agents.policies.network import Network


def network(module: Any, activation: str) -> Network:
    """The mean of the actions of an RLModule of RLlib's PPO, clipped as the env is given them."""
    weights = {name: np.asarray(value) for name, value in module.get_state().items()}
    # The one encoder of a module for inference, or the actor's beside the critic's.
    encoder = (
        "encoder.encoder."
        if "encoder.encoder.net.mlp.0.weight" in weights
        else ("encoder.actor_encoder.")
    )
    names = [
        name.removesuffix(".weight")
        for part in (encoder, "pi.")
        for name in weights
        if name.startswith(part) and name.endswith(".weight")
    ]
    layers = tuple((weights[f"{n}.weight"], weights[f"{n}.bias"]) for n in names)
    return Network(layers, activation, "clip")
