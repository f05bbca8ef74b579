# %% [markdown]
# # A first flight
#
# A satellite turns from rest to rest, to a target attitude, under a PD law. Run this file, or open
# it as a notebook: `# %%` begins a cell. This needs `rbgym[plot]` and writes first_flight.png.

# %%
import gymnasium as gym
import numpy as np

import rbgym
from rbgym.agents import controllers

# %% [markdown]
# An environment, and a law that fits it. The law has the interface of a learned policy.

# %%
env = gym.make("AttitudeSlew-v1")
law = controllers.make("pd", env)

# %% [markdown]
# One episode. `info` says how far from the goal the body is [rad, rad/s].

# %%
observation, info = env.reset(seed=0)
history = [(info["attitude_error"], info["rate_error"])]
finished, success = False, False
while not finished:
    action, _ = law.predict(observation)
    observation, reward, terminated, truncated, info = env.step(action)
    history.append((info["attitude_error"], info["rate_error"]))
    finished = terminated or truncated

time = env.unwrapped.dt * np.arange(len(history))
attitude, rate = np.array(history).T
print(f"after {time[-1]:.1f} s: {np.degrees(attitude[-1]):.4f} deg from the target", end=", ")
print("success" if info["is_success"] else "no success")

# %% [markdown]
# The errors over time.

# %%
figure = rbgym.plot.pointing({"pd": rbgym.plot.Errors(time, attitude, rate)}, title=env.spec.id)
figure.savefig("first_flight.png")
figure
