"""Random sets of arguments, and what each may change of the resolved configuration."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np

import rbgym  # noqa: F401
from rbgym.envs.arguments import ARGUMENTS
from rbgym.envs.layers import leaves
from rbgym.envs.satellites import SATELLITES

TASKS = sorted(
    one for one in gym.registry if str(gym.registry[one].entry_point).startswith("rbgym")
)
# What an argument may be; each draws one of its values.
VALUES: dict[str, list[Any]] = {
    "difficulty": ["easy", "hard"],
    "satellite": [*SATELLITES],
    "rate_limit": [0.5, 2.0],
    "success": [{"angle": 0.02}, {"seconds": 5.0}],
    "integrator": ["quat_em", "akw", "exact"],
    "dt": [0.1, 0.25],
    "substeps": [1, 3],
    "body": [{"mass": 7.0}, {"inertia": [0.5, 0.6, 0.7]}, {"inertia": [0.2] * 3, "mass": 2.0}],
    "mgl": [2.0],
    "torque_limit": [0.05, [0.01, 0.02, 0.03]],
    "torque_scale": [0.5],
    "actuator": [
        "torque", "wheels", "pyramid", "magnetorquers", {"delay": {"seconds": 0.2}},
        {"lag": {"time_constant": 0.1}}, {"thrusters": {"minimum_pulse": 0.02}},
        ["wheels", "thrusters"], {"wheels": {"torque": 0.01, "momentum": 0.1}},
    ],
    "reward": ["sparse", {"progress": 1.0, "effort": 0.1}],
    "observation": ["rotation_matrix", "mrp", ["quaternion", "mass"], ["mrp", "misalignment"]],
    "info": [[], ["is_success", "parameters"]],
    "sensor": [{"rate": 1e-5}, {"attitude": 1e-4}, {"gyro": {"angle_walk": 1e-5}}],
    "termination": ["none", {"rate_limit": 0.4}],
    "constraints": [{"command": 0.9}, {"rate": 0.3, "ends": False}],
    "disturbance": [
        {"constant": [1e-6, 0.0, 0.0]}, {"white_noise": 1e-7}, {"gravity_gradient": True},
    ],
    "randomization": [
        {"inertia": 0.1}, {"actuator_scale": 0.05}, {"mass": 0.1}, {"axes": 0.1, "friction": 0.1},
        {"misalignment": 0.02}, {"noise": 0.2},
    ],
    "faults": [{"time": [1.0, 2.0]}],
    "initial": [{"angle": 0.7}, {"rate": 0.01}, {"spin": 0.1}],
    "preview": [0.3],
    "orbit": [{"altitude": 520e3}, {"altitude": 700e3, "eccentricity": 0.01}],
    "reference": ["nadir"],
    "projection": [False],
}  # fmt: skip
# What follows from an argument beside itself.
FOLLOWS: dict[str, set[str]] = {
    "difficulty": set(ARGUMENTS),  # each preset says what it likes
    "satellite": {"body", "mgl", "dt", "actuator", "sensor", "initial", "success", "reference",
                  "rate_limit", "torque_limit", "reward", "orbit"},
    "body": {"mgl", "torque_limit", "initial", "success"},
    "mgl": {"torque_limit", "initial"},
    "rate_limit": {"reward", "reference"},
    "success": {"reward"},
    "dt": {"success", "reference", "sensor"},
    "integrator": {"substeps"},
    "actuator": {"torque_limit", "orbit", "sensor"},
    "torque_scale": {"torque_limit"},
    "sensor": {"orbit"},
    "orbit": {"torque_limit"},
    "faults": {"sensor"},  # which may be dead
}  # fmt: skip


def flat(env: Any) -> dict[str, str]:
    """The resolved configuration by the full names of its leaves."""
    return {name: str(leaf["value"]) for name, leaf in leaves(env.unwrapped.resolved)}


def combinations(seed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """A task and two to four arguments, again and again."""
    rng = np.random.default_rng(seed)
    for number in itertools.count():
        task = TASKS[number % len(TASKS)]
        names = rng.choice([*VALUES], size=rng.integers(2, 5), replace=False)
        yield task, {n: VALUES[n][rng.integers(len(VALUES[n]))] for n in map(str, names)}


def changed(task: str, given: dict[str, Any], plain: dict[str, str]) -> set[str] | None:
    """Names of arguments whose part of the configuration is another than that of the task alone;
    None if they are refused, by a ValueError that names one of them."""
    try:
        mine = flat(gym.make(task, disable_env_checker=True, **given))
    except ValueError as error:
        if not any(re.search(rf"\b{name}\b", str(error)) for name in given):
            raise AssertionError(f"{task} {given}: nothing that was given is named") from error
        return None
    leaves = {name for name in {*mine, *plain} if mine.get(name) != plain.get(name)}
    return {name.partition(".")[0] for name in leaves}


def may_change(given: dict[str, Any]) -> set[str]:
    return set(given).union(*(FOLLOWS.get(name, set()) for name in given))
