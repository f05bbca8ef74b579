"""Training with Stable-Baselines3, and rbgym's vector environments as it wants them."""
