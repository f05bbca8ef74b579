"""Every registered task, made bare, and put where a test wants it."""

import math
from dataclasses import replace

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator

from rbgym.envs.satellites import SATELLITES
from rbgym.quaternion import conjugate, multiply
from rbgym.registration import ENVIRONMENTS

IDS = list(ENVIRONMENTS)
SLEW = "AttitudeSlew-v1"
# Wheels without friction, which is no fault of the integrator.
SMOOTH = {
    env_id: {"actuator": replace(load_env_creator(f"{module}:{name}Env").task.actuator,
                                 viscous=0.0, coulomb=0.0)}
    for env_id, (module, name, _) in ENVIRONMENTS.items()
    if env_id in ("ReactionWheelSlew-v1", "Detumble-v1", "InertialPointing-v0")
}  # fmt: skip
_WINGED = load_env_creator("rbgym.envs.tasks.cubesat:FlexibleSlewEnv").task.actuator
SMOOTH["FlexibleSlew-v0"] = {"actuator": [replace(_WINGED[0], coulomb=0.0),
                                          replace(_WINGED[1], damping=0.0)]}  # fmt: skip
# And nothing that exerts a torque.
SMOOTH["MagneticPointing-v0"] = {"disturbance": {"gravity_gradient": None}}
_PUSHES = "gravity_gradient", "residual_dipole", "drag", "solar_pressure"
SMOOTH["DetumbleToPoint-v0"] = {"disturbance": dict.fromkeys(_PUSHES)}


_SUCCESS = {"angle": math.radians(2.0), "rate": 0.02, "seconds": 3.0}
# Arguments that give a slew what the numbers of a test are written for: ten commands a second,
# rates shown by 2 rad/s, strong torques or wheels, whose work in a step of `quat_em` is known; a
# detumbling 12 kg with coils of 1 A m^2.
QUICK = {
    SLEW: {"dt": 0.1, "torque_limit": 0.02, "rate_limit": 2.0, "success": _SUCCESS,
           "max_episode_steps": 400},
    "ReactionWheelSlew-v1": {"dt": 0.1, "actuator": "pyramid", "rate_limit": 2.0,
                             "success": _SUCCESS, "max_episode_steps": 500,
                             "integrator": "quat_em"},
    "MagneticDetumble-v1": {"body": SATELLITES["cubesat-6u"]().body, "actuator": "magnetorquers",
                            "rate_limit": 0.3, "initial": {"least_rate": 0.02, "rate": 0.1}},
}  # fmt: skip


def quick(env_id, **kwargs):
    """The arguments, and those of QUICK for the task that are not given."""
    found = {**QUICK.get(env_id, {}), **kwargs}
    if "actuator" in kwargs and "torque_limit" not in kwargs:  # it may have none
        found.pop("torque_limit", None)
    return found


def quick_make(env_id, **kwargs):
    return make(env_id, **quick(env_id, **kwargs))


def quick_many(env_id, n=64, **kwargs):
    return many(env_id, n, **quick(env_id, **kwargs))


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


def motor_work(wheels, before, after):
    """Of motors and friction in one step [J]: torque on each wheel times its mean speed."""
    change = after["wheel_momentum"] - before["wheel_momentum"]
    momentum = 0.5 * (after["wheel_momentum"] + before["wheel_momentum"])
    omega = 0.5 * (after["angular_velocity"] + before["angular_velocity"])
    return np.sum(change * (momentum / wheels.inertia - omega @ wheels.matrix), axis=-1)


def at(env, quaternion, angular_velocity=(0, 0, 0), **more):
    state = {"quaternion": quaternion, "angular_velocity": angular_velocity, **more}
    return env.reset(seed=0, options={"state": state})
