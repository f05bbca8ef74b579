"""Training with Ray RLlib, on one machine or on a cluster: `rbgym train --engine rllib`."""
