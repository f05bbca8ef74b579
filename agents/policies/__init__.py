"""Policies: networks as plain arrays, trained policies and their files; no learning library."""

from rbgym.agents.policies.memory import Integral, Lag
from rbgym.agents.policies.network import Network, Normalizer, RecurrentNetwork
from rbgym.agents.policies.trained import TrainedPolicy, load, names

__all__ = [
    "Integral",
    "Lag",
    "Network",
    "Normalizer",
    "RecurrentNetwork",
    "TrainedPolicy",
    "load",
    "names",
]
