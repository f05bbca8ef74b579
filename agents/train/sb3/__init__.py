"""Vector environments of Gymnasium as those of Stable-Baselines3."""

from rbgym.agents.train.sb3.adapter import VectorEnvAdapter, make_sb3_env

__all__ = ["VectorEnvAdapter", "make_sb3_env"]
