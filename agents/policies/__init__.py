"""What plays: networks as plain arrays, trained policies and files; no learning library."""

from rbgym.agents.policies.network import Network, Normalizer
from rbgym.agents.policies.recurrent import RecurrentNetwork
from rbgym.agents.policies.trained import TrainedPolicy, load, names

__all__ = ["Network", "Normalizer", "RecurrentNetwork", "TrainedPolicy", "load", "names"]
