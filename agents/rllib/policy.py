"""A policy that RLlib has trained, as arrays: it is read, and acts, without Ray and torch."""

from pathlib import Path
from typing import Any

import numpy as np

from rbgym.agents.network import Network
from rbgym.agents.run_folder import RunFolder, read_json, replacing, write_json


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


def save(policy: Network, path: Path) -> None:
    """Write the arrays to `path`, an .npz file, and what they are for to the .json beside it."""
    arrays: dict[str, Any] = {}
    for k, (weight, bias) in enumerate(policy.layers):
        arrays |= {f"weight_{k}": weight, f"bias_{k}": bias}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)
    described = {
        "layers": [list(weight.shape) for weight, _ in policy.layers],
        "activation": policy.activation,
        "output": policy.output,
    }
    write_json(path.with_suffix(".json"), described)


def load(path: Path) -> Network:
    """The policy that `save` wrote; ValueError for files that are none."""
    described = read_json(path.with_suffix(".json"))
    try:
        with np.load(path) as arrays:
            layers = tuple(
                (arrays[f"weight_{k}"], arrays[f"bias_{k}"])
                for k in range(len(described["layers"]))
            )
        return Network(layers, described["activation"], described["output"])
    except (KeyError, ValueError) as error:
        raise ValueError(f"{str(path)!r} is no policy: {error}") from None


def load_policy(folder: RunFolder) -> Network:
    """The trained policy of a run; ValueError if the run is not finished."""
    if not folder.policy.is_file():
        raise ValueError(f"{str(folder.path)!r} has no policy.npz: its training is not finished")
    return load(folder.policy)
