"""Converts PyTorch modules to plain arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import nn

from rbgym.agents.policies.network import Layer

ACTIVATIONS: dict[type[nn.Module], str] = {nn.Tanh: "tanh", nn.ReLU: "relu", nn.ELU: "elu"}


def plain_layers(modules: Sequence[nn.Module]) -> tuple[tuple[Layer, ...], str]:
    """Weight and bias of each linear layer, and the name of the activation between them.
    ValueError unless linear layers alternate with activations of one kind, ELU with alpha 1."""
    linear, kinds = modules[::2], {type(module) for module in modules[1::2]}
    if not all(isinstance(one, nn.Linear) for one in linear) or not kinds <= ACTIVATIONS.keys():
        raise ValueError(f"model must alternate linear layers and activations, got {modules}")
    if len(kinds) > 1 or any(getattr(one, "alpha", 1.0) != 1.0 for one in modules):
        raise ValueError(f"model must have one kind of activation, with alpha=1, got {modules}")
    layers = tuple((plain(one.weight), plain(one.bias)) for one in linear)
    return layers, ACTIVATIONS[kinds.pop()] if kinds else "tanh"


def plain(parameter: Any) -> Any:
    """A copy of a parameter as a NumPy array; ValueError for None, a bias that is left out."""
    if parameter is None:
        raise ValueError("model must have a bias in every layer, got one without")
    return parameter.detach().cpu().numpy().copy()


def require_unit_box(space: Any) -> None:
    """Raise ValueError unless the action space is [-1, 1]."""
    low, high = getattr(space, "low", 0.0), getattr(space, "high", 0.0)
    if not (np.all(low == -1.0) and np.all(high == 1.0)):
        raise ValueError(f"model must have actions in [-1, 1], got {space}")
