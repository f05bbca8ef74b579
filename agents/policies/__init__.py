"""Policies: networks as plain arrays, trained policies and their files; no learning library."""

from rbgym.agents.policies.memory import Attitude, Integral, SunDirection, Trend
from rbgym.agents.policies.network import Network, Normalizer, RecurrentNetwork
from rbgym.agents.policies.trained import TrainedPolicy, load, names

__all__ = [
    "Attitude", "Integral", "Network", "Normalizer", "RecurrentNetwork", "SunDirection",
    "TrainedPolicy", "Trend", "load", "names",
]  # fmt: skip
