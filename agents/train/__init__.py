"""What makes policies: Stable-Baselines3, evolution and RLlib, each into a folder of its own."""
