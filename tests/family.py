"""Every registered task, made bare, and put where a test wants it."""

import gymnasium as gym

from rbgym.registration import ENVIRONMENTS

IDS = list(ENVIRONMENTS)
FREE = ["AttitudeSlew-v0", "AttitudeTracking-v0", "Detumble-v0", "AttitudeReach-v0"]
SLEW = "AttitudeSlew-v0"


def make(env_id, **kwargs):
    return gym.make(env_id, **kwargs).unwrapped


def many(env_id, n=64, **kwargs):
    return gym.make_vec(env_id, num_envs=n, **kwargs).unwrapped


def at(env, quaternion, angular_velocity=(0, 0, 0), **more):
    state = {"quaternion": quaternion, "angular_velocity": angular_velocity, **more}
    return env.reset(seed=0, options={"state": state})
