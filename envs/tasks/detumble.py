"""Detumble-v0: bring a tumbling satellite to rest."""

from typing import ClassVar

from rbgym.envs.base import AttitudeEnv, vectorised
from rbgym.envs.parts.goals import Rest
from rbgym.envs.parts.rewards import Closeness
from rbgym.envs.parts.starts import Turned
from rbgym.envs.task import Task
from rbgym.envs.tasks.attitude_slew import THRUST, satellite


class DetumbleEnv(AttitudeEnv):
    """Bring a satellite from a violent tumble to rest, at whatever attitude.

    ## Physics
    The satellite of AttitudeSlew-v0. The fastest tumble holds the angular momentum that
    full torque about one axis takes away in fourteen seconds.

    ## Action: Box(-1, 1, (3,)), float32
    Torque about the body axes as a fraction of 0.02 N m, held over the period. Beyond +-1 is
    clipped.
    """

    task: ClassVar = Task(
        body=satellite,
        torque=THRUST,
        start=Turned(least_rate=0.5, rate=1.5),
        goal=Rest(),
        dt=0.1,
        substeps=2,
        rate=0.02,
        settled_steps=30,
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
