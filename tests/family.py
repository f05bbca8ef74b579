"""Every registered task, made bare, and put where a test wants it."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from rbgym.quaternion import conjugate, multiply
from rbgym.registration import ENVIRONMENTS

IDS = list(ENVIRONMENTS)
FREE = ["AttitudeSlew-v1", "AttitudeTracking-v1", "Detumble-v1", "AttitudeReach-v0"]
SLEW = "AttitudeSlew-v1"
# Wheels without friction, which is no fault of the integrator.
SMOOTH = {
    env_id: {"actuator": replace(load_env_creator(f"{module}:{name}Env").task.actuator,
                                 viscous=0.0, coulomb=0.0)}
    for env_id, (module, name, _) in ENVIRONMENTS.items()
    if env_id in ("ReactionWheelSlew-v1", "Detumble-v1", "InertialPointing-v0")
}  # fmt: skip
# And no gravity gradient, which exerts a torque; one of zero is a disturbance as well.
SMOOTH["MagneticPointing-v0"] = {"disturbance": {"constant": (0.0, 0.0, 0.0)}}


def make(env_id, **kwargs):
    return gym.make(env_id, **kwargs).unwrapped


def many(env_id, n=64, **kwargs):
    return gym.make_vec(env_id, num_envs=n, **kwargs).unwrapped


def half_way(before, after):
    """Attitude half-way through a step, from the states at its ends."""
    mean = before["quaternion"] + after["quaternion"]
    if np.linalg.norm(mean) < 1:
        mean = before["quaternion"] - after["quaternion"]
    return mean / np.linalg.norm(mean)


def discrete_work(before, after, torque):
    """Work of a held torque in a step of quat_em: 4 e.u, e = tan(angle / 4) axis of the step."""
    w, *xyz = multiply(conjugate(before["quaternion"]), after["quaternion"])
    return 4.0 * np.sign(w) * (np.array(xyz) @ torque) / (1.0 + abs(w))


def at(env, quaternion, angular_velocity=(0, 0, 0), **more):
    state = {"quaternion": quaternion, "angular_velocity": angular_velocity, **more}
    return env.reset(seed=0, options={"state": state})
