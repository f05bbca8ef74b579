# %% [markdown]
# # Plan a swing-up
#
# A hanging top is brought upright without a policy: at each step, the cross-entropy method tries
# out sequences of torques from the state of the env, and the first torque of the best is taken.

# %%
import gymnasium as gym
import numpy as np

import rbgym

HORIZON, TRIED, BEST, ROUNDS = 40, 128, 12, 2
HELD = 4  # steps for which what is tried differs alike from the mean

# %%
env = gym.make("TopSwingUp-v0")
observation, info = env.reset(seed=0)
plant, rng = env.unwrapped, np.random.default_rng(0)


def better(mean):
    """The mean (HORIZON, 3) of the best sequences that were tried from where the env is."""
    state, spread = plant.get_state(), np.full(mean.shape, 0.5)
    for _ in range(ROUNDS):
        noise = np.repeat(rng.normal(size=(TRIED, HORIZON // HELD, 3)), HELD, axis=1)
        tried = np.clip(mean + spread * noise, -1.0, 1.0)
        rewards, _ = rbgym.rollout_actions(env, state, tried)
        best = tried[np.argsort(rewards.sum(axis=1))[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0)
    return mean


# %%
plan, total, terminated, truncated = np.zeros((HORIZON, 3)), 0.0, False, False
while not (terminated or truncated):
    plan = better(plan)
    observation, reward, terminated, truncated, info = env.step(plan[0].astype(np.float32))
    plan, total = np.concatenate([plan[1:], plan[-1:]]), total + reward
tilt = np.degrees(info["attitude_error"])
print(f"after {plant.state['time']:.0f} s: {tilt:.1f} deg from upright, return {total:.0f}")
