"""Conditions that contenders are judged in beside the true state."""

import math
import warnings
from collections.abc import Mapping
from contextlib import closing
from typing import Any, NamedTuple, cast

import gymnasium as gym

from rbgym.agents import controllers
from rbgym.agents.cases import task_of
from rbgym.envs.base import AttitudeEnv
from rbgym.envs.parts.goals import Rest, Target

_ARCSECOND = math.radians(1.0 / 3600.0)
# What satellites are judged with where they do not know their state. The gyros are as Sensonor has
# them of the STIM210: 0.10 deg/sqrt(h), and a bias of 10 deg/h rms over temperature (frequently
# asked questions, sensonor.com). The walk of their bias and the star tracker are an example, of the
# order of those that small satellites fly, and no product's.
SENSORS: dict[str, Any] = {
    "gyro": {
        "angle_walk": math.radians(0.10) / 60.0,
        "rate_walk": 1e-7,
        "bias": math.radians(10.0) / 3600.0,
    },
    "star_tracker": {
        "across_boresight": 10.0 * _ARCSECOND,
        "about_boresight": 70.0 * _ARCSECOND,
        "boresight": (0.0, 0.0, 1.0),
        "period": 0.5,
        "slew_rate": math.radians(2.0),
    },
}
# What an estimator leaves of attitude [rad] and bias [rad/s], about: the noise that policies are
# trained in, beside that of the gyros.
_LEFT = {"attitude": 1e-4, "rate_bias": 2e-5}
BEHIND, DISPERSED = "behind", "dispersed"
# What a law does not know of its body: moments of inertia and strengths off by so much, and the
# angle by which actuators are mounted askew [rad].
DISPERSIONS = {"inertia": 0.3, "actuator_scale": 0.2, "misalignment": 0.05}
_RUBBING = {"friction": 0.5}  # of wheels that have any


class Condition(NamedTuple):
    """env_kwargs: arguments of the env in which contenders are judged. trained_in: those with which
    a policy is trained for it. estimating: whether an estimator stands in front of contenders."""

    env_kwargs: dict[str, Any]
    trained_in: dict[str, Any]
    estimating: bool = False


def conditions_of(env_id: str, given: Mapping[str, Any]) -> dict[str, Condition]:
    """Those that make sense for a task, by name; given: arguments that the env has in all of them.

    "behind": gyros and a star tracker, `SENSORS`, measure the state, an estimator stands in front,
    and commands act one control period late. "dispersed": bodies and actuators differ from what
    laws are told, `DISPERSIONS`. Neither where its arguments are given.
    """
    task, found = task_of(env_id), {}
    with closing(gym.make(env_id, **given)) as made:
        env = cast(AttitudeEnv, made.unwrapped)
        dt, wheels = float(env.dt), env.actuator.rotors
    attitude_only = isinstance(task.goal, Target | Rest) and not task.docked
    if attitude_only and not given.keys() & {"sensor", "actuator"}:
        late = {**given, "actuator": {"delay": {"seconds": dt}}}
        estimated = _LEFT | {"rate": SENSORS["gyro"]["angle_walk"] / math.sqrt(dt)}
        found[BEHIND] = Condition(
            late | {"sensor": SENSORS}, late | {"sensor": estimated}, estimating=True
        )
    if "randomization" not in given:
        rubs = wheels and (wheels.viscous or wheels.coulomb)
        dispersed = {**given, "randomization": DISPERSIONS | (_RUBBING if rubs else {})}
        found[DISPERSED] = Condition(dispersed, dispersed)
    return {name: one for name, one in found.items() if _can_be(env_id, one)}


def _can_be(env_id: str, condition: Condition) -> bool:
    with warnings.catch_warnings():  # of sensors too coarse without the estimator
        warnings.filterwarnings("ignore", message="sensor", category=UserWarning)
        try:
            with closing(gym.make(env_id, **condition.env_kwargs)) as env:
                if condition.estimating:
                    controllers.Estimating.for_env(controllers.Idle(), env)
        except ValueError:  # another observation, goals apart, what the task has not
            return False
    return True
