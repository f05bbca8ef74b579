# %% [markdown]
# # My satellite
#
# A satellite of your own, in a task of rbgym: which law turns it, what sensors cost, and how to
# train a policy on it. This needs `rbgym[agents]` and writes my_satellite.png.

# %%
import gymnasium as gym
import numpy as np

import rbgym
from rbgym.agents import controllers
from rbgym.agents.judge import evaluate

# %% [markdown]
# Six numbers of a data sheet, and what follows from them: the torque about each body axis [N m],
# and the rate at which an episode ends [rad/s].

# %%
mine = {
    "body": {"inertia": [20.0, 18.0, 15.0]},  # kg m^2
    "wheels": {"torque": 0.1, "momentum": 4.0, "inertia": 6e-3, "coulomb": 1e-3},
    "dt": 0.5,  # control period [s]
}
task = "ReactionWheelSlew-v1"
env = gym.make(task, satellite=mine)
print(env.unwrapped.torque_limit, round(env.unwrapped.rate_limit, 3))
print(controllers.for_env(env))

# %% [markdown]
# Classical laws take their gains from torque and inertia. All start from the same states.

# %%
for law in ("pd", "lqr", "bang_bang"):
    found = evaluate(law, task, episodes=64, satellite=mine)
    print(f"{law}: {100 * found.success_rate:.0f} %, settled after {found.settling_time:.0f} s")

# %% [markdown]
# One slew, by `pd`: with the true state, and behind gyros and a star tracker with an estimator.

# %%
sensor = {
    "gyro": {"angle_walk": 3e-5, "bias": 5e-5},  # rad/sqrt(s), rad/s
    "star_tracker": {"across_boresight": 5e-5, "about_boresight": 3e-4, "period": 0.5},  # rad, s
}


def fly(policy, env):
    """Errors over one episode: time [s], attitude [rad], rates [rad/s]."""
    observation, info = env.reset(seed=3)
    errors, memory, over = [(info["attitude_error"], info["rate_error"])], None, False
    while not over:
        action, memory = policy.predict(observation, memory)
        observation, _, terminated, truncated, info = env.step(action)
        errors.append((info["attitude_error"], info["rate_error"]))
        over = terminated or truncated
    attitude, rate = np.array(errors).T
    return rbgym.plot.Errors(env.unwrapped.dt * np.arange(len(errors)), attitude, rate)


seen = gym.make(task, satellite=mine, sensor=sensor)
flown = {
    "true state": fly(controllers.make("pd", env), env),
    "estimated": fly(controllers.Estimating.for_env("pd", seen), seen),
}
for name, errors in flown.items():
    print(f"{name}: within {np.degrees(np.max(errors.attitude[-20:])):.2f} deg at the end")

# %%
figure = rbgym.plot.pointing(flown, title="pd on my satellite")
figure.savefig("my_satellite.png")
figure

# %% [markdown]
# A policy is trained on it in the same way, and judged beside the law:
#
#     rbgym train ReactionWheelSlew-v1 --env-arg satellite=cubesat-6u --out runs/cubesat
#     rbgym evaluate ReactionWheelSlew-v1 --policy runs/cubesat --policy pd
