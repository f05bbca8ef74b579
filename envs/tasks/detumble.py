"""Detumble-v0: bring a tumbling satellite to rest."""

import math
from dataclasses import replace

from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Rest
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Turned
from rbgym.envs.tasks.attitude_slew import AttitudeSlewEnv


class DetumbleEnv(AttitudeEnv):
    """Bring a satellite from a violent tumble to rest, at whatever attitude.

    ## Physics
    The satellite of AttitudeSlew-v0. The fastest tumble holds the angular momentum that
    full torque about one axis takes away in fourteen seconds.
    """

    task = replace(
        AttitudeSlewEnv.task,
        start=Turned(least_rate=0.5, rate=1.5),
        goal=Rest(),
        angle=math.radians(5.0),
        rate_limit=5.0,
        shape=Closeness(scale=1.0, rate_weight=10.0, effort_weight=0.02),
        difficulty={
            "easy": {"initial": {"least_rate": 0.1, "rate": 0.5}},
            "hard": {"initial": {"least_rate": 1.5, "rate": 2.5}},
        },
        categories={
            "slow": {"least_rate": 0.1, "rate": 0.5},
            "medium": {"least_rate": 0.5, "rate": 1.0},
            "fast": {"least_rate": 1.0, "rate": 1.5},
            "any": {},
        },
    )


DetumbleVectorEnv = vectorised(DetumbleEnv)
