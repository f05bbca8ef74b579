"""What plays: networks as plain arrays, trained policies and the files that hold them.

None of it needs a learning library, but for `sb3`, which reads models of Stable-Baselines3.
"""

from rbgym.agents.policies.network import Network, Normalizer
from rbgym.agents.policies.recurrent import RecurrentNetwork
from rbgym.agents.policies.trained import TrainedPolicy, load, names

__all__ = ["Network", "Normalizer", "RecurrentNetwork", "TrainedPolicy", "load", "names"]
